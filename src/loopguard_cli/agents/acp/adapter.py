"""The ACP adapter: we are the client of an agent that speaks the Agent Client Protocol on its streams.

The protocol has one prompt at a time, a cancel, and questions for permission; no hint into a running
turn, and no reason with a refusal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loopguard_cli.agents.acp import opening
from loopguard_cli.agents.acp.calls import Calls
from loopguard_cli.agents.acp.gate import Gate
from loopguard_cli.agents.acp.permissions import outcome
from loopguard_cli.agents.acp.protocol import Initialized, NewSession, Permission, read
from loopguard_cli.agents.acp.sending import Part, Returned, send
from loopguard_cli.agents.acp.turns import CANCELLED, Turns
from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    LaunchPlan,
    Order,
    Setup,
    Show,
    Shown,
    Streams,
    answer,
)
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    AnswerPermission,
    Effect,
    Prompt,
    Purpose,
    ReadSession,
    Trim,
)
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    EffectSettled,
    Event,
    Origin,
    SessionRead,
    SessionSeen,
    Status,
    Unparsed,
)
from loopguard_cli.core.ids import NO_SESSION, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.wire import jsonrpc


class Acp(Unbridged):
    """One run of one agent."""

    name = "acp"
    speaks: Any = jsonrpc.Message

    def __init__(self, setup: Setup) -> None:
        self.commands = setup.commands
        self.capabilities = capabilities(tools=setup.tool_program is not None)
        self.finished = False
        self._setup = setup
        self._rpc: jsonrpc.Peer[Returned] = jsonrpc.Peer()
        self._calls = Calls(setup.directory)
        self._gate = Gate(self._calls, self._rpc, setup.permissions)
        self._turns = Turns(self._rpc, self._calls, self._gate)

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        form = Form.CONSOLE if self._setup.interactive else Form.ONE_SHOT
        return LaunchPlan(argv=self._setup.argv, form=form, streams=Streams.PIPED, quiet=True)

    # --- the conversation --------------------------------------------------------------------

    @property
    def session(self) -> SessionId:
        return self._turns.session

    @property
    def waiting(self) -> bool:
        turns = self._turns
        return turns.session != NO_SESSION and turns.turn is None and not turns.queue

    def began(self) -> Answer:
        return answer([self._request("initialize", opening.greeting(), self._initialized)])

    def heard(self, message: jsonrpc.Message) -> Answer:
        return answer(self._heard(message))

    def ping(self) -> Answer:
        """By a method that no agent has: that it has none is an answer."""
        return answer([self._request("_loopguard/ping", {}, _ponged)])

    def overheard(self, line: str) -> Answer:
        """An editor that started us in the place of its agent would wait for ever: there are two clients."""
        refused = opening.refusal(line)
        if refused:
            self.finished, self._turns.status = True, 2
        return answer(refused)

    def typed(self, text: str) -> Answer:
        return answer(self._turns.typed(text))

    def chosen(self, question: str, key: str) -> Answer:
        return answer(self._gate.chosen(self.session, RequestId(question), key))

    def interrupted(self) -> Answer:
        self._turns.queue.clear()
        return answer(self._turns.cancel())

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def exited(self, code: int) -> Sequence[Event]:
        turns, said = self._turns, list[Event]()
        turns.queue.clear()
        if turns.turn is not None:
            said += [part for part in turns.over(CANCELLED, None) if isinstance(part, Event)]
        self._rpc.abandon()
        return [*said, AgentExited(code=code or turns.status)]

    # --- what the agent says -----------------------------------------------------------------

    def _heard(self, message: jsonrpc.Message) -> Iterator[Part]:
        match self._rpc.read(message):
            case jsonrpc.Returned(about, result, error):
                yield from about(result, error)
            case jsonrpc.Notification("session/update", params):
                yield from self._turns.updated(params)
            case jsonrpc.Notification(method, _):
                if not method.startswith("_"):
                    yield Unparsed(native=f"notification {method}"[:100])
            case jsonrpc.Request(request, "session/request_permission", params):
                yield from self._permission(request, params)
            case jsonrpc.Request(request, method, _):
                yield send(self._rpc.failure(request, jsonrpc.METHOD_NOT_FOUND, f"no {method} here"))
                if not method.startswith(("_", "fs/", "terminal/")):
                    yield Unparsed(native=f"request {method}"[:100])
            case jsonrpc.Stray(reason):
                yield Unparsed(native=reason)

    def _initialized(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        initialized = read(result, Initialized)
        if initialized is None:
            yield from self._cannot("speak ACP", error)
            return
        info = initialized.agent_info
        yield AgentConnected(agent=info.name or self.name, version=info.version)
        if info.name:
            yield Shown(kind=Show.NOTE, text=f"{info.name} {info.version}".strip())
        yield self._request("session/new", opening.session(self._setup), self._opened)

    def _opened(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        opened = read(result, NewSession)
        if opened is None:
            yield from self._cannot("open a session", error)
            return
        self._turns.session = opened.session_id
        yield SessionSeen(session=self.session, directory=self._setup.directory)
        if opened.modes is not None and opened.modes.current_mode_id:
            yield self._turns.updates.switched(self.session, opened.modes.current_mode_id)
        yield from self._turns.go_on()

    def _cannot(self, what: str, error: jsonrpc.Failure | None) -> Iterator[Part]:
        self.finished, self._turns.status = True, 1
        why = error.message if error is not None else "its answer is not understood"
        yield Shown(kind=Show.NOTE, text=f"the agent cannot {what}: {why}")
        yield Unparsed(native=f"cannot {what}"[:100])

    # --- permissions -------------------------------------------------------------------------

    def _permission(self, request: int | str, params: dict[str, Any]) -> Iterator[Part]:
        permission, turn = read(params, Permission), self._turns.turn
        if permission is None or permission.session_id != self.session or turn is None:
            yield send(self._rpc.result(request, outcome(None)))
            yield Unparsed(native="question for permission")
            return
        if turn.cancelled:
            yield send(self._rpc.result(request, outcome(None)))
            return
        yield self._gate.ask(self.session, request, permission)

    def _answer(self, effect: AnswerGate) -> Iterator[Part]:
        if effect.allow:
            yield from self._gate.let_pass(effect)
            return
        refused = [*self._gate.refuse(effect)]
        if refused and self._turns.turn is not None:
            self._turns.turn.refusals.append(effect.text)
        yield from refused

    # --- what we want from it ----------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        turns = self._turns
        match effect:
            case AnswerGate():
                yield from self._answer(effect)
            case AnswerPermission():
                yield from self._gate.decide(self.session, effect.request, allow=effect.allow)
            case Abort():
                yield from turns.abort(effect)
            case ReadSession():
                yield SessionRead(
                    session=effect.session,
                    effect=effect.effect,
                    ok=True,
                    status=Status.IDLE if turns.turn is None else Status.BUSY,
                    newest_assistant=turns.replies.newest,
                    newest_user=turns.replies.answers,
                    newest_user_origin=turns.origin,
                    agent=turns.updates.mode,
                )
            case Prompt():
                yield from self._prompt_effect(effect)
            case Trim():
                error = "the history of this agent cannot be changed"
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=False, error=error)
            case _:
                pass

    def _prompt_effect(self, effect: Prompt) -> Iterator[Part]:
        error = ""
        if effect.purpose is Purpose.NUDGE:
            error = "this agent takes no hints into a running turn"
        elif effect.session != self.session or self.session == NO_SESSION:
            error = "there is no such session"
        elif self._turns.turn is not None:
            error = "a turn is running"
        else:
            yield from self._turns.prompt(effect.text, Origin.LOOPGUARD, effect.effect)
        yield EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)

    def _request(self, method: str, params: dict[str, Any], returned: Returned) -> Order:
        return send(self._rpc.request(method, params, returned))


def _ponged(_result: Any, _error: jsonrpc.Failure | None) -> Iterator[Part]:
    return iter(())


def capabilities(*, tools: bool = False) -> Capabilities:
    return Capabilities(
        text_deltas=True,
        reasoning=True,
        abort=True,
        prompt=True,
        read_session=True,
        usage=True,
        tools=tools,
    )
