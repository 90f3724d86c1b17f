"""A session on disk, and the conversation in it as a model reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class History:
    """The messages of one session; each has id, role and parts, as OpenCode's have."""

    def __init__(self, folder: Path, session: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.known = bool(session)
        self.session = session or f"ses_{len(list(folder.iterdir())) + 1:06d}"
        self._file = folder / f"{self.session}.json"
        stored: dict[str, Any] = json.loads(self._file.read_text()) if self.known else {}
        self._ids: int = stored.get("ids", 0)
        self.messages: list[dict[str, Any]] = stored.get("messages", [])

    def save(self) -> None:
        self._file.write_text(json.dumps({"ids": self._ids, "messages": self.messages}))

    def new_id(self, kind: str) -> str:
        """An id that is unique within the session and sorts by age."""
        self._ids += 1
        return f"{kind}_{self._ids:06d}"

    def add(self, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        message = {"id": self.new_id("msg"), "role": role, "parts": list(parts)}
        self.messages.append(message)
        return message

    def trim(self, message: str, part: str, keep: int, note: str) -> None:
        """Replace the text of one part."""
        found = next(p for m in self.messages if m["id"] == message for p in m["parts"] if p["id"] == part)
        found["text"] = found["text"][:keep] + note
        self.save()

    def newest(self, role: str) -> dict[str, Any] | None:
        return next((m for m in reversed(self.messages) if m["role"] == role), None)

    def conversation(self) -> list[dict[str, Any]]:
        """Chat completions messages."""
        said: list[dict[str, Any]] = [{"role": "system", "content": "You are a coding agent."}]
        for message in self.messages:
            parts = message["parts"]
            text = "".join(part["text"] for part in parts if part["type"] == "text")
            calls = [part for part in parts if part["type"] == "tool"]
            said.append({"role": message["role"], "content": text})
            if calls:
                said[-1]["tool_calls"] = [
                    {
                        "id": part["callID"],
                        "type": "function",
                        "function": {"name": part["tool"], "arguments": json.dumps(part["state"]["input"])},
                    }
                    for part in calls
                ]
            said += [
                {
                    "role": "tool",
                    "tool_call_id": part["callID"],
                    "content": part["state"].get("output") or part["state"].get("error") or "",
                }
                for part in calls
            ]
        return said
