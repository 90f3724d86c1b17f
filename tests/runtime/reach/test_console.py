"""The console of driven agents: what is shown where, and what becomes of what is typed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest

from loopguard_cli.agents.base import Answer, Choice, Question, Show, Shown
from loopguard_cli.agents.tools import LOOP_GUARD
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import SessionId
from loopguard_cli.runtime.reach.console import Console, printable


class Agent:
    """Notes what it is told."""

    commands = (LOOP_GUARD,)
    session = SessionId("s")

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def typed(self, text: str) -> Answer:
        self.told.append(("typed", text))
        return Answer()

    def chosen(self, question: str, key: str) -> Answer:
        self.told.append(("chosen", question, key))
        return Answer()


class Seat:
    """A console whose standard input is a pipe of the test's."""

    def __init__(self, *, interactive: bool) -> None:
        self.agent: Any = Agent()
        self.events: list[Event] = []
        self.console = Console(self.agent, lambda _: None, self.events.extend, interactive=interactive)

    def run(self, *pieces: bytes) -> None:
        """Type ``pieces``, then end the input."""

        async def main() -> None:
            source, typing = os.pipe()
            self.console.begin(source)
            for piece in pieces:
                os.write(typing, piece)
                await asyncio.sleep(0)
            os.close(typing)
            while not self.console.finished:
                await asyncio.sleep(0)
            self.console.close()
            os.close(source)

        asyncio.run(main())


@pytest.fixture
def seat() -> Seat:
    return Seat(interactive=True)


QUESTION = Question(
    id="q", text="May it?", choices=(Choice(key="y", label="Yes"), Choice(key="n", label="No"))
)


def test_lines_are_prompts(seat: Seat) -> None:
    seat.run(b"do th", b"is\nand that\n\n")
    assert seat.agent.told == [("typed", "do this"), ("typed", "and that")]


def test_our_commands_are_ours_and_other_slashes_the_agents(seat: Seat) -> None:
    seat.run(b"/loop-guard observe\n/compact now\n")
    (asked,) = seat.events
    assert isinstance(asked, Asked)
    assert (asked.operation, asked.surface, asked.session) == ("guard.mode", Surface.SLASH, "s")
    assert seat.agent.told == [("typed", "/compact now")]


def test_a_question_takes_the_next_line_with_a_valid_key(
    seat: Seat, capsys: pytest.CaptureFixture[str]
) -> None:
    seat.console.ask(QUESTION)
    seat.run(b"maybe\nN\nnext\n")
    assert seat.agent.told == [("chosen", "q", "n"), ("typed", "next")]
    assert capsys.readouterr().err.count("May it?") == 2, "asked again after an answer that is none"


def test_withdrawn_questions_ask_nothing(seat: Seat) -> None:
    seat.console.ask(QUESTION)
    seat.console.withdraw("q")
    seat.run(b"y\n")
    assert seat.agent.told == [("typed", "y")]


def test_open_questions_are_settled_when_the_person_leaves(seat: Seat) -> None:
    seat.console.ask(QUESTION)
    seat.run()
    assert seat.agent.told == [("chosen", "q", "")]


def test_without_a_person_questions_are_settled_at_once_and_the_input_is_one_prompt() -> None:
    seat = Seat(interactive=False)
    seat.console.ask(QUESTION)
    seat.run(b"one\n", b"two\n")
    assert seat.agent.told == [("chosen", "q", ""), ("typed", "one\ntwo")]


def test_the_agent_hears_once_how_the_input_begins_before_that_ends() -> None:
    seat = Seat(interactive=False)
    seat.agent.overheard = lambda line: seat.agent.told.append(("overheard", line)) or Answer()
    seat.run(b"on", b"e\n", b"two\n")
    assert seat.agent.told == [("overheard", "one"), ("typed", "one\ntwo")]


def test_the_answer_alone_goes_to_standard_output(seat: Seat, capsys: pytest.CaptureFixture[str]) -> None:
    console = seat.console
    console.show(Shown(kind=Show.REASONING, text="Hm."))
    console.show(Shown(kind=Show.TEXT, text="Hel"))
    console.show(Shown(kind=Show.TEXT, text="lo"))
    console.show(Shown(kind=Show.TOOL, text="bash ls"))
    console.show(Shown(kind=Show.TEXT, text="Done."))
    console.say("a notice")
    console.show(Shown(kind=Show.OUT, text="verbatim"))
    captured = capsys.readouterr()
    assert captured.out == "\nHello\nDone.\nverbatim"
    assert captured.err == "Hm.* bash ls\nloopguard: a notice\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 한글\n\ttab", "plain ünïcode 한글\n\ttab"),
        ("\x1b[2Jgone\x07\x9b31m\r", "[2Jgone31m"),
    ],
)
def test_nothing_that_is_said_moves_the_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_reader_that_left_harms_nothing() -> None:
    code = (
        "from loopguard_cli.agents.base import Show, Shown\n"
        "from loopguard_cli.runtime.reach.console import Console\n"
        "console = Console(None, None, None, interactive=True)\n"
        "for _ in range(100000): console.show(Shown(kind=Show.TEXT, text='x' * 100))\n"
        "import sys; sys.stderr.write('alive')\n"
        "sys.stdout = None\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert "alive" in process.stderr.read()
    process.stderr.close()
    process.wait()


def test_what_is_typed_after_a_turn_has_a_line_of_its_own(
    seat: Seat, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("Done.", "Done.\n"):
        seat.console.show(Shown(kind=Show.TEXT, text=text))
        seat.console.show(Shown(kind=Show.END, text=""))
        seat.console.show(Shown(kind=Show.END, text=""))
    assert capsys.readouterr().out == "Done.\nDone.\n"
