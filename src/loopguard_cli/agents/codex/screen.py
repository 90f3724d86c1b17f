"""Interactive ``codex``: the person's program, and its server, with us between the two.

The program can be told to use a server elsewhere (``--remote``). It is pointed to us, and we start the
server. So every thread that it opens gets our hook and our tools on the way, everything the server
says is heard, and what we ask the server for comes to the program as if it had asked. The person's
own settings, sessions, approvals and sandbox are what they are without us.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    LaunchPlan,
    Setup,
    Show,
    Shown,
    Streams,
    ToClient,
    answer,
)
from loopguard_cli.agents.codex.listening import Part
from loopguard_cli.agents.codex.options import Options
from loopguard_cli.agents.codex.protocol import RAW, Initialized, ThreadOf, read
from loopguard_cli.agents.codex.server import Server, _send, capabilities
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.effects import Effect, Level, Tell
from loopguard_cli.core.events import AgentConnected, AgentExited, Event, PermissionAnswered, PermissionAsked
from loopguard_cli.core.ids import CallId, RequestId, SessionId

SOCKET = "codex"
"""Name of the socket in the private folder of the run."""

QUESTIONS = 100

_QUESTION = "question."
_REFUSALS = ("decline", "cancel")
_OPENING = {"thread/start", "thread/resume", "thread/fork"}
_OURS = "loopguard"
_RAW = "rawResponse"
"""Beginning of the notifications that only we have asked for."""
_NEEDED = ("thread/", "turn/", "item/", "error")
"""Beginnings of the notifications that a client must not have switched off."""


class Screen(Server):
    """One run of the interactive program."""

    def __init__(self, setup: Setup, options: Options) -> None:
        super().__init__(setup, options)
        self.capabilities = capabilities(screen=True, tools=bool(setup.tools))
        self._clients: list[int] = []
        self._initialized: dict[str, Any] | None = None
        """What the server answered to the first client."""
        self._ready = False
        """We know which hooks there are."""
        self._held: list[tuple[int, dict[str, Any]]] = []
        """Threads to be opened then."""
        self._questions: Recent[str, SessionId] = Recent(QUESTIONS)
        """What the person is asked, by the server's id."""
        self._asking: dict[str, tuple[str, bool]] = {}
        """Requests of clients that open a thread: the method, and whether it is a side conversation."""

    def launch(self, _environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        self._gate.command = address.hook_command
        options = self._options
        path = f"{address.folder}/{SOCKET}"
        return LaunchPlan(
            argv=(*options.program, "--remote", f"unix://{path}", *options.screen),
            form=Form.SCREEN,
            streams=Streams.RELAYED,
            server=(*options.program, *options.server, "app-server"),
            relay=path,
        )

    def exited(self, code: int) -> Sequence[Event]:
        return [*self._gone(), AgentExited(code=code)]

    def concluded(self) -> Answer:
        """The program tells how to reach a server that has ended with it; this is how to go on instead."""
        used = [thread.session for thread in self._known() if thread.user]
        if not used:
            return Answer()
        command = shlex.join(["loopguard", "run", "--", *self._options.program, "resume", used[-1]])
        return Answer((Shown(kind=Show.NOTE, text=f"its server has ended with it; to go on: {command}"),))

    # --- clients -----------------------------------------------------------------------------

    def joined(self, client: int) -> Answer:
        self._clients.append(client)
        return Answer()

    def parted(self, client: int) -> Answer:
        self._clients.remove(client)
        return Answer()

    def said(self, client: int, message: dict[str, Any]) -> Answer:
        return answer(self._said(client, message))

    def _said(self, client: int, message: dict[str, Any]) -> Iterator[Part]:
        method = message.get("method")
        method = method if isinstance(method, str) else None
        if method == "initialize":
            yield from self._initialize(client, message)
        elif method == "initialized":
            if not self._ready:
                yield _send(message)
                yield self._list_hooks(self._let_go)
        elif method in _OPENING and not self._ready:
            self._held.append((client, message))
        elif method in _OPENING:
            yield self._open(client, message)
        elif "id" in message and method is not None:
            yield _send({**message, "id": _name(client, message["id"])})
        else:
            yield _send(message)
            yield from self._decided(message)

    def _decided(self, message: dict[str, Any]) -> Iterator[Part]:
        """The person has answered a question of the agent."""
        session = self._questions.pop(str(message.get("id")))
        if session is not None:
            result = message.get("result")
            decision = result.get("decision", result.get("action")) if isinstance(result, dict) else None
            request = RequestId(f"{_QUESTION}{message['id']}")
            allowed = decision is not None and decision not in _REFUSALS
            yield PermissionAnswered(session=session, request=request, allowed=allowed)

    def _initialize(self, client: int, message: dict[str, Any]) -> Iterator[Part]:
        if self._initialized is not None:
            # The server knows one connection; another client of it learns what the first one did.
            yield ToClient(client=client, message={**self._initialized, "id": message.get("id")})
            return
        params = message.get("params")
        params = dict(params) if isinstance(params, dict) else {}
        wanted = params.get("capabilities")
        wanted = dict(wanted) if isinstance(wanted, dict) else {}
        wanted["experimentalApi"] = True
        muted = wanted.get("optOutNotificationMethods")
        if isinstance(muted, list):
            wanted["optOutNotificationMethods"] = [
                name for name in muted if not (isinstance(name, str) and name.startswith(_NEEDED))
            ]
        name = _name(client, message.get("id"))
        self._asking[name] = ("initialize", False)
        yield _send({**message, "id": name, "params": {**params, "capabilities": wanted}})

    def _let_go(self) -> Iterator[Part]:
        self._ready = True
        held, self._held = self._held, []
        for client, message in held:
            yield self._open(client, message)

    def _open(self, client: int, message: dict[str, Any]) -> Part:
        """A thread is opened: with our hook and our tools, unless it is only about the task."""
        params = message.get("params")
        params = dict(params) if isinstance(params, dict) else {}
        name = _name(client, message.get("id"))
        side = bool(params.get("ephemeral"))
        self._asking[name] = (str(message["method"]), side)
        if not side:
            config = params.get("config")
            params["config"] = {**(config if isinstance(config, dict) else {}), **self._gate.settings()}
            options = self._options
            for field, value in (
                ("sandbox", options.sandbox),
                ("approvalPolicy", options.approval),
                ("runtimeWorkspaceRoots", options.folders(self._setup.directory)),
            ):
                if value and params.get(field) is None:
                    params[field] = value
            if message["method"] == "thread/start":
                params |= RAW
                theirs = params.get("dynamicTools")
                params["dynamicTools"] = [
                    *(theirs if isinstance(theirs, list) else []),
                    *self._tools.offered(),
                ]
        return _send({**message, "id": name, "params": params})

    # --- the server --------------------------------------------------------------------------

    def _heard(self, message: dict[str, Any]) -> Iterator[Part]:
        request = message.get("id")
        if "method" not in message and isinstance(request, str):
            yield from self._answered(request, message)
        else:
            told = "method" in message and "id" not in message
            if told and not str(message["method"]).startswith(_RAW) and not self._is_about_us(message):
                yield from self._broadcast(message)
            yield from super()._heard(message)

    def _answered(self, name: str, message: dict[str, Any]) -> Iterator[Part]:
        client, original = _original(name)
        method, side = self._asking.pop(name, ("", False))
        restored = {**message, "id": original}
        yield ToClient(client=client, message=restored)
        if method == "initialize" and "result" in message:
            self._initialized = restored
            initialized = read(message["result"], Initialized)
            yield AgentConnected(agent=self.name, version=initialized.version if initialized else "")
        elif method in _OPENING and (opened := read(message.get("result"), ThreadOf)) is not None:
            if side:
                self._side[opened.thread.id] = None
            else:
                yield from self._thread_started(opened)

    def _asked(self, request: int | str, method: str, params: dict[str, Any]) -> Iterator[Part]:
        """For the person; the first client that answers decides."""
        session = params.get("threadId")
        if isinstance(session, str) and session not in self._side:
            self._questions[str(request)] = SessionId(session)
            yield PermissionAsked(
                session=SessionId(session),
                request=RequestId(f"{_QUESTION}{request}"),
                permission=method,
                call=CallId(str(params.get("itemId") or "")),
            )
        yield from self._broadcast({"id": request, "method": method, "params": params})

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        if isinstance(effect, Tell):
            if effect.level is not Level.INFO:
                yield from self._broadcast(_warning(effect))
        else:
            yield from super()._carry_out(effect)

    def _broadcast(self, message: dict[str, Any]) -> Iterator[Part]:
        for client in self._clients:
            yield ToClient(client=client, message=message)

    def _is_about_us(self, message: dict[str, Any]) -> bool:
        """It belongs to an audit; or the agent warns about how our hook was let in, which we did."""
        params = message.get("params")
        if isinstance(params, dict):
            thread = params.get("thread")
            of = thread.get("id") if isinstance(thread, dict) else params.get("threadId")
            if isinstance(of, str) and self._audits.holds(of):
                return True
        text = params.get("message", params.get("summary")) if isinstance(params, dict) else None
        return isinstance(text, str) and text.startswith("`--dangerously-bypass-hook-trust`")


def _warning(tell: Tell) -> dict[str, Any]:
    """Among the warnings of the agent itself, of this thread or of all."""
    return {
        "method": "warning",
        "params": {"threadId": tell.session or None, "message": f"loopguard: {tell.text}"},
    }


def _name(client: int, request: Any) -> str:
    """The id of a client's request among those of all: which client, which type, which id."""
    return f"{_OURS}.{client}.{'n' if isinstance(request, int) else 's'}.{request}"


def _original(name: str) -> tuple[int, int | str]:
    """The inverse of `_name`; of anything else: no client."""
    parts = name.split(".", 3)
    try:
        ours, client, kind, request = parts
        if ours == _OURS:
            return int(client), int(request) if kind == "n" else request
    except ValueError:
        pass
    return 0, name
