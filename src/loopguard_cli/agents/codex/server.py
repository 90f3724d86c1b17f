"""What both forms have in common: the conversation with ``codex app-server``, and the gate.

The gate is a hook before each tool call, because only a hook's refusal has a reason that the model
reads. Hooks that nobody has reviewed are skipped by the agent, so a thread is started with a word
that lets ours run; those of others that are not trusted are switched off for that thread, so that
the word lets nothing else in.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    BridgeAddress,
    Hello,
    HookCall,
    HookReply,
    LaunchPlan,
    Order,
    Outgoing,
    Setup,
    answer,
)
from loopguard_cli.agents.codex import calls
from loopguard_cli.agents.codex.protocol import (
    Delta,
    Gate,
    GoalOf,
    Hooks,
    ItemOf,
    ThreadId,
    ThreadOf,
    ToolCall,
    Trouble,
    Turn,
    TurnOf,
    UsageOf,
    read,
)
from loopguard_cli.agents.codex.thread import INTERRUPTED, Thread
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    Effect,
    Prompt,
    Purpose,
    ReadSession,
    Respond,
    Trim,
)
from loopguard_cli.core.events import (
    AgentDisconnected,
    Asked,
    Channel,
    EffectSettled,
    Event,
    SessionGone,
    SessionRead,
    SessionSeen,
    Status,
    StatusChanged,
    Surface,
    ToolAsked,
    Unparsed,
)
from loopguard_cli.core.ids import CallId, EffectId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.errors import UsageError
from loopguard_cli.wire import jsonrpc

Part = Outgoing | Event
Returned = Callable[[Any, jsonrpc.Failure | None], Iterable[Part]]

GATE = "gate"
"""The name of our hook."""

GATE_SECONDS = 60
"""After which the agent lets a call run without our answer. We answer at once, or are gone."""

THREADS = 100
PROMPTS = 1000

_GATE = "gate."
_TOOL = "tool."

NATIVE = frozenset({"get_goal", "create_goal", "update_goal"})
"""The agent's own tools for its own goals: names that ours must not take."""


class _Gated(NamedTuple):
    hook: int
    """The call of the hook that waits."""
    session: SessionId
    call: CallId


