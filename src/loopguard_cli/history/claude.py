"""Claude Code: one JSONL file per session, ``~/.claude/projects/<folder>/<session>.jsonl``.

A sub-agent has a file of its own, ``<session>/subagents/agent-<id>.jsonl``; older versions write
its lines into the session's file, marked ``isSidechain``. An assistant message is one line per
content block, all with the same message id. Checked against 2.1.332.
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
        "agent-name",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "summary",
        "tag",
        "tools-used",
    ]
)
"""Lines that say nothing about what the agent did."""

_INTERRUPTED = "[Request interrupted by user"
_LOCAL = ("<command-name>", "<local-command-", "<command-message>", "<bash-input>", "<bash-stdout>")
"""What a person ran beside the conversation; the model was not asked anything."""
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_SYNTHETIC = "<synthetic>"
"""The model name of messages that the program wrote itself, such as API errors."""


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class _Block(msgspec.Struct, frozen=True):
    type: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    text: Any = None
    thinking: Any = None
    content: Any = None
    is_error: Any = False
    tool_use_id: Any = None


class _Message(msgspec.Struct, frozen=True):
    id: str | None = ""
    role: str = ""
    model: str | None = ""
    content: str | list[_Block] | None = None
    usage: _Usage | None = None


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    subtype: str | None = ""
    timestamp: str | None = ""
    uuid: str | None = ""
    session_id: str | None = ""
    agent_id: str | None = ""
    cwd: str | None = ""
    version: str | None = ""
    message: _Message | None = None
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False
    is_api_error_message: bool | None = False
    total_cost: float | None = msgspec.field(default=None, name="totalCostUSD")


_decoder = msgspec.json.Decoder(_Line)


def places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    base = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return [(Path(base) if base else home / ".claude") / "projects"]


def recognises(head: bytes) -> bool:
    return b'"sessionId"' in head and (b'"parentUuid"' in head or b'"type":"queue-operation"' in head)


def find(place: Path) -> Iterator[Conversation]:
    return files("claude", place, "**/*.jsonl")


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    told = _Told(conversation)
    for line in records(conversation.path, _decoder, tally):
        if line.type in _QUIET:
            continue
        made = told.of(line)
        if not told.take(line, made):
            tally.unknown += 1
        yield from made.take()
    for made in told.sessions.values():
        made.idle()
        yield from made.take()


class _Told:
    """One file's sessions: the conversation, and sub-agents whose lines are in it."""

    def __init__(self, conversation: Conversation) -> None:
        self.sessions: dict[str, Building] = {}
        self._stem = conversation.path.stem
        self._parent = conversation.path.parent.parent.name if "subagents" in conversation.path.parts else ""
        self._version = ""

    def of(self, line: _Line) -> Building:
        session, parent = line.session_id or self._stem, ""
        if line.is_sidechain:
            parent, session = session, f"{session}/{line.agent_id or 'sidechain'}"
        made = self.sessions.get(session)
        if made is None:
            made = self.sessions[session] = Building(session, parent=parent or self._parent)
        made.at(unix_time(line.timestamp))
        if line.version and line.version != self._version:
            self._version = line.version
            made.add(AgentConnected(agent="claude", version=line.version))
        if line.cwd:
            made.seen(line.cwd)
        return made

    def take(self, line: _Line, made: Building) -> bool:
        match line.type:
            case "assistant" if line.message is not None:
                _assistant(line, line.message, made)
            case "user" if line.message is not None:
                _user(line, line.message, made)
            case "system":
                if line.subtype == "compact_boundary":
                    made.compacted()
            case "cost-state":
                made.usage("cost-state", cost=line.total_cost, assistant=False)
            case _:
                return False
        return True


def _assistant(line: _Line, message: _Message, made: Building) -> None:
    if line.is_api_error_message:
        made.error("APIError")
        return
    if message.model == _SYNTHETIC:
        return
    made.reply(message.id or line.uuid or "", model=message.model or "")
    for block in _blocks(message):
        match block.type:
            case "text":
                made.text(_string(block.text))
            case "thinking":
                made.text(_string(block.thinking), channel=Channel.REASONING)
            case "tool_use" | "server_tool_use":
                made.call(_string(block.id), _string(block.name), block.input)
            case _:
                pass
    if (usage := message.usage) is not None:
        made.usage(
            input=usage.input_tokens or 0,
            output=usage.output_tokens or 0,
            cache_read=usage.cache_read_input_tokens or 0,
            cache_write=usage.cache_creation_input_tokens or 0,
        )


def _user(line: _Line, message: _Message, made: Building) -> None:
    said = []
    for block in _blocks(message):
        if block.type == "tool_result":
            _result(block, made)
        elif block.type == "text":
            said.append(_string(block.text))
    text = "\n".join(said)
    if text.startswith(_INTERRUPTED):
        made.error("interrupted", aborted=True)
    elif text and not text.startswith(_LOCAL):
        hosts = line.is_meta or line.is_compact_summary
        made.user(line.uuid or "", text, origin=Origin.HOST if hosts else Origin.PERSON)


def _result(block: _Block, made: Building) -> None:
    output = _flat(block.content)
    ok = not block.is_error
    code = None if ok else _EXIT_CODE.match(output)
    made.result(_string(block.tool_use_id), output, ok=ok, exit_code=int(code[1]) if code else None)


def _blocks(message: _Message) -> list[_Block]:
    if isinstance(message.content, str):
        return [_Block(type="text", text=message.content)]
    return message.content or []


def _flat(content: Any) -> str:
    """A result as text; images and the like by their type only."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict))
    return "\n".join(_string(part.get("text")) or f"[{part.get('type')}]" for part in parts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
