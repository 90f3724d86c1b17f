"""``loopguard run``: launch a coding agent under supervision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.core.settings import Mode, Preset

CONTEXT = {"allow_interspersed_args": False}

EXAMPLES = (
    "loopguard run -- opencode",
    'loopguard run -- opencode run "fix the build"',
    "loopguard run --mode observe --record trace.jsonl -- opencode",
    "loopguard run --set guard.calls.repeat_threshold=4 -- opencode",
)


def command(
    argv: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- AGENT [ARGUMENT]...", help="The agent's command line, as you would type it."
        ),
    ] = None,
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="NAME", help="Which agent a wrapper script starts.", show_default=False
        ),
    ] = "",
    mode: Annotated[
        Mode | None, typer.Option("--mode", help="on acts, observe only reports, off does nothing.")
    ] = None,
    preset: Annotated[Preset | None, typer.Option("--preset", help="Which set of rules.")] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting for this run; repeatable."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Write everything that happens to FILE, for replay."),
    ] = None,
) -> int:
    """Launch a coding agent and watch over it: stop its loops and set it to work again.

    The agent keeps your terminal, its own configuration and its exit status; 80 means that it was
    stopped because of a loop.
    """
    from loopguard_cli.errors import UsageError

    if not argv:
        raise UsageError("no agent given", "for example: loopguard run -- opencode")
    from loopguard_cli.runtime.start import Options, run

    chosen = [f"guard.{name}={value}" for name, value in (("mode", mode), ("preset", preset)) if value]
    return run(Options(argv=argv, agent=agent, record=record, assignments=[*(assignments or ()), *chosen]))
