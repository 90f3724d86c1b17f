"""``loopguard run``: launch a coding agent under supervision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.cli import goal_options as goals
from loopguard_cli.core.settings import Mode, Permissions, Preset

CONTEXT = {"allow_interspersed_args": False}

EXAMPLES = (
    "loopguard run -- opencode",
    'loopguard run -- opencode run "fix the build"',
    'loopguard run --goal "all tests pass" --check "make test" -- opencode run',
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
    events: Annotated[
        str,
        typer.Option(
            "--events",
            metavar="FORMAT",
            help="The agent prints its events as JSON lines: ndjson, claude or codex.",
            show_default=False,
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
    permissions: Annotated[
        Permissions,
        typer.Option(
            "--permissions",
            help="Answer to what an agent without a screen of its own asks; ask refuses if nobody is there.",
        ),
    ] = Permissions.ASK,
    goal: Annotated[
        str,
        typer.Option(
            "--goal",
            metavar="OBJECTIVE",
            help="Set this goal first; the options from here on are its limits and proof.",
            show_default=False,
        ),
    ] = "",
    check: goals.Check = None,
    check_timeout: goals.CheckTimeout = "",
    success: goals.Success = "",
    constraints: goals.Constraints = "",
    max_turns: goals.MaxTurns = "",
    max_minutes: goals.MaxMinutes = "",
    budget: goals.Budget = "",
    max_total_tokens: goals.TotalTokens = "",
    max_cost: goals.Cost = "",
) -> int:
    """Launch a coding agent and watch over it: stop its loops and set it to work again.

    The agent keeps your terminal, its own configuration and its exit status; 80 means that it was
    stopped because of a loop. With a goal, a one-shot agent is started again until the goal has ended:
    0 achieved, 81 blocked, 82 limit or pause, 83 rejected.
    """
    from loopguard_cli.errors import UsageError

    flags = {
        "check": check,
        "check_timeout": check_timeout,
        "success": success,
        "constraints": constraints,
        "max_turns": max_turns,
        "max_minutes": max_minutes,
        "budget": budget,
        "max_total_tokens": max_total_tokens,
        "max_cost": max_cost,
    }
    lone = next((name for name, value in flags.items() if value and not goal.strip()), "")
    if lone:
        raise UsageError(f"--{lone.replace('_', '-')} needs --goal", "it says how that goal ends")

    if not argv:
        raise UsageError("no agent given", "for example: loopguard run -- opencode")
    from loopguard_cli.runtime.start import Options, run

    chosen = [f"guard.{name}={value}" for name, value in (("mode", mode), ("preset", preset)) if value]
    return run(
        Options(
            argv=argv,
            agent=agent,
            events=events,
            permissions=permissions,
            record=record,
            assignments=[*(assignments or ()), *chosen],
            goal=goals.as_text([goal], flags) if goal.strip() else "",
        )
    )
