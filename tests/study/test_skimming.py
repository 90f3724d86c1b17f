"""Passing over texts changes nothing of what is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.synthetic.conversations import Author
from tests.properties.test_text_chunking import TEXTS

from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    ReplyStarted,
    TextDelta,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.ids import CallId, MessageId, PartId, SessionId
from loopguard_cli.core.settings import GuardSettings, Preset, TextSettings
from loopguard_cli.detect import counted, periodic
from loopguard_cli.detect.text import TextRules
from loopguard_cli.history import Tally
from loopguard_cli.study import skimming
from loopguard_cli.study.hindsight import Hindsight, Raised
from loopguard_cli.study.histories import events, find

S = SessionId("s")
M = MessageId("m")
TRACES = Path(__file__).parents[1] / "scenarios" / "traces-unseen"
PRESETS = [Preset.BALANCED, Preset.INFINITY]
EITHER = st.sampled_from(list(Channel))


class Judged:
    """What is raised about events, and how many pieces of text the rules about them were given."""

    def __init__(
        self, told: Iterable[Event], preset: Preset = Preset.BALANCED, *, skims: bool = True
    ) -> None:
        judges: dict[SessionId, Hindsight] = {}
        self.raised: list[Raised] = []
        self.pieces = 0
        with pytest.MonkeyPatch.context() as patch:
            observe = TextRules.observe

            def counting(rules: TextRules, event: Event, seq: int, now: float) -> object:
                self.pieces += isinstance(event, TextDelta)
                return observe(rules, event, seq, now)

            patch.setattr(TextRules, "observe", counting)
            if not skims:
                patch.setattr(skimming.SkimmingPanel, "skim", lambda *_: False)
            for number, event in enumerate(told):
                judge = judges.get(event.session)
                if judge is None:
                    judge = judges[event.session] = Hindsight(event.session, GuardSettings(preset=preset))
                self.raised += judge.take(number, float(number), event)


def written(text: str, channel: Channel = Channel.TEXT, message: str = M) -> Iterator[Event]:
    """A whole message of one text."""
    yield ReplyStarted(session=S, message=MessageId(message))
    yield wrote(text, channel, message, f"{message}/1")
    yield ReplyFinished(session=S, message=MessageId(message))


def wrote(text: str, channel: Channel, message: str, part: str) -> TextSnapshot:
    return TextSnapshot(
        session=S, message=MessageId(message), part=PartId(part), channel=channel, text=text, ended=True
    )


def call(number: int) -> Iterator[Event]:
    at = CallId(f"c{number}")
    args = {"command": f"make step{number}"}
    yield ToolStarted(session=S, call=at, tool="bash", args=args)
    yield ToolFinished(session=S, call=at, tool="bash", args=args, output=f"{number**5}")


def story(steps: Iterable[tuple[str, Channel, int, bool]]) -> Iterator[Event]:
    """Texts, each of one of a few messages, and calls behind some of them."""
    for number, (text, channel, message, acts) in enumerate(steps):
        if text:
            yield wrote(text, channel, f"m{message}", f"m{message}/{number}")
        if acts:
            yield from call(number)


@pytest.mark.parametrize("preset", PRESETS)
@given(TEXTS, EITHER)
def test_any_text(preset: Preset, text: str, channel: Channel) -> None:
    told = list(written(text, channel))
    assert Judged(told, preset).raised == Judged(told, preset, skims=False).raised


@given(st.lists(st.tuples(TEXTS, EITHER, st.integers(0, 2), st.booleans()), max_size=10))
def test_any_texts_of_some_messages(steps: list[tuple[str, Channel, int, bool]]) -> None:
    told = list(story(steps))
    assert Judged(told).raised == Judged(told, skims=False).raised


@given(st.text("ab .1\n", min_size=1, max_size=70), st.integers(0, 99), st.text(max_size=80), EITHER)
def test_cycles_of_any_unit(unit: str, copies: int, before: str, channel: Channel) -> None:
    told = list(written(before + unit * copies, channel))
    assert Judged(told).raised == Judged(told, skims=False).raised


@given(st.integers(1, 2_000), st.integers(0, 3_000), st.integers(-200, 200))
def test_no_cycle_of_the_least_length_is_passed_over(unit: int, before: int, more: int) -> None:
    rng = Random(f"{unit} {before}")
    letters = "".join(rng.choices("abcdefghijklmnop", k=before + unit))
    least = periodic._least(unit)
    cycle = (letters[before:] * (least // unit + 2))[: max(0, least + more)]
    if more >= 0:
        assert skimming.may_cycle(letters[:before] + cycle)


def test_a_counted_cycle_is_not_passed_over() -> None:
    text = "".join(f"I will now fix item number {number}, " for number in range(10, 99))
    told = list(written(text, Channel.REASONING))
    judged = Judged(told)
    assert judged.pieces
    assert [one.found.rule for one in judged.raised] == ["char-cycle"]
    assert judged.raised == Judged(told, skims=False).raised


def test_lines_that_differ_in_their_numbers_are_not_passed_over() -> None:
    lines = "".join(f"Trying step {number} of it.\n" for number in range(30, 66))
    assert len(lines) < skimming.LONG_RUN
    judged = Judged(list(written(lines, Channel.REASONING)))
    assert [one.found.rule for one in judged.raised] == ["templated-text"]


def test_a_sentence_said_three_times_in_parts_of_one_message_is_found() -> None:
    said = [wrote("I will look at it again now.\n", Channel.TEXT, M, f"m/{number}") for number in range(3)]
    told = [wrote("So.\n", Channel.TEXT, M, "m/9"), *said]
    judged = Judged(told)
    assert [one.found.rule for one in judged.raised] == ["prose-block"]
    assert judged.raised == Judged(told, skims=False).raised
    acted = [told[0], told[1], *call(1), *told[2:]]
    assert Judged(acted).raised == Judged(acted, skims=False).raised == []


@pytest.mark.parametrize(
    "between", [" ", "\t", "\r\n", "\x0b", "\x1c", "\xa0", '" ', ")* \n", "\u2019 ", "\n\n- "]
)
def test_a_sentence_is_found_whatever_stands_behind_it(between: str) -> None:
    told = list(written(f"Now I will look at it again.{between}" * 4))
    judged = Judged(told)
    assert [one.found.rule for one in judged.raised] == ["prose-block"]
    assert judged.raised == Judged(told, skims=False).raised


def traced(path: Path) -> Iterator[Event]:
    """A trace's events, its streamed texts whole, as a history has them."""
    (conversation,) = find(path)
    text: list[TextDelta] = []
    for number, (_, event) in enumerate(events(conversation, Tally())):
        if text and not (isinstance(event, TextDelta) and _same(text[0], event)):
            yield _whole(text, number)
            text = []
        if isinstance(event, TextDelta):
            text.append(event)
        else:
            yield event
    if text:
        yield _whole(text, -1)


