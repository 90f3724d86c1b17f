"""Codex: one JSONL "rollout" per thread, ``~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl``.

What the model said and called are ``response_item`` lines, whatever the version; ``event_msg``
lines repeat them for display and are read only for what nothing else says. Several items belong to
one model response, and only the usage line behind them marks its end. Checked against 0.171.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.events import AgentConnected, Channel
from loopguard_cli.history.base import Conversation, Tally, Timed
from loopguard_cli.history.building import Building
from loopguard_cli.history.lines import files, records, unix_time

_CONTEXT = ("<", "# AGENTS.md")
"""How user messages begin that the program wrote (environment, instructions), in versions that do
not say who wrote a message."""
_SHELL_HEAD = re.compile(
    r"(?:Chunk ID: .*\n)?(?:Exit code: (?P<old>-?\d+)\n)?(?:Wall time: .*\n)?"
    r"(?:Process exited with code (?P<code>-?\d+)\n)?(?:Process running with session ID .*\n)?"
    r"(?:Original token count: .*\n)?(?:Total output lines: .*\n)?Output:\n"
)
"""Written above the output of each command; differs from call to call by itself."""


class _Payload(msgspec.Struct, frozen=True):
    """What is read of any line's; most of a rollout is in other fields, or says the same once more."""

    type: Any = None
    role: Any = None
    id: Any = None
    call_id: Any = None
    namespace: Any = None
    name: Any = None
    content: Any = None
    summary: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None
    provenance: Any = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")
    usage: Any = None
    info: Any = None
    source: Any = None
    cwd: Any = None
    cli_version: Any = None
    model: Any = None


class _Line(msgspec.Struct, frozen=True):
    type: str = ""
    timestamp: str | None = ""
    payload: _Payload = _Payload()


_decoder = msgspec.json.Decoder(_Line)
_json = msgspec.json.Decoder()


def places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    base = environ.get("CODEX_HOME", "").strip()
    folder = Path(base) if base else home / ".codex"
    return [folder / "sessions", folder / "archived_sessions"]


def recognises(head: bytes) -> bool:
    return b'"session_meta"' in head[:4096]


def find(place: Path) -> Iterator[Conversation]:
    return files("codex", place, "**/*.jsonl")


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    thread = _Thread(conversation.path.stem[-36:])
    for line in records(conversation.path, _decoder, tally):
        if not thread.take(line):
            tally.unknown += 1
        yield from thread.made.take()
    thread.made.idle()
    yield from thread.made.take()


