"""pi: one JSONL file per session, ``~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl``.

The entries form a tree (a person may go back and branch off); they are read in the order in which
they were written, which is the order in which things happened. Checked against 1.6.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.events import AgentConnected, Channel, Origin
from loopguard_cli.history.base import Conversation, Tally, Timed
from loopguard_cli.history.building import Building
from loopguard_cli.history.lines import files, records, unix_time

_QUIET = frozenset(
    [
        "active_tools_change",
        "branch_summary",
        "custom",
        "label",
        "leaf",
        "model_change",
        "session_info",
        "thinking_level_change",
    ]
)
_HEAD = re.compile(rb'\{\s*"type":\s*"session",')
_EXIT_CODE = re.compile(r"\n+Command exited with code (\d{1,3})\s*$")


class _Part(msgspec.Struct, frozen=True):
    type: Any = None
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    arguments: Any = None


class _Message(msgspec.Struct, frozen=True, rename="camel"):
    role: Any = None
    content: str | list[_Part] | None = None
    tool_call_id: Any = None
    is_error: Any = False
    provider: Any = None
    model: Any = None
    usage: Any = None
    stop_reason: Any = None


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    id: str | None = ""
    timestamp: str | None = ""
    cwd: str | None = ""
    parent_session: str | None = ""
    message: _Message = _Message()
    content: str | list[_Part] | None = None
    """Of a ``custom_message``."""


_decoder = msgspec.json.Decoder(_Line)


def places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    base = environ.get("PI_CODING_AGENT_DIR", "").strip()
    return [(Path(base).expanduser() if base else home / ".pi" / "agent") / "sessions"]


def recognises(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def find(place: Path) -> Iterator[Conversation]:
    return files("pi", place, "**/*.jsonl")


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    made = Building(conversation.path.stem.rpartition("_")[2])
    for line in records(conversation.path, _decoder, tally):
        made.at(unix_time(line.timestamp))
        match line.type:
            case "session":
                made = _begin(line, made)
            case "message":
                if not _message(line, made):
                    tally.unknown += 1
            case "compaction":
                made.compacted()
            case "custom_message":
                made.user(line.id or "", _flat(line.content), origin=Origin.HOST)
            case kind if kind not in _QUIET:
                tally.unknown += 1
            case _:
                pass
        yield from made.take()
    made.idle()
    yield from made.take()


def _begin(line: _Line, before: Building) -> Building:
    made = Building(line.id or before.session)
    made.at(before.time)
    made.add(AgentConnected(agent="pi"))
    made.seen(line.cwd or "")
    return made


def _message(line: _Line, made: Building) -> bool:
    message = line.message
    match message.role:
        case "user":
            made.user(line.id or "", _flat(message.content))
        case "assistant":
            _assistant(line, message, made)
        case "toolResult":
            output, ok = _flat(message.content), not message.is_error
            code = None if ok else _EXIT_CODE.search(output)
            if code is not None:
                output = output[: code.start()]
            made.result(str(message.tool_call_id), output, ok=ok, exit_code=int(code[1]) if code else None)
        case "system" | "custom" | "bashExecution" | "compactionSummary" | "branchSummary":
            pass
        case _:
            return False
    return True


def _assistant(line: _Line, message: _Message, made: Building) -> None:
    made.reply(line.id or "", model=f"{message.provider}/{message.model}")
    for part in message.content if isinstance(message.content, list) else ():
        match part.type:
            case "text":
                made.text(_string(part.text))
            case "thinking":
                made.text(_string(part.thinking), channel=Channel.REASONING)
            case "toolCall":
                made.call(str(part.id), str(part.name), part.arguments)
            case _:
                pass
    usage = message.usage
    if isinstance(usage, dict):
        cost = usage.get("cost")
        made.usage(
            input=_int(usage.get("input")),
            output=_int(usage.get("output")),
            reasoning=_int(usage.get("reasoning")),
            cache_read=_int(usage.get("cacheRead")),
            cache_write=_int(usage.get("cacheWrite")),
            total=_int(usage.get("totalTokens")),
            cost=cost.get("total") if isinstance(cost, dict) else None,
        )
    reason = str(message.stop_reason or "")
    if reason == "error":
        made.error("error")
    made.finish(reason, aborted=reason == "aborted")
    if reason in ("stop", "aborted", "error"):
        made.idle()


def _flat(content: str | list[_Part] | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join([_string(part.text) for part in content or ()])


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