def _whole(text: list[TextDelta], number: int) -> TextSnapshot:
    first = text[0]
    whole = wrote("".join(one.delta for one in text), first.channel, first.message, f"p{number}")
    return msgspec.structs.replace(whole, session=first.session)


def _same(one: TextDelta, other: TextDelta) -> bool:
    return (one.message, one.part, one.channel) == (other.message, other.part, other.channel)


@pytest.mark.parametrize("preset", PRESETS)
def test_recorded_and_written_traces(preset: Preset) -> None:
    rules: set[str] = set()
    for path in sorted(TRACES.rglob("*.jsonl")):
        told = list(traced(path))
        judged = Judged(told, preset)
        assert judged.raised == Judged(told, preset, skims=False).raised, path.name
        rules |= {one.found.rule for one in judged.raised}
    assert "prose-block" in rules


def test_honest_texts_are_passed_over() -> None:
    """Also long ones, in which words come again and again."""
    author = Author("honest")
    steps = [step for _ in range(8) for step in author.conversation().steps]
    texts = [(step.said, Channel.TEXT) for step in steps if step.said]
    texts += [(step.reasoned, Channel.REASONING) for step in steps if step.reasoned]
    assert sum(len(text) > 2_000 for text, _ in texts) >= 10
    told = [event for at, (text, channel) in enumerate(texts) for event in written(text, channel, f"m{at}")]
    judged = Judged(told)
    assert judged.raised == Judged(told, skims=False).raised == []
    assert judged.pieces <= 0.01 * len(texts)


def test_the_bounds_are_not_above_those_of_the_rules() -> None:
    """Should a rule be made to speak sooner, this says what has to follow."""
    units = range(1, periodic.MAX_UNIT + 1)
    assert min(map(periodic._least, range(1, periodic.SHORT_UNIT + 1))) >= skimming.SHORT_RUN
    assert min(map(periodic._least, range(periodic.SHORT_UNIT + 1, units.stop))) >= skimming.LONG_RUN
    floors = [*counted._COUNTED, *counted._COUNTED_CODE]
    assert min(floor.chars for floor in floors) >= skimming.LONG_RUN
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"threshold": skimming.COPIES - 1}, TextSettings)