class _Thread:
    def __init__(self, session: str) -> None:
        self.made = Building(session)
        self._responses = 0
        self._begun = False
        self._model = ""
        self._has_usage_records = False

    def take(self, line: _Line) -> bool:
        """False for a line of an unknown type."""
        self.made.at(unix_time(line.timestamp))
        kind, payload = line.type, line.payload
        match kind:
            case "response_item":
                return self._item(payload)
            case "event_msg":
                self._event(payload)
            case "token_usage_record":
                self._has_usage_records = True
                self._usage(payload.usage)
            case "session_meta":
                self._meta(payload)
            case "turn_context":
                self._model = _string(payload.model)
                self.made.seen(_string(payload.cwd))
            case "compacted":
                self.made.compacted()
            case "world_state" | "ghost_snapshot" | "turn_diff":
                pass
            case _:
                return False
        return True

    def _meta(self, payload: _Payload) -> None:
        # A forked thread repeats, behind its own, the line of the one it came from.
        if self._begun:
            return
        self._begun = True
        session = _string(payload.id)
        parent = _parent(payload.source)
        if session and session != self.made.session:
            before, self.made = self.made, Building(session, parent=parent)
            self.made.at(before.time)
        self.made.add(AgentConnected(agent="codex", version=_string(payload.cli_version)))
        self.made.seen(_string(payload.cwd), parent)

    def _item(self, payload: _Payload) -> bool:
        made = self.made
        match payload.type:
            case "message" if payload.role == "assistant":
                self._responding()
                made.text(_flat(payload.content))
            case "message":
                if payload.role == "user" and _by_person(payload):
                    made.user(_string(payload.id), _flat(payload.content), model=self._model)
            case "reasoning":
                self._responding()
                said = _flat(payload.content) or _flat(payload.summary)
                made.text(said, channel=Channel.REASONING)
            case "function_call":
                self._responding()
                made.call(_call(payload), _name(payload), _arguments(payload.arguments))
            case "custom_tool_call":
                self._responding()
                made.call(_call(payload), _name(payload), {"input": payload.input})
            case "local_shell_call":
                self._responding()
                made.call(_call(payload), "local_shell", payload.action)
            case "function_call_output" | "custom_tool_call_output":
                _result(payload, made)
            case "web_search_call" | "ghost_snapshot" | "compaction" | "other" | "tool_search_call":
                pass
            case _:
                return False
        return True

    def _event(self, payload: _Payload) -> None:
        match payload.type:
            case "token_count" if not self._has_usage_records:
                info = payload.info
                self._usage(info.get("last_token_usage") if isinstance(info, dict) else None)
            case "task_complete":
                self.made.idle()
            case "turn_aborted":
                self.made.error("interrupted", aborted=True)
                self.made.idle()
            case "error":
                self.made.error("error")
            case _:
                pass

    def _responding(self) -> None:
        if not self.made.message:
            self._responses += 1
            self.made.reply(f"{self.made.session}/{self._responses}", model=self._model)

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict) or not self._responses:
            return
        cached = _int(usage.get("cached_input_tokens"))
        reasoning = _int(usage.get("reasoning_output_tokens"))
        self.made.usage(
            f"{self.made.session}/{self._responses}",
            input=max(0, _int(usage.get("input_tokens")) - cached),
            output=max(0, _int(usage.get("output_tokens")) - reasoning),
            reasoning=reasoning,
            cache_read=cached,
            total=_int(usage.get("total_tokens")),
        )
        self.made.finish()


def _parent(source: Any) -> str:
    """The thread that started this one, wherever the version puts it."""
    if isinstance(source, dict):
        for key, value in source.items():
            found = value if key == "parent_thread_id" else _parent(value)
            if isinstance(found, str) and found:
                return found
    return ""


def _by_person(payload: _Payload) -> bool:
    noted = payload.provenance
    items = noted.get("content_item_metadata") if isinstance(noted, dict) else None
    if isinstance(items, list) and items and isinstance(items[0], dict):
        provenance = items[0].get("provenance")
        if isinstance(provenance, dict):
            return provenance.get("type") == "user"
    return not _flat(payload.content).lstrip().startswith(_CONTEXT)


def _result(payload: _Payload, made: Building) -> None:
    given, ok, code = payload.output, True, None
    if isinstance(given, dict):
        ok = given.get("success") is not False
        given = given.get("content")
    output = given if isinstance(given, str) else _flat(given)
    if output.startswith('{"output":'):
        output, code = _older_shell(output)
    elif (head := _SHELL_HEAD.match(output)) is not None and head.end() > len("Output:\n"):
        found = head["code"] or head["old"]
        code = int(found) if found else None
        output = output[head.end() :]
    made.result(_call(payload), output, ok=ok and not code, exit_code=code)


def _older_shell(output: str) -> tuple[str, int | None]:
    try:
        told = _json.decode(output)
        return _string(told["output"]), int(told["metadata"]["exit_code"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return output, None


def _name(payload: _Payload) -> str:
    space, name = _string(payload.namespace), _string(payload.name)
    return f"{space}__{name}" if space else name


def _arguments(text: Any) -> Any:
    try:
        return _json.decode(text) if isinstance(text, str) and text else text
    except msgspec.DecodeError:
        return text


def _call(payload: _Payload) -> str:
    return _string(payload.call_id) or _string(payload.id)


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_string(part.get("text")) for part in content if isinstance(part, dict))


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
