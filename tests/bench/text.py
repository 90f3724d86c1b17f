"""What streamed text costs, per KiB and rule: ``python -m tests.bench.text [--json]``.

Text is prose (docstrings of Python's library, a paragraph a line) and code (its sources, unfenced),
streamed in pieces of several sizes: rules by themselves (those that read sentences do so only after a glance
that saw something), the whole hub, and a hub without rules, which is what an event costs whatever stands in
it. Per KiB the budget is 50 µs; of text that comes in small pieces, of which a KiB has 16 or 64, the cost of
each event is told as well. CPU time of the best of 40 runs, taken in rounds, so that no row has all of its
runs while the machine is busy with something else.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from loopguard_cli.core.events import Channel, Event, TextDelta
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.hub import Hub
from loopguard_cli.core.ids import MessageId, PartId, SessionId
from loopguard_cli.core.ports import PanelFactory
from loopguard_cli.core.settings import GuardSettings, Mode, Preset
from loopguard_cli.detect.counted import CountedCycle
from loopguard_cli.detect.glance import Glance
from loopguard_cli.detect.panel import DetectorPanel, Panels
from loopguard_cli.detect.paragraphs import Paragraphs
from loopguard_cli.detect.periodic import CharCycle
from loopguard_cli.detect.prose import ProseWindow
from loopguard_cli.detect.sentences import Splitter
from loopguard_cli.detect.text import TextRules
from loopguard_cli.study.replay import ABLE

SIZE = 256 * 1024
MESSAGE = 32 * 1024
ROUNDS, RUNS = 8, 5

S = SessionId("bench")


def corpora() -> dict[str, str]:
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    sources = [path.read_text("utf-8") for path in paths]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    docstrings = dict.fromkeys(ast.get_docstring(node) or "" for node in nodes)
    paragraphs = [" ".join(part.split()) for text in docstrings for part in text.split("\n\n")]
    return {"prose": "\n\n".join(paragraphs)[:SIZE], "code": "\n".join(sources)[:SIZE]}


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def cost(work: Callable[[], object], chars: int) -> float:
    """Microseconds per KiB."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best * 1e6 / (chars / 1024)


class _NoRules(DetectorPanel):
    """Hears of nothing."""

    def observe(self, event: Event, seq: int, now: float) -> Sequence[Finding]:
        return ()


def whole(
    text: str, size: int, preset: Preset, channel: Channel, panels: Callable[[], PanelFactory] = Panels
) -> Callable[[], object]:
    events = [
        TextDelta(session=S, message=MessageId(str(at)), part=PartId("p"), channel=channel, delta=piece)
        for at, whole in enumerate(pieces(text, MESSAGE))
        for piece in pieces(whole, size)
    ]

    def run() -> int:
        hub = Hub(GuardSettings(preset=preset, mode=Mode.OBSERVE), capabilities=ABLE, panels=panels())
        return sum(len(hub.receive(event, 0.0)) for event in events)

    return run


def _nowhere(_offset: int) -> bool:
    return False


def rules(text: str, size: int) -> dict[str, Callable[[], object]]:
    cut = pieces(text, size)
    splitter = Splitter()
    sentences = [splitter.feed(piece) for piece in cut]

    def each(make: Callable[[], Callable[[int], object]]) -> Callable[[], object]:
        def run() -> None:
            step = make()
            for at in range(len(cut)):
                step(at)

        return run

    def glance() -> Callable[[int], object]:
        own = Glance(3, 24, sentences=True, wording=True)

        def look(at: int) -> None:
            text = cut[at]
            while text:
                piece, text = text[: own.room], text[own.room :]
                own.feed(piece, said=True)

        return look

    def splitting() -> Callable[[int], object]:
        own = Splitter()
        return lambda at: own.feed(cut[at])

    def prose() -> Callable[[int], object]:
        window = ProseWindow()
        return lambda at: window.add(sentences[at])

    def wording() -> Callable[[int], object]:
        paragraphs = Paragraphs(reasoning=True)
        return lambda at: paragraphs.add(sentences[at])

    def cycles() -> Callable[[int], object]:
        follower = CharCycle("p", _nowhere, CountedCycle("p", _nowhere))
        return lambda at: follower.feed(cut[at], at)

    makers = {
        "glance": glance,
        "splitting": splitting,
        "prose": prose,
        "wording": wording,
        "char-cycle": cycles,
    }
    return {name: each(make) for name, make in makers.items()}


def measure() -> list[dict[str, object]]:
    works: dict[tuple[str, int, str], tuple[Callable[[], object], int]] = {}
    for kind, text in corpora().items():
        for size in (16, 64, 1_024):
            each = rules(text, size)
            each["hub, infinity"] = whole(text, size, Preset.INFINITY, Channel.TEXT)
            each["hub, balanced"] = whole(text, size, Preset.BALANCED, Channel.TEXT)
            each["hub, no rules"] = whole(text, size, Preset.BALANCED, Channel.TEXT, lambda: _NoRules)
            works |= {(kind, size, name): (work, len(text)) for name, work in each.items()}
    best = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for what, (work, chars) in works.items():
            best[what] = min(best[what], cost(work, chars))
    return [
        {
            "text": kind,
            "piece": size,
            "rule": name,
            "us_per_kib": round(per_kib, 1),
            "us_per_event": round(per_kib * size / 1024, 2),
        }
        for (kind, size, name), per_kib in best.items()
    ]


def growth() -> float:
    """Cost of a message's last tenth over that of its first: 1 means that it does not grow."""
    text = corpora()["prose"][:60_000]
    ratios = []
    for _ in range(RUNS):
        reading = TextRules(S, GuardSettings())
        times = []
        for part in pieces(text, len(text) // 10):
            events = [
                TextDelta(session=S, message=MessageId("m"), part=PartId("p"), delta=piece)
                for piece in pieces(part, 8)
            ]
            began = time.process_time()
            for event in events:
                reading.observe(event, 0, 0.0)
            times.append(time.process_time() - began)
        ratios.append(times[9] / times[0])
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    rows, ratio = measure(), round(growth(), 2)
    if as_json:
        json.dump({"rows": rows, "growth": ratio}, sys.stdout, indent=1)
        return
    for row in rows:
        sys.stdout.write(
            f"{row['text']:6} {row['piece']:>6} {row['rule']:16} {row['us_per_kib']:>8} µs/KiB"
            f" {row['us_per_event']:>8} µs/event\n"
        )
    sys.stdout.write(f"last tenth of a message over its first: {ratio}\n")


if __name__ == "__main__":
    main()
