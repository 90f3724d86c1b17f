"""An adapter that is written down is in all that others ask of it the adapter that it was."""

from __future__ import annotations

from inspect import getattr_static
from pathlib import Path

from loopguard_cli.agents import choose
from loopguard_cli.agents.base import Driven, Opened, Pinged, Setup
from loopguard_cli.agents.transcript import read
from loopguard_cli.runtime.transcribing import transcribed


def test_what_it_is_is_seen_without_asking_it(tmp_path: Path) -> None:
    """As newer versions of Python look for what a protocol wants."""
    setup = Setup(argv=("claude", "-p", "go"), interactive=False)
    adapter = choose(setup)
    with transcribed(adapter, setup, tmp_path / "transcript") as listened:
        for name in (name for name in dir(adapter) if not name.startswith("_")):
            getattr_static(listened, name)
        assert isinstance(listened, Driven)
        assert isinstance(listened, Pinged)
        assert listened.capabilities == adapter.capabilities


def test_what_is_set_on_it_reaches_it_and_that_it_is_asked_is_written_down(tmp_path: Path) -> None:
    setup = Setup(argv=("claude", "-p"), interactive=False)
    adapter = choose(setup)
    with transcribed(adapter, setup, tmp_path / "transcript") as listened:
        assert isinstance(listened, Pinged)
        assert isinstance(listened, Opened)
        assert isinstance(adapter, Opened)
        listened.opening = "begin"
        assert adapter.opening == "begin"
        listened.ping()
        (step,) = read((tmp_path / "transcript").read_bytes().splitlines()).steps
    assert step.call == "ping"
    assert step.orders[0]["message"]["type"] == "control_request"
