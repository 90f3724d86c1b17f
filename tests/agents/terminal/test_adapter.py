"""The terminal adapter: turns, interrupts, prompts, and when nothing is typed."""

from __future__ import annotations

import textwrap

import pytest

from loopguard_cli.agents import choose
from loopguard_cli.agents.base import BridgeAddress, Form, Setup, Streams
from loopguard_cli.agents.terminal.adapter import MESSAGE_CHARS, SESSION
from loopguard_cli.agents.terminal.typing import Typed, prompt, understood
from loopguard_cli.core.effects import Prompt, Purpose, ReadSession, Tell
from loopguard_cli.core.events import (
    AgentError,
    EffectSettled,
    Gap,
    Origin,
    ReplyFinished,
    SessionRead,
    Status,
    StatusChanged,
    TextDelta,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId
from loopguard_cli.core.terminal import InterruptKey, TerminalSettings
from tests.agents.terminal.desk import Watched

LOOP = "I will now read the configuration file once more.\r\n"
COPIES = 10
"""More than it takes where each is a line of its own."""


def order(text: str = "Go on with the task.", purpose: Purpose = Purpose.RECOVERY) -> Prompt:
    return Prompt(session=SESSION, effect=EffectId("e"), text=text, purpose=purpose)


def looping(watched: Watched) -> None:
    watched.keys(b"fix it\r")
    watched.prints("\x1b[?2004h> fix it\r\n")
    for _ in range(COPIES):
        watched.prints(LOOP)


def test_a_loop_is_interrupted_and_continued_at_rest() -> None:
    watched = Watched()
    looping(watched)
    assert watched.found == ["prose-block"]
    assert watched.typed == [b"\x1b"]
    watched.rests()
    _, pasted, enter = watched.typed
    assert pasted.startswith(b"\x1b[200~")
    assert pasted.endswith(b"\x1b[201~")
    assert enter == b"\r"
    ours = [e for e in watched.events if isinstance(e, UserSpoke) and e.origin is Origin.LOOPGUARD]
    assert len(ours) == 1


def test_the_allowance_is_per_message_of_the_person() -> None:
    watched = Watched()
    for _ in range(6):
        looping(watched) if not watched.found else [watched.prints(LOOP) for _ in range(COPIES)]
        watched.rests()
    assert watched.typed.count(b"\r") == 2
    assert any(isinstance(e, Tell) and e.topic == "loop.stopped" for e in watched.effects)


def test_what_does_not_stop_is_not_prompted() -> None:
    watched = Watched()
    looping(watched)
    for _ in range(400):
        watched.prints(LOOP)
    assert b"\r" not in watched.typed
    assert any(isinstance(e, Tell) and e.topic == "recovery.failed" for e in watched.effects)


def test_control_c_where_it_is_configured() -> None:
    watched = Watched(settings=TerminalSettings(interrupt=InterruptKey.CONTROL_C))
    looping(watched)
    assert watched.typed == [b"\x03"]


def test_into_a_program_that_nobody_named_an_agent_no_prompt_is_typed() -> None:
    watched = Watched(named=False)
    looping(watched)
    watched.rests()
    assert watched.typed == [b"\x1b"]
    assert any(isinstance(e, Tell) and e.topic == "loop.stopped" for e in watched.effects)
    answer = watched.agent.carry_out(order())
    assert answer.orders == ()


def test_the_person_types_meanwhile() -> None:
    watched = Watched()
    looping(watched)
    watched.keys(b"no, do")
    watched.rests()
    assert watched.typed == [b"\x1b"]
    assert any(isinstance(e, Tell) and "typing" in e.text for e in watched.effects)


def test_the_person_interrupts() -> None:
    """Nothing is prompted after a stop of the person's."""
    watched = Watched()
    watched.keys(b"fix it\r")
    watched.keys(b"\x1b")
    assert [e.aborted for e in watched.events if isinstance(e, AgentError)] == [True]
    watched.rests()
    watched.keys(b"\x03")
    assert len([e for e in watched.events if isinstance(e, AgentError)]) == 1, (
        "at rest there is nothing to stop"
    )


def test_a_program_that_reports_again_and_again_has_no_turns() -> None:
    """Servers and watchers say the same every few seconds, and nobody asked."""
    watched = Watched()
    for _ in range(20):
        watched.prints("\r\nok\r\n")
        watched.rests()
    assert not [e for e in watched.events if isinstance(e, ReplyFinished)]
    assert watched.found == []


def test_the_echo_of_a_prompt_is_not_what_the_program_says() -> None:
    watched = Watched()
    watched.prints("\x1b[?2004hready\r\n")
    watched.rests()
    watched.take(
        watched.agent.carry_out(order("First do this.\n\nThen claim [goal:complete] when it is done."))
    )
    watched.prints(
        "│ First do this.          │\r\n│ Then claim [goal:complete] when it │\r\n│ is done. │\r\nDone.\r\n"
    )
    said = "".join(e.delta for e in watched.events if isinstance(e, TextDelta))
    assert "goal" not in said
    assert said.endswith("Done.\n")


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda watched: watched.keys(b"go\r"), "busy"),
        (lambda watched: watched.keys(b"half a line"), "typing"),
        (lambda watched: watched.prints("\x1b[?1049h"), "full screen"),
    ],
)
def test_when_no_prompt_is_typed(prepare: object, why: str) -> None:
    watched = Watched()
    prepare(watched)  # type: ignore[operator]
    answer = watched.agent.carry_out(order())
    assert answer.orders == ()
    (settled,) = answer.events
    assert isinstance(settled, EffectSettled)
    assert not settled.ok
    assert why in settled.error


