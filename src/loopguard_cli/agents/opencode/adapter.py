"""The OpenCode adapter: bridge messages in, orders out.

One for the TUI, ``run``, ``serve`` and everything else that loads plugins. Several bridges may be
connected at a time (a server started by a wrapper script, a client beside it); each session belongs
to the connection that spoke of it last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from loopguard_cli.agents import cut
from loopguard_cli.agents.base import Answer, BridgeAddress, Form, Hello, LaunchPlan, Order
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.opencode import launch
from loopguard_cli.agents.opencode.events import EventReader
from loopguard_cli.agents.opencode.orders import order
from loopguard_cli.agents.opencode.protocol import (
    AnyMessage,
    Ask,
    Cancelled,
    Compacting,
    Done,
    Gate,
    Native,
    Resync,
    Surface,
    UserMessage,
)
from loopguard_cli.agents.opencode.rendering import readable, rendered
from loopguard_cli.agents.opencode.settling import SETTLED, Pending
from loopguard_cli.agents.tools import AgentTool, SlashCommand, slash
from loopguard_cli.core import events
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    Effect,
    Prompt,
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
    CompactionStarting,
    EffectSettled,
    Event,
    Gap,
    Status,
    ToolAsked,
)
from loopguard_cli.core.ids import CallId, EffectId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities

QUESTIONS = 1000
CONTEXTS = 100
VERSION_CHARS = 40
_NO_CALL = CallId("")

_BRIDGED = Capabilities(
    gate=True,
    text_deltas=True,
    reasoning=True,
    abort=True,
    prompt=True,
    nudge=True,
    trim=True,
    read_session=True,
    usage=True,
    child_sessions=True,
    tools=True,
    context=True,
)


class _Question(NamedTuple):
    peer: int
    id: int
    call: CallId = _NO_CALL


class OpenCode:
    """One run of OpenCode. ``tools`` and ``commands`` are what it gets from us."""

    name = "opencode"
    messages: Any = AnyMessage

    def __init__(
        self, argv: Sequence[str], *, tools: Sequence[AgentTool] = (), commands: Sequence[SlashCommand] = ()
    ) -> None:
        self.invocation = launch.parse(argv)
        self.capabilities = capabilities(self.invocation.form)
        self._tools = {tool.name: tool for tool in tools}
        self._commands = tuple(commands)
        self._reader = EventReader()
        self._seen = self._reader.seen
        self._peers: dict[int, None] = {}
        self._home: Recent[SessionId, int] = Recent(CONTEXTS * 2)
        self._questions: Recent[RequestId, _Question] = Recent(QUESTIONS)
        self._pending = Pending(self._seen, self._reader.messages)
        self._contexts: Recent[SessionId, SetContext] = Recent(CONTEXTS)
        self._trims: list[Trim] = []
        """To be done when a one-shot agent has started again, before it reads its history."""
        self.opening = ""
        self._launched: Prompt | None = None
        """The prompt that the process was started with, until the agent has taken it."""
        self._exited = False

    # --- launching ---------------------------------------------------------------------------

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        return launch.first(self.invocation, environ, self._boot(address), self.opening)

    def relaunch(self, environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        self._launched, self._exited = prompt, False
        self._seen.issued[prompt.effect] = None
        boot = self._boot(address)
        boot["prompt"] = {"session": prompt.session, "effect": prompt.effect}
        return launch.again(self.invocation, environ, boot, prompt)

    def auditor(self, environ: Mapping[str, str], audit: RunAudit) -> LaunchPlan | None:
        """``opencode run`` ends when it is idle, so its auditor is another one; else a child session."""
        if self.invocation.form is not Form.ONE_SHOT:
            return None
        model = self._seen.models.get(audit.session, "")
        return launch.auditor(self.invocation, environ, audit.prompt, model)

    def verdict(self, output: str) -> str:
        return launch.answer(output)

    def _boot(self, address: BridgeAddress) -> dict[str, Any]:
        return {
            **msgspec.to_builtins(address),
            "tools": [rendered(tool) for tool in self._tools.values()],
            "commands": [msgspec.to_builtins(command) for command in self._commands],
        }

    # --- what the bridge says ----------------------------------------------------------------

    def greet(self, peer: int, hello: Hello) -> Answer:
        self._peers[peer] = None
        self._seen.version = hello.version[:VERSION_CHARS] or self._seen.version
        said: list[Event] = [
            AgentConnected(agent=self.name, version=self._seen.version, reconnected=hello.reconnected)
        ]
        if hello.reconnected:
            said += self._settle_all("the connection to the agent was lost")
            said += [
                Gap(session=session, reason=f"reconnected; {hello.missed} messages missed")
                for session in self._reader.known_sessions()
            ]
        effects = [*(context for _, context in self._contexts.items()), *self._trims]
        self._trims.clear()
        orders = tuple(Order(peer=peer, message=found) for e in effects if (found := order(e)) is not None)
        return Answer(orders, tuple(said))

    def receive(self, peer: int, message: Any) -> Sequence[Event]:
        return [*self._receive(peer, message)]

    def _receive(self, peer: int, message: AnyMessage) -> Iterator[Event]:
        reader = self._reader
        match message:
            case Native():
                for event in reader.read(message.event):
                    if event.session:
                        self._home[event.session] = peer
                    yield event
            case Gate():
                self._home[message.session] = peer
                self._seen.asked[message.call] = None
                yield ToolAsked(
                    session=message.session,
                    request=self._question(peer, message.id, message.call),
                    call=message.call,
                    tool=message.tool,
                    args=cut.arguments(message.args),
                )
            case UserMessage():
                self._home[message.session] = peer
                yield from self._taken(message.effect)
                yield from reader.messages.announced(message)
            case Cancelled():
                self._seen.cancelled[message.call] = None
            case Compacting():
                yield CompactionStarting(session=message.session)
            case Ask():
                if message.surface is Surface.SLASH:
                    yield from reader.rests(message.session)
                yield self._asked(peer, message)
            case Done():
                yield from self._done(message)
            case Resync():
                for session in reader.known_sessions():
                    native = message.busy.get(session, {}).get("type", "idle")
                    yield from reader.status(session, str(native))

    def _done(self, done: Done) -> Iterator[Event]:
        effect = self._pending.take(done.id)
        if effect is None:
            return
        ok = done.ok
        if isinstance(effect, Trim) and not ok and self.invocation.form is Form.ONE_SHOT:
            self._trims.append(effect)  # it is on its way out; the next one will do it
            ok = True
        yield self._pending.settled(effect, ok=ok, error="" if ok else done.error, data=done.data)

    def _question(self, peer: int, number: int, call: CallId = _NO_CALL) -> RequestId:
        request = RequestId(f"{peer}.{number}")
        self._questions[request] = _Question(peer, number, call)
        return request

    def _asked(self, peer: int, ask: Ask) -> Event:
        if ask.surface is Surface.SLASH:
            operation, arguments = slash(ask.operation, str(ask.arguments.get("text", "")))
        else:
            tool = self._tools.get(ask.operation)
            operation = tool.operation if tool else f"tool.{ask.operation}"[:100]
            arguments = cut.arguments(ask.arguments)
            arguments = tool.given(arguments) if tool else arguments
        return events.Asked(
            session=ask.session,
            request=self._question(peer, ask.id),
            operation=operation,
            arguments=arguments,
            surface=events.Surface(ask.surface.value),
        )

    def _taken(self, effect: EffectId) -> Iterator[Event]:
        """The prompt that a one-shot agent was started with has arrived."""
        if self._launched is not None and effect == self._launched.effect:
            session, self._launched = self._launched.session, None
            yield EffectSettled(session=session, effect=effect, ok=True)

    # --- what we want from it ----------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        match effect:
            case AnswerGate():
                return self._answer(effect.request, allow=effect.allow, text=effect.text)
            case Respond():
                return self._answer(effect.request, ok=effect.ok, text=readable(effect))
            case SetContext():
                self._contexts[effect.session] = effect
            case Tell() if not self.capabilities.screen:
                return Answer()
            case Trim() | ReadSession() if self._gone():
                if isinstance(effect, Trim):
                    self._trims.append(effect)
                return Answer(events=(self._pending.settled(effect, ok=True),))
            case _:
                pass
        message = order(effect)
        if message is None:
            return Answer()
        peer = self._home.get(effect.session, -1)
        if peer not in self._peers:
            peer = next(iter(self._peers), -1)
        if isinstance(effect, SETTLED):
            # `opencode run` exits when it is idle: its connection goes first, then its process tells.
            leaving = self.invocation.form is Form.ONE_SHOT and not isinstance(effect, Prompt)
            if peer < 0 and not leaving:
                error = "the agent is not connected"
                return Answer(events=(self._pending.settled(effect, ok=False, error=error),))
            self._pending.add(effect)
        if isinstance(effect, Prompt):
            self._seen.issued[effect.effect] = None
        return Answer(orders=(Order(peer=peer, message=message),) if peer >= 0 else ())

    def _answer(self, request: RequestId, **fields: Any) -> Answer:
        question = self._questions.pop(request)
        if question is None or question.peer not in self._peers:
            return Answer()
        if fields.get("allow") is False:
            self._seen.refused[question.call] = None
        return Answer((Order(peer=question.peer, message={"type": "answer", "id": question.id, **fields}),))

    # --- connection and process --------------------------------------------------------------

    def lost(self, peer: int, reason: str) -> Sequence[Event]:
        self._peers.pop(peer, None)
        return [] if self._peers else [AgentDisconnected(reason=reason)]

    def exited(self, code: int) -> Sequence[Event]:
        self._peers.clear()
        self._exited = True
        said = list(self._settle_gone())
        if self._launched is not None:
            prompt, self._launched = self._launched, None
            error = f"the agent exited with {code} before it took the prompt"
            said.append(EffectSettled(session=prompt.session, effect=prompt.effect, ok=False, error=error))
        for session in self._reader.known_sessions():
            said += self._reader.status(session, Status.IDLE)
        return [*said, AgentExited(code=code)]

    def _gone(self) -> bool:
        """A one-shot agent between two invocations: idle for certain."""
        return self._exited and self.invocation.form is Form.ONE_SHOT

    def _settle_all(self, error: str) -> Iterator[Event]:
        for effect in self._pending.take_all():
            yield self._pending.settled(effect, ok=False, error=error)

    def _settle_gone(self) -> Iterator[Event]:
        """An agent that is gone has stopped what it was doing; what was asked of its history waits."""
        for effect in self._pending.take_all():
            trim = isinstance(effect, Trim) and self.invocation.form is Form.ONE_SHOT
            if isinstance(effect, Trim) and trim:
                self._trims.append(effect)
            ok = trim or isinstance(effect, Abort | ReadSession)
            yield self._pending.settled(effect, ok=ok, error="" if ok else "the agent has exited")


def capabilities(form: Form) -> Capabilities:
    """What can be done with OpenCode in this form."""
    match form:
        case Form.SCREEN:
            return msgspec.structs.replace(_BRIDGED, screen=True)
        case Form.ONE_SHOT:
            return msgspec.structs.replace(_BRIDGED, respawn=True)
        case Form.SERVER:
            return _BRIDGED
        case _:
            return Capabilities()
