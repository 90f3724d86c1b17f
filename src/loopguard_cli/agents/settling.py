"""How an effect that was asked for turned out."""

from __future__ import annotations

from loopguard_cli.core.effects import Abort, Prompt, Trim
from loopguard_cli.core.events import EffectSettled


def settled(effect: Abort | Prompt | Trim, error: str = "") -> EffectSettled:
    """It was done, or it could not be for the reason in ``error``."""
    return EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)
