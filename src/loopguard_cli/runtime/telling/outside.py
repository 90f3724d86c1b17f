"""What a run tells the world outside its terminal: notices and telemetry, behind one face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from loopguard_cli.core.effects import Effect, Record
from loopguard_cli.core.noticing import Noticing, NotifySettings
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.telemetry import OtelSettings
from loopguard_cli.core.wording import Wording
from loopguard_cli.runtime.telling.notify import Notifier
from loopguard_cli.runtime.telling.otel import connect
from loopguard_cli.runtime.telling.sinks import sinks


class Outside:
    """Sees every effect of a run. Nothing here can fail it or hold it up."""

    def __init__(
        self,
        notify: NotifySettings,
        otel: OtelSettings,
        *,
        run: str,
        locale: Locale,
        environ: Mapping[str, str],
        complain: Callable[[str], object],
        terminal: Callable[[str], object] | None = None,
    ) -> None:
        """``complain`` is told once about each part that fails. ``terminal`` writes to the terminal;
        None where the agent owns it. Raises ConfigError for settings that can never work."""
        found = sinks(notify, run=run, environ=environ, write=terminal)
        self._notifier = Notifier(Noticing(notify, Wording(locale)), found, complain=complain)
        self._telemetry = connect(otel, run=run, complain=complain)
        self._complain = complain

    def see(self, effect: Effect, now: float) -> None:
        """Called with each effect as it is performed; returns at once."""
        self._notifier.see(effect, now)
        if self._telemetry is not None and isinstance(effect, Record):
            try:
                self._telemetry.see(effect.record, now)
            except Exception as error:
                self._telemetry = None
                self._complain(f"telemetry failed and was switched off ({type(error).__name__})")

    async def close(self, now: float) -> None:
        """Wait a few seconds for what is on its way."""
        telemetry, self._telemetry = self._telemetry, None
        if telemetry is not None:
            await asyncio.to_thread(telemetry.close, now)
        await self._notifier.close()
