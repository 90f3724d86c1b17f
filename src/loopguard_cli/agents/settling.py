"""How an effect that was asked for turned out."""

from __future__ import annotations

from loopguard_cli.core.effects import Abort, Prompt, ReadSession, Trim
from loopguard_cli.core.events import EffectSettled, Origin, SessionRead, Status
from loopguard_cli.core.ids import MessageId


def settled(effect: Abort | Prompt | Trim, error: str = "") -> EffectSettled:
    """It was done, or it could not be for the reason in ``error``."""
    return EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)


def stands(
    effect: ReadSession, *, busy: bool, assistant: MessageId, user: MessageId, origin: Origin
) -> SessionRead:
    """How the session stands, as far as was heard: its newest messages, and who wrote the user's."""
    return SessionRead(
        session=effect.session,
        effect=effect.effect,
        ok=True,
        status=Status.BUSY if busy else Status.IDLE,
        newest_assistant=assistant,
        newest_user=user,
        newest_user_origin=origin,
    )
