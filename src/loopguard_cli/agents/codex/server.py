"""What both forms have in common: the conversation with ``codex app-server``, and how it is steered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    HookCall,
    Order,
    Setup,
    answer,
)
from loopguard_cli.agents.codex.auditing import Audits
from loopguard_cli.agents.codex.gate import Gate
from loopguard_cli.agents.codex.listening import Listener, Part
from loopguard_cli.agents.codex.options import Options
from loopguard_cli.agents.codex.protocol import Hooks, Turn, TurnOf, read
from loopguard_cli.agents.codex.thread import INTERRUPTED, Thread
from loopguard_cli.agents.codex.tools import Tools
from loopguard_cli.agents.settling import settled, stands
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    CancelEffect,
    Effect,
    Prompt,
    Purpose,
    ReadSession,
    Respond,
    RunAudit,
    Trim,
)
from loopguard_cli.core.events import Event, SessionRead, Status, StatusChanged, Unparsed
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.wire import jsonrpc

INTERRUPTS = 20
"""How often in a row a turn that the agent does not know yet is told to stop."""

Returned = Callable[[Any, jsonrpc.Failure | None], Iterable[Part]]


class Server(Listener, Unbridged):
    """One ``codex app-server`` on standard streams that are ours."""

    name = "codex"
    speaks: Any = dict[str, Any]

    def __init__(self, setup: Setup, options: Options) -> None:
        super().__init__(setup.directory)
        self.commands = setup.commands
        self._setup = setup
        self._options = options
        self._rpc: jsonrpc.Peer[Returned] = jsonrpc.Peer()
        self._gate = Gate(self._guarded)
        self._tools = Tools(setup.tools)
        self._audits = Audits(options.folder(setup.directory), self._request)
        self._aborts: list[Abort] = []
        self._interrupting: set[str] = set()
        """Turns that were told to stop."""
        self._unheard: set[str] = set()
        """Those that the agent said it does not know; told again when it says something about them."""
        self._starting: dict[SessionId, int] = {}
        """How many turns were asked for that have not begun."""

    # --- what the server says ----------------------------------------------------------------

    def heard(self, message: dict[str, Any]) -> Answer:
        return answer(self._heard(message))

    def _heard(self, message: dict[str, Any]) -> Iterator[Part]:
        given = read(message, jsonrpc.Message)
        if given is None:
            yield Unparsed(native="message of another shape")
            return
        match self._rpc.read(given):
            case jsonrpc.Returned(about, result, error):
                yield from about(result, error)
            case jsonrpc.Notification(method, params):
                yield from self._notified(method, params)
            case jsonrpc.Request(request, "item/tool/call", params) if self._tools.own(params):
                yield from self._tools.called(request, params)
            case jsonrpc.Request(request, method, params):
                yield from self._asked(request, method, params)
            case jsonrpc.Stray(reason):
                yield Unparsed(native=reason)

    def _asked(self, request: int | str, method: str, params: dict[str, Any]) -> Iterator[Part]:
        """A question that is not for us alone."""
        raise NotImplementedError

    def _notified(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        yield from super()._notified(method, params)
        thread = self._threads.get(SessionId(str(params.get("threadId"))), None) if self._unheard else None
        if thread is not None and thread.turn in self._unheard:
            self._unheard.discard(thread.turn)
            yield from self._interrupt(thread)

    def _turn_started(self, given: TurnOf) -> Iterator[Part]:
        yield from super()._turn_started(given)
        self._starting.pop(given.thread_id, None)
        thread = self._thread(given.thread_id)
        if thread.turn and any(abort.session == thread.session for abort in self._aborts):
            yield from self._interrupt(thread)

    def _turn_completed(self, given: TurnOf) -> Iterator[Part]:
        yield from super()._turn_completed(given)
        self._interrupting.discard(given.turn.id)
        self._unheard.discard(given.turn.id)
        yield from self._settle(given.thread_id)

    def _aside(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        yield from self._audits.heard(method, params)

    # --- the gate ----------------------------------------------------------------------------

    def called(self, call: HookCall) -> Answer:
        return answer(self._gate.called(call))

    def hung_up(self, call: int) -> Sequence[Event]:
        thread = self._threads.get(self._gate.session(call), None)
        interrupting = thread is not None and thread.turn in self._interrupting
        return tuple(self._gate.hung_up(call, interrupting=interrupting))

    def _guarded(self, session: SessionId) -> Thread | None:
        return None if session in self._side else self._thread(session)

    def _list_hooks(self, then: Callable[[], Iterable[Part]]) -> Order:
        def listed(result: Any, _error: jsonrpc.Failure | None) -> Iterator[Part]:
            hooks = read(result, Hooks)
            if hooks is not None and not self._options.trusts_hooks:
                self._gate.untrusted = hooks.untrusted()
            yield from then()

        return self._request("hooks/list", {"cwds": [self._options.folder(self._setup.directory)]}, listed)

    # --- what we want from it ----------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case AnswerGate():
                yield from self._gate.answer(effect)
            case Respond():
                yield from self._tools.respond(effect)
            case Abort():
                self._aborts.append(effect)
                thread = self._thread(effect.session)
                if thread.turn:
                    yield from self._interrupt(thread)
                elif not self._starting.get(effect.session):
                    yield from self._settle(effect.session)
            case ReadSession():
                yield self._read(effect)
            case Prompt():
                yield from self._prompt(effect)
            case RunAudit():
                yield from self._audits.start(effect)
            case CancelEffect():
                yield from self._audits.cancel(effect.effect)
            case Trim():
                yield settled(effect, "what this agent keeps of a session cannot be changed")
            case _:
                pass

    def _read(self, effect: ReadSession) -> SessionRead:
        thread = self._thread(effect.session)
        return stands(
            effect,
            busy=self._busy(thread.session),
            assistant=thread.newest,
            user=thread.user,
            origin=thread.origin,
        )

    def _busy(self, session: SessionId) -> bool:
        thread = self._threads.get(session, None)
        return (thread is not None and bool(thread.turn)) or bool(self._starting.get(session))

    def _interrupt(self, thread: Thread, tries: int = INTERRUPTS) -> Iterator[Part]:
        if thread.turn in self._interrupting:
            return
        turn = thread.turn
        self._interrupting.add(turn)

        def returned(_result: Any, failure: jsonrpc.Failure | None) -> Iterator[Part]:
            # A turn that was only just accepted is not there yet for the agent.
            if failure is not None and thread.turn == turn:
                self._interrupting.discard(turn)
                if tries > 1:
                    yield from self._interrupt(thread, tries - 1)
                else:
                    self._unheard.add(turn)

        yield self._request("turn/interrupt", {"threadId": thread.session, "turnId": turn}, returned)
        for process in thread.processes:
            # The agent ends the turn but not the command that the turn waits for.
            ending = {"threadId": thread.session, "processId": process}
            yield self._request("thread/backgroundTerminals/terminate", ending, _nothing)

    def _settle(self, session: SessionId) -> Iterator[Part]:
        done = [abort for abort in self._aborts if abort.session == session]
        self._aborts = [abort for abort in self._aborts if abort.session != session]
        for abort in done:
            yield settled(abort)

    def _prompt(self, effect: Prompt) -> Iterator[Part]:
        error = ""
        busy = self._busy(effect.session)
        thread = self._threads.get(effect.session, None)
        if thread is None:
            error = "there is no such session"
        elif effect.purpose is Purpose.NUDGE and not thread.turn:
            error = "no turn is running"
        elif effect.purpose is not Purpose.NUDGE and busy:
            error = "a turn is running"
        elif effect.purpose is Purpose.CONTINUATION and thread.goal == "active":
            error = "the agent pursues a goal of its own, and goes on by itself"
        if error or thread is None:
            yield settled(effect, error)
            return
        self._sent[effect.effect] = effect.effect

        def returned(_result: Any, failure: jsonrpc.Failure | None) -> Iterator[Part]:
            error = failure.message if failure is not None else ""
            yield settled(effect, error)

        text = [{"type": "text", "text": effect.text}]
        params = {"threadId": effect.session, "input": text, "clientUserMessageId": effect.effect}
        if effect.purpose is Purpose.NUDGE:
            params["expectedTurnId"] = thread.turn
            yield self._request("turn/steer", params, returned)
        else:
            yield from self._start_turn(effect.session, params, returned)

    def _start_turn(self, session: SessionId, params: dict[str, Any], then: Returned) -> Iterator[Part]:
        self._starting[session] = self._starting.get(session, 0) + 1

        def started(result: Any, failure: jsonrpc.Failure | None) -> Iterator[Part]:
            given = read(result, TurnOf)
            yield from then(result, failure)
            if given is not None:
                yield from self._turn_started(TurnOf(turn=given.turn, thread_id=session))
            else:
                self._starting.pop(session, None)
                yield from self._settle(session)
                yield StatusChanged(session=session, status=Status.IDLE)

        yield self._request("turn/start", params, started)

    def _gone(self) -> Iterator[Event]:
        """The process is gone: what will never be answered is settled."""
        for about in self._rpc.abandon():
            failure = jsonrpc.Failure(message="the agent is gone")
            yield from (part for part in about(None, failure) if isinstance(part, Event))
        for thread in self._known():
            if thread.turn:
                parts = self._turn_completed(TurnOf(turn=_interrupted(thread), thread_id=thread.session))
                yield from (part for part in parts if isinstance(part, Event))
        for abort in self._aborts:
            yield settled(abort)
        self._aborts.clear()
        yield from self._audits.clear()
        self._gate.clear()
        self._tools.clear()

    def _request(self, method: str, params: dict[str, Any], returned: Returned) -> Order:
        return _send(self._rpc.request(method, params, returned))


def capabilities(*, screen: bool, tools: bool) -> Capabilities:
    return Capabilities(
        gate=True,
        text_deltas=True,
        reasoning=True,
        abort=True,
        prompt=True,
        nudge=True,
        read_session=True,
        usage=True,
        child_sessions=True,
        tools=tools,
        screen=screen,
        closes=True,
    )


def _nothing(_result: Any, _failure: jsonrpc.Failure | None) -> Iterator[Part]:
    yield from ()


def _interrupted(thread: Thread) -> Turn:
    return Turn(id=thread.turn, status=INTERRUPTED)


def _send(message: dict[str, Any]) -> Order:
    return Order(peer=CHILD, message=message)
