"""What tool events cost: the whole hub by kind of stream, and each rule by itself (CPU time)."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import MethodType

from loopguard_cli.core.findings import Finding
from loopguard_cli.core.hub import Hub
from loopguard_cli.core.settings import GuardSettings, Mode
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.calls import CallRules, Look
from loopguard_cli.detect.kin import Kin
from loopguard_cli.detect.panel import Panels
from loopguard_cli.study.replay import ABLE
from tests.bench.section import Row, percentile
from tests.bench.streams import SESSION, STREAMS, Made, events

TITLE = "Tool events"
CALLS = 2_000
WARM = 200
"""Calls at the beginning that are not counted."""

MEDIAN_US, P99_US = 50.0, 500.0

Clock = Callable[[], int]
CLOCK: Clock = time.thread_time_ns


def overhead() -> float:
    """Microseconds that looking at the clock twice takes."""
    taken = []
    for _ in range(2_000):
        began = CLOCK()
        taken.append(CLOCK() - began)
    return percentile(taken, 0.5) / 1_000


def hub(make: Callable[[int], Made]) -> list[float]:
    """Microseconds of each event. The guard observes only: a stopped loop would cost nothing any more."""
    brain = Hub(GuardSettings(mode=Mode.OBSERVE), capabilities=ABLE, panels=Panels())
    own, taken = overhead(), []
    gc.collect()
    gc.disable()
    try:
        for event, now in events(make, CALLS):
            began = CLOCK()
            brain.receive(event, now)
            taken.append((CLOCK() - began) / 1_000 - own)
    finally:
        gc.enable()
    return taken[2 * WARM :]


def _timed(look: Look, taken: list[float], own: float) -> Look:
    """A rule with a clock."""

    def timed(call: Call, now: float) -> Sequence[Finding]:
        began = CLOCK()
        found = list(look(call, now))
        taken.append((CLOCK() - began) / 1_000 - own)
        return found

    return timed


def _rule(look: Look) -> str:
    assert isinstance(look, MethodType)
    return type(look.__self__).__name__


def rules(make: Callable[[int], Made]) -> dict[str, list[float]]:
    """Microseconds of each rule at each event that it is asked about."""
    taken: dict[str, list[float]] = defaultdict(list)
    family = CallRules(SESSION, GuardSettings(), Kin())
    own = overhead()
    for looks in (family._asking, family._ending):
        looks[:] = [_timed(look, taken[_rule(look)], own) for look in looks]
    for seq, (event, now) in enumerate(events(make, CALLS)):
        list(family.observe(event, seq, now))
    return taken


def measure() -> list[Row]:
    rows = []
    for name, make in STREAMS.items():
        taken = hub(make)
        rows.append(Row(f"hub, {name}, median", percentile(taken, 0.5), "µs/event", MEDIAN_US))
        rows.append(Row(f"hub, {name}, p99", percentile(taken, 0.99), "µs/event", P99_US))
    by_rule: dict[str, dict[str, list[float]]] = {name: rules(make) for name, make in STREAMS.items()}
    for rule in by_rule["honest work"]:
        worst = max(by_rule, key=lambda name: percentile(by_rule[name][rule], 0.5))
        honest = percentile(by_rule["honest work"][rule], 0.5)
        rows.append(Row(f"rule {rule}, honest work, median", honest, "µs/event"))
        rows.append(
            Row(f"rule {rule}, at worst ({worst}), median", percentile(by_rule[worst][rule], 0.5), "µs/event")
        )
    return rows
