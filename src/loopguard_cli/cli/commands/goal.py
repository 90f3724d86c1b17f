"""``loopguard goal``: set goals, steer them, and see how they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loopguard_cli.cli import live
from loopguard_cli.cli.goal_options import BUDGETS, TERMS, Words, as_text, options
from loopguard_cli.cli.lazy import epilog

EXAMPLES = (
    'loopguard goal set "make the tests pass" --check "make test"',
    'loopguard goal set "port the CLI" --max-turns 30 --budget 300k',
    'loopguard goal sequence "build the parser" "write the tests" "ship it"',
    "loopguard goal status",
    "loopguard goal resume --max-minutes 60",
)

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="""Set a goal that is pursued until it is proven done.

    The session is continued whenever it goes idle, until the agent proves the end, names an obstacle, or
    a limit is reached. Without a live run a goal waits for the next one in this folder.
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _numbers(incomplete: str) -> list[tuple[str, str]]:
    """Goals to choose from, for the completion of a shell."""
    from loopguard_cli.goal.evolve import WAITING
    from loopguard_cli.store.goals import stored_goals
    from loopguard_cli.store.paths import project_folder, state_path

    books = stored_goals(state_path(project_folder(Path.cwd()))).books()
    book = books.get(WAITING) or next((b for b in reversed(books.values()) if b.goals), None)
    numbered = enumerate(book.goals, start=1) if book else ()
    return [(str(n), goal.objective[:60]) for n, goal in numbered if str(n).startswith(incomplete)]


def _ask(verb: str, text: str, *, run: str, session: str, as_json: bool) -> None:
    """Carry out one command and show the answer."""
    from loopguard_cli.cli import goals
    from loopguard_cli.cli.render import goal, page

    answer = goals.ask({"verb": verb, "text": text}, run=run, session=session)
    if as_json:
        page.show_json({"ok": answer.ok, "text": answer.text, "data": answer.data})
        return
    blocks = goal.page(str(answer.data.get("reply", "")), answer.data) if page.on_terminal() else ()
    if blocks:
        page.show(blocks)
    else:
        typer.echo(answer.text)


@app.command(
    "set",
    short_help="Set a goal; it replaces the one in focus.",
    epilog=epilog(
        (
            'loopguard goal set "make the tests pass" --check "make test"',
            'loopguard goal set "port the CLI" --success "same output" --max-turns 30',
            'loopguard goal set "tidy up" --budget 300k --max-cost 5',
        )
    ),
)
@options(TERMS)
def set_goal(objective: Words, *, given: dict[str, Any], asking: dict[str, Any]) -> None:
    """Set a goal. It replaces the goal in focus; 'add' keeps that in the background."""
    _ask("set", as_text(objective, given), **asking)


@app.command(
    "add",
    short_help="Set a goal and keep the present one in the background.",
    epilog=epilog(('loopguard goal add "update the manual" --max-minutes 20',)),
)
@options(TERMS)
def add(objective: Words, *, given: dict[str, Any], asking: dict[str, Any]) -> None:
    """Set a goal and keep the present one in the background."""
    _ask("add", as_text(objective, given), **asking)


@app.command(
    "edit",
    short_help="Change the objective or the limits; what was used is kept.",
    epilog=epilog(
        (
            'loopguard goal edit "make the tests pass on Python 3.13, too"',
            "loopguard goal edit --max-turns 40",
        )
    ),
)
@options(TERMS)
def edit(
    objective: Annotated[
        list[str] | None, typer.Argument(metavar="OBJECTIVE", help="The new objective.", show_default=False)
    ] = None,
    *,
    given: dict[str, Any],
    asking: dict[str, Any],
) -> None:
    """Change the goal in focus. Used budget is kept, and a stopped goal goes on."""
    _ask("edit", as_text(objective, given), **asking)


@app.command(
    "sequence",
    short_help="Set several goals that run one after the other.",
    epilog=epilog(('loopguard goal sequence "build the parser" "write the tests" --max-turns 20',)),
)
@options(TERMS)
def sequence(
    objectives: Annotated[
        list[str], typer.Argument(metavar="OBJECTIVE...", help="One each.", show_default=False)
    ],
    *,
    given: dict[str, Any],
    asking: dict[str, Any],
) -> None:
    """Set several goals that run one after the other. They replace all goals of the session.

    The options hold for each of them.
    """
    _ask("sequence", "\n".join([*objectives, as_text(None, given)]), **asking)


@app.command(
    "focus",
    short_help="Turn to another goal.",
    epilog=epilog(("loopguard goal focus 2",)),
)
@options()
def focus(
    goal: Annotated[
        str, typer.Argument(metavar="NUMBER|ID", help="As 'list' shows it.", autocompletion=_numbers)
    ],
    *,
    asking: dict[str, Any],
) -> None:
    """Turn to another goal; the present one goes to the background."""
    _ask("focus", goal, **asking)


