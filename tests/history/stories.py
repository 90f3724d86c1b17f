"""Sessions written by hand, in the simplest of the agents' formats (pi's)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

START = 1_800_000_000.0


class Story:
    """A session file in the making; ``step`` seconds pass with each thing that happens."""

    def __init__(self, path: Path, *, folder: str = "/home/dev/shop", start: float = START) -> None:
        self.path = path
        self.now = start
        self.step = 1.0
        self._lines: list[dict[str, Any]] = []
        self._add("session", version=3, id=path.stem, cwd=folder)

    def person(self, text: str) -> Self:
        return self._message(role="user", content=[{"type": "text", "text": text}])

    def says(self, text: str, *, tokens: int = 100, stop: str = "stop") -> Self:
        return self._reply([{"type": "text", "text": text}], tokens, stop)

    def calls(self, tool: str, output: str, *, ok: bool = True, tokens: int = 100, **args: Any) -> Self:
        call = f"call_{len(self._lines)}"
        part = {"type": "toolCall", "id": call, "name": tool, "arguments": args}
        self._reply([part], tokens, "toolUse")
        content = [{"type": "text", "text": output}]
        return self._message(role="toolResult", toolCallId=call, content=content, isError=not ok)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self._lines), "utf-8")
        return self.path

    def _reply(self, content: list[dict[str, Any]], tokens: int, stop: str) -> Self:
        usage = {"input": tokens, "totalTokens": tokens, "cost": {"total": tokens / 1000}}
        return self._message(
            role="assistant", provider="p", model="m", content=content, usage=usage, stopReason=stop
        )

    def _message(self, **message: Any) -> Self:
        return self._add("message", message=message)

    def _add(self, kind: str, **more: Any) -> Self:
        stamp = datetime.fromtimestamp(self.now, UTC).isoformat()
        # The order of the keys tells the format.
        more = {"id": f"l{len(self._lines)}", **more}
        self._lines.append({"type": kind, "timestamp": stamp, **more})
        self.now += self.step
        return self
