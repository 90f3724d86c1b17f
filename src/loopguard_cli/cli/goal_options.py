"""Options that say what a goal is, and how they become the text of a command."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Words = Annotated[
    list[str], typer.Argument(metavar="OBJECTIVE", help="What is to be achieved.", show_default=False)
]
MaxTurns = Annotated[
    str, typer.Option("--max-turns", metavar="N", help="Continuations at most.", show_default=False)
]
MaxMinutes = Annotated[
    str, typer.Option("--max-minutes", metavar="N", help="Minutes in force at most.", show_default=False)
]
MaxDuration = Annotated[
    str, typer.Option("--max-duration-ms", metavar="N", help="The same in milliseconds.", hidden=True)
]
Budget = Annotated[
    str,
    typer.Option(
        "--budget",
        "--max-tokens",
        metavar="N[k|m]",
        help="Tokens of one request at most: 150k.",
        show_default=False,
    ),
]
TotalTokens = Annotated[
    str,
    typer.Option(
        "--max-total-tokens", metavar="N[k|m]", help="Tokens of all requests together.", show_default=False
    ),
]
Cost = Annotated[
    str, typer.Option("--max-cost", metavar="USD", help="Cost of all requests together.", show_default=False)
]
Cooldown = Annotated[
    str,
    typer.Option("--cooldown-ms", metavar="N", help="Least time between continuations.", show_default=False),
]
LowOutput = Annotated[
    str,
    typer.Option(
        "--no-progress-threshold", metavar="N", help="Fewer output tokens are a low turn.", show_default=False
    ),
]
LowTurns = Annotated[
    str,
    typer.Option(
        "--no-progress-turns", metavar="N", help="Low turns in a row until it pauses.", show_default=False
    ),
]
TalkTurns = Annotated[
    str,
    typer.Option(
        "--no-tool-turns", metavar="N", help="Turns without tools until it pauses.", show_default=False
    ),
]
Success = Annotated[
    str,
    typer.Option(
        "--success", "--success-criteria", metavar="TEXT", help="When it counts as done.", show_default=False
    ),
]
Constraints = Annotated[
    str,
    typer.Option(
        "--constraints", "--non-goals", metavar="TEXT", help="What must not be done.", show_default=False
    ),
]
Mode = Annotated[
    str,
    typer.Option(
        "--mode", metavar="MODE", help="normal, or ordered: one step after the other.", show_default=False
    ),
]
Check = Annotated[
    list[str] | None,
    typer.Option(
        "--check", metavar="CMD", help="Command that must succeed at the end; repeatable.", show_default=False
    ),
]
CheckTimeout = Annotated[
    str, typer.Option("--check-timeout", metavar="SECONDS", help="For all checks.", show_default=False)
]
Session = Annotated[
    str,
    typer.Option(
        "--session", metavar="ID", help="Session of the agent; else the one last used.", show_default=False
    ),
]


def as_text(words: list[str] | None, options: dict[str, Any]) -> str:
    """The command in the grammar that slash command and tools share."""
    from loopguard_cli.goal.words import quote

    objective = " ".join(words or ()).strip()
    parts = [quote(objective)] if objective else []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value] if value else []
        parts += [f"--{name.replace('_', '-')}={quote(str(item))}" for item in values]
    return " ".join(parts)
