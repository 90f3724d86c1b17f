"""``loopguard mute``: let the guard only take notes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from loopguard_cli.cli import live

EXAMPLES = (
    "loopguard mute",
    "loopguard mute off --session ses_1a2b",
)


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


def command(
    switch: Annotated[Switch, typer.Argument(metavar="on|off", help="off ends it.")] = Switch.ON,
    run: live.RunOption = "",
    session: live.SessionOption = "",
    as_json: live.JsonOption = False,
) -> None:
    """Let the guard only take notes, in one session or in all of a live run.

    Nothing is blocked or aborted meanwhile, and nobody is told; 'loopguard history' has it all.
    """
    live.show(live.ask(run, "guard.mute", {"on": switch is Switch.ON}, session=session), as_json=as_json)
