"""Finding the run that a command means, and asking it something.

Every command that steers a live run goes through here, so that all choose and complain alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopguard_cli.errors import LoopguardError, UsageError
from loopguard_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from loopguard_cli.runtime.control.client import Answer
    from loopguard_cli.store.runs import LiveRun

ANSWER_WITHIN_S = 10.0
"""A run answers in milliseconds; one that is stopped (Ctrl-Z) or hangs must not hang us."""


class NoLiveRun(LoopguardError):
    """There is no run to ask."""

    slug = "no-live-run"
    exit_code = ExitCode.FAILED


class Refused(LoopguardError):
    """The run answered, and the answer is no."""

    slug = "refused"
    advice = ""
    exit_code = ExitCode.FAILED


def _run_ids(incomplete: str) -> list[str]:
    from loopguard_cli.store.runs import live_runs

    return [live.run for live in live_runs() if live.run.startswith(incomplete)]


RunOption = Annotated[
    str,
    typer.Option(
        "--run",
        metavar="ID",
        help="The run to ask; not needed where this folder has only one.",
        autocompletion=_run_ids,
        show_default=False,
    ),
]
SessionOption = Annotated[
    str,
    typer.Option(
        "--session", metavar="ID", help="Only this session of the agent; else all.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def choose(wanted: str = "") -> LiveRun:
    """The run named ``wanted`` (its beginning will do), else the only one of this folder.

    Raises `NoLiveRun`, and `UsageError` where it is not clear which is meant.
    """
    from loopguard_cli.store.paths import project_folder, state_path
    from loopguard_cli.store.runs import live_runs

    if wanted:
        found = [live for live in live_runs() if live.run.startswith(wanted)]
        if not found:
            raise NoLiveRun(f"no live run {wanted!r}", "'loopguard status' lists the runs")
    else:
        project = project_folder(Path.cwd())
        found = live_runs(state=state_path(project))
        if not found:
            raise NoLiveRun(
                f"no live run in {project}", "start one with 'loopguard run', or name one with --run"
            )
    if len(found) > 1:
        names = ", ".join(f"{live.run} ({live.agent})" for live in found)
        raise UsageError(f"{len(found)} live runs: {names}", "choose one with --run")
    return found[0]


def ask(run: str, operation: str, arguments: dict[str, Any], *, session: str = "") -> Answer:
    """Ask the chosen run; a refusal is raised as `Refused`."""
    from loopguard_cli.runtime.control import client as control

    answer = control.ask(choose(run), operation, arguments, session=session, timeout=ANSWER_WITHIN_S)
    if not answer.ok:
        raise Refused(answer.text or f"refused: {answer.code}")
    return answer


def call_arguments(text: str) -> str:
    """What ``text`` says, if it is a JSON object. Raises `UsageError`."""
    import json

    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"the arguments {text!r} are no JSON object", """write them as '{"command": "make"}'"""
        )
    return text


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer: its text, or all of it as JSON."""
    if as_json:
        import msgspec

        data = {"ok": answer.ok, "code": answer.code, "text": answer.text, "data": answer.data}
        typer.echo(msgspec.json.format(msgspec.json.encode(data)).decode())
    elif answer.text:
        typer.echo(answer.text)
