"""A model server that does what a script says, for tests and demonstrations.

It listens on a free port of 127.0.0.1, needs no key and answers whoever speaks one of the wire
formats in `FRONTS`. It keeps a journal of every request and of how each answer ended, so that a
test can assert what the model got to read and when the agent closed the connection.
"""

from __future__ import annotations

import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from loopguard_cli.testing import anthropic_sse, gemini_sse, openai_sse, responses_sse
from loopguard_cli.testing.conversation import BadRequest, Kind, Request
from loopguard_cli.testing.exchange import End, Exchange, Journal
from loopguard_cli.testing.script import (
    AnyStep,
    Call,
    Drop,
    Fail,
    Hold,
    Reply,
    Say,
    Script,
    Think,
    Turn,
    Wait,
    say,
)

T = TypeVar("T")

DEFAULT_SIDE = {Kind.TITLE: say("Scripted session"), Kind.SUMMARY: say("## Goal\nThe task as given.")}

_MODEL = "scripted"
_FOREVER = float("inf")


class Encoder(Protocol):
    """Puts one reply into a wire format. Each method returns the bytes to send now."""

    @property
    def content_type(self) -> str: ...
    def start(self) -> bytes: ...
    def text(self, piece: str) -> bytes: ...
    def reasoning(self, piece: str) -> bytes: ...
    def call(self, call: Call, call_id: str) -> bytes: ...
    def failure(self, status: int, message: str) -> bytes: ...
    def end(self, reply: Reply) -> bytes: ...


class Front(Protocol):
    """A wire format. A module can be one."""

    def handles(self, path: str) -> bool: ...
    def parse(self, path: str, body: bytes, headers: Mapping[str, str]) -> Request: ...
    def models(self, names: tuple[str, ...]) -> bytes: ...
    def error(self, status: int, message: str) -> bytes: ...
    @property
    def Stream(self) -> Callable[[Request, int], Encoder]: ...  # noqa: N802
    @property
    def Whole(self) -> Callable[[Request, int], Encoder]: ...  # noqa: N802


FRONTS: tuple[Front, ...] = (openai_sse, anthropic_sse, responses_sse, gemini_sse)


class ScriptedModel:
    """The server; use it as a context manager.

    ``behaviour`` is a `Script`, the turns of one, or a function from `Request` to `Reply` (called
    in the thread of the request). ``side`` answers what is not a step of a task.
    """

    def __init__(
        self,
        behaviour: Script | Iterable[Turn] | Callable[[Request], Reply] = (),
        *,
        side: Mapping[Kind, Reply] = DEFAULT_SIDE,
    ) -> None:
        self.behave(behaviour)
        self.journal = Journal()
        self._side = side
        self._holds: dict[str, _Latch] = {}
        self._lock = threading.Lock()
        self._stopping = _Latch()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="scripted-model"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The base URL that an OpenAI-compatible client wants."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def behave(self, behaviour: Script | Iterable[Turn] | Callable[[Request], Reply]) -> None:
        """Replace the script for the requests to come."""
        self._behaviour = behaviour if callable(behaviour) else Script(turns=tuple(behaviour))

    def release(self, name: str) -> None:
        """Let every reply that holds at ``name`` go on, those to come included."""
        self._hold(name).open()

    def chats(self) -> list[Exchange]:
        """The steps of the task so far, in order."""
        return self.journal()

    def wait_for(self, predicate: Callable[[Sequence[Exchange]], T], timeout: float = 120.0) -> T:
        """The first true value of ``predicate`` over `chats`. Raises `TimeoutError`."""
        return self.journal.wait_for(predicate, timeout)

    def close(self) -> None:
        """End every open answer and stop listening."""
        self._stopping.open()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.end_connections()
        self._server.server_close()
        for latch in (self._stopping, *self._holds.values()):
            latch.close()

    def _hold(self, name: str) -> _Latch:
        with self._lock:
            if name not in self._holds:
                self._holds[name] = _Latch()
            return self._holds[name]

    def _reply(self, request: Request) -> Reply:
        side = self._side.get(request.kind)
        return side if side is not None else self._behaviour(request)


