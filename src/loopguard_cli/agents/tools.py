"""The agent tools and slash commands that we add to an agent, and what each asks us for.

Plain data: every adapter renders it in its agent's own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.core.effects import Respond
from loopguard_cli.goal.tools import TOOLS


class AgentTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model can call."""

    name: str
    operation: str
    """What a call asks us for (`core.events.Asked.operation`)."""
    description: str
    args: dict[str, Any] = {}
    """Argument name to JSON Schema."""
    optional: frozenset[str] = frozenset()
    """The arguments that may be left out; the others are required."""
    patience: float = 30.0
    """Seconds that an answer may take."""

    def given(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """``arguments`` without the optional ones that say nothing.

        Where an agent makes every argument required, a model that has nothing to say in one sends
        null, an empty value or zero.
        """
        return {
            name: value for name, value in arguments.items() if name not in self.optional or not _empty(value)
        }


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a person can type into the agent."""

    name: str
    description: str


class ToolProgram:
    """The program that serves our tools over MCP, for agents that take them no other way.

    How it is started and the word that lets it in are rendered together: without the word it starts,
    offers the tools, and none of them works.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """``environment``: for this program, and for nothing else."""
        self._program, *self._arguments = command
        self._environment = dict(environment)

    def entry(self) -> dict[str, Any]:
        """As most agents configure a server: ``command``, ``args``, and ``env`` as an object."""
        return {"command": self._program, "args": [*self._arguments], "env": {**self._environment}}

    def listed(self) -> dict[str, Any]:
        """The same with ``env`` as a list of names and values."""
        env = [{"name": name, "value": value} for name, value in self._environment.items()]
        return {**self.entry(), "env": env}


def readable(answer: Respond) -> str:
    """An answer as text, for a model or a notice."""
    if answer.text or not answer.data:
        return answer.text or answer.code
    return "\n".join(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in answer.data.items())


def _empty(value: Any) -> bool:
    return value is None or (not isinstance(value, bool) and value in ("", 0, [], {}))


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


LOOP_CHECK = AgentTool(
    name="loop_check",
    operation="guard.check",
    description="Tells how often a planned call was made and whether it is blocked. Grants nothing.",
    args={
        "toolName": _text("Exact name of the tool."),
        "argsJson": _text("Its arguments, as a JSON object in a string."),
    },
)
LOOP_DECIDE = AgentTool(
    name="loop_decide",
    operation="guard.decide",
    description=(
        "Records what you decide about a blocked call: continue (repeat exactly this call, with a reason), "
        "change (go on with a different call) or stop (give the call up)."
    ),
    args={
        "decision": {"type": "string", "enum": ["continue", "change", "stop"]},
        "observedResult": _text("What the attempts so far showed; at least 20 characters."),
        "rationale": _text("Why this is useful now; at least 20 characters."),
        "expectedInformation": _text("What new it will show, or what is missing; at least 20 characters."),
        "nextTool": _text("Exact name of the tool to call next; may be empty with stop."),
        "argsJson": _text("Its arguments, as a JSON object in a string; {} with stop."),
    },
)
GUARD_TOOLS = (LOOP_CHECK, LOOP_DECIDE)

PROOF_SECONDS = 3600.0
"""For a claim of completion: checks and auditor have timeouts of their own, and stay below."""

GOAL_TOOLS = tuple(
    AgentTool(
        name=name,
        operation=f"tool.{name}",
        description=tool.description,
        args=tool.properties,
        optional=frozenset(tool.properties) - frozenset(tool.required),
        patience=PROOF_SECONDS if name in ("goal_complete", "update_goal") else 30.0,
    )
    for name, tool in TOOLS.items()
)

LOOP_GUARD = SlashCommand(
    name="loop-guard", description="loopguard: status, inspect, on, observe, off, reset, mute, unmute"
)


def goal_command(name: str = "goal") -> SlashCommand:
    """The command for goals, under the name that the person chose for it."""
    return SlashCommand(name=name, description="loopguard: set, show or steer the goal of this session")


GOAL = goal_command()

_GUARD_COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("guard.status", {}),
    "status": ("guard.status", {}),
    "inspect": ("guard.inspect", {}),
    "on": ("guard.mode", {"mode": "on"}),
    "observe": ("guard.mode", {"mode": "observe"}),
    "off": ("guard.mode", {"mode": "off"}),
    "reset": ("guard.reset", {}),
    "mute": ("guard.mute", {"on": True}),
    "unmute": ("guard.mute", {"on": False}),
}


def slash(name: str, text: str) -> tuple[str, dict[str, Any]]:
    """Operation and arguments that a slash command, typed with ``text`` behind it, asks for."""
    if name != LOOP_GUARD.name:
        return "goal.command", {"text": text}
    word = " ".join(text.split()).lower().removeprefix("mode ")
    return _GUARD_COMMANDS.get(word, (f"guard.{word}"[:60], {}))
