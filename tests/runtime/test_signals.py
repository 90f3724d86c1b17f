"""Stopping and going on, as a shell with job control has it."""

from __future__ import annotations

import asyncio
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from loopguard_cli.runtime.signals import Signals


@pytest.mark.parametrize("driven", [False, True])
def test_who_is_let_go_on_before_it_stops_does_not_stop(
    driven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has stopped and continued the job by then: to stop now would leave it so."""
    asyncio.run(_stop_and_go_on(monkeypatch, driven=driven))


async def _stop_and_go_on(monkeypatch: pytest.MonkeyPatch, *, driven: bool) -> None:
    sent: list[tuple[int, int]] = []
    left: list[str] = []
    real = os.kill
    child = SimpleNamespace(code=None, pid=0, poll=lambda: False)
    process: Any = SimpleNamespace(
        child=child, driven=driven, stays=False, suspended=lambda: left.append("agent")
    )
    anything: Any = None
    signals = Signals(anything, anything, anything, None)
    signals.leave = lambda: left.append("terminal")
    signals.watch()
    signals.attend(process, screen=False)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    try:
        real(os.getpid(), signal.SIGTSTP)
        real(os.getpid(), signal.SIGCONT)
        await asyncio.sleep(0.01)
        assert (sent, left) == ([], [])
        real(os.getpid(), signal.SIGTSTP)
        await asyncio.sleep(0.01)
        stop = signal.SIGSTOP if driven else signal.SIGTSTP
        assert sent == [(os.getpid(), stop)]
        assert left == (["agent", "terminal"] if driven else ["terminal"])
    finally:
        signals.close()
