"""``loopguard doctor``: what works here, what does not, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from loopguard_cli.cli.diagnosis import Diagnosis

EXAMPLES = ("loopguard doctor", "loopguard doctor opencode", "loopguard doctor --json")


def command(
    agent: Annotated[
        str, typer.Argument(metavar="[AGENT]", help="Try this agent instead: guard it for real, offline.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Look at the program, the terminal, agents, settings and state, and say what to do.

    With AGENT: start it twice against a scripted model, in folders of its own, and see whether it says
    hello, whether its gate is really asked and whether it can really be stopped. acp tries every agent of
    that protocol on PATH; one of them by itself is opencode-acp, gemini-acp, copilot-acp, claude-agent-acp,
    codex-acp or pi-acp.

    Repairs nothing by itself. Exits with 1 if something will not work.
    """
    from loopguard_cli.cli.diagnosis import Level
    from loopguard_cli.cli.render import diagnosis, page

    found = list(_trial(agent) if agent else examine())
    if as_json:
        page.show_json(found)
    else:
        page.show(diagnosis.page(found))
    return ExitCode.FAILED if any(one.level is Level.PROBLEM for one in found) else ExitCode.OK


def _trial(agent: str) -> Iterator[Diagnosis]:
    from loopguard_cli.cli.diagnosis.trial import trial

    return trial(agent)


def examine() -> Iterator[Diagnosis]:
    """All findings, area by area."""
    from loopguard_cli.cli.diagnosis import agents, settings, state, surroundings
    from loopguard_cli.store.paths import project_folder, state_path

    project = project_folder(Path.cwd())
    yield from surroundings.program()
    yield from state.crashes()
    yield from surroundings.terminal()
    yield from agents.agents()
    yield from settings.settings(project)
    yield from state.state(project)
    yield from state.runs(state_path(project))
