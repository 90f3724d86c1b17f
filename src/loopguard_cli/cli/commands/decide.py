"""``loopguard decide``: a person's word on a blocked call."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from loopguard_cli.cli import live

EXAMPLES = (
    'loopguard decide stop --observed "the server never answers on 8080" \\',
    '  --rationale "it does not run on this machine" \\',
    '  --expected "its address, from the owner"',
)


class Decision(StrEnum):
    CONTINUE = "continue"
    CHANGE = "change"
    STOP = "stop"


def command(
    decision: Annotated[
        Decision,
        typer.Argument(
            metavar="continue|change|stop",
            help="continue permits a fresh cycle; change and stop permit nothing.",
        ),
    ],
    tool: Annotated[
        str, typer.Option("--tool", metavar="NAME", help="Exact name of the tool to call next.")
    ] = "",
    arguments: Annotated[
        str, typer.Option("--args", metavar="JSON", help="Its arguments, a JSON object.")
    ] = "{}",
    observed: Annotated[
        str, typer.Option("--observed", metavar="TEXT", help="What the attempts so far showed.")
    ] = "",
    rationale: Annotated[
        str, typer.Option("--rationale", metavar="TEXT", help="Why this is useful now.")
    ] = "",
    expected: Annotated[
        str, typer.Option("--expected", metavar="TEXT", help="What new it will show, or what is missing.")
    ] = "",
    run: live.RunOption = "",
    session: live.SessionOption = "",
    as_json: live.JsonOption = False,
) -> None:
    """Justify a blocked call, change the approach, or give up.

    The three texts have at least 20 characters each. From within the agent only its own
    loop_decide tool is heard, not this command.
    """
    fields = {
        "decision": decision.value,
        "observedResult": observed,
        "rationale": rationale,
        "expectedInformation": expected,
        "nextTool": tool,
        "argsJson": live.call_arguments(arguments),
    }
    live.show(live.ask(run, "guard.decide", fields, session=session), as_json=as_json)