class Server:
    """One ``codex app-server`` on standard streams that are ours."""

    name = "codex"
    messages: Any = Hello
    speaks: Any = dict[str, Any]

    def __init__(self, setup: Setup) -> None:
        self.commands = setup.commands
        self._setup = setup
        self._rpc: jsonrpc.Peer[Returned] = jsonrpc.Peer()
        self._threads: Recent[SessionId, Thread] = Recent(THREADS)
        self._side: Recent[SessionId, None] = Recent(THREADS)
        """Conversations about the task that are not the task."""
        self._gates: dict[RequestId, _Gated] = {}
        self._tools: dict[RequestId, int | str] = {}
        self._aborts: list[Abort] = []
        self._interrupting: set[str] = set()
        """Turns that were told to stop."""
        self._starting: dict[SessionId, int] = {}
        """How many turns were asked for that have not begun."""
        self._sent: Recent[str, EffectId] = Recent(PROMPTS)
        """Our prompts, by the name that they carry."""
        self._errors: dict[SessionId, str] = {}
        self._hook: tuple[str, ...] = ()
        self._untrusted: tuple[str, ...] = ()
        self._ungated = False

    # --- the parts of the contract that are not used -----------------------------------------

    def relaunch(self, _environ: Mapping[str, str], _address: BridgeAddress, _prompt: Prompt) -> LaunchPlan:
        raise UsageError("an agent that we drive is prompted, not started again")

    def greet(self, _peer: int, _hello: Hello) -> Answer:
        return Answer()

    def receive(self, _peer: int, _message: Any) -> Sequence[Event]:
        return ()

    def lost(self, _peer: int, _reason: str) -> Sequence[Event]:
        return ()

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
            case jsonrpc.Request(request, "item/tool/call", params) if self._ours(params):
                yield from self._tool(request, params)
            case jsonrpc.Request(request, method, params):
                yield from self._asked(request, method, params)
            case jsonrpc.Stray(reason):
                yield Unparsed(native=reason)

    def _asked(self, request: int | str, method: str, params: dict[str, Any]) -> Iterator[Part]:
        """A question that is not for us alone."""
        raise NotImplementedError

    def _notified(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        of = params.get("threadId")
        if isinstance(of, str) and of in self._side:
            return
        handle = _HANDLERS.get(method)
        if handle is not None:
            kind, take = handle
            given = read(params, kind)
            if given is None:
                yield Unparsed(native=f"notification {method}"[:100])
            else:
                yield from take(self, given)
        elif method.partition("/")[0] in ("item", "turn") and method not in _IGNORED:
            yield Unparsed(native=f"notification {method}"[:100])

    def _thread_started(self, given: ThreadOf) -> Iterator[Part]:
        thread = given.thread
        if thread.ephemeral and not self._takes_ephemeral(thread.id):
            self._side[thread.id] = None
        elif thread.id not in self._threads:
            self._threads[thread.id] = Thread(thread.id, thread.cwd)
            yield SessionSeen(
                session=thread.id, parent=thread.parent_thread_id or SessionId(""), directory=thread.cwd
            )

    def _takes_ephemeral(self, _thread: SessionId) -> bool:
        return False

    def _closed(self, given: ThreadId) -> Iterator[Part]:
        if self._threads.pop(given.thread_id) is not None:
            yield SessionGone(session=given.thread_id)

    def _turn_started(self, given: TurnOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        self._starting.pop(thread.session, None)
        self._errors.pop(thread.session, None)
        yield from thread.began(given.turn)
        yield from self._interrupt_if_wanted(thread)

    def _turn_completed(self, given: TurnOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        self._interrupting.discard(given.turn.id)
        yield from thread.ended(given.turn, self._errors.pop(thread.session, ""))
        yield from self._settle(thread.session)

    def _item_started(self, given: ItemOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        if given.item.type == "userMessage":
            yield from thread.spoke(given.item, self._sent.get(given.item.client_id or "", EffectId("")))
        else:
            yield from thread.item_began(given.item)
            yield from self._check_gate(thread)

    def _item_completed(self, given: ItemOf) -> Iterator[Part]:
        if given.item.type == "userMessage":
            yield from self._item_started(given)
        else:
            thread = self._thread(given.thread_id)
            yield from thread.item_ended(given.item)
            yield from self._check_gate(thread)

    def _text(self, given: Delta) -> Iterator[Part]:
        yield from self._thread(given.thread_id).piece(given.item_id, given.delta, Channel.TEXT)

    def _reasoning(self, given: Delta) -> Iterator[Part]:
        yield from self._thread(given.thread_id).piece(given.item_id, given.delta, Channel.REASONING)

    def _used(self, given: UsageOf) -> Iterator[Part]:
        yield from self._thread(given.thread_id).used(given.token_usage.last)

    def _trouble(self, given: Trouble) -> Iterator[Part]:
        if given.will_retry:
            yield StatusChanged(session=given.thread_id, status=Status.RETRY)
        elif given.thread_id:
            self._errors[given.thread_id] = given.error.message

    def _goal(self, given: GoalOf) -> Iterator[Part]:
        self._thread(given.thread_id).goal = given.goal.status
        yield from ()

    def _goal_cleared(self, given: ThreadId) -> Iterator[Part]:
        self._thread(given.thread_id).goal = ""
        yield from ()

    def _known(self) -> list[Thread]:
        return [thread for _, thread in self._threads.items()]

    def _thread(self, session: SessionId) -> Thread:
        thread = self._threads.get(session, None)
        if thread is None:
            thread = self._threads[session] = Thread(session, self._setup.directory)
        return thread

    # --- the gate ----------------------------------------------------------------------------

    def _guarding(self) -> dict[str, Any]:
        """Settings of a thread that is guarded."""
        hook = {"type": "command", "command": shlex.join([*self._hook, GATE]), "timeout": GATE_SECONDS}
        hooks: dict[str, Any] = {"PreToolUse": [{"hooks": [hook]}]}
        if self._untrusted:
            hooks["state"] = {key: {"enabled": False} for key in self._untrusted}
        return {"hooks": hooks, "bypass_hook_trust": True}

    def _list_hooks(self, directory: str, then: Callable[[], Iterable[Part]]) -> Order:
        def listed(result: Any, _error: jsonrpc.Failure | None) -> Iterator[Part]:
            hooks = read(result, Hooks)
            self._untrusted = hooks.untrusted() if hooks is not None else ()
            yield from then()

        return self._request("hooks/list", {"cwds": [directory]}, listed)

    def called(self, call: HookCall) -> Answer:
        gate = read(call.body, Gate)
        if gate is None or not gate.session_id or not gate.tool_use_id or gate.session_id in self._side:
            return Answer((HookReply(call=call.call),))
        return answer(self._gate(call.call, gate))

    def _gate(self, hook: int, gate: Gate) -> Iterator[Part]:
        thread = self._thread(gate.session_id)
        call = calls.asked(gate, thread.directory)
        yield from thread.gate(gate.tool_use_id, call)
        request = RequestId(f"{_GATE}{hook}")
        self._gates[request] = _Gated(hook, thread.session, gate.tool_use_id)
        yield ToolAsked(
            session=thread.session,
            request=request,
            call=gate.tool_use_id,
            tool=call.tool,
            args=call.args,
        )

    def hung_up(self, call: int) -> Sequence[Event]:
        gated = self._gates.pop(RequestId(f"{_GATE}{call}"), None)
        if gated is None:
            return ()
        # Interrupted while it waited: it never runs.
        return tuple(self._thread(gated.session).refuse(gated.call, "interrupted"))

    def _answer_gate(self, effect: AnswerGate) -> Iterator[Part]:
        gated = self._gates.pop(effect.request, None)
        if gated is None:
            return
        if effect.allow:
            yield HookReply(call=gated.hook)
            return
        decision = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": effect.text,
        }
        yield HookReply(call=gated.hook, body={"hookSpecificOutput": decision})
        yield from self._thread(gated.session).refuse(gated.call, effect.text)

    def _check_gate(self, thread: Thread) -> Iterator[Part]:
        if thread.ungated and not self._ungated:
            self._ungated = True
            reason = f"{thread.ungated} ran without our hook being asked"
            yield AgentDisconnected(reason=reason)

    # --- our tools ---------------------------------------------------------------------------

    def _offered(self) -> list[dict[str, Any]]:
        """Our tools, as the agent takes them with a thread."""
        return [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": {
                    "type": "object",
                    "properties": tool.args,
                    "required": [name for name in tool.args if name not in tool.optional],
                    "additionalProperties": False,
                },
            }
            for tool in self._setup.tools
            if tool.name not in NATIVE
        ]

    def _ours(self, params: Mapping[str, Any]) -> bool:
        return any(tool.name == params.get("tool") for tool in self._setup.tools)

    def _tool(self, request: int | str, params: dict[str, Any]) -> Iterator[Part]:
        call = read(params, ToolCall)
        tool = next(tool for tool in self._setup.tools if tool.name == params.get("tool"))
        if call is None:
            yield _send(self._rpc.result(request, _said("not understood", ok=False)))
            return
        asked = RequestId(f"{_TOOL}{request}")
        self._tools[asked] = request
        yield Asked(
            session=call.thread_id,
            request=asked,
            operation=tool.operation,
            arguments=tool.given(call.arguments if isinstance(call.arguments, dict) else {}),
            surface=Surface.TOOL,
        )

    def _respond(self, effect: Respond) -> Iterator[Part]:
        request = self._tools.pop(effect.request, None)
        if request is not None:
            yield _send(self._rpc.result(request, _said(effect.text or effect.code, ok=effect.ok)))

    # --- what we want from it ----------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case AnswerGate():
                yield from self._answer_gate(effect)
            case Respond():
                yield from self._respond(effect)
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
            case Trim():
                error = "what this agent keeps of a session cannot be changed"
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=False, error=error)
            case _:
                pass

    def _read(self, effect: ReadSession) -> SessionRead:
        thread = self._thread(effect.session)
        return SessionRead(
            session=effect.session,
            effect=effect.effect,
            ok=True,
            status=Status.BUSY if self._busy(thread.session) else Status.IDLE,
            newest_assistant=thread.newest,
            newest_user=thread.user,
            newest_user_origin=thread.origin,
        )

    def _busy(self, session: SessionId) -> bool:
        thread = self._threads.get(session, None)
        return (thread is not None and bool(thread.turn)) or bool(self._starting.get(session))

    def _interrupt_if_wanted(self, thread: Thread) -> Iterator[Part]:
        if thread.turn and any(abort.session == thread.session for abort in self._aborts):
            yield from self._interrupt(thread)

    def _interrupt(self, thread: Thread) -> Iterator[Part]:
        if thread.turn in self._interrupting:
            return
        self._interrupting.add(thread.turn)
        params = {"threadId": thread.session, "turnId": thread.turn}
        yield self._request("turn/interrupt", params, _nothing)
        for process in thread.processes:
            # The agent ends the turn but not the command that the turn waits for.
            ending = {"threadId": thread.session, "processId": process}
            yield self._request("thread/backgroundTerminals/terminate", ending, _nothing)

    def _settle(self, session: SessionId) -> Iterator[Part]:
        done = [abort for abort in self._aborts if abort.session == session]
        self._aborts = [abort for abort in self._aborts if abort.session != session]
        for abort in done:
            yield EffectSettled(session=session, effect=abort.effect, ok=True)

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
            yield EffectSettled(session=effect.session, effect=effect.effect, ok=False, error=error)
            return
        self._sent[effect.effect] = effect.effect

        def returned(_result: Any, failure: jsonrpc.Failure | None) -> Iterator[Part]:
            error = failure.message if failure is not None else ""
            yield EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)

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
            yield EffectSettled(session=abort.session, effect=abort.effect, ok=True)
        self._aborts.clear()
        self._gates.clear()
        self._tools.clear()

    def _request(self, method: str, params: dict[str, Any], returned: Returned) -> Order:
        return _send(self._rpc.request(method, params, returned))