class _Latch:
    """Opened once, seen by any number of `select` calls."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()

    def fileno(self) -> int:
        return self._reader.fileno()

    def open(self) -> None:
        self._writer.close()

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._connections_lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._connections_lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed between two requests is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def end_connections(self) -> None:
        """Wake the threads that wait for the next request on a kept connection."""
        with self._connections_lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the client was faster


class _Stop(Exception):
    """The answer ends here, in the given way."""

    def __init__(self, end: End) -> None:
        self.end = end


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a chunk shall leave when it is written
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep standard error clean."""

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, FRONTS[0].models((_MODEL,)))
        else:
            self._send(404, FRONTS[0].error(404, f"no such path: {self.path}"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        front = next((front for front in FRONTS if front.handles(self.path)), None)
        if front is None:
            self._send(404, FRONTS[0].error(404, f"no such path: {self.path}"))
            return
        try:
            request = front.parse(self.path, body, {k.lower(): v for k, v in self.headers.items()})
        except BadRequest as error:
            self._send(400, front.error(400, str(error)))
            return
        exchange = self.server.model.journal.open(request)
        end = End.COMPLETED
        try:
            self._answer(front, exchange)
        except _Stop as stop:
            end = stop.end
        except OSError:
            end = End.CLIENT_CLOSED
        finally:
            self.close_connection |= end is not End.COMPLETED
            self.server.model.journal.ended(exchange, end)

    # --- one answer --------------------------------------------------------------------------

    def _answer(self, front: Front, exchange: Exchange) -> None:
        request = exchange.request
        reply = self.server.model._reply(request)
        encoder = (front.Stream if request.stream else front.Whole)(request, exchange.number)
        out = _Output(self, encoder, exchange, chunked=request.stream)
        for number, step in enumerate(reply.steps):
            self._perform(step, number, out, front)
        out.send(encoder.end(reply))
        out.finish()

    def _perform(self, step: AnyStep, number: int, out: _Output, front: Front) -> None:
        match step:
            case Say(pace=pace):
                for piece in step.chunks():
                    out.send(out.encoder.text(piece))
                    self.server.model.journal.sent(out.exchange, piece)
                    self._pause(pace)
            case Think(pace=pace):
                for piece in step.chunks():
                    out.send(out.encoder.reasoning(piece))
                    self._pause(pace)
            case Call():
                out.send(out.encoder.call(step, step.id or f"call_{out.exchange.number}_{number}"))
            case Wait(seconds=seconds):
                self._pause(seconds)
            case Hold(name=name):
                self._pause(_FOREVER, self.server.model._hold(name) if name else None)
            case Drop():
                self.connection.shutdown(socket.SHUT_RDWR)
                raise _Stop(End.DROPPED)
            case Fail(status=status, message=message, headers=headers):
                if out.started:
                    out.send(out.encoder.failure(status, message))
                    out.finish()
                else:
                    self._send(status, front.error(status, message), headers)
                raise _Stop(End.FAILED)

    def _pause(self, seconds: float, until: _Latch | None = None) -> None:
        """Wait, but notice at once that the client or the server is gone. Zero only looks."""
        stopping, deadline = self.server.model._stopping, time.monotonic() + seconds
        watched: list[Any] = [stopping, self.connection, *([until] if until else [])]
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = select.select(watched, [], [], None if left == _FOREVER else left)[0]
            if stopping in ready:
                raise _Stop(End.STOPPED)
            if self.connection in ready:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise _Stop(End.CLIENT_CLOSED)
                watched.remove(self.connection)  # the next request, sent early
            if until in ready or not ready:
                return

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Output:
    """The response body. The head leaves with the first piece, so that a script may fail before it."""

    def __init__(self, handler: _Handler, encoder: Encoder, exchange: Exchange, *, chunked: bool) -> None:
        self.encoder = encoder
        self.exchange = exchange
        self.started = False
        self._handler = handler
        self._chunked = chunked

    def send(self, data: bytes) -> None:
        if not data:
            return
        if not self._chunked:
            self.started = True
            self._handler._send(200, data)
            self._handler.server.model.journal.first_byte(self.exchange)
            return
        if not self.started:
            self.started = True
            self._handler.send_response(200)
            self._handler.send_header("content-type", self.encoder.content_type)
            self._handler.send_header("transfer-encoding", "chunked")
            self._handler.end_headers()
            data = self.encoder.start() + data
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._handler.server.model.journal.first_byte(self.exchange)

    def finish(self) -> None:
        if self._chunked:
            self._handler.wfile.write(b"0\r\n\r\n")
