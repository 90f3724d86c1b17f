"""``loopguard agents``: the agents that can be guarded, and how far."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = ("loopguard agents", "loopguard agents --json")


def command(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show which agents are known, in which forms, and what can be done there.

    Where something is missing the guard does the next best thing and says so: without a gate a repeated
    call costs the turn instead of being blocked, without hints only you are told.
    """
    from loopguard_cli.agents import registry
    from loopguard_cli.cli.render import agents, page
    from loopguard_cli.errors import UsageError

    known = []
    for name, agent in registry(_complain):
        try:
            known.append((name, agent, agent.load().SURFACES))
        except UsageError as error:
            _complain(str(error))
    if as_json:
        page.show_json(agents.data(known))
    else:
        page.show(agents.page(known))


def _complain(line: str) -> None:
    typer.echo(f"loopguard: {line}", err=True)
