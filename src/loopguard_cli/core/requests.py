"""Answers to ``guard.*`` requests: status, inspect, mode, reset, mute, check, decide, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from loopguard_cli.core.authority import may
from loopguard_cli.core.effects import Effect, Level, Record, Respond, Tell
from loopguard_cli.core.events import Asked
from loopguard_cli.core.findings import Panel
from loopguard_cli.core.guard import Guard
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GuardChanged
from loopguard_cli.core.settings import GuardSettings, Mode

if TYPE_CHECKING:
    from loopguard_cli.core.hub import Hub

INSPECTED = 8
"""Calls that an answer for a person names; programs get all that are remembered."""

TYPED = ("status", "inspect", "on", "observe", "off", "reset")
"""What may follow ``/loop-guard``."""

HOOK = "guard.hook"
"""Something inside the agent, and not the agent, called a hook: ``{"hook": name}``. Never allowed."""

Handler = Callable[["Hub", Asked, float], Iterator[Effect]]


def answer(hub: Hub, asked: Asked, now: float) -> Iterator[Effect]:
    """Answer ``asked`` with exactly one `Respond`, preceded by what it brings about."""
    handler = _HANDLERS.get(asked.operation)
    if asked.operation == HOOK:
        name = str(asked.arguments.get("hook", ""))
        yield _changed(asked, accepted=False, detail=name)
        yield _refusal(asked, hub.wording.forged(name))
        yield _no(asked, "not_allowed", hub.wording.forged(name))
    elif handler is None:
        name = asked.operation.rpartition(".")[2]
        yield _no(asked, "unknown_operation", hub.wording.unknown(name, ", ".join(TYPED)))
    elif not may(asked.surface, asked.operation):
        text = hub.wording.refused(asked.operation)
        yield _changed(asked, accepted=False)
        yield _refusal(asked, text)
        yield _no(asked, "not_allowed", text)
    else:
        yield from handler(hub, asked, now)


# --- reading ---------------------------------------------------------------------------------


def _status(hub: Hub, asked: Asked, now: float) -> Iterator[Effect]:
    settings = hub.settings
    data: dict[str, Any] = {
        "connected": hub.presence.connected,
        "agent": hub.presence.agent,
        "agent_version": hub.presence.version,
        "mode": settings.mode.value,
        "preset": settings.preset.value,
        "unparsed": hub.unparsed,
        "totals": hub.totals(),
        "cap_reached": hub.caps.reached,
        "caps": [
            {"name": name, "used": round(used, 4), "limit": limit}
            for name, used, limit in hub.caps.used(now, hub.totals())
            if limit
        ],
        "sessions": [_session(guard, now) for guard in hub.sessions.values()],
    }
    guards = list(hub.sessions.values())
    text = hub.wording.status(
        mode=settings.mode.value,
        preset=settings.preset.value,
        calls=int(hub.totals()["calls"]),
        blocks=sum(guard.blocks for guard in guards),
        aborts=sum(guard.aborts for guard in guards),
    )
    yield Respond(session=asked.session, request=asked.request, ok=True, text=text, data=data)


def _session(guard: Guard, now: float) -> dict[str, Any]:
    state = guard.state
    calls = () if guard.broken else guard.panel.calls(now)
    last = calls[-1] if calls else None
    return {
        "session": state.id,
        "parent": state.parent,
        "status": state.status.value,
        "agent": state.agent,
        "model": state.model,
        **guard.totals(),
        "blocks": guard.blocks,
        "aborts": guard.aborts,
        "nudges": guard.nudges,
        "continuations": guard.recovery.used,
        "recovery": guard.recovery.step.value,
        "stopped": state.stopped,
        "muted": state.muted,
        "call": {**msgspec.to_builtins(last), "age": round(now - last.last_seen, 3)} if last else None,
        "gauges": [] if guard.broken else msgspec.to_builtins(list(guard.panel.gauges(now))),
    }


def _inspect(hub: Hub, asked: Asked, now: float) -> Iterator[Effect]:
    calls = [
        {**msgspec.to_builtins(view), "session": guard.state.id, "age": round(now - view.last_seen, 3)}
        for guard in _chosen(hub, asked)
        if not guard.broken
        for view in guard.panel.calls(now)
    ]
    text = hub.wording.recent_calls(
        [(call["tool"], call["count"], call["blocked"]) for call in calls[-INSPECTED:]]
    )
    yield Respond(session=asked.session, request=asked.request, ok=True, text=text, data={"calls": calls})


# --- changing --------------------------------------------------------------------------------


def _mode(hub: Hub, asked: Asked, _now: float) -> Iterator[Effect]:
    try:
        mode = Mode(str(asked.arguments.get("mode", "")))
    except ValueError:
        yield _no(asked, "bad_value", "mode must be one of: " + ", ".join(Mode))
        return
    yield _changed(asked, detail=mode.value)
    yield from hub.reconfigure(msgspec.structs.replace(hub.settings, mode=mode))
    yield _yes(asked, hub.wording.changed("mode", mode.value), mode=mode.value)


def _settings(hub: Hub, asked: Asked, _now: float) -> Iterator[Effect]:
    """``{"guard": {...}}``: the whole new ``[guard]`` table, already merged by the caller.

    ``{"error": text}``: why the caller has none.
    """
    if error := asked.arguments.get("error"):
        yield _no(asked, "bad_settings", str(error))
        return
    try:
        settings = msgspec.convert(asked.arguments.get("guard"), GuardSettings)
    except msgspec.ValidationError as error:
        yield _no(asked, "bad_value", str(error))
        return
    yield _changed(asked)
    yield from hub.reconfigure(settings)
    yield _yes(asked, hub.wording.applied())


def _reset(hub: Hub, asked: Asked, _now: float) -> Iterator[Effect]:
    yield _changed(asked)
    guards = _chosen(hub, asked)
    for guard in guards:
        guard.reset()
    yield _yes(asked, hub.wording.counters_reset(), sessions=len(guards))


def _mute(hub: Hub, asked: Asked, _now: float) -> Iterator[Effect]:
    on = asked.arguments.get("on", True)
    if not isinstance(on, bool):
        yield _no(asked, "bad_value", "on must be true or false")
        return
    yield _changed(asked, detail=str(on).lower())
    for guard in _chosen(hub, asked):
        guard.state.muted = on
    yield _yes(asked, hub.wording.changed("mute", "on" if on else "off"), muted=on)


# --- decisions -------------------------------------------------------------------------------


def _check(hub: Hub, asked: Asked, now: float) -> Iterator[Effect]:
    yield from _by_panel(hub, asked, lambda panel, fields: panel.check(fields, now))


def _decide(hub: Hub, asked: Asked, now: float) -> Iterator[Effect]:
    yield from _by_panel(hub, asked, lambda panel, fields: panel.decide(fields, now))


def _by_panel(
    hub: Hub, asked: Asked, ask: Callable[[Panel, Mapping[str, Any]], Mapping[str, Any]]
) -> Iterator[Effect]:
    guards = [guard for guard in _chosen(hub, asked) if not guard.broken]
    if not guards:
        yield _no(asked, "no_session", "no guarded session")
        return
    said = dict(ask(guards[-1].panel, asked.arguments))
    if asked.operation == "guard.decide":
        detail = str(said.get("decision", ""))
        yield _changed(asked, accepted=bool(said["ok"]), detail=detail, key=str(said.get("key", "")))
    yield Respond(
        session=asked.session,
        request=asked.request,
        ok=bool(said.pop("ok")),
        code=str(said.pop("code", "")),
        text=str(said.pop("text", "")),
        data=said,
    )


# --- helpers ---------------------------------------------------------------------------------


def _chosen(hub: Hub, asked: Asked) -> list[Guard]:
    """The session asked about, or all; sub-agents first, the most recently used last."""
    if asked.session:
        guard = hub.sessions.get(SessionId(asked.session))
        return [guard] if guard else []
    return sorted(hub.sessions.values(), key=lambda guard: not guard.state.parent)


def _changed(asked: Asked, *, accepted: bool = True, detail: str = "", key: str = "") -> Record:
    record = GuardChanged(
        session=asked.session,
        operation=asked.operation,
        surface=asked.surface.value,
        accepted=accepted,
        detail=detail,
        key=key,
    )
    return Record(session=asked.session, record=record, sync=not accepted)


def _refusal(asked: Asked, text: str) -> Tell:
    return Tell(session=asked.session, level=Level.WARNING, topic="guard.refused", text=text)


def _yes(asked: Asked, text: str, **data: Any) -> Respond:
    return Respond(session=asked.session, request=asked.request, ok=True, text=text, data=data)


def _no(asked: Asked, code: str, text: str) -> Respond:
    return Respond(session=asked.session, request=asked.request, ok=False, code=code, text=text)


_HANDLERS: dict[str, Handler] = {
    "guard.status": _status,
    "guard.inspect": _inspect,
    "guard.mode": _mode,
    "guard.settings": _settings,
    "guard.reset": _reset,
    "guard.mute": _mute,
    "guard.check": _check,
    "guard.decide": _decide,
}
