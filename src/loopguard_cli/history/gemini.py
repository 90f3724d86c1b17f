"""Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.jsonl``, in older versions one ``.json``.

A message's line is written again when more is known of it (its tool calls, their results), and a
resumed session repeats everything in a ``$set`` line: what was told once is not told again.
Checked against 0.61.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.events import AgentConnected, Channel
from loopguard_cli.history.base import Conversation, Tally, Timed
from loopguard_cli.history.building import Building
from loopguard_cli.history.lines import MAX_LINE_BYTES, files, opened, records, unix_time

_CONTEXT = ("<session_context>", "This is the Gemini CLI.")
_WRAPPER = re.compile(r"\A\s*<untrusted_context>\s*(?:Output: ?)?|\s*</untrusted_context>\s*\Z")
_CODE = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_VOLATILE = re.compile(r"^(?:Process Group PGID|Background PIDs): .*\n?", re.MULTILINE)
"""Written below the output of each command; differs from call to call by itself."""
_FAILED = ("error", "cancelled")


class _Tokens(msgspec.Struct, frozen=True):
    input: int | None = 0
    output: int | None = 0
    cached: int | None = 0
    thoughts: int | None = 0
    total: int | None = 0


class _Call(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""
    args: dict[str, Any] | None = None
    result: Any = None
    status: str | None = ""
    timestamp: str | None = ""


class _Message(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    type: str = ""
    timestamp: str | None = ""
    content: Any = None
    thoughts: list[dict[str, Any]] | None = None
    tokens: _Tokens | None = None
    model: str | None = ""
    tool_calls: list[_Call] | None = None


class _Set(msgspec.Struct, frozen=True):
    messages: list[_Message] | None = None


class _Line(_Message, frozen=True, rename="camel"):
    session_id: str | None = ""
    kind: str | None = ""
    directories: list[str] | None = None
    messages: list[_Message] | None = None
    """Of an older, whole file."""
    changes: _Set | None = msgspec.field(default=None, name="$set")
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")


_decoder = msgspec.json.Decoder(_Line)


def places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    base = environ.get("GEMINI_CLI_HOME", "").strip()
    return [(Path(base) if base else home) / ".gemini" / "tmp"]


def recognises(head: bytes) -> bool:
    return b'"projectHash"' in head[:4096] and b'"sessionId"' in head[:4096]


def find(place: Path) -> Iterator[Conversation]:
    if not place.is_dir():
        yield from files("gemini", place, "")
        return
    yield from files("gemini", place, "*/chats/**/*.jsonl")
    yield from files("gemini", place, "*/chats/**/*.json")


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    chat = _Chat(conversation.path)
    lines = records if conversation.path.suffix == ".jsonl" else _whole
    for line in lines(conversation.path, _decoder, tally):
        if line.session_id:
            chat.begin(line)
        elif not line.type and line.changes is None and line.rewind_to is None:
            tally.unknown += 1
        for message in _messages(line):
            chat.take(message)
            yield from chat.made.take()
    chat.made.idle()
    yield from chat.made.take()


def _whole(path: Path, decoder: msgspec.json.Decoder[_Line], tally: Tally) -> Iterator[_Line]:
    if path.stat().st_size > MAX_LINE_BYTES:
        tally.oversized += 1
        return
    with opened(path) as file:
        content = file.read()
    tally.bytes += len(content)
    try:
        yield decoder.decode(content)
        tally.records += 1
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        tally.damaged += 1


def _messages(line: _Line) -> Iterable[_Message]:
    if line.type:
        return [line]
    return line.messages or (line.changes.messages if line.changes else None) or ()


class _Chat:
    def __init__(self, path: Path) -> None:
        self.made = Building(path.stem)
        self._path = path
        self._begun = False
        self._told: set[int] = set()
        """Hashes of what was told already: messages, texts, calls, results."""

    def begin(self, line: _Line) -> None:
        if self._begun:
            return
        self._begun = True
        self.made = Building(line.session_id or self._path.stem)
        self.made.at(unix_time(line.timestamp))
        self.made.add(AgentConnected(agent="gemini"))
        self.made.seen(line.directories[0] if line.directories else _project(self._path))

    def take(self, message: _Message) -> None:
        made = self.made
        made.at(unix_time(message.timestamp))
        match message.type:
            case "user":
                text = _flat(message.content)
                if text and self._first("user", message.id) and not text.lstrip().startswith(_CONTEXT):
                    made.user(message.id, text)
            case "gemini":
                self._reply(message)
            case "error":
                if self._first("error", message.id):
                    made.error("error")
            case _:
                pass

    def _reply(self, message: _Message) -> None:
        made = self.made
        if self._first("reply", message.id):
            made.reply(message.id, model=message.model or "")
            for thought in message.thoughts or ():
                made.text(str(thought.get("description") or ""), channel=Channel.REASONING)
        if (text := _flat(message.content)) and self._first("text", message.id):
            made.text(text)
        for call in message.tool_calls or ():
            if self._first("call", call.id):
                made.call(call.id, call.name, call.args)
        for call in message.tool_calls or ():
            self._result(call)
        if (tokens := message.tokens) is not None and self._first("usage", message.id):
            cached = tokens.cached or 0
            made.usage(
                message.id,
                input=max(0, (tokens.input or 0) - cached),
                output=tokens.output or 0,
                reasoning=tokens.thoughts or 0,
                cache_read=cached,
                total=tokens.total or 0,
            )

    def _result(self, call: _Call) -> None:
        if call.result is None and call.status not in _FAILED:
            return
        if self._first("result", call.id):
            self.made.at(unix_time(call.timestamp))
            output, code = _output(call.result)
            failed = call.status in _FAILED
            self.made.result(
                call.id,
                output,
                ok=not failed and not code,
                exit_code=code,
                cancelled=call.status == "cancelled",
            )

    def _first(self, what: str, key: str) -> bool:
        token = hash((what, key))
        if token in self._told:
            return False
        self._told.add(token)
        return True


def _project(chat: Path) -> str:
    """The folder that a project's chats belong to, as noted beside them."""
    for folder in chat.parents:
        if folder.parent.name == "tmp":
            try:
                return (folder / ".project_root").read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError):
                return ""
    return ""


def _output(result: Any) -> tuple[str, int | None]:
    parts = result if isinstance(result, list) else [result]
    said = []
    for part in parts:
        response = part.get("functionResponse", {}).get("response") if isinstance(part, dict) else None
        if isinstance(response, dict):
            said.append(str(response.get("output") or response.get("error") or ""))
    text = "\n".join(said)
    # Looked for first: outputs are long, and hardly any has these lines.
    found = _CODE.search(text) if "Exit Code: " in text else None
    if found is not None:
        text = text[: found.start()] + text[found.end() + 1 :]
    if "Process Group PGID: " in text or "Background PIDs: " in text:
        text = _VOLATILE.sub("", text)
    if "untrusted_context>" in text:
        text = _WRAPPER.sub("", text)
    return text, int(found[1]) if found else None


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
