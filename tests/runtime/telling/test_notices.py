"""What is written to the terminal, and when, while an agent may own it."""

import os
import sys
from contextlib import suppress

import pytest

from loopguard_cli.runtime.telling.notices import Notices


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_how_far_a_launch_is_guarded_is_read_before_its_screen_and_after(
    capsys: pytest.CaptureFixture[str],
) -> None:
    notices = Notices(screen=True)
    notices.remark("it runs unguarded")
    assert said(capsys) == ["loopguard: it runs unguarded"]
    notices.say("something happened")
    assert said(capsys) == [], "the screen is the agent's"
    notices.finish(guarded=False)
    assert said(capsys) == ["loopguard: it runs unguarded", "loopguard: something happened"]


def test_without_a_screen_once_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    notices = Notices()
    notices.remark("it runs unguarded")
    notices.finish(guarded=False)
    assert said(capsys) == ["loopguard: it runs unguarded"]


def test_what_is_halted_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb", buffering=0) as reader:
        os.set_blocking(writing, False)
        filled = 0
        with suppress(BlockingIOError):
            while True:
                filled += os.write(writing, b"x")
        os.set_blocking(writing, True)
        monkeypatch.setattr(sys, "stderr", stream)
        notices = Notices()
        notices.say("first")  # would block
        notices.show(1.0)
        assert len(reader.read(filled)) == filled
        notices.show(2.0)
        notices.say("second")
        assert reader.read(1000) == b"loopguard: first\nloopguard: second\n"
