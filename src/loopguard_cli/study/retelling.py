"""Makes a report (`report.model`) of a session's events and of what was found in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentError,
    Asked,
    Channel,
    CheckFinished,
    Compacted,
    Event,
    Origin,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, SessionId
from loopguard_cli.core.measures import number
from loopguard_cli.core.session import Usage
from loopguard_cli.detect.keys import call_key
from loopguard_cli.goal.prompts import continues_goal
from loopguard_cli.report import HINTS, Alarm, Curve, Item, Kind, Report, Turn
from loopguard_cli.report.model import MARKED
from loopguard_cli.store.redaction import Redactor
from loopguard_cli.study.replay import Found

MAX_ITEMS = 20_000
"""Ordinary items on a page; what a reader looks for is never left out."""

MAX_POINTS = 4_000

MAX_CONTENT = 4_000
"""Characters of one argument list, output or text on a page."""

REMEMBERED_PIECES = 4_096

_MARGIN = 2_000
"""Redacted beyond what is shown, so that nothing is cut in the middle of a secret."""


class Retelling:
    """Takes a session's events in, in order; `report` is what came of them."""

    def __init__(self, report: Report, *, content: Redactor | None = None) -> None:
        """``content``: what was written, called and returned is shown, redacted by this."""
        self._report = report
        self._content = content
        report.has_content = content is not None
        self._turns: dict[SessionId, Turn] = {}
        self._usage: dict[SessionId, Usage] = {}
        self._calls: dict[str, Item] = {}
        self._keys: dict[str, int] = {}
        self._texts: dict[str, tuple[Item, list[str]]] = {}
        self._within: dict[int, int] = {}
        """Pieces of texts, and the event at which their text begins."""
        self._alarms: dict[str, Alarm] = {}
        self._items = 0
        self._tokens = Curve(name="Tokens", unit="tokens")
        self._cost = Curve(name="Cost", unit="$")

    def take(self, index: int, time: float, event: Event, found: Sequence[Found] = ()) -> None:
        report = self._report
        report.started = report.started or time
        report.ended = max(report.ended, time)
        self._event(index, time, event)
        if event.session in self._turns:
            self._turns[event.session].ended = time
        for one in found:
            self._found(one, time, event.session)

    def report(self) -> Report:
        report = self._report
        report.curves = [curve for curve in (self._tokens, self._cost) if len(curve.points) > 2]
        for item, pieces in self._texts.values():
            self._close_text(item, pieces)
        self._texts.clear()
        report.redacted = self._content.blanked if self._content else 0
        report.turns.sort(key=lambda turn: turn.time)
        for place, turn in enumerate(report.turns, 1):
            turn.number = place
        return report

    # --- events ------------------------------------------------------------------------------

    def _event(self, index: int, time: float, event: Event) -> None:
        match event:
            case AgentConnected():
                self._report.agent, self._report.version = event.agent, event.version
            case SessionSeen():
                if event.session not in self._report.sessions:
                    self._report.sessions.append(event.session)
                self._report.project = self._report.project or event.directory
            case UserSpoke():
                self._spoke(index, time, event)
            case ToolAsked() | ToolStarted():
                self._called(index, time, event)
            case ToolFinished():
                self._returned(index, time, event)
            case TextDelta() | TextSnapshot(synthetic=False):
                self._wrote(index, time, event)
            case UsageReported():
                self._used(time, event)
            case ReplyStarted(summary=True):
                self._add(index, time, event, Kind.NOTE, "the agent sums the conversation up")
            case Compacted():
                self._add(index, time, event, Kind.NOTE, "the conversation was compacted")
            case AgentError():
                title = "turn cut off" if event.aborted else f"error {event.name}".strip()
                self._add(index, time, event, Kind.ABORT if event.aborted else Kind.ERROR, title)
            case AgentDisconnected():
                self._add(index, time, event, Kind.NOTE, "the connection to the agent ended")
            case CheckFinished():
                passed = event.exit_code == 0
                self._add(
                    index, time, event, Kind.GOAL, f"check {'passed' if passed else 'failed'}", ok=passed
                )
            case Asked() if event.operation.startswith(("goal.", "tool.goal")):
                self._add(index, time, event, Kind.GOAL, f"{event.operation} by {event.surface}")
            case StatusChanged(status=Status.RETRY):
                self._add(index, time, event, Kind.NOTE, "waits to ask its provider again")
            case _:
                pass

    def _spoke(self, index: int, time: float, event: UserSpoke) -> None:
        if event.origin is Origin.HOST and event.session in self._turns:
            self._add(index, time, event, Kind.NOTE, "message of the agent program")
            return
        self._open(time, event.session, event.origin.value, self._shown(event.text))
        if event.origin is Origin.LOOPGUARD:
            pursuit = continues_goal(event.text)
            self._report.pursued += pursuit
            self._report.continued += not pursuit
            title = "told to go on with the goal" if pursuit else "told to go on after a loop"
            self._add(index, time, event, Kind.CONTINUATION, title)

    def _called(self, index: int, time: float, event: ToolAsked | ToolStarted) -> None:
        if event.call in self._calls:
            return
        key = call_key(event.tool, event.args)
        times = self._keys[key] = self._keys.get(key, 0) + 1
        detail = f"the same call, {_nth(times)} time" if times > 1 else ""
        item = self._add(index, time, event, Kind.CALL, f"{event.tool} {key[:8]}", detail=detail)
        self._report.calls += 1
        self._calls[event.call] = item
        if event.args:
            item.content = self._pieces(("arguments", _json(event.args)))

    def _returned(self, index: int, time: float, event: ToolFinished) -> None:
        item = self._calls.pop(event.call, None)
        if item is None:
            return
        if event.refused:
            self._report.blocked += 1
            self._add(index, time, event, Kind.BLOCK, f"{event.tool} was not run", alarm=item.alarm)
            return
        item.ok = event.ok and not event.exit_code
        item.seconds = time - item.time
        if event.exit_code:
            item.detail = ", ".join(filter(None, [item.detail, f"exit status {event.exit_code}"]))
        item.content += self._pieces(("result", event.output))

    def _wrote(self, index: int, time: float, event: TextDelta | TextSnapshot) -> None:
        known = self._texts.get(event.part)
        if known is None:
            kind = Kind.REASONING if event.channel is Channel.REASONING else Kind.TEXT
            known = self._texts[event.part] = (self._add(index, time, event, kind, ""), [])
            while len(self._texts) > 64:
                self._close_text(*self._texts.pop(next(iter(self._texts))))
        item, pieces = known
        if index != item.event:
            self._within[index] = item.event
            if len(self._within) > REMEMBERED_PIECES:
                del self._within[next(iter(self._within))]
        if isinstance(event, TextDelta):
            pieces.append(event.delta)
        elif len(event.text) >= sum(map(len, pieces)):  # else: it was trimmed after a loop
            pieces[:] = [event.text]

    def _close_text(self, item: Item, pieces: list[str]) -> None:
        text = "".join(pieces)
        what = "thought" if item.kind is Kind.REASONING else "wrote"
        item.title = f"{what} {number(len(text))} characters"
        item.content = self._pieces(("text", text))

    def _used(self, time: float, event: UsageReported) -> None:
        usage = self._usage.setdefault(event.session, Usage())
        tokens, cost = usage.tokens, usage.cost
        usage.add(event)
        self._report.tokens += usage.tokens - tokens
        if event.cost is not None:
            self._report.cost = (self._report.cost or 0.0) + usage.cost - cost
        _point(self._tokens, time, self._report.tokens)
        if self._report.cost:
            _point(self._cost, time, self._report.cost)

    # --- findings ----------------------------------------------------------------------------

    def _found(self, found: Found, time: float, session: SessionId) -> None:
        evidence = tuple(dict.fromkeys(self._within.get(one, one) for one in found.events))
        alarm = self._alarms.get(found.key)
        if alarm is not None:
            alarm.repeats += 1
            alarm.explanation = found.explanation if alarm.rule == found.rule else alarm.explanation
        else:
            alarm = self._alarms[found.key] = Alarm(
                number=len(self._alarms) + 1,
                rule=found.rule,
                action=found.action,
                time=time,
                event=found.event,
                explanation=found.explanation,
                evidence=evidence,
                facts={name.replace("_", " "): _fact(value) for name, value in found.facts.items()},
                session=session,
                note=found.degraded,
            )
            self._report.alarms.append(alarm)
        self._count(found)
        turn = self._turns.get(session)
        for item in reversed(turn.items if turn else []):
            if item.event in evidence and not item.alarm:
                item.alarm = alarm.number
        item = Item(
            event=found.event,
            time=time,
            kind=Kind.NUDGE if found.action in HINTS else Kind.ALARM,
            title=found.rule,
            detail=found.explanation,
            session=session,
            alarm=alarm.number,
        )
        self._turn(time, session).items.append(item)

    def _count(self, found: Found) -> None:
        """What a guard would have done; of a guarded session the events themselves tell."""
        if found.action in ("abort", "stop"):
            self._report.aborted += 1
        elif found.action == "block" and self._report.hypothetical:
            self._report.blocked += 1

    # --- turns and items ---------------------------------------------------------------------

    def _open(self, time: float, session: SessionId, who: str, text: str = "") -> Turn:
        turn = self._turns[session] = Turn(
            number=0, time=time, ended=time, who=who, session=session, text=text
        )
        self._report.turns.append(turn)
        return turn

    def _turn(self, time: float, session: SessionId) -> Turn:
        return self._turns.get(session) or self._open(time, session, "")

    def _add(self, index: int, time: float, event: Event, kind: Kind, title: str, **more: Any) -> Item:
        item = Item(event=index, time=time, kind=kind, title=title, session=event.session, **more)
        session = event.session
        if session == NO_SESSION and self._turns:
            session = next(reversed(self._turns))
        if kind in MARKED or self._items < MAX_ITEMS:
            self._items += kind not in MARKED
            self._turn(time, session).items.append(item)
        else:
            self._report.left_out += 1
        return item

    # --- content -----------------------------------------------------------------------------

    def _shown(self, text: str) -> str:
        if self._content is None:
            return ""
        shown = self._content.redact(text[: MAX_CONTENT + _MARGIN])[:MAX_CONTENT]
        return (
            shown
            if len(text) <= MAX_CONTENT
            else f"{shown}\n[{number(len(text) - MAX_CONTENT)} more characters]"
        )

    def _pieces(self, *pieces: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        if self._content is None:
            return ()
        return tuple((name, self._shown(text)) for name, text in pieces if text)


def retell(
    report: Report,
    told: Iterable[tuple[int, float, Event, Sequence[Found]]],
    *,
    content: Redactor | None = None,
) -> Report:
    """The report of numbered events with what was found at each."""
    retelling = Retelling(report, content=content)
    for index, time, event, found in told:
        retelling.take(index, time, event, found)
    return retelling.report()


def _point(curve: Curve, time: float, value: float) -> None:
    points = curve.points
    if points and points[-1][0] == time:
        points[-1] = (time, value)
    else:
        points.append((time, value))
    if len(points) > MAX_POINTS:
        del points[1:-1:2]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _fact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(_fact(one) for one in value)
    return str(value)


def _nth(count: int) -> str:
    ending = "th" if count % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"
