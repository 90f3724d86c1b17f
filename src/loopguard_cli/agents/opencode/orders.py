"""Effects, written as orders for the bridge."""

from __future__ import annotations

from typing import Any

from loopguard_cli.agents.opencode.launch import READING
from loopguard_cli.core.effects import (
    Abort,
    AnswerPermission,
    CancelEffect,
    Effect,
    Level,
    Prompt,
    ReadSession,
    RunAudit,
    SetContext,
    Tell,
    Trim,
)

TOAST_MILLISECONDS = {Level.INFO: 5000, Level.SUCCESS: 5000, Level.WARNING: 8000, Level.ERROR: 12000}
_READ_ONLY = [
    {"permission": permission, "pattern": "*", "action": "allow" if permission in READING else "deny"}
    for permission in ("*", *READING)
]
"""The last rule that matches holds."""
_MARK = "\N{HORIZONTAL ELLIPSIS}"


def order(effect: Effect) -> dict[str, Any] | None:
    """The order for ``effect``; None when it is none of the bridge's business."""
    match effect:
        case Abort():
            return _order(effect, "abort", id=effect.effect)
        case ReadSession():
            return _order(effect, "read", id=effect.effect)
        case Trim():
            note = f"{_MARK} {effect.note}" if effect.note else ""
            return _order(
                effect,
                "trim",
                id=effect.effect,
                message=effect.message,
                part=effect.part,
                keep=effect.keep_chars,
                note=note,
            )
        case Prompt():
            return _order(
                effect,
                "prompt",
                id=effect.effect,
                text=effect.text,
                agent=effect.agent,
                model=model(effect.model),
                variant=effect.variant,
            )
        case RunAudit():
            return _order(
                effect,
                "audit",
                id=effect.effect,
                prompt=effect.prompt,
                rules=_READ_ONLY,
                timeout_ms=int(effect.timeout * 1000),
            )
        case CancelEffect():
            return _order(effect, "cancel", audit=effect.effect)
        case SetContext():
            return _order(
                effect,
                "context",
                system=effect.system,
                compaction=effect.compaction,
                host_continues=effect.host_continues,
            )
        case AnswerPermission():
            reply = "once" if effect.allow else "reject"
            return _order(effect, "permission", request=effect.request, reply=reply, text=effect.text)
        case Tell():
            duration = TOAST_MILLISECONDS[effect.level]
            return _order(
                effect,
                "toast",
                title="loopguard",
                message=effect.text,
                variant=effect.level.value,
                duration=duration,
            )
        case _:
            return None


def model(name: str) -> dict[str, str] | None:
    """``provider/model`` in OpenCode's form; a model's own name may hold further slashes."""
    provider, slash, rest = name.partition("/")
    return {"providerID": provider, "modelID": rest} if slash and provider and rest else None


def _order(effect: Effect, op: str, **fields: Any) -> dict[str, Any]:
    return {"type": "order", "op": op, "session": effect.session, **fields}
