"""The messages of the Agent Client Protocol (version 1) that we read, as far as we read them.

Missing fields have defaults and unknown ones are ignored. What may come in several shapes is left
open (``Any``) and read by `text_of` and its like.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from loopguard_cli.core.ids import CallId, SessionId

VERSION = 1

T = TypeVar("T")


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: fields are written in camel case."""


class Named(Struct, frozen=True, kw_only=True):
    name: str = ""
    version: str = ""


class Initialized(Struct, frozen=True, kw_only=True):
    protocol_version: int = VERSION
    agent_info: Named = Named()
    auth_methods: tuple[Named, ...] = ()


class Modes(Struct, frozen=True, kw_only=True):
    current_mode_id: str = ""


class NewSession(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    modes: Modes | None = None


class Usage(Struct, frozen=True, kw_only=True):
    input_tokens: float = 0
    output_tokens: float = 0
    total_tokens: float = 0
    thought_tokens: float | None = 0
    cached_read_tokens: float | None = 0
    cached_write_tokens: float | None = 0


class Prompted(Struct, frozen=True, kw_only=True):
    """The answer to a prompt: the turn is over."""

    stop_reason: str = ""
    usage: Usage | None = None


class Cost(Struct, frozen=True, kw_only=True):
    amount: float = 0.0
    currency: str = ""


class ToolFields(Struct, frozen=True, kw_only=True):
    """A tool call, or what is new about it: None says that nothing is."""

    tool_call_id: CallId
    name: str | None = None
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    raw_input: Any = None
    raw_output: Any = None
    content: Any = None
    locations: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


class Chunk(Struct, frozen=True, kw_only=True):
    """A piece of a message."""

    content: Any = None
    message_id: str | None = None


class UsageUpdate(Struct, frozen=True, kw_only=True):
    cost: Cost | None = None


class ModeUpdate(Struct, frozen=True, kw_only=True):
    current_mode_id: str = ""


class Option(Struct, frozen=True, kw_only=True):
    option_id: str
    kind: str = ""
    name: str = ""


class Permission(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    tool_call: ToolFields
    options: tuple[Option, ...] = ()


def read(value: Any, kind: type[T]) -> T | None:
    """``value`` as one of the messages above; None if it is none."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return None


def text_of(content: Any) -> str:
    """The text of a content block; empty where it is something else."""
    if isinstance(content, dict) and content.get("type") == "text" and isinstance(content.get("text"), str):
        return str(content["text"])
    return ""


_SHELL = re.compile(r"<shellId: [^>]*? completed with exit code (\d{1,3})>\s*$")
"""How Copilot CLI ends what a command printed; the number of the shell differs between equal results."""
_OUTPUTS = ("output", "aggregated_output", "error", "message")


def output_of(fields: ToolFields) -> str:
    """What a call returned, as text."""
    blocks = fields.content if isinstance(fields.content, list) else []
    texts = [text_of(block.get("content")) for block in blocks if isinstance(block, dict)]
    if text := "\n".join(filter(None, texts)):
        return _SHELL.sub(r"<exit code \1>", text)
    raw = fields.raw_output
    if isinstance(raw, dict):
        said = [raw[name] for name in _OUTPUTS if raw.get(name) is not None]
        # One that is there and empty says that nothing was printed; what is beside it is not output.
        raw = next(filter(None, said), said[0] if said else raw)
    if raw is None or isinstance(raw, str):
        return raw or ""
    return msgspec.json.encode(raw).decode()


def printed_of(fields: ToolFields) -> str:
    """A piece of what a command printed, where the agent has a terminal of its own for it."""
    data = _below(fields.meta, "terminal_output").get("data")
    return data if isinstance(data, str) else ""


def _below(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def exit_code_of(fields: ToolFields) -> int | None:
    """The exit status of a command, where the agent says it."""
    raw = fields.raw_output if isinstance(fields.raw_output, dict) else {}
    contents = raw.get("contents")
    last = contents[-1] if isinstance(contents, list) and contents else None
    ended = last if isinstance(last, dict) else {}
    for place in (raw, ended, _below(raw, "metadata"), _below(fields.meta, "terminal_exit")):
        for name in ("exit", "exit_code", "exitCode"):
            code = place.get(name)
            if isinstance(code, int) and not isinstance(code, bool):
                return code
    return None


def paths_of(fields: ToolFields) -> tuple[str, ...]:
    """The files that a call is about."""
    found: dict[str, None] = {}
    for listed in (fields.content, fields.locations):
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("path"), str):
                found[entry["path"]] = None
    return tuple(found)
