from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loopguard_cli.core.effects import Record, Tell
from loopguard_cli.core.noticing import NotifySettings
from loopguard_cli.core.records import UserTurn
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.telemetry import OtelSettings
from loopguard_cli.errors import ConfigError
from loopguard_cli.runtime.telling import outside
from loopguard_cli.runtime.telling.outside import Outside

QUIET = NotifySettings(desktop=False)


class Export:
    """Stands for the telemetry of a run."""

    def __init__(self, error: Exception | None = None) -> None:
        self.seen: list[Any] = []
        self._error = error

    def see(self, record: Any, now: float) -> None:
        self.seen.append((record, now))
        if self._error is not None:
            raise self._error

    def close(self, now: float) -> None:
        self.seen.append(("close", now))


def made(export: Export | None, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Outside:
    monkeypatch.setattr(outside, "connect", lambda *_, **__: export)
    return Outside(QUIET, OtelSettings(), run="r", locale=Locale.EN, environ={}, complain=said.append)


def test_telemetry_sees_records_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    export, record = Export(), UserTurn()
    world = made(export, monkeypatch, [])
    world.see(Record(record=record), 1.0)
    world.see(Tell(text="x"), 2.0)
    asyncio.run(world.close(3.0))
    assert export.seen == [(record, 1.0), ("close", 3.0)]


def test_a_part_that_fails_is_switched_off_and_mentioned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    export = Export(ValueError("no"))
    world = made(export, monkeypatch, said)
    world.see(Record(record=UserTurn()), 1.0)
    world.see(Record(record=UserTurn()), 2.0)
    asyncio.run(world.close(3.0))
    assert len(export.seen) == 1
    assert said == ["telemetry failed and was switched off (ValueError)"]


def test_nothing_configured_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(None, monkeypatch, [])
    world.see(Tell(text="x", topic="loop.stopped"), 1.0)
    asyncio.run(world.close(2.0))


def test_settings_that_can_never_work_are_told_before_the_run() -> None:
    with pytest.raises(ConfigError):
        Outside(
            NotifySettings(desktop=False, webhook="nowhere"),
            OtelSettings(),
            run="r",
            locale=Locale.EN,
            environ={},
            complain=print,
        )
