"""Reading what Claude Code says: plain JSON, in which anything may be missing or of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.core.ids import CallId, MessageId, SessionId

INTERRUPTED = "[Request interrupted by user"
"""How a text block that stands for an interrupt begins."""

BYPASSED = "a tool ran without our hook being asked"

_NO_CALL = re.compile(r"<tool_use_error>(?!Cancelled)")
"""How results begin of calls that came to nothing: of a tool that there is not, with arguments that
cannot be. Of several calls at once the others may be cancelled then; nobody has to answer for those."""

SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code wrote itself, such as the report of a failed request."""

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_NAMED = ("output", "content", "result", "error", "message")


def at(value: Any, *path: str) -> Any:
    """The value at ``path``; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Any, *path: str) -> str:
    """The string at ``path``; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def record(value: Any, *path: str) -> dict[str, Any]:
    """The object at ``path``; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def number(value: Any, *path: str) -> int:
    """The whole number at ``path``; 0 if there is none."""
    found = at(value, *path)
    if isinstance(found, float) and not abs(found) < 2**53:
        return 0
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0


def listed(value: Any, *path: str) -> Iterator[dict[str, Any]]:
    """The objects of the list at ``path``."""
    found = at(value, *path)
    for item in found if isinstance(found, list) else ():
        if isinstance(item, dict):
            yield item


def blocks(message: Any) -> Iterator[dict[str, Any]]:
    """The content of a message, block by block."""
    content = at(message, "content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from listed(message, "content")


def session_of(message: Any) -> SessionId:
    """The session that a message or a hook's input belongs to: a sub-agent has one of its own."""
    session, agent = text(message, "session_id"), text(message, "agent_id")
    return SessionId(f"{session}/{agent}" if session and agent else session)


def agent_of(session: SessionId) -> str:
    """The sub-agent of a session; empty for the person's own."""
    return session.partition("/")[2]


def call_id(value: Any, name: str) -> CallId:
    return CallId(text(value, name))


def message_id(value: Any, *path: str) -> MessageId:
    return MessageId(text(value, *path))


def flat(content: Any) -> str:
    """What a tool returned, as text: a string, content blocks, or a tool's own object."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text(block, "text") or f"[{text(block, 'type')}]" for block in content)
    if not isinstance(content, dict):
        return ""
    if "stdout" in content or "stderr" in content:
        return "\n".join(filter(None, (text(content, "stdout"), text(content, "stderr"))))
    if file := text(content, "file", "content"):
        return file
    named = next((content[name] for name in _NAMED if content.get(name)), None)
    if isinstance(named, str | list):
        return flat(named)
    return msgspec.json.encode(content).decode()


def came_to_nothing(result: Any) -> bool:
    """A ``tool_result`` block says that Claude Code itself refused its call; for some no hook is asked."""
    return at(result, "is_error") is True and _NO_CALL.match(flat(at(result, "content"))) is not None


def exit_code_of(output: str) -> int | None:
    """The exit status of a command that failed, from the first line of what the model reads."""
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None
