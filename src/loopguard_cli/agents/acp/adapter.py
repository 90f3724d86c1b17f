"""The ACP adapter: we are the client of an agent that speaks the Agent Client Protocol on its streams.

The protocol has one prompt at a time, a cancel, and questions for permission; no hint into a running
turn, and no reason with a refusal. So a refusal that ended the turn is followed by a prompt that says
why, and prompts wait here until the turn before them is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.acp.calls import Calls
from loopguard_cli.agents.acp.permissions import Asked, allows, outcome
from loopguard_cli.agents.acp.protocol import VERSION, Initialized, NewSession, Permission, Prompted, Usage
from loopguard_cli.agents.acp.replies import Replies
from loopguard_cli.agents.acp.updates import Updates
from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    BridgeAddress,
    Form,
    Hello,
    LaunchPlan,
    Order,
    Outgoing,
    Question,
    Setup,
    Show,
    Shown,
    Streams,
    Withdrawn,
    answer,
)
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
    AgentError,
    AgentExited,
    EffectSettled,
    Event,
    Origin,
    PermissionAnswered,
    PermissionAsked,
    SessionRead,
    SessionSeen,
    Status,
    StatusChanged,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, RequestId
from loopguard_cli.core.settings import Capabilities, Permissions
from loopguard_cli.errors import UsageError
from loopguard_cli.wire import jsonrpc

CANCELLED = "cancelled"
DOOM_LOOP = "doom_loop"
"""OpenCode's own question about repeated calls; ours replaces it (`core.hub`)."""

_NO_EFFECT = EffectId("")

T = TypeVar("T")
Part = Outgoing | Event
Returned = Callable[[Any, jsonrpc.Failure | None], Iterable[Part]]


class _Turn:
    """From a prompt to its answer."""

    def __init__(self, message: MessageId) -> None:
        self.message = message
        self.cancelled = False
        self.refusals: list[str] = []
        """What our gate had to say and the model has not read: no word of the model came since."""


