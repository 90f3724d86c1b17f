"""Messages: who said something, when a reply begins and ends, and what it cost.

The author of a user message is established by ids that we issued and by the session's parent, never
by its text. OpenCode sends user messages again after the turn; each counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from loopguard_cli.agents import cut
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.opencode.protocol import (
    MessageInfo,
    ModelName,
    NativeError,
    Part,
    Properties,
    Tokens,
    UserMessage,
)
from loopguard_cli.agents.opencode.seen import MESSAGES, Seen
from loopguard_cli.core.events import (
    AgentSwitched,
    Event,
    Origin,
    ReplyFinished,
    ReplyStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, MessageId, SessionId

_READ_ONLY_AGENTS = {"plan"}
_NO_EFFECT = EffectId("")


class MessageReader:
    """Reads ``message.updated`` and what the bridge says about user messages."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._waiting: Recent[MessageId, MessageInfo] = Recent(MESSAGES)
        """User messages that the bridge did not announce; their parts will show the author."""

    def updated(self, p: Properties) -> Iterator[Event]:
        info = msgspec.convert(p.info, MessageInfo, strict=False)
        if info.role == "user":
            if info.id not in self._seen.origins:
                self._waiting[info.id] = info
        elif info.role == "assistant":
            yield from self._reply(p.session, info)
        else:
            yield Unparsed(session=p.session, native=f"message role {info.role}"[:100])

    def announced(self, message: UserMessage) -> Iterator[Event]:
        """The bridge saw the message before OpenCode stored it."""
        if message.message in self._seen.origins:
            return
        origin = self._origin(message.session, message.effect, real=message.real)
        info = MessageInfo(
            id=message.message, agent=message.agent, model=message.model, variant=message.variant
        )
        yield from self._spoke(
            message.session, info, origin, effect=message.effect, text=cut.text(message.text).text
        )

    def authored(self, session: SessionId, part: Part) -> Iterator[Event] | None:
        """A part of a user message: None when it is none, else what it tells."""
        info = self._waiting.get(part.message, None)
        if info is not None and part.type in ("text", "compaction"):
            effect = _mark(part)
            origin = self._origin(session, effect, real=_real(part))
            return self._spoke(session, info, origin, effect=effect, text=cut.text(part.text).text)
        return iter(()) if info is not None or part.message in self._seen.origins else None

    def switched(self, session: SessionId, agent: str) -> Iterator[Event]:
        """The session runs under this agent from now on."""
        self._seen.agents[session] = agent
        yield AgentSwitched(session=session, agent=agent, read_only=agent in _READ_ONLY_AGENTS)

    def origin(self, session: SessionId, message: MessageId, parts: Sequence[Part]) -> Origin:
        """Who wrote a stored user message: as noted when it came, else as its parts show."""
        known = self._seen.origins.get(message, None)
        if known is not None or not parts:
            return known or Origin.PERSON
        return self._origin(
            session, next(filter(None, map(_mark, parts)), _NO_EFFECT), real=any(map(_real, parts))
        )

    def tokens(
        self, session: SessionId, message: MessageId, tokens: Tokens | None, cost: float
    ) -> Iterator[Event]:
        """Figures of one message; zero until its step ends, and again on an aborted step."""
        if tokens is None or not (tokens.input or tokens.output or tokens.reasoning or tokens.cache.read):
            return
        usage = UsageReported(
            session=session,
            message=message,
            input=int(tokens.input),
            output=int(tokens.output),
            reasoning=int(tokens.reasoning),
            cache_read=int(tokens.cache.read),
            cache_write=int(tokens.cache.write),
            total=int(tokens.total),
            cost=cost or None,
        )
        if self._seen.usage.get(message, None) != usage:
            self._seen.usage[message] = usage
            yield usage

    def _reply(self, session: SessionId, info: MessageInfo) -> Iterator[Event]:
        seen = self._seen
        if info.id not in seen.replies:
            seen.replies[info.id] = False
            seen.newest_reply[session] = info.id
            yield ReplyStarted(
                session=session,
                message=info.id,
                answers=info.parent,
                agent=info.agent or info.mode,
                model=str(ModelName(info.provider, info.model_id)),
                variant=info.variant,
                summary=info.summary is True,
            )
        yield from self.tokens(session, info.id, info.tokens, info.cost)
        ended = info.time.completed is not None or info.error is not None
        if ended and not seen.replies.get(info.id, True):
            seen.replies[info.id] = True
            error = info.error or NativeError()
            yield ReplyFinished(
                session=session,
                message=info.id,
                finish=info.finish,
                error=error.name,
                # an abort while OpenCode waits to retry leaves no error behind
                aborted=error.aborted or (not info.finish and session in seen.aborting),
            )

    def _origin(self, session: SessionId, effect: EffectId, *, real: bool) -> Origin:
        if effect and effect in self._seen.issued:
            return Origin.LOOPGUARD
        if not real:
            return Origin.HOST
        return Origin.PARENT if self._seen.is_child(session) else Origin.PERSON

    def _spoke(
        self, session: SessionId, info: MessageInfo, origin: Origin, *, effect: EffectId, text: str
    ) -> Iterator[Event]:
        seen = self._seen
        seen.origins[info.id] = origin
        seen.newest_user[session] = info.id
        self._waiting.pop(info.id)
        seen.models[session] = str(info.model) or seen.models.get(session, "")
        if info.agent and seen.agents.get(session, "") != info.agent:
            yield from self.switched(session, info.agent)
        yield UserSpoke(
            session=session,
            message=info.id,
            origin=origin,
            effect=effect if origin is Origin.LOOPGUARD else _NO_EFFECT,
            text=text,
            agent=info.agent,
            model=str(info.model),
            variant=info.variant,
        )


def _mark(part: Part) -> EffectId:
    """The effect that a part says it comes from."""
    return EffectId(str((part.metadata or {}).get("loopguard", "")))


def _real(part: Part) -> bool:
    return part.type == "text" and not part.synthetic