@app.command(
    "pause",
    short_help="Pause: nothing is sent until it is resumed.",
    epilog=epilog(("loopguard goal pause",)),
)
@options()
def pause(*, asking: dict[str, Any]) -> None:
    """Pause the goal in focus. A turn that loopguard began is aborted."""
    _ask("pause", "", **asking)


@app.command(
    "resume",
    short_help="Go on with a stopped goal, with a fresh budget.",
    epilog=epilog(
        (
            "loopguard goal resume",
            "loopguard goal resume --max-minutes 60 --max-cost 5",
        )
    ),
)
@options(BUDGETS)
def resume(*, given: dict[str, Any], asking: dict[str, Any]) -> None:
    """Go on with a stopped goal, with a fresh budget."""
    _ask("resume", as_text(None, given), **asking)


@app.command(
    "clear",
    short_help="Drop all goals of the session.",
    epilog=epilog(("loopguard goal clear", "loopguard goal clear --session ses_1")),
)
@options()
def clear(*, asking: dict[str, Any]) -> None:
    """Drop all goals of the session. Achieved ones stay in the list."""
    _ask("clear", "", **asking)


@app.command(
    "list",
    short_help="List the goals of the session.",
    epilog=epilog(("loopguard goal list", "loopguard goal list --json")),
)
@options()
def list_goals(*, asking: dict[str, Any]) -> None:
    """List the goals of the session, and those that are finished."""
    _ask("list", "", **asking)


@app.command(
    "status",
    short_help="Show how the goal in focus stands.",
    epilog=epilog(
        (
            "loopguard goal status",
            "loopguard goal status --json",
        )
    ),
)
@options()
def status(*, asking: dict[str, Any]) -> None:
    """Show how the goal in focus stands, or the result of the last one."""
    _ask("status", "", **asking)


@app.command(
    "history",
    short_help="Show what happened to the goal in focus.",
    epilog=epilog(("loopguard goal history",)),
)
@options()
def history(*, asking: dict[str, Any]) -> None:
    """Show what happened to the goal in focus, or to the last one, oldest first."""
    _ask("history", "", **asking)


@app.command(
    "complete",
    short_help="Declare the goal in focus achieved.",
    epilog=epilog(('loopguard goal complete "looked at it myself"',)),
)
@options()
def complete(
    evidence: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What shows it.", show_default=False)
    ] = None,
    *,
    asking: dict[str, Any],
) -> None:
    """Declare the goal in focus achieved. From a person this needs no proof."""
    _ask("complete", " ".join(evidence or ()), **asking)


@app.command(
    "block",
    short_help="Stop the goal in focus because of an obstacle.",
    epilog=epilog(('loopguard goal block "the licence key is missing"',)),
)
@options()
def block(
    obstacle: Annotated[list[str], typer.Argument(metavar="TEXT", help="The obstacle.", show_default=False)],
    *,
    asking: dict[str, Any],
) -> None:
    """Stop the goal in focus because of an obstacle."""
    _ask("block", " ".join(obstacle), **asking)


@app.command(
    "import",
    short_help="Take over goals of the OpenCode goal plugin.",
    epilog=epilog(
        (
            "loopguard goal import",
            "loopguard goal import ~/.local/share/goals.json --session ses_1",
        )
    ),
)
def import_goals(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Its state file; else those in .opencode/goals.", show_default=False
        ),
    ] = None,
    sessions: Annotated[
        list[str] | None,
        typer.Option("--session", metavar="ID", help="Only this session; repeatable.", show_default=False),
    ] = None,
    as_json: live.JsonOption = False,
) -> None:
    """Take over goals of the OpenCode goal plugin. Its files stay as they are; all goals arrive paused."""
    import time

    from loopguard_cli.cli.render import page
    from loopguard_cli.core.measures import counted
    from loopguard_cli.errors import UsageError
    from loopguard_cli.store import migrate
    from loopguard_cli.store.paths import project_folder, state_path

    project = project_folder(Path.cwd())
    if file is not None and not sessions and project not in file.absolute().parents:
        raise UsageError(
            f"{file} may hold goals of other projects", "name the sessions to take with --session"
        )
    found = migrate.read(file, sessions=sessions) if file is not None else migrate.find(project)
    done = migrate.write(state_path(project), found, run="import", now=time.time())
    if as_json:
        page.show_json(done)
        return
    counts = [
        counted(done.goals, "goal"),
        counted(done.results, "result"),
        counted(len(done.sessions), "session"),
    ]
    if file is None and not (done.goals or done.results or done.skipped or done.kept):
        typer.echo(
            f"No goals of the plugin were found in {project / '.opencode' / 'goals'}; name its state file."
        )
        return
    typer.echo(f"Imported: {', '.join(counts)}.")
    if done.kept:
        typer.echo(f"Left as they are, because they have goals here: {', '.join(done.kept)}")
    if done.skipped:
        typer.echo(f"Not valid and left out: {done.skipped}.")
