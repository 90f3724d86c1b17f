"""What is written to the terminal, and when, while an agent may own it."""

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
