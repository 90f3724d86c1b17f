"""``loopguard check``: what the guard knows about one tool call."""

from __future__ import annotations

from typing import Annotated

import typer

from loopguard_cli.cli import live

EXAMPLES = ('loopguard check bash \'{"command": "make test"}\'',)


def command(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Exact name of the tool.", show_default=False)],
    arguments: Annotated[str, typer.Argument(metavar="ARGS", help="Its arguments, a JSON object.")] = "{}",
    run: live.RunOption = "",
    session: live.SessionOption = "",
    as_json: live.JsonOption = False,
) -> None:
    """Ask how often one tool call was made already and whether it is blocked.

    Counts nothing and permits nothing.
    """
    fields = {"toolName": tool, "argsJson": live.call_arguments(arguments)}
    live.show(live.ask(run, "guard.check", fields, session=session), as_json=as_json)
