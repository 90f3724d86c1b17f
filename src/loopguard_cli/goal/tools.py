"""The tools an agent may call: names, descriptions, parameters, and what their arguments mean.

The six canonical tools answer with one versioned JSON object; the older names answer with text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from loopguard_cli.goal.flags import Options
from loopguard_cli.goal.model import MAX_CRITERIA, MAX_OBJECTIVE, Check, Mode
from loopguard_cli.goal.numbers import LARGEST

VERSION = 1

_USER_ONLY = (
    "Only call this when the user explicitly asked for a goal; never set, widen or replace one on your own "
    "initiative."
)


class Tool(msgspec.Struct, frozen=True):
    """One agent tool."""

    description: str
    properties: dict[str, dict[str, Any]] = {}
    required: tuple[str, ...] = ()
    envelope: bool = True
    """It answers with a JSON object."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, most: int) -> dict[str, Any]:
    return {"type": "string", "description": description, "maxLength": most}


def _count(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


_SET = {
    "objective": _text("What is to be achieved, in the user's words.", MAX_OBJECTIVE),
    "success": _text("When it counts as done.", MAX_CRITERIA),
    "constraints": _text("What must not be done.", MAX_CRITERIA),
    "mode": {"type": "string", "enum": [mode.value for mode in Mode]},
    "checks": {"type": "array", "items": {"type": "string"}, "description": "Commands that must succeed."},
    "maxTurns": _count("Continuations at most."),
    "maxMinutes": _count("Minutes in force at most."),
    "maxDurationMs": _count("The same in milliseconds."),
    "maxTokens": _count("Size of the conversation at most, in tokens."),
    "maxTotalTokens": _count("Tokens of all requests together."),
    "cooldownMs": _count("Least time between continuations."),
    "noProgressThreshold": _count("Fewer output tokens are a low turn."),
    "noProgressTurns": _count("Low turns in a row until it pauses."),
    "noToolTurns": _count("Turns without tools until it pauses."),
}
_CLAIM = {
    "summary": _text("What was achieved and how it was verified.", 500),
    "criteria": {
        "type": "array",
        "maxItems": 20,
        "items": {
            "type": "object",
            "properties": {
                "criterion": _text("One criterion.", 300),
                "evidence": {"type": "array", "items": _text("What proves it.", 500), "minItems": 1},
            },
            "required": ["criterion", "evidence"],
        },
    },
    "checks": {
        "type": "array",
        "maxItems": 20,
        "items": {
            "type": "object",
            "properties": {
                "command": _text("The command that was run.", 500),
                "result": {"type": "string", "enum": ["passed", "failed", "not-run"]},
                "exitCode": {"type": "integer", "minimum": 0},
                "explanation": _text("Of a manual check, or why it was not run.", 500),
            },
            "required": ["result"],
        },
    },
    "changedFiles": {"type": "array", "maxItems": 100, "items": _text("A file.", 500)},
    "knownLimitations": {"type": "array", "maxItems": 20, "items": _text("What is left.", 500)},
}

TOOLS: dict[str, Tool] = {
    "goal_status": Tool("Report the session's goal: state, budget used, newest checkpoint."),
    "goal_set": Tool(f"Set the session's goal. {_USER_ONLY}", _SET, ("objective",)),
    "goal_pause": Tool("Pause the goal: nothing is continued until it is resumed."),
    "goal_resume": Tool(f"Resume a paused goal because the user asked for it. {_USER_ONLY}"),
    "goal_block": Tool(
        "Stop the goal because only the user can remove an obstacle; name it concretely.",
        {"blocker": _text("The obstacle.", 2000)},
        ("blocker",),
    ),
    "goal_complete": Tool(
        "Claim that the goal is achieved. Verify first; the claim is checked and may be refused.",
        _CLAIM,
        ("summary",),
    ),
    "get_goal": Tool("Report the session's goal as text.", envelope=False),
    "get_goal_history": Tool("Report what happened to the session's goal as text.", envelope=False),
    "set_goal": Tool(f"Set the session's goal. {_USER_ONLY}", _SET, ("objective",), envelope=False),
    "update_goal": Tool(
        f"Change the objective or the status of the goal. {_USER_ONLY} Completing needs evidence, "
        "blocking needs the blocker.",
        {
            "objective": _text("The new objective.", MAX_OBJECTIVE),
            "status": {"type": "string", "enum": ["complete", "blocked", "paused", "resumed"]},
            "evidence": _text("What was verified, and how.", 8000),
            "blocker": _text("The obstacle.", 2000),
        },
        envelope=False,
    ),
    "clear_goal": Tool("Clear all goals of the session because the user asked for it.", envelope=False),
}


class BadArgument(ValueError):
    """An argument of a tool is unusable; the message says which and why."""


_LIMITS = {
    "maxturns": ("turns", 1.0),
    "maxminutes": ("seconds", 60.0),
    "maxdurationms": ("seconds", 1e-3),
    "maxtokens": ("context_tokens", 1.0),
    "maxtotaltokens": ("total_tokens", 1.0),
    "cooldownms": ("cooldown", 1e-3),
    "noprogressthreshold": ("low_output", 1.0),
    "noprogressturns": ("low_output_turns", 1.0),
    "notoolturns": ("talk_turns", 1.0),
}
_MEANS = {"successcriteria": "success", "nongoals": "constraints", "mindelayms": "cooldownms"}


def set_options(args: Mapping[str, Any]) -> Options:
    """What the arguments of ``goal_set`` besides the objective ask for. Raises `BadArgument`."""
    limits: dict[str, float] = {}
    texts: dict[str, str] = {}
    mode: Mode | None = None
    checks: tuple[Check, ...] = ()
    for name, value in args.items():
        key = name.replace("_", "").lower()
        key = _MEANS.get(key, key)
        if key == "objective" or value is None:
            continue
        if key in _LIMITS:
            field, scale = _LIMITS[key]
            number = _positive(name, value)
            limits[field] = number * scale if scale != 1 else number
        elif key in ("success", "constraints"):
            texts[key] = _words(name, value, MAX_CRITERIA)
        elif key == "mode":
            mode = _mode(value)
        elif key == "checks":
            if not isinstance(value, list):
                raise BadArgument("checks must be a list of commands")
            checks = tuple(Check(command=_words("checks", item, MAX_CRITERIA)) for item in value)
        else:
            raise BadArgument(f"{name} is not an argument of this tool")
    return Options(
        limits=limits,
        success=texts.get("success"),
        constraints=texts.get("constraints"),
        mode=mode,
        checks=checks,
    )


def objective(args: Mapping[str, Any]) -> str:
    """The objective in the arguments. Raises `BadArgument`."""
    return _words("objective", args.get("objective"), MAX_OBJECTIVE)


def _words(name: str, value: object, most: int) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise BadArgument(f"{name} must be a text that says something")
    if len(text) > most:
        raise BadArgument(f"{name} is longer than {most} characters")
    return text


def _positive(name: str, value: object) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not whole or not 1 <= value <= LARGEST:  # type: ignore[operator]
        raise BadArgument(f"{name} must be a whole number from 1")
    return int(value)  # type: ignore[call-overload, no-any-return]


def _mode(value: object) -> Mode:
    name = value.strip().lower() if isinstance(value, str) else ""
    if name == "sisyphus":
        return Mode.ORDERED
    if name not in tuple(Mode):
        raise BadArgument("mode is either normal or ordered")
    return Mode(name)
