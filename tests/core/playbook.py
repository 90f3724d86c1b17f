"""A hub over a scripted panel: tests say what the detectors find and look at the effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from loopguard_cli.core.effects import AnswerGate, Effect
from loopguard_cli.core.events import EffectSettled, Event, SessionRead, Status, ToolAsked, UserSpoke
from loopguard_cli.core.findings import Action, CallView, Finding, Gauge
from loopguard_cli.core.hub import Hub
from loopguard_cli.core.ids import CallId, CallKey, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities, GuardSettings, Preset

T = TypeVar("T", bound=Effect)

S = SessionId("s1")
ABLE = Capabilities(
    gate=True,
    text_deltas=True,
    abort=True,
    nudge=True,
    prompt=True,
    trim=True,
    read_session=True,
    screen=True,
)
HEADLESS = Capabilities(gate=True, abort=True, nudge=True, prompt=True, respawn=True, read_session=True)


class ScriptedPanel:
    """Finds what the test has queued, one entry per event it sees."""

    def __init__(self) -> None:
        self.queue: list[Finding] = []
        self.seen: list[Event] = []
        self.blocked: list[CallId] = []
        self.resumes = self.resets = 0
        self.fault: Exception | None = None
        self.settings = GuardSettings()

    def observe(self, event: Event, seq: int, now: float) -> Sequence[Finding]:
        if self.fault is not None:
            raise self.fault
        self.seen.append(event)
        found, self.queue = self.queue, []
        return found

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> Sequence[Finding]:
        return ()

    def call_blocked(self, call: CallId, now: float) -> None:
        self.blocked.append(call)

    def reset(self) -> None:
        self.resets += 1

    def resumed(self, now: float) -> None:
        self.resumes += 1

    def reconfigure(self, settings: GuardSettings) -> None:
        self.settings = settings

    def calls(self, now: float) -> Sequence[CallView]:
        return ()

    def gauges(self, now: float) -> Sequence[Gauge]:
        return (Gauge(rule="repeat-call", used=2, limit=3, tool="bash"),)

    def view(self, call: CallId, now: float) -> CallView | None:
        return CallView(tool="bash", key=CallKey("k"), count=1, blocked=False, last_seen=now, ok=None)

    def check(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return {"ok": True, "text": "seen", "count": 2}

    def decide(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return {"ok": True, "text": "granted", "key": "k", "decision": "continue"}


class Desk:
    """One hub, one clock, everything it ever asked for."""

    def __init__(self, can: Capabilities = ABLE, **settings: Any) -> None:
        # The presets without a ladder do exactly what a finding proposes.
        settings.setdefault("preset", Preset.INFINITY)
        self.panels: dict[SessionId, ScriptedPanel] = {}
        self.hub = Hub(GuardSettings(**settings), capabilities=can, panels=self._panel, salt="t")
        self.now = 100.0
        self.effects: list[Effect] = []

    def _panel(self, session: SessionId, settings: GuardSettings) -> ScriptedPanel:
        return self.panels.setdefault(session, ScriptedPanel())

    def send(self, *events: Event) -> list[Effect]:
        """Everything that these events bring about."""
        done: list[Effect] = []
        for event in events:
            done += self.hub.receive(event, self.now)
        self.effects += done
        return done

    def find(self, action: Action, event: Event, **more: Any) -> list[Effect]:
        """Let the detectors find something in ``event``."""
        self._panel(event.session, self.hub.settings).queue = [finding(action, **more)]
        return self.send(event)

    def settle_abort(self, effects: Iterable[Effect], session: SessionId = S) -> list[Effect]:
        """Confirm the abort in ``effects`` and report the session idle."""
        from loopguard_cli.core.effects import Abort, ReadSession

        [abort] = of(effects, Abort)
        [ask] = of(self.send(EffectSettled(session=session, effect=abort.effect, ok=True)), ReadSession)
        return self.send(SessionRead(session=session, effect=ask.effect, ok=True, status=Status.IDLE))


def finding(action: Action, **more: Any) -> Finding:
    facts: dict[str, Any] = {
        "rule": "repeat-call",
        "proposes": action,
        "limit": Action.STOP,
        "session": S,
        "identity": "loop",
        "count": 3,
        "events": (1, 2, 3),
        "tool": "bash",
    }
    return Finding(**(facts | more))


def prose(**more: Any) -> dict[str, Any]:
    return {"rule": "prose-block", "message": MessageId("m1"), "part": PartId("p1"), "keep_chars": 10} | more


def asks(call: str = "c1", session: SessionId = S) -> ToolAsked:
    return ToolAsked(session=session, request=RequestId(f"r-{call}"), call=CallId(call), tool="bash")


def says(message: str = "u1", session: SessionId = S) -> UserSpoke:
    return UserSpoke(session=session, message=MessageId(message), agent="build", model="fake/one")


def of(effects: Iterable[Effect], kind: type[T]) -> list[T]:
    return [effect for effect in effects if isinstance(effect, kind)]


def answers(effects: Iterable[Effect]) -> list[bool]:
    return [effect.allow for effect in of(effects, AnswerGate)]
