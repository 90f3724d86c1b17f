"""What ``codex exec`` itself would have printed: lines for people, or one JSON object a line.

For people everything goes to standard error as it happens, and the last message of the agent to
standard output at the end, unless both are the person's terminal. Without colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from loopguard_cli.agents.base import Show, Shown
from loopguard_cli.agents.codex.protocol import Figures, Item, ThreadOf, plain, strings
from loopguard_cli.agents.memory import Recent

ITEMS = 1000


class Printer(Protocol):
    """Told what happens, in order."""

    def opened(self, thread: ThreadOf, version: str, directory: str) -> Iterator[Shown]: ...
    def warned(self, text: str, *, of_thread: bool) -> Iterator[Shown]: ...
    def prompted(self, text: str, *, ours: bool) -> Iterator[Shown]: ...
    def turn(self) -> Iterator[Shown]: ...
    def began(self, item: Item) -> Iterator[Shown]: ...
    def ended(self, item: Item) -> Iterator[Shown]: ...
    def failed(self, message: str, *, retry: bool) -> Iterator[Shown]: ...
    def completed(self, total: Figures, failure: str, *, interrupted: bool) -> Iterator[Shown]: ...
    def concluded(self, last: str) -> Iterator[Shown]: ...


class Lines:
    """For people."""

    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal
        self._total = Figures()

    def opened(self, thread: ThreadOf, version: str, directory: str) -> Iterator[Shown]:
        yield _err(
            f"OpenAI Codex v{version}\n--------\nworkdir: {directory}\nmodel: {thread.model}\n"
            f"provider: {thread.model_provider}\napproval: {_policy(thread.approval_policy)}\n"
            f"sandbox: {_policy(thread.sandbox)}\nreasoning effort: {thread.reasoning_effort or 'none'}\n"
            f"session id: {thread.thread.id}\n--------"
        )

    def warned(self, text: str, *, of_thread: bool) -> Iterator[Shown]:
        del of_thread
        yield _err(f"warning: {text}")

    def prompted(self, text: str, *, ours: bool) -> Iterator[Shown]:
        yield _err(f"{'loopguard' if ours else 'user'}\n{text}")

    def turn(self) -> Iterator[Shown]:
        yield from ()

    def began(self, item: Item) -> Iterator[Shown]:
        if item.type == "commandExecution":
            yield _err(f"exec\n{item.command} in {item.cwd}")
        elif item.type == "mcpToolCall":
            yield _err(f"mcp: {item.server}/{item.tool} started")

    def ended(self, item: Item) -> Iterator[Shown]:
        match item.type:
            case "agentMessage":
                yield _err(f"codex\n{item.text or ''}")
            case "reasoning" if text := strings(item.summary) or strings(item.content):
                yield _err(text)
            case "commandExecution":
                how = "succeeded" if item.exit_code == 0 else f"exited {item.exit_code}"
                output = item.aggregated_output or ""
                yield _err(f" {how} in {_duration(item)}:" + (f"\n{output}" if output.strip() else ""))
            case "fileChange":
                paths = "\n".join(f"{kind} {path}" for kind, path in _changes(item))
                yield _err(f"file update\n{paths}")
            case "mcpToolCall":
                how = "failed" if item.error is not None else "completed"
                yield _err(f"mcp: {item.server}/{item.tool} ({how})")
            case "webSearch":
                yield _err(f"web search: {item.query or ''}")

    def failed(self, message: str, *, retry: bool) -> Iterator[Shown]:
        yield _err(message if retry else f"ERROR: {message}")

    def completed(self, total: Figures, failure: str, *, interrupted: bool) -> Iterator[Shown]:
        self._total = total
        if interrupted:
            yield _err("turn interrupted")
        elif failure:
            yield from self.failed(failure, retry=False)

    def concluded(self, last: str) -> Iterator[Shown]:
        total = self._total
        spent = max(0, total.input_tokens - total.cached_input_tokens) + total.output_tokens
        if spent:
            yield _err(f"tokens used\n{spent:,}")
        if last and not self._terminal:
            yield _out(last)


class Json:
    """``--json``: the turns of our own continuations follow those of the prompt in the same words."""

    def __init__(self) -> None:
        self._numbers = 0
        self._names: Recent[str, str] = Recent(ITEMS)
        self._cut = False
        """The newest turn was interrupted; whether that is the end is not known yet."""

    def opened(self, thread: ThreadOf, version: str, directory: str) -> Iterator[Shown]:
        del version, directory
        yield self._line("thread.started", thread_id=thread.thread.id)

    def warned(self, text: str, *, of_thread: bool) -> Iterator[Shown]:
        if not of_thread:
            return
        item = {"id": self._name(""), "type": "error", "message": text}
        yield self._line("item.completed", item=item)

    def prompted(self, text: str, *, ours: bool) -> Iterator[Shown]:
        del text, ours
        yield from ()

    def turn(self) -> Iterator[Shown]:
        self._cut = False
        yield self._line("turn.started")

    def began(self, item: Item) -> Iterator[Shown]:
        if item.type not in ("agentMessage", "reasoning") and (shown := self._item(item)):
            yield self._line("item.started", item=shown)

    def ended(self, item: Item) -> Iterator[Shown]:
        if shown := self._item(item):
            yield self._line("item.completed", item=shown)

    def failed(self, message: str, *, retry: bool) -> Iterator[Shown]:
        del retry
        yield self._line("error", message=message)

    def completed(self, total: Figures, failure: str, *, interrupted: bool) -> Iterator[Shown]:
        self._cut = interrupted
        if failure:
            yield self._line("turn.failed", error={"message": failure})
        elif not interrupted:
            usage = {
                "input_tokens": total.input_tokens,
                "cached_input_tokens": total.cached_input_tokens,
                "cache_write_input_tokens": total.cache_write_input_tokens,
                "output_tokens": total.output_tokens,
                "reasoning_output_tokens": total.reasoning_output_tokens,
            }
            yield self._line("turn.completed", usage=usage)

    def concluded(self, last: str) -> Iterator[Shown]:
        del last
        if self._cut:
            yield self._line("turn.failed", error={"message": "turn interrupted"})

    def _item(self, item: Item) -> dict[str, Any] | None:
        fields: dict[str, Any]
        match item.type:
            case "agentMessage":
                fields = {"type": "agent_message", "text": item.text or ""}
            case "reasoning":
                text = strings(item.summary) or strings(item.content)
                fields = {"type": "reasoning", "text": text} if text else {}
            case "commandExecution":
                fields = {
                    "type": "command_execution",
                    "command": item.command or "",
                    "aggregated_output": item.aggregated_output or "",
                    "exit_code": item.exit_code,
                    "status": _status(item),
                }
            case "fileChange":
                changes = [{"path": path, "kind": kind} for kind, path in _changes(item)]
                fields = {"type": "file_change", "changes": changes, "status": _status(item)}
            case "mcpToolCall":
                fields = {
                    "type": "mcp_tool_call",
                    "server": item.server or "",
                    "tool": item.tool or "",
                    "arguments": item.arguments,
                    "result": item.result,
                    "error": item.error,
                    "status": _status(item),
                }
            case "webSearch":
                fields = {"type": "web_search", "query": item.query or ""}
            case _:
                fields = {}
        return {"id": self._name(item.id), **fields} if fields else None

    def _name(self, item: str) -> str:
        name = self._names.get(item, "") if item else ""
        if not name:
            name = f"item_{self._numbers}"
            self._numbers += 1
            if item:
                self._names[item] = name
        return name

    @staticmethod
    def _line(kind: str, **fields: Any) -> Shown:
        return _out(msgspec.json.encode({"type": kind, **fields}).decode())


def _status(item: Item) -> str:
    return "in_progress" if item.status in (None, "inProgress") else str(item.status)


def _changes(item: Item) -> Iterator[tuple[str, str]]:
    for change in item.changes if isinstance(item.changes, list) else ():
        if isinstance(change, dict):
            kind = change.get("kind")
            yield str(kind.get("type", "") if isinstance(kind, dict) else kind), str(change.get("path", ""))


def _policy(value: Any) -> str:
    """A policy is a word, or an object that begins with one."""
    if isinstance(value, dict):
        value = value.get("type", "")
        words = {"readOnly": "read-only", "workspaceWrite": "workspace-write"}
        return words.get(str(value), "danger-full-access" if value == "dangerFullAccess" else str(value))
    return plain(value) if value is not None else "none"


def _duration(item: Item) -> str:
    milliseconds = item.duration_ms or 0
    return f"{milliseconds:.0f}ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f}s"


def _err(text: str) -> Shown:
    return Shown(kind=Show.ERR, text=f"{text}\n")


def _out(text: str) -> Shown:
    return Shown(kind=Show.OUT, text=f"{text}\n")
