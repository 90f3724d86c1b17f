"""``loopguard demo``: a looping agent, stopped and set to work again, with a scripted model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard_cli.errors import AgentNotFound
from loopguard_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from loopguard_cli.testing.demonstration import Cast, Outcome

EXAMPLES = ("loopguard demo", "loopguard demo --stand-in")

_WIDTH = 100
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def command(
    opencode: Annotated[
        str | None,
        typer.Option(
            "--opencode", metavar="PROGRAM", help="The OpenCode to use.", show_default="the one on PATH"
        ),
    ] = None,
    stand_in: Annotated[
        bool, typer.Option("--stand-in", help="Use a small scripted agent even where OpenCode is installed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the outcome, as JSON.")] = False,
) -> int:
    """Watch a looping agent being stopped and set to work again.

    Runs OpenCode, or a small scripted agent where it is not installed, against a scripted model: no
    key, no network, temporary folders only. Exits with 0 when everything was really seen.
    """
    from loopguard_cli.testing import demonstration

    cast = demonstration.cast(opencode, only_stand_in=stand_in)
    if cast is None:
        raise AgentNotFound(f"no such program: {opencode}", "name an installed OpenCode, or none")
    if not as_json:
        _introduce(cast)
    outcomes: list[Outcome] = []
    for number, scene in enumerate(demonstration.SCENES, 1):
        if not as_json:
            typer.echo(f"\n{number}. {scene.title}\n   {scene.story}\n\n   $ {scene.command}")
        outcomes.append(demonstration.play(scene, cast, _silent if as_json else _show))
        if not as_json:
            _judge(outcomes[-1])
    if as_json:
        _print_json(cast, outcomes)
    else:
        typer.echo(f"\n{_summary(outcomes)}")
    return ExitCode.OK if all(outcome.ok for outcome in outcomes) else ExitCode.FAILED


def _introduce(cast: Cast) -> None:
    agent = f"OpenCode ({cast.program})" if cast.program else "a small scripted agent; OpenCode is not used"
    typer.echo(f"The model is scripted: no key, no network. The agent is {agent}.")


def _show(line: str) -> None:
    """One line of the run's output, cut to the screen."""
    plain = _ESCAPES.sub("", line).rstrip()
    if plain:
        typer.echo(f"   | {_cut(plain)}")


def _silent(line: str) -> None:
    del line


def _judge(outcome: Outcome) -> None:
    typer.echo(f"\n   Seen, in {outcome.seconds:g} s:")
    for check in outcome.checks:
        typer.echo(f"   {'ok  ' if check.ok else 'FAIL'} {check.what}\n        {_cut(check.seen)}")


def _summary(outcomes: list[Outcome]) -> str:
    failed = [check for outcome in outcomes for check in outcome.checks if not check.ok]
    checks = sum(len(outcome.checks) for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    if failed:
        return f"{len(failed)} of {checks} things were not seen."
    return f"All {checks} things were seen, in {seconds:.0f} s. Now try: loopguard run -- opencode"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}\N{HORIZONTAL ELLIPSIS}"


def _print_json(cast: Cast, outcomes: list[Outcome]) -> None:
    from loopguard_cli.cli.render.page import show_json
    from loopguard_cli.testing.demonstration import Demonstrated

    ok = all(outcome.ok for outcome in outcomes)
    show_json(Demonstrated(ok=ok, agent=cast.name, program=str(cast.program or ""), scenes=tuple(outcomes)))
