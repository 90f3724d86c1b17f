"""``LOOPGUARD_TRANSCRIPT=FILE``: write down everything an adapter is told, for its tests.

For people who write adapters. Like ``--record`` this puts arguments, output and text on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, cast

import msgspec

from loopguard_cli.agents.base import Adapter, Setup
from loopguard_cli.agents.transcript import CALLS, Header, step
from loopguard_cli.runtime.clock import Clock


class _Transcribed:
    """An adapter that is listened to. It has exactly the methods that the adapter has."""

    def __init__(self, adapter: Adapter, file: FileIO, header: Header) -> None:
        self._adapter = adapter
        self._clock = Clock()
        self._file = file
        self._file.write(msgspec.json.encode(header) + b"\n")
        for name in CALLS:
            if hasattr(adapter, name):
                # Set, not only found: what an adapter is (`Hooked`, ...) is told by what it has.
                setattr(self, name, self._listened(name, getattr(adapter, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def _listened(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            result = method(*args)
            known = args[-1:] if name == "relaunch" else args
            taken = step(name, known, result, self._clock.now() - self._clock.started)
            self._file.write(msgspec.json.encode(taken) + b"\n")
            return result

        return call


@contextmanager
def transcribed(adapter: Adapter, setup: Setup, path: Path) -> Iterator[Adapter]:
    """``adapter``, written down at ``path`` for as long as it is asked anything. Raises OSError."""
    header = Header(
        agent=adapter.name,
        argv=setup.argv,
        interactive=setup.interactive,
        permissions=setup.permissions.value,
        events=setup.events,
    )
    # As attributes of the type, and not only found: see `_Transcribed`.
    seen = [name for name in dir(adapter) if not name.startswith("_") and name not in CALLS]
    kind = type("_Transcribed", (_Transcribed,), {name: _seen(name) for name in seen})
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        yield cast("Adapter", kind(adapter, file, header))


def _seen(name: str) -> property:
    return property(
        lambda transcribed: getattr(transcribed._adapter, name),
        lambda transcribed, value: setattr(transcribed._adapter, name, value),
    )
