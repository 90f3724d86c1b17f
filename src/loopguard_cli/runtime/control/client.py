"""Client of the control socket: how other commands ask a live run something.

One request a line, one answer a line, JSON. Kept light: every command that steers a run loads it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from loopguard_cli.errors import LoopguardError

if TYPE_CHECKING:
    from loopguard_cli.store.runs import LiveRun

ANSWER_BYTES = 8 << 20


class Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is asked. ``operation`` and ``arguments`` as in `core.events.Asked`."""

    operation: str
    arguments: dict[str, Any] = {}
    session: str = ""
    token: str = ""
    """Only over a loopback port; a Unix socket is protected by its folder."""
    tool: bool = False
    """The model asks, by a tool: never a person's word, wherever it comes from."""
    tool_word: str = ""
    """With ``tool``: what the run gave to the one process in the agent that may speak for its tools."""


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    ok: bool
    text: str = ""
    code: str = ""
    """Stable error code; empty when ok."""
    data: dict[str, Any] = {}


class RunUnreachable(LoopguardError):
    """The run does not answer (any more)."""

    slug = "run-unreachable"
    advice = "'loopguard status' says whether it is alive"
    exit_code = 84


def ask(
    run: LiveRun,
    operation: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    session: str = "",
    timeout: float = 5.0,
    tool_word: str | None = None,
) -> Answer:
    """Ask a live run one thing. Raises RunUnreachable; a refusal is an `Answer` with ``ok`` false.

    ``tool_word``: the model asks, by a tool; may be empty. None: whoever runs this process.
    """
    request = Request(
        operation=operation,
        arguments=dict(arguments or {}),
        session=session,
        token=run.token,
        tool=tool_word is not None,
        tool_word=tool_word or "",
    )
    try:
        with _connect(run.socket, timeout) as connection:
            connection.sendall(msgspec.json.encode(request) + b"\n")
            return msgspec.json.decode(_line(connection), type=Answer)
    except TimeoutError as error:
        raise RunUnreachable(f"run {run.run} does not answer within {timeout:g} s") from error
    except (OSError, msgspec.DecodeError, EOFError) as error:
        raise RunUnreachable(
            f"run {run.run} cannot be reached: {_why(error)}", "it may have ended"
        ) from error


def _connect(address: str, timeout: float) -> socket.socket:
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and not address.startswith("/"):
        return socket.create_connection((host, int(port)), timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = connection.recv(1 << 16)
        if not chunk or len(received) > ANSWER_BYTES:
            raise EOFError
        received += chunk
    return bytes(received)


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "it closed the connection without an answer"