class Acp:
    """One run of one agent."""

    name = "acp"
    messages: Any = Hello
    speaks: Any = jsonrpc.Message

    def __init__(self, setup: Setup) -> None:
        self.commands = setup.commands
        self.capabilities = capabilities(tools=bool(setup.tool_server))
        self.session = NO_SESSION
        self.finished = False
        self._setup = setup
        self._rpc: jsonrpc.Peer[Returned] = jsonrpc.Peer()
        self._calls = Calls(setup.directory)
        self._replies = Replies()
        self._updates = Updates(self._calls, self._replies)
        self._turn: _Turn | None = None
        self._queue: deque[str] = deque()
        self._asked: dict[RequestId, Asked] = {}
        self._aborts: list[Abort] = []
        self._messages = 0
        self._origin = Origin.PERSON
        self._status = 0
        """What the agent's exit status says if its own does not: 1 after an error."""

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        form = Form.CONSOLE if self._setup.interactive else Form.ONE_SHOT
        return LaunchPlan(argv=self._setup.argv, form=form, streams=Streams.PIPED, quiet=True)

    def relaunch(self, _environ: Mapping[str, str], _address: BridgeAddress, _prompt: Prompt) -> LaunchPlan:
        raise UsageError("an agent that we drive is prompted, not started again")

    def greet(self, _peer: int, _hello: Hello) -> Answer:
        return Answer()

    def receive(self, _peer: int, _message: Any) -> Sequence[Event]:
        return ()

    def lost(self, _peer: int, _reason: str) -> Sequence[Event]:
        return ()

    # --- the conversation --------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return self.session != NO_SESSION and self._turn is None and not self._queue

    def began(self) -> Answer:
        params = {
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "loopguard", "version": __version__},
        }
        return answer([self._request("initialize", params, self._initialized)])

    def heard(self, message: jsonrpc.Message) -> Answer:
        return answer(self._heard(message))

    def typed(self, text: str) -> Answer:
        return answer(self._typed(text))

    def chosen(self, question: str, key: str) -> Answer:
        return answer(self._chosen(RequestId(question), key))

    def interrupted(self) -> Answer:
        self._queue.clear()
        return answer(self._cancel())

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def exited(self, code: int) -> Sequence[Event]:
        said: list[Event] = []
        self._queue.clear()
        if self._turn is not None:
            said += [part for part in self._over(CANCELLED, None) if isinstance(part, Event)]
        self._rpc.abandon()
        self._asked.clear()
        return [*said, AgentExited(code=code or self._status)]

    # --- what the agent says -----------------------------------------------------------------

    def _heard(self, message: jsonrpc.Message) -> Iterator[Part]:
        match self._rpc.read(message):
            case jsonrpc.Returned(about, result, error):
                yield from about(result, error)
            case jsonrpc.Notification("session/update", params):
                yield from self._update(params)
            case jsonrpc.Notification(method, _):
                if not method.startswith("_"):
                    yield Unparsed(native=f"notification {method}"[:100])
            case jsonrpc.Request(request, "session/request_permission", params):
                yield from self._permission(request, params)
            case jsonrpc.Request(request, method, _):
                yield _send(self._rpc.failure(request, jsonrpc.METHOD_NOT_FOUND, f"no {method} here"))
                if not method.startswith(("_", "fs/", "terminal/")):
                    yield Unparsed(native=f"request {method}"[:100])
            case jsonrpc.Stray(reason):
                yield Unparsed(native=reason)

    def _initialized(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        initialized = _read(result, Initialized)
        if initialized is None:
            yield from self._cannot("speak ACP", error)
            return
        info = initialized.agent_info
        yield AgentConnected(agent=info.name or self.name, version=info.version)
        if info.name:
            yield Shown(kind=Show.NOTE, text=f"{info.name} {info.version}".strip())
        env = [{"name": name, "value": value} for name, value in self._setup.tool_environment.items()]
        servers = [
            {"name": "loopguard", "command": command, "args": args, "env": env}
            for command, *args in filter(None, [self._setup.tool_server])
        ]
        params = {"cwd": self._setup.directory, "mcpServers": servers}
        yield self._request("session/new", params, self._opened)

    def _opened(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        opened = _read(result, NewSession)
        if opened is None:
            yield from self._cannot("open a session", error)
            return
        self.session = opened.session_id
        yield SessionSeen(session=self.session, directory=self._setup.directory)
        if opened.modes is not None and opened.modes.current_mode_id:
            yield self._updates.switched(self.session, opened.modes.current_mode_id)
        if self._queue:
            yield from self._next()
        else:
            yield StatusChanged(session=self.session, status=Status.IDLE)

    def _cannot(self, what: str, error: jsonrpc.Failure | None) -> Iterator[Part]:
        self.finished, self._status = True, 1
        why = error.message if error is not None else "its answer is not understood"
        yield Shown(kind=Show.NOTE, text=f"the agent cannot {what}: {why}")
        yield Unparsed(native=f"cannot {what}"[:100])

    def _update(self, params: dict[str, Any]) -> Iterator[Part]:
        if params.get("sessionId") != self.session:
            yield Unparsed(native="update of an unknown session")
            return
        turn = self._turn
        cancelling = turn is not None and turn.cancelled
        for part in self._updates.read(self.session, params.get("update"), cancelling=cancelling):
            if turn is not None and isinstance(part, Shown) and part.kind in (Show.TEXT, Show.TOOL):
                turn.refusals.clear()
            yield part

    # --- turns -------------------------------------------------------------------------------

    def _typed(self, text: str) -> Iterator[Part]:
        if not text:
            return
        self._queue.append(text)
        if self._turn is not None:
            yield Shown(kind=Show.NOTE, text="sent when this turn is over (^C stops it)")
        elif self.session != NO_SESSION:
            yield from self._next()

    def _next(self) -> Iterator[Part]:
        yield from self._prompt(self._queue.popleft(), Origin.PERSON)

    def _prompt(self, text: str, origin: Origin, effect: EffectId = _NO_EFFECT) -> Iterator[Part]:
        self._messages += 1
        message = MessageId(f"user.{self._messages}")
        self._turn, self._origin = _Turn(message), origin
        self._replies.begin(message)
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        yield self._request("session/prompt", params, self._prompted)
        if origin is Origin.LOOPGUARD:
            yield Shown(kind=Show.PROMPT, text=text)
        yield UserSpoke(session=self.session, message=message, origin=origin, effect=effect, text=text)
        yield StatusChanged(session=self.session, status=Status.BUSY)

    def _prompted(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        turn = self._turn
        if turn is None:
            yield Unparsed(native="answer to no prompt")
            return
        prompted = _read(result, Prompted)
        failure = ""
        if prompted is None:
            failure = error.message if error is not None else "the answer is not understood"
            prompted = Prompted(stop_reason=CANCELLED if turn.cancelled else "")
        if turn.refusals and not turn.cancelled and not failure and not self._queue:
            yield from self._replies.finish(self.session, prompted.stop_reason)
            yield from self._used(prompted.usage)
            yield from self._prompt("\n\n".join(turn.refusals), Origin.LOOPGUARD)
            return
        yield from self._over(prompted.stop_reason, prompted.usage, "" if turn.cancelled else failure)

    def _over(self, reason: str, usage: Usage | None, failure: str = "") -> Iterator[Part]:
        turn, self._turn = self._turn, None
        aborted = reason == CANCELLED
        message = self._replies.newest
        finished = list(self._replies.finish(self.session, reason, aborted=aborted))
        yield from finished
        if failure:
            self._status = 1
            yield Shown(kind=Show.NOTE, text=f"the turn failed: {failure}")
            yield AgentError(session=self.session, message=message, name="prompt", text=failure)
        elif aborted and not finished:
            yield AgentError(session=self.session, message=message, name=CANCELLED, aborted=True)
        yield from self._used(usage)
        for request in [request for request, _ in self._asked.items()]:
            del self._asked[request]
            yield Withdrawn(id=request)
        for abort in self._aborts:
            yield EffectSettled(session=abort.session, effect=abort.effect, ok=True)
        self._aborts.clear()
        if turn is not None and not failure:
            self._status = 0
        if self._queue:
            yield from self._next()
        else:
            yield StatusChanged(session=self.session, status=Status.IDLE)

    def _used(self, usage: Usage | None) -> Iterator[Part]:
        cost = self._updates.cost_since()
        if usage is None and not cost:
            return
        usage = usage or Usage()
        yield UsageReported(
            session=self.session,
            message=self._replies.newest,
            input=int(usage.input_tokens),
            output=int(usage.output_tokens),
            reasoning=int(usage.thought_tokens or 0),
            cache_read=int(usage.cached_read_tokens or 0),
            cache_write=int(usage.cached_write_tokens or 0),
            total=int(usage.total_tokens),
            cost=cost,
        )

    def _cancel(self) -> Iterator[Part]:
        if self._turn is None or self._turn.cancelled:
            return
        self._turn.cancelled = True
        self._turn.refusals.clear()
        yield _send(self._rpc.notification("session/cancel", {"sessionId": self.session}))
        # A client that cancels must answer what the agent still asks.
        for request, asked in list(self._asked.items()):
            del self._asked[request]
            self._calls.refuse(asked.call, ours=False)
            yield _send(self._rpc.result(asked.request, outcome(None)))
            yield Withdrawn(id=request)

    # --- permissions -------------------------------------------------------------------------

    def _permission(self, request: int | str, params: dict[str, Any]) -> Iterator[Part]:
        permission = _read(params, Permission)
        if permission is None or permission.session_id != self.session or self._turn is None:
            yield _send(self._rpc.result(request, outcome(None)))
            yield Unparsed(native="question for permission")
            return
        if self._turn.cancelled:
            yield _send(self._rpc.result(request, outcome(None)))
            return
        call = permission.tool_call
        gate = RequestId(f"permission.{request}")
        self._asked[gate] = Asked(request, call.tool_call_id, permission.options)
        if call.title == DOOM_LOOP:
            yield PermissionAsked(
                session=self.session, request=gate, permission=DOOM_LOOP, call=call.tool_call_id
            )
        else:
            yield self._calls.ask(self.session, call, gate)

    def _gate(self, effect: AnswerGate) -> Iterator[Part]:
        asked = self._asked.get(effect.request)
        if asked is None:
            return
        if not effect.allow:
            del self._asked[effect.request]
            self._calls.refuse(asked.call, ours=True)
            if self._turn is not None:
                self._turn.refusals.append(effect.text)
            yield _send(self._rpc.result(asked.request, outcome(asked.pick(allow=False))))
        elif self._setup.permissions is Permissions.ASK:
            yield PermissionAsked(
                session=self.session, request=effect.request, permission="tool", call=asked.call
            )
            text = f"May it run {self._calls.describe(asked.call)}"
            yield Question(id=effect.request, text=text, choices=asked.choices())
        else:
            allow = self._setup.permissions is Permissions.ALLOW
            yield from self._decide(effect.request, allow=allow)

    def _chosen(self, request: RequestId, key: str) -> Iterator[Part]:
        asked = self._asked.get(request)
        if asked is None:
            return
        if not key:
            text = f"refused, since nobody is here to ask: {self._calls.describe(asked.call)}"
            yield Shown(kind=Show.NOTE, text=text)
            yield from self._decide(request, allow=False)
            return
        option = asked.chosen(key)
        del self._asked[request]
        if not allows(option):
            self._calls.refuse(asked.call, ours=False)
        yield _send(self._rpc.result(asked.request, outcome(option)))
        yield PermissionAnswered(session=self.session, request=request, allowed=allows(option))

    def _decide(self, request: RequestId, *, allow: bool) -> Iterator[Part]:
        asked = self._asked.pop(request)
        option = asked.pick(allow=allow)
        if not allows(option):
            self._calls.refuse(asked.call, ours=False)
        yield _send(self._rpc.result(asked.request, outcome(option)))
        yield PermissionAnswered(session=self.session, request=request, allowed=allows(option))

    # --- what we want from it ----------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case AnswerGate():
                yield from self._gate(effect)
            case AnswerPermission() if effect.request in self._asked:
                yield from self._decide(effect.request, allow=effect.allow)
            case Abort():
                if self._turn is None:
                    yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
                else:
                    self._aborts.append(effect)
                    yield from self._cancel()
            case ReadSession():
                yield SessionRead(
                    session=effect.session,
                    effect=effect.effect,
                    ok=True,
                    status=Status.IDLE if self._turn is None else Status.BUSY,
                    newest_assistant=self._replies.newest,
                    newest_user=self._replies.answers,
                    newest_user_origin=self._origin,
                    agent=self._updates.mode,
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
        elif self._turn is not None:
            error = "a turn is running"
        else:
            yield from self._prompt(effect.text, Origin.LOOPGUARD, effect.effect)
        yield EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)

    def _request(self, method: str, params: dict[str, Any], returned: Returned) -> Order:
        return _send(self._rpc.request(method, params, returned))


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


def _send(message: dict[str, Any]) -> Order:
    return Order(peer=CHILD, message=message)


def _read(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return None