def test_read_session() -> None:
    watched = Watched()
    read = ReadSession(session=SESSION, effect=EffectId("r"))

    def status() -> Status:
        (event,) = watched.agent.carry_out(read).events
        assert isinstance(event, SessionRead)
        return event.status

    assert status() is Status.IDLE
    watched.keys(b"go\r")
    assert status() is Status.BUSY
    watched.rests()
    assert status() is Status.IDLE
    assert [e.status for e in watched.events if isinstance(e, StatusChanged)] == [Status.BUSY, Status.IDLE]


def test_long_output_is_several_messages() -> None:
    watched = Watched()
    for number in range(MESSAGE_CHARS // 20 + 10):
        watched.prints(f"output number {number:7}\r\n", 0)
    messages = {e.message for e in watched.events if isinstance(e, TextDelta)}
    assert len(messages) == 2


def test_a_gap_is_told() -> None:
    watched = Watched()
    watched.take(watched.agent.missed(1000))
    assert [type(e) for e in watched.events] == [Gap]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a", Typed(False, False, True)),
        (b"ls\r", Typed(True, False, False)),
        (b"\r", Typed(True, False, False)),
        (b"one\rtwo", Typed(True, False, True)),
        (b"\x1b", Typed(False, True, None)),
        (b"\x03", Typed(False, True, False)),
        (b"\x15", Typed(False, False, False)),
        (b"\x1b[A", Typed(False, False, None)),
        (b"\x1bOP\x1b[1;5C", Typed(False, False, None)),
        (b"\x1b[<0;10;5M", Typed(False, False, None)),
        (b"\x1b[?62;c\x1b[24;80R\x1b]11;rgb:0/0/0\x1b\\", Typed(False, False, None)),
        (b"\x1b[200~one\rtwo\x1b[201~", Typed(False, False, True)),
        (b"\x1b[200~one\rtwo\x1b[201~\r", Typed(True, False, False)),
        (b"\x1b[13u", Typed(True, False, False)),
        (b"\x1b[27u", Typed(False, True, None)),
        (b"\x1b[I", Typed(False, False, None)),
    ],
)
def test_keys_of_the_person(data: bytes, expected: Typed) -> None:
    assert understood(data) == expected


def test_a_prompt_is_a_paste_without_control_characters() -> None:
    pasted, enter = prompt("one\r\ntwo\x1b[201~\x03 three ", bracketed=True)
    assert pasted.data == b"\x1b[200~one\rtwo[201~ three\x1b[201~"
    assert (enter.data, enter.pause > 0) == (b"\r", True)
    plain, _ = prompt("one\ntwo", bracketed=False)
    assert plain.data == b"one two"


def test_who_gets_it() -> None:
    def launched(*argv: str, interactive: bool = True, name: str = "") -> tuple[str, Streams, Form]:
        adapter = choose(Setup(argv=argv, interactive=interactive), name)
        plan = adapter.launch({}, BridgeAddress(token=""))
        return adapter.name, plan.streams, plan.form

    assert launched("./anything") == ("terminal", Streams.TERMINAL, Form.SCREEN)
    assert launched("./anything", interactive=False)[:2] == ("none", Streams.INHERITED)
    assert launched("./a", interactive=False, name="terminal") == (
        "terminal",
        Streams.TERMINAL,
        Form.ONE_SHOT,
    )


def full_screen(watched: Watched) -> None:
    """An agent that owns the whole screen says the same for ever; it draws twenty times a second."""
    watched.keys(b"fix it\r")
    watched.prints("\x1b[?1049h\x1b[?2004h\x1b[H\x1b[2JAgent 1.0\x1b[22;1H> \x1b[24;1H? for help")
    sentence = "I will now read the configuration file once more. "
    text = ""
    for number in range(120):
        text += (sentence * 2)[number * 11 % 50 :][:11]
        rows = textwrap.wrap(text, 70)[-17:]
        drawn = "".join(f"\x1b[{3 + at};3H{row}\x1b[K" for at, row in enumerate(rows))
        watched.prints(f"\x1b[?2026h{drawn}\x1b[21;1H{'|/-'[number % 3]} {number} s\x1b[?2026l")


def test_a_loop_on_a_full_screen_is_interrupted_and_continued() -> None:
    watched = Watched()
    full_screen(watched)
    assert watched.found[:1] == ["prose-block"]
    assert watched.typed[:1] == [b"\x1b"]
    watched.rests()
    assert b"\r" in watched.typed


def test_a_full_screen_of_what_nobody_named_an_agent_is_not_typed_into() -> None:
    """It may be an editor. The loop is told, and that is all."""
    watched = Watched(named=False)
    full_screen(watched)
    assert watched.found[:1] == ["prose-block"]
    assert watched.typed == []
    assert any(isinstance(e, Tell) and "prose" not in e.topic for e in watched.effects)


def test_what_the_person_types_on_a_full_screen_is_not_what_it_says() -> None:
    watched = Watched()
    watched.prints("\x1b[?1049h\x1b[H\x1b[2J")
    for key in "I will now read the configuration file once more. " * 12:
        watched.keys(key.encode())
        watched.prints(key)
    assert not [event for event in watched.events if isinstance(event, TextDelta)]
    assert watched.found == []
