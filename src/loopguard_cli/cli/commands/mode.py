"""``loopguard mode``: switch the guard of a live run."""

from __future__ import annotations

from typing import Annotated

import typer

from loopguard_cli.cli import live
from loopguard_cli.core.settings import Mode

EXAMPLES = (
    "loopguard mode observe",
    "loopguard mode on --run 3f2a",
)


def command(
    mode: Annotated[
        Mode,
        typer.Argument(metavar="on|observe|off", help="on acts, observe only reports, off does nothing."),
    ],
    run: live.RunOption = "",
    as_json: live.JsonOption = False,
) -> None:
    """Switch the guard of a live run: on, observe or off.

    The next run begins with the mode of the settings again; change that with
    'loopguard config set guard.mode'. The agent itself cannot switch the mode.
    """
    live.show(live.ask(run, "guard.mode", {"mode": mode.value}), as_json=as_json)
