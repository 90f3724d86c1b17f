"""The agent's client of an OpenAI-compatible model."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit


class Stream:
    """One streamed reply; iterate over its deltas. `close` may be called from another thread."""

    def __init__(self, base_url: str, model: str, conversation: list[dict[str, Any]], session: str) -> None:
        url = urlsplit(base_url)
        self._http = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port, timeout=60)
        tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
        body = {"model": model, "messages": conversation, "tools": [tool], "stream": True}
        headers = {"content-type": "application/json", "x-session-id": session}
        self._http.request("POST", f"{url.path}/chat/completions", json.dumps(body), headers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        response = self._http.getresponse()
        for line in response:
            data = line.removeprefix(b"data: ").strip()
            if data and data != b"[DONE]":
                yield json.loads(data)["choices"][0]["delta"]

    def close(self) -> None:
        if self._http.sock is not None:
            with contextlib.suppress(OSError):
                self._http.sock.shutdown(socket.SHUT_RDWR)
        self._http.close()
