"""Pieces of text that complete nothing are held back, and nobody can tell."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopguard_cli.core.effects import Effect
from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    SessionSeen,
    TextDelta,
    TextSnapshot,
    ToolAsked,
)
from loopguard_cli.core.holding import AT_ONCE, CLOSERS, ENDS, FINAL, LOOK_BACK, STRETCH, Held
from loopguard_cli.core.hub import Hub
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.settings import GuardSettings, Mode, Preset
from loopguard_cli.detect.panel import Panels
from loopguard_cli.detect.sentences import Sentence, Splitter
from loopguard_cli.study.replay import ABLE

S = SessionId("s")


def delta(text: str, part: str = "p") -> TextDelta:
    return TextDelta(session=S, message=MessageId("m"), part=PartId(part), delta=text)


def begun(text: str = "Well then") -> Held:
    held = Held()
    held.go_to(delta(text))
    assert held.add(delta(text), 0, 0.0) is not None
    return held


def test_words_in_the_middle_of_a_sentence_come_together_with_its_end() -> None:
    held = begun()
    assert held.add(delta(" I wait"), 1, 1.0) is None
    assert held.add(delta(" for it"), 2, 2.0) is None
    whole = held.add(delta(". Now"), 3, 3.0)
    assert whole is not None
    assert whole.delta == " I wait for it. Now"
    assert held.take() is None


def test_what_is_held_back_keeps_the_number_and_time_of_its_latest_piece() -> None:
    held = begun()
    held.add(delta(" one"), 1, 1.0)
    held.add(delta(" two"), 2, 2.5)
    taken = held.take()
    assert taken is not None
    event, seq, now = taken
    assert (event.delta, seq, now) == (" one two", 2, 2.5)


def test_every_mark_that_ends_a_sentence_lets_text_pass() -> None:
    for mark in ENDS + FINAL + "\n":
        assert begun().add(delta(f"x{mark}"), 1, 0.0) is not None, mark


def test_what_may_complete_a_sentence_begun_to_end_passes() -> None:
    for end in [".", "?", *(f"!{closer}" for closer in CLOSERS if closer != "\\")]:
        held = begun(f"Well then{end}")
        assert held.add(delta(" and"), 1, 0.0) is not None, end
        assert held.add(delta(" so"), 2, 0.0) is not None, "still within what is looked back to"
        assert held.add(delta(" on"), 3, 0.0) is None, end


def test_a_sentence_begun_to_end_is_known_when_its_part_goes_on_after_another() -> None:
    held = begun("Well then!")
    held.go_to(delta("", "other"))
    held.add(delta("y", "other"), 1, 0.0)
    held.go_to(delta(""))
    for piece in "*) ":
        assert held.add(delta(piece), 2, 0.0) is not None, piece


def test_nothing_is_known_of_the_end_of_a_text_that_was_replaced() -> None:
    held = begun("Well then")
    held.replaced(TextSnapshot(session=S, message=MessageId("m"), part=PartId("p"), text="x" * 60))
    held.go_to(delta(""))
    for n in range(LOOK_BACK):
        assert held.add(delta(")"), n, 0.0) is not None
    assert 60 + LOOK_BACK > STRETCH
    assert held.add(delta("x" * (STRETCH - LOOK_BACK + 2)), 8, 0.0) is None
    assert held.add(delta("xx"), 9, 0.0) is not None


class Reader(Splitter):
    """Counts how often it looks at what it was fed, whatever comes of that."""

    readings = 0

    def _read(self, text: str, event: int, *, final: bool) -> list[Sentence]:
        self.readings += 1
        return super()._read(text, event, final=final)


MARKS = AT_ONCE + ENDS + CLOSERS + "`~>|#-1ab \t\xa0"


@given(st.lists(st.one_of(st.text(MARKS, max_size=9), st.sampled_from(["```", "\n~~~\n"])), max_size=30))
@settings(deadline=None)
def test_what_is_held_back_would_not_have_been_read_for_sentences(pieces: list[str]) -> None:
    held, reader = Held(), Reader()
    held.go_to(delta(""))
    for n, piece in enumerate(pieces):
        before = reader.readings
        reader.feed(piece, n)
        if held.add(delta(piece), n, 0.0) is None:
            assert reader.readings == before


def test_a_stretch_is_never_exceeded() -> None:
    held = begun("x" * 10)
    passed = [n for n in range(11, 4 * STRETCH) if held.add(delta("x"), n, 0.0) is not None]
    assert passed == [STRETCH, 2 * STRETCH, 3 * STRETCH]


def test_the_length_of_a_part_is_known_when_it_goes_on_after_another() -> None:
    held = begun("x" * 60)
    held.go_to(delta("", "other"))
    held.add(delta("y", "other"), 1, 0.0)
    held.go_to(delta(""))
    held.add(delta("x"), 2, 0.0)
    assert held.add(delta("xx"), 3, 0.0) is None
    assert held.add(delta("x"), 4, 0.0) is not None


class Unheld(Held):
    """Hands everything on at once."""

    def add(self, event: TextDelta, seq: int, now: float) -> TextDelta | None:
        return event


WORDS = [
    "Let me",
    " check it",
    ".",
    " ",
    "\n",
    "I see",
    "...",
    "```",
    "\n```\n",
    "!) ",
    "ab" * 40,
    "让我",
    "。",
    "> ",
    "| ",
    "1. ",
    "~~~",
    ">>> ",
    "e.g. ",
    "!*",
    "\u2026",
]
EVENTS = st.one_of(
    st.tuples(st.just("text"), st.lists(st.sampled_from(WORDS), max_size=12).map("".join)),
    st.tuples(st.just("loop"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("".join)),
    st.tuples(
        st.sampled_from(["tool", "seen", "snapshot", "more", "another", "other", "beside", "tick"]),
        st.just(""),
    ),
)


def events(script: list[tuple[str, str]], size: int, channel: Channel) -> list[Event | None]:
    """Deltas of ``size`` characters, with other events between them; None: time passes."""
    made: list[Event | None] = []
    message, whole = MessageId("m"), ""
    for n, (kind, text) in enumerate(script):
        match kind:
            case "text" | "loop":
                long = text * (12 if kind == "loop" else 1)
                whole += long
                made += [
                    TextDelta(
                        session=S,
                        message=message,
                        part=PartId("p"),
                        channel=channel,
                        delta=long[at : at + size],
                    )
                    for at in range(0, len(long), size)
                ]
            case "tool":
                made.append(
                    ToolAsked(session=S, request=RequestId(f"r{n}"), call=CallId(f"c{n}"), tool="read")
                )
            case "seen":
                made.append(SessionSeen(session=SessionId("another")))
            case "snapshot" | "more" | "another":
                whole = {"snapshot": whole, "more": f"{whole}Let me!)", "another": f"So. {whole}"}[kind]
                made.append(
                    TextSnapshot(session=S, message=message, part=PartId("p"), channel=channel, text=whole)
                )
            case "beside":
                made.append(
                    TextDelta(session=S, message=message, part=PartId("q"), channel=channel, delta="and! ")
                )
            case "other":
                made.append(TextDelta(session=S, message=MessageId("x"), part=PartId("q"), delta="and "))
            case _:
                made.append(None)
    return [*made, ReplyFinished(session=S, message=message)]


def said(hub: Hub, happening: list[Event | None]) -> list[list[Effect]]:
    return [
        hub.tick(float(n)) if event is None else hub.receive(event, float(n))
        for n, event in enumerate(happening)
    ]


@given(
    st.lists(EVENTS, max_size=8),
    st.integers(1, 20),
    st.sampled_from(list(Channel)),
    st.sampled_from(list(Preset)),
)
@example([("text", "```"), ("loop", "Let me check it check it!) ")], 1, Channel.TEXT, Preset.BALANCED)
@settings(deadline=None)
def test_effects_are_the_same_at_every_event(
    script: list[tuple[str, str]], size: int, channel: Channel, preset: Preset
) -> None:
    happening = events(script, size, channel)
    chosen = GuardSettings(mode=Mode.OBSERVE, preset=preset)
    hub = Hub(chosen, capabilities=ABLE, panels=Panels())
    plain = Hub(chosen, capabilities=ABLE, panels=Panels())
    plain._held = Unheld()
    assert said(hub, happening) == said(plain, happening)
