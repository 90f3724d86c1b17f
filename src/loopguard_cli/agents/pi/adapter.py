"""The pi adapter: bridge messages in, orders out.

One for the terminal interface, ``-p``, ``--mode json`` and ``--mode rpc``. A one-shot pi is kept by its
bridge when its turn is over, until nothing more is wanted of it; so it goes on in the same process,
and what it prints is what it would have printed by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from loopguard_cli.agents.base import Answer, BridgeAddress, Form, Hello, LaunchPlan, Order, Setup, answer
from loopguard_cli.agents.cut import arguments
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.pi import launch
from loopguard_cli.agents.pi.events import EventReader
from loopguard_cli.agents.pi.protocol import AnyMessage, Ask, Done, Gate, Resync, Settled, Surface, User
from loopguard_cli.agents.tools import readable, slash
from loopguard_cli.core import events
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    Effect,
    Prompt,
    Purpose,
    ReadSession,
    Respond,
    RunAudit,
    SetContext,
    Tell,
    Trim,
)
from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentExited,
    EffectSettled,
    Event,
    Gap,
    SessionRead,
    Status,
    ToolAsked,
)
from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities

QUESTIONS = 1000
CONTEXTS = 100
VERSION_CHARS = 40

_BRIDGED = Capabilities(
    gate=True,
    text_deltas=True,
    reasoning=True,
    abort=True,
    prompt=True,
    nudge=True,
    read_session=True,
    usage=True,
    tools=True,
    context=True,
)


class _Question(NamedTuple):
    id: int
    call: CallId = CallId("")


class Pi:
    """One run of pi."""

    name = "pi"
    messages: Any = AnyMessage

    def __init__(self, setup: Setup) -> None:
        self.invocation = launch.parse(setup.argv, interactive=setup.interactive)
        self.capabilities = capabilities(self.invocation.form)
        self.opening = ""
        self._tools = {tool.name: tool for tool in setup.tools}
        self._commands = setup.commands
        self._reader = EventReader(prompted=self.invocation.message or self.invocation.form is Form.ONE_SHOT)
        self._peer = -1
        self._version = ""
        self._questions: Recent[RequestId, _Question] = Recent(QUESTIONS)
        self._contexts: Recent[SessionId, SetContext] = Recent(CONTEXTS)
        self._owed: dict[EffectId, Prompt | ReadSession] = {}
        self._aborts: list[Abort] = []
        """Settled when the turn is over."""
        self._hold = 0
        """The question with which a one-shot agent waits for us."""

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        boot = {
            **msgspec.to_builtins(address),
            "tools": [launch.rendered(tool) for tool in self._tools.values()],
            "commands": [msgspec.to_builtins(command) for command in self._commands],
        }
        return launch.first(self.invocation, boot, self.opening)

    def relaunch(self, _environ: Mapping[str, str], _address: BridgeAddress, _prompt: Prompt) -> LaunchPlan:
        raise NotImplementedError("it goes on in its process")

    def auditor(self, _environ: Mapping[str, str], audit: RunAudit) -> LaunchPlan | None:
        return launch.auditor(self.invocation, audit.prompt, self._reader.model)

    def verdict(self, output: str) -> str:
        return output

    # --- what the bridge says ----------------------------------------------------------------

    def greet(self, peer: int, hello: Hello) -> Answer:
        self._peer = peer
        self._version = hello.version[:VERSION_CHARS] or self._version
        said: list[Event] = [
            AgentConnected(agent=self.name, version=self._version, reconnected=hello.reconnected)
        ]
        if hello.reconnected:
            said += self._settle_all("the connection to the agent was lost")
            reason = f"reconnected; {hello.missed} messages missed"
            said += [Gap(session=self._reader.session, reason=reason)]
        orders = [order for _, context in self._contexts.items() if (order := self._order(context))]
        return Answer(tuple(orders), tuple(said))

    def receive(self, _peer: int, message: Any) -> Sequence[Event]:
        return [*self._receive(message)]

    def _receive(self, message: AnyMessage) -> Iterator[Event]:
        match message:
            case Gate():
                yield ToolAsked(
                    session=message.session,
                    request=self._question(message.id, message.call),
                    call=message.call,
                    tool=message.tool,
                    args=arguments(message.args),
                )
                self._reader.asked[message.call] = False
            case Ask():
                yield self._asked(message)
            case Done():
                yield from self._done(message)
            case User():
                yield from self._reader.read(message)
                if message.effect in self._owed:
                    yield self._settled(self._owed.pop(message.effect))
            case Settled():
                self._hold = message.id
                yield from self._reader.over(message.session, aborted=message.aborted)
                yield from self._stopped()
                yield from self._reader.rest(message.session)
            case Resync():
                for session, status in message.busy.items():
                    yield from self._reader.status(session, status)
                    if status is Status.IDLE:
                        yield from self._stopped()
            case _:
                yield from self._reader.read(message)

    def _question(self, number: int, call: CallId = CallId("")) -> RequestId:  # noqa: B008
        request = RequestId(f"{self._peer}.{number}")
        self._questions[request] = _Question(number, call)
        return request

    def _asked(self, ask: Ask) -> Event:
        given = arguments(ask.arguments)
        if ask.surface is Surface.SLASH:
            operation, given = slash(ask.operation, str(given.get("text", "")))
        else:
            tool = self._tools.get(ask.operation)
            operation = tool.operation if tool else f"tool.{ask.operation}"[:100]
            given = tool.given(given) if tool else given
        return events.Asked(
            session=ask.session,
            request=self._question(ask.id),
            operation=operation,
            arguments=given,
            surface=events.Surface(ask.surface.value),
        )

    def _done(self, done: Done) -> Iterator[Event]:
        if done.id in self._owed:
            yield self._settled(self._owed.pop(done.id), ok=done.ok, error=done.error, data=done.data)
            return
        abort = next((abort for abort in self._aborts if abort.effect == done.id), None)
        if abort is not None and (not done.ok or done.data == Status.IDLE.value):
            self._aborts.remove(abort)
            yield EffectSettled(session=abort.session, effect=abort.effect, ok=done.ok, error=done.error)

    # --- what we want from it ----------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def _carry_out(self, effect: Effect) -> Iterator[Order | Event]:
        match effect:
            case AnswerGate():
                yield from self._answer(effect.request, allow=effect.allow, text=effect.text)
            case Respond():
                yield from self._answer(effect.request, ok=effect.ok, text=readable(effect))
            case Trim():
                # pi leaves what was aborted out of what the model reads.
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
            case Abort() | Prompt() | ReadSession() if self._peer < 0:
                yield self._settled(effect, ok=False, error="the agent is not connected")
            case Abort():
                self._aborts.append(effect)
                yield from self._orders(effect)
            case Prompt():
                yield from self._prompt(effect)
            case ReadSession():
                self._owed[effect.effect] = effect
                yield from self._orders(effect)
            case SetContext():
                self._contexts[effect.session] = effect
                yield from self._orders(effect)
            case Tell() if self.capabilities.screen:
                yield from self._orders(effect)
            case _:
                pass

    def _prompt(self, effect: Prompt) -> Iterator[Order | Event]:
        if effect.session != self._reader.session:
            yield self._settled(effect, ok=False, error="that session is not open any more")
            return
        self._owed[effect.effect] = effect
        self._reader.issued[effect.effect] = None
        if self._hold and effect.purpose is not Purpose.NUDGE:
            yield self._release(prompt={"id": effect.effect, "text": effect.text})
        else:
            yield from self._orders(effect)

    def _answer(self, request: RequestId, **fields: Any) -> Iterator[Order]:
        question = self._questions.pop(request)
        if question is None or self._peer < 0:
            return
        if fields.get("allow") is False:
            self._reader.asked[question.call] = True
        yield Order(peer=self._peer, message={"type": "answer", "id": question.id, **fields})

    def _orders(self, effect: Effect) -> Iterator[Order]:
        if self._peer >= 0 and (order := self._order(effect)) is not None:
            yield order

    def _order(self, effect: Effect) -> Order | None:
        fields: dict[str, Any]
        match effect:
            case Abort():
                fields = {"op": "abort", "id": effect.effect}
            case ReadSession():
                fields = {"op": "read", "id": effect.effect}
            case Prompt():
                hint = effect.purpose is Purpose.NUDGE
                fields = {"op": "prompt", "id": effect.effect, "text": effect.text, "hint": hint}
            case SetContext():
                fields = {"op": "context", "system": effect.system}
            case Tell():
                level = "info" if effect.level.value == "success" else effect.level.value
                fields = {"op": "toast", "text": effect.text, "level": level}
            case _:
                return None
        return Order(peer=self._peer, message={"type": "order", "session": effect.session, **fields})

    # --- a one-shot agent that waits -----------------------------------------------------------

    @property
    def holding(self) -> bool:
        return self._hold > 0

    def release(self, end: bool) -> Answer:
        return Answer((self._release(end=end),)) if self.holding else Answer()

    def _release(self, **fields: Any) -> Order:
        number, self._hold = self._hold, 0
        return Order(peer=self._peer, message={"type": "answer", "id": number, **fields})

    # --- connection and process --------------------------------------------------------------

    def lost(self, peer: int, reason: str) -> Sequence[Event]:
        if peer != self._peer:
            return []
        self._peer, self._hold = -1, 0
        return [AgentDisconnected(reason=reason)]

    def exited(self, code: int) -> Sequence[Event]:
        self._peer, self._hold = -1, 0
        said: list[Event] = [*self._stopped(), *self._settle_all("the agent has exited")]
        if self._reader.session != NO_SESSION:
            said += self._reader.status(self._reader.session, Status.IDLE)
        return [*said, AgentExited(code=code)]

    def _stopped(self) -> Iterator[Event]:
        """No turn runs any more."""
        for abort in self._aborts:
            yield EffectSettled(session=abort.session, effect=abort.effect, ok=True)
        self._aborts.clear()

    def _settle_all(self, error: str) -> Iterator[Event]:
        for effect in (*self._owed.values(), *self._aborts):
            yield self._settled(effect, ok=False, error=error)
        self._owed.clear()
        self._aborts.clear()

    def _settled(
        self, effect: Abort | Prompt | ReadSession, *, ok: bool = True, error: str = "", data: Any = None
    ) -> Event:
        if not isinstance(effect, ReadSession):
            return EffectSettled(session=effect.session, effect=effect.effect, ok=ok, error=error)
        busy = isinstance(data, dict) and data.get("status") == Status.BUSY.value
        reader = self._reader
        return SessionRead(
            session=effect.session,
            effect=effect.effect,
            ok=ok,
            error=error,
            status=Status.BUSY if busy else Status.IDLE,
            newest_assistant=reader.reply,
            newest_user=reader.user,
            newest_user_origin=reader.origin,
        )


def capabilities(form: Form) -> Capabilities:
    """What can be done with pi in this form."""
    if form is Form.SCREEN:
        return msgspec.structs.replace(_BRIDGED, screen=True)
    return _BRIDGED if form in (Form.ONE_SHOT, Form.SERVER) else Capabilities()
