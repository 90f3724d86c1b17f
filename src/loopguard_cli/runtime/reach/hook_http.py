"""Hooks over HTTP on a loopback port: POST to the run's secret path, JSON in and out."""

from __future__ import annotations

import asyncio
from typing import cast

import h11

from loopguard_cli.agents.base import HookReply
from loopguard_cli.runtime.reach import hooks
from loopguard_cli.runtime.reach.hook_peers import Caller

Server = hooks.HookServer


class Connection(asyncio.Protocol):
    """One connection; requests follow each other on it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._http = h11.Connection(h11.SERVER)
        self._transport: asyncio.Transport | None = None
        self._target = ""
        self._body = bytearray()
        self._call = 0
        self._who = Caller.GONE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._http.receive_data(data)
            self._advance()
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._call:
            self._server.hung_up(self._call)

    def reply(self, reply: HookReply) -> None:
        self._call = 0
        self._send(403 if reply.code else 200, hooks.body_of(reply))
        self._next()

    def _advance(self) -> None:
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._target = self._server.named(event.target.decode(errors="replace"))
                if not self._target or event.method != b"POST":
                    self._refuse(404)
                    return
                if not self._let_in():
                    self._refuse(403)
                    return
                self._body.clear()
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > hooks.BODY_BYTES:
                    self._refuse(413)
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._ask()
            else:
                if self._http.their_state is h11.MUST_CLOSE or isinstance(event, h11.ConnectionClosed):
                    self._close()
                return

    def _let_in(self) -> bool:
        assert self._transport is not None
        if self._who is not Caller.AGENT:
            self._who = self._server.at_socket(self._transport.get_extra_info("socket"))
        return self._server.admits(self._who, self._target, client=False)

    def _ask(self) -> None:
        body, self._body = bytes(self._body), bytearray()
        number = self._server.called(self, self._target, body)
        # Already answered: `reply` has begun the next cycle.
        if self._http.our_state is h11.SEND_RESPONSE:
            self._call = number

    def _send(self, status: int, body: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        data = self._http.send(h11.Response(status_code=status, headers=headers)) or b""
        data += self._http.send(h11.Data(data=body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        self._transport.write(data)

    def _next(self) -> None:
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif self._http.our_state is h11.MUST_CLOSE:
            self._close()

    def _refuse(self, status: int) -> None:
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send(status, b"")
        self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
