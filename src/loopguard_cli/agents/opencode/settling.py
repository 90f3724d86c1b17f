"""Effects under way, and the event that settles each: exactly one, whatever happens to the agent."""

from __future__ import annotations

from typing import Any

import msgspec

from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.opencode.messages import MessageReader
from loopguard_cli.agents.opencode.protocol import ReadData
from loopguard_cli.agents.opencode.seen import Seen
from loopguard_cli.core.effects import Abort, Prompt, ReadSession, RunAudit, Trim
from loopguard_cli.core.events import AuditFinished, EffectSettled, Event, SessionRead, Status
from loopguard_cli.core.ids import EffectId, MessageId

LIMIT = 1000
SETTLED = (Abort, Prompt, ReadSession, RunAudit, Trim)
"""The effects that a bridge performs and that have a result."""

Awaited = Abort | Prompt | ReadSession | RunAudit | Trim


class Pending:
    """What the bridge still owes us."""

    def __init__(self, seen: Seen, messages: MessageReader) -> None:
        self._seen = seen
        self._messages = messages
        self._effects: Recent[EffectId, Awaited] = Recent(LIMIT)

    def add(self, effect: Awaited) -> None:
        self._effects[effect.effect] = effect

    def take(self, effect: EffectId) -> Awaited | None:
        """What is owed under this id; it is owed no longer."""
        return self._effects.pop(effect)

    def take_all(self) -> list[Awaited]:
        """Everything that is still owed; it is owed no longer."""
        effects = [effect for _, effect in self._effects.items()]
        self._effects.clear()
        return effects

    def settled(self, effect: Awaited, *, ok: bool, error: str = "", data: Any = None) -> Event:
        """The event that settles ``effect``. Without data, a session is read from what was seen of it."""
        if isinstance(effect, RunAudit):
            reply = data.get("text") if isinstance(data, dict) else ""
            return AuditFinished(
                session=effect.session, effect=effect.effect, reply=str(reply or ""), error=error
            )
        if not isinstance(effect, ReadSession):
            return EffectSettled(session=effect.session, effect=effect.effect, ok=ok, error=error)
        try:
            read = ReadData() if data is None else msgspec.convert(data, ReadData, strict=False)
            status = Status(read.status)
        except ValueError:
            return self._unread(effect, "the answer is not understood")
        return self._read(effect, read, status) if ok else self._unread(effect, error)

    def _unread(self, effect: ReadSession, error: str) -> SessionRead:
        return SessionRead(session=effect.session, effect=effect.effect, ok=False, error=error)

    def _read(self, effect: ReadSession, read: ReadData, status: Status) -> SessionRead:
        session, seen = effect.session, self._seen
        nothing = MessageId("")
        user = read.user.id or seen.newest_user.get(session, nothing)
        return SessionRead(
            session=session,
            effect=effect.effect,
            ok=True,
            status=status,
            newest_assistant=read.assistant or seen.newest_reply.get(session, nothing),
            newest_user=user,
            newest_user_origin=self._messages.origin(session, user, read.user.parts),
            agent=read.user.agent or seen.agents.get(session, ""),
        )
