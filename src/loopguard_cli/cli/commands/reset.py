"""``loopguard reset``: forget the guard's counters and blocks in a live run."""

from __future__ import annotations

from loopguard_cli.cli import live

EXAMPLES = ("loopguard reset",)


def command(
    run: live.RunOption = "",
    session: live.SessionOption = "",
    as_json: live.JsonOption = False,
) -> None:
    """Forget the counters and blocks of the guard, and let a stopped session go on.

    Hard caps (guard.caps) are not reset by this. The agent itself cannot reset its guard.
    """
    live.show(live.ask(run, "guard.reset", {}, session=session), as_json=as_json)