_HANDLERS: dict[str, tuple[type[Any], Callable[[Any, Any], Iterable[Part]]]] = {
    "thread/started": (ThreadOf, Server._thread_started),
    "thread/closed": (ThreadId, Server._closed),
    "thread/deleted": (ThreadId, Server._closed),
    "thread/goal/updated": (GoalOf, Server._goal),
    "thread/goal/cleared": (ThreadId, Server._goal_cleared),
    "thread/tokenUsage/updated": (UsageOf, Server._used),
    "turn/started": (TurnOf, Server._turn_started),
    "turn/completed": (TurnOf, Server._turn_completed),
    "item/started": (ItemOf, Server._item_started),
    "item/completed": (ItemOf, Server._item_completed),
    "item/agentMessage/delta": (Delta, Server._text),
    "item/reasoning/textDelta": (Delta, Server._reasoning),
    "item/reasoning/summaryTextDelta": (Delta, Server._reasoning),
    "error": (Trouble, Server._trouble),
}

_IGNORED = {
    "item/autoApprovalReview/completed", "item/autoApprovalReview/started",
    "item/commandExecution/outputDelta", "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta", "item/fileChange/patchUpdated", "item/mcpToolCall/progress",
    "item/plan/delta", "item/reasoning/summaryPartAdded", "turn/diff/updated",
    "turn/moderationMetadata", "turn/plan/updated",
}  # fmt: skip
"""Of the items and turns; what is not about these is not ours to count."""


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
    )


def _nothing(_result: Any, _failure: jsonrpc.Failure | None) -> Iterator[Part]:
    yield from ()


def _interrupted(thread: Thread) -> Turn:
    return Turn(id=thread.turn, status=INTERRUPTED)


def _said(text: str, *, ok: bool) -> dict[str, Any]:
    return {"success": ok, "contentItems": [{"type": "inputText", "text": text}]}


def _send(message: dict[str, Any]) -> Order:
    return Order(peer=CHILD, message=message)
