"""Options that say what a goal is, and how they become the text of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from loopguard_cli.cli import live

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


BUDGETS: dict[str, tuple[Any, Any]] = {
    "max_turns": (MaxTurns, ""),
    "max_minutes": (MaxMinutes, ""),
    "max_duration_ms": (MaxDuration, ""),
    "budget": (Budget, ""),
    "max_total_tokens": (TotalTokens, ""),
    "max_cost": (Cost, ""),
}
"""Name, type and default of the options that a goal can be given at any time."""

TERMS: dict[str, tuple[Any, Any]] = {
    **BUDGETS,
    "cooldown_ms": (Cooldown, ""),
    "no_progress_threshold": (LowOutput, ""),
    "no_progress_turns": (LowTurns, ""),
    "no_tool_turns": (TalkTurns, ""),
    "success": (Success, ""),
    "constraints": (Constraints, ""),
    "mode": (Mode, ""),
    "check": (Check, None),
    "check_timeout": (CheckTimeout, ""),
}
"""Those that say what a goal is."""

ASKING: dict[str, tuple[Any, Any]] = {
    "run": (live.RunOption, ""),
    "session": (Session, ""),
    "as_json": (live.JsonOption, False),
}
"""Those of every command about goals."""


def options(table: dict[str, tuple[Any, Any]] | None = None) -> Callable[[Callable[..., None]], Any]:
    """Gives a command the options of ``table``, as ``given``, and those of `ASKING`, as ``asking``.

    The command declares what it takes besides. Typer reads the signature that is made here.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        declared = inspect.signature(function, eval_str=True).parameters
        own = [one for name, one in declared.items() if name not in ("given", "asking")]
        added = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
            for name, (kind, default) in {**(table or {}), **ASKING}.items()
        ]

        def command(**values: Any) -> None:
            asking = {name: values.pop(name) for name in ASKING}
            given = {name: values.pop(name) for name in table or ()}
            function(**values, **({"given": given} if table else {}), asking=asking)

        command.__doc__, command.__name__ = function.__doc__, function.__name__
        command.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *added)}
        return command

    return decorate


def as_text(words: list[str] | None, options: dict[str, Any]) -> str:
    """The command in the grammar that slash command and tools share."""
    from loopguard_cli.goal.words import quote

    objective = " ".join(words or ()).strip()
    parts = [quote(objective)] if objective else []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value] if value else []
        parts += [f"--{name.replace('_', '-')}={quote(str(item))}" for item in values]
    return " ".join(parts)
