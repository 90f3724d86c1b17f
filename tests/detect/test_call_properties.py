"""Properties of the rules about calls, for any stream of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from loopguard_cli.core.events import (
    Event,
    Origin,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UserSpoke,
)
from loopguard_cli.core.findings import Action
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId
from loopguard_cli.core.settings import Preset
from loopguard_cli.detect import journal, standing
from loopguard_cli.detect.calls import CallRules
from loopguard_cli.detect.kin import Kin

from .sitting import S, Sitting, settings

presets = st.sampled_from([preset.value for preset in Preset])
tools = st.sampled_from(["bash", "read", "edit", "task", "wait", "scroll", "loop_check", "mcp_thing"])
small = st.integers(0, 3)
args = st.fixed_dictionaries(
    {"command": st.sampled_from(["a", "b", "sleep 5", "sed -i s/x/y/ f", "true"])}
) | (st.dictionaries(st.sampled_from(["path", "offset"]), small, max_size=2))
outputs = st.sampled_from(["", "ok", "still running", "line 3: error", "pid 77 x", "1 of 9", "x" * 5_000])

events = st.one_of(
    st.builds(
        lambda call, tool, given: ToolAsked(
            session=S, request=RequestId(str(call)), call=CallId(str(call)), tool=tool, args=given
        ),
        st.integers(0, 30),
        tools,
        args,
    ),
    st.builds(
        lambda call, tool, given: ToolStarted(session=S, call=CallId(str(call)), tool=tool, args=given),
        st.integers(0, 30),
        tools,
        args,
    ),
    st.builds(
        lambda call, tool, given, output, ok, cancelled, refused: ToolFinished(
            session=S,
            call=CallId(str(call)),
            tool=tool,
            args=given,
            output=output,
            ok=ok,
            cancelled=cancelled,
            refused=refused,
        ),
        st.integers(0, 30),
        tools,
        args,
        outputs,
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        lambda origin: UserSpoke(session=S, message=MessageId("u"), origin=origin), st.sampled_from(Origin)
    ),
    st.builds(lambda status: StatusChanged(session=S, status=status), st.sampled_from(Status)),
    st.builds(
        lambda text: TextDelta(session=S, message=MessageId("m"), part=PartId("p"), delta=text), st.text()
    ),
)
streams = st.lists(st.tuples(events, st.floats(0, 200)), max_size=120)


def run(preset: str, stream: Iterable[tuple[Event, float]]) -> list[Any]:
    sitting = Sitting(preset)
    for event, pause in stream:
        sitting.now += pause
        sitting.feed(event)
    return [*sitting.findings, *sitting.verdicts, *sitting.panel.calls(sitting.now)]


@hypothesis_settings(deadline=None)
@given(presets, streams)
def test_equal_streams_give_equal_findings_verdicts_and_views(
    preset: str, stream: list[tuple[Event, float]]
) -> None:
    assert run(preset, stream) == run(preset, stream)


@hypothesis_settings(deadline=None)
@given(presets, streams)
def test_every_finding_names_events_that_happened_and_no_more_than_32(
    preset: str, stream: list[tuple[Event, float]]
) -> None:
    sitting = Sitting(preset)
    for number, (event, pause) in enumerate(stream):
        sitting.now += pause
        before = len(sitting.findings)
        sitting.feed(event)
        for finding in sitting.findings[before:]:
            assert 1 <= len(finding.events) <= 32
            assert list(finding.events) == sorted(set(finding.events))
            assert finding.events[-1] <= number
            assert finding.count >= 2
            assert finding.proposes <= finding.limit
            assert finding.identity


words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=12)


@hypothesis_settings(deadline=None)
@given(
    presets,
    st.lists(
        st.tuples(st.sampled_from(["bash", "read", "edit", "web_search"]), words, words),
        max_size=60,
        unique=True,
    ),
)
def test_no_rule_fires_on_a_stream_without_repetition(preset: str, work: list[tuple[str, str, str]]) -> None:
    sitting = Sitting(preset)
    for number, (tool, what, came) in enumerate(work):
        if (
            sitting.call(tool, {"command": f"{what} {came}", "at": number}, f"{came}{number}x {what}")
            is not Action.ALLOW
        ):
            break
    assert sitting.findings == []


@pytest.mark.parametrize("preset", [preset.value for preset in Preset])
def test_memory_stays_within_its_bounds_however_long_the_stream(preset: str) -> None:
    rules = CallRules(S, settings(preset), Kin())
    for n in range(6_000):
        call = CallId(str(n))
        name = f"tool{n % 7}" if n % 3 else f"other{n}"
        given = {"n": n % 1_500, "text": "y" * (n % 50)}
        rules.observe(
            ToolAsked(session=S, request=RequestId(call), call=call, tool=name, args=given), n, float(n)
        )
        if n % 5:
            output = f"{n % 11} " * 3_000
            rules.observe(
                ToolFinished(session=S, call=call, tool=name, args=given, output=output, ok=bool(n % 4)),
                n,
                n + 0.5,
            )
    book = rules.journal
    assert len(book.recent) <= journal.RECENT
    assert len(book.open) <= journal.OPEN
    assert len(book.lines) <= journal.KEYS
    assert len(book.row) <= journal.SAME_KEPT
    assert max(len(line.same) for line in book.lines.values()) <= journal.SAME_KEPT
    assert sum(len(line.same) for line in book.lines.values()) <= journal.KEYS * 2
    kept = {id(call): call for line in book.lines.values() for call in line.same} | {
        id(call): call for call in book.recent
    }
    readable = [call for call in kept.values() if call.output is not None]
    assert len(readable) <= journal.READABLE + journal.OPEN
    assert len(rules._scene.standing._attempted) <= standing.ATTEMPTS
