"""repeat-call as the infinity guard has it.

Source: the infinity guard, whose defaults these are: the same call for the third time within
60 seconds is refused before it runs, whatever came between and however the earlier ones ended;
calls in flight count. The refused key stays refused until `loop_decide` grants it a fresh cycle;
the window lets counts expire, not blocks. Each key has its own counter.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import CallKey
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.rule import Plain, Scene

COUNTERS = 512
KEPT = 64


class RepeatCall(Plain):
    """Counts calls per key within a window of time."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._counters: OrderedDict[CallKey, deque[Call]] = OrderedDict()

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        settings = self.scene.settings
        limit = self.scene.threshold(call.tool, settings.repeat_threshold)
        past = self._counter(call.key, limit)
        while past and now - past[0].asked_at > settings.repeat_window_seconds:
            past.popleft()
        standing = self.scene.standing
        past.append(call)
        if len(past) >= limit:
            standing.block(call.key)
        elif not standing.blocked(call.key):
            return
        yield self.scene.finding(
            "repeat-call",
            Action.BLOCK,
            call,
            past,
            now,
            limit=Action.BLOCK,
            threshold=limit,
            window_seconds=settings.repeat_window_seconds,
        )

    def count(self, key: CallKey, now: float) -> int:
        """Calls with this key that still count, refused ones included."""
        window = self.scene.settings.repeat_window_seconds
        return sum(now - call.asked_at <= window for call in self._counters.get(key, ()))

    def gauges(self, now: float) -> Iterable[Gauge]:
        most = max(self._counters, key=lambda key: self.count(key, now), default=None)
        if most is not None and (used := self.count(most, now)):
            tool = self._counters[most][-1].tool
            limit = self.scene.threshold(tool, self.scene.settings.repeat_threshold)
            yield Gauge(rule="repeat-call", used=used, limit=limit, tool=tool)

    def forget(self, key: CallKey) -> None:
        self._counters.pop(key, None)

    def clear(self) -> None:
        self._counters.clear()

    def _counter(self, key: CallKey, limit: int) -> deque[Call]:
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = deque(maxlen=max(limit, KEPT))
            while len(self._counters) > COUNTERS:
                self._counters.popitem(last=False)
        else:
            self._counters.move_to_end(key)
        return counter
