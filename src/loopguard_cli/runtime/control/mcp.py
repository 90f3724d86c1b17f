"""The MCP server ``loopguard mcp``: the agent's tools, asked of a live run over its control socket.

An agent starts it as a child of its own. It speaks for the model, wherever it was started, and never
for a person (`core.events.Surface.TOOL`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from loopguard_cli import __version__
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS, AgentTool
from loopguard_cli.errors import LoopguardError
from loopguard_cli.runtime.control import client as control
from loopguard_cli.store.runs import LiveRun
from loopguard_cli.wire.jsonrpc import Message
from loopguard_cli.wire.mcp import Call, McpServer, Tool
from loopguard_cli.wire.ndjson import Decoder, Malformed, encode

WORD = "LOOPGUARD_MCP"
"""``run:word``: the run to ask, and the word that it gave for this. For this process only."""

LINE_BYTES = 1 << 20
LAST_ANSWERS_SECONDS = 5.0
"""What is still being answered when the client has closed its end may take so long."""

TOOLS: Mapping[str, AgentTool] = {tool.name: tool for tool in (*GUARD_TOOLS, *GOAL_TOOLS)}


def environment(run: str, word: str) -> dict[str, str]:
    """What an adapter puts into the environment of the server, and of nothing else."""
    return {WORD: f"{run}:{word}"}


def take_word(environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """The run and the word in the environment; both empty where no adapter started us."""
    run, _, word = environ.get(WORD, "").partition(":")
    return run, word


class Server:
    """Serves one client on a pair of streams until it closes its end."""

    def __init__(self, find: Callable[[], LiveRun], *, word: str = "", session: str = "") -> None:
        """``find``: the run to ask, looked for anew with each call. Raises LoopguardError."""
        self._find = find
        self._word = word
        self._session = session
        self._protocol = McpServer(_shown(TOOLS.values()), name="loopguard", version=__version__)
        self._writing = threading.Lock()
        self._calls: list[threading.Thread] = []

    def serve(self, source: BinaryIO, sink: BinaryIO) -> None:
        """Answer until ``source`` ends. A client that reads no more ends it as well."""
        decoder = Decoder[Message](Message, limit=LINE_BYTES)
        try:
            while data := _some(source):
                for message in decoder.feed(data):
                    self._receive(message, sink)
        except BrokenPipeError:
            return
        for call in self._calls:
            call.join(LAST_ANSWERS_SECONDS)

    def _receive(self, message: Message | Malformed, sink: BinaryIO) -> None:
        if isinstance(message, Malformed):
            self._write(self._protocol.unreadable(), sink)
            return
        with self._writing:
            reply = self._protocol.receive(message)
        if isinstance(reply, Call):
            # Proving a goal takes minutes; meanwhile the client may ask something else.
            call = threading.Thread(target=self._carry_out, args=(reply, sink), daemon=True)
            self._calls = [one for one in self._calls if one.is_alive()]
            self._calls.append(call)
            call.start()
        elif reply is not None:
            self._write(reply, sink)

    def _carry_out(self, call: Call, sink: BinaryIO) -> None:
        text, ok = self._ask(TOOLS[call.tool], call.arguments)
        with self._writing:
            answer = self._protocol.answer(call, text, ok=ok)
        if answer is not None:
            try:
                self._write(answer, sink)
            except (BrokenPipeError, ValueError):
                return  # nobody reads any more

    def _ask(self, tool: AgentTool, arguments: dict[str, Any]) -> tuple[str, bool]:
        try:
            answer = control.ask(
                self._find(),
                tool.operation,
                tool.given(arguments),
                session=self._session,
                timeout=tool.patience,
                tool_word=self._word,
            )
        except LoopguardError as error:
            return f"loopguard: {error}", False
        return answer.text or (answer.code if not answer.ok else "done"), answer.ok

    def _write(self, message: dict[str, Any], sink: BinaryIO) -> None:
        with self._writing:
            sink.write(encode(message))
            sink.flush()


def _some(source: BinaryIO) -> bytes:
    return os.read(source.fileno(), 1 << 16)


def _shown(tools: Any) -> Sequence[Tool]:
    return [
        Tool(
            name=tool.name,
            description=tool.description,
            schema={
                "type": "object",
                "properties": tool.args,
                "required": [name for name in tool.args if name not in tool.optional],
            },
        )
        for tool in tools
    ]
