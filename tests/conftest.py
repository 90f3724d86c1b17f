"""Guards for every test: only temporary folders, no network, no terminal left changed."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about us.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).parents[1]

_PLACES = (
    "LOOPGUARD_STATE_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
)
_LOOKS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
"""They would outdo what a pseudo-terminal says of itself; workers of pytest-xdist have the first two."""

_KEPT = "LOOPGUARD_TEST_"


class NetworkReachedError(RuntimeError):
    """A test opened a connection that leaves this machine."""


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _own_home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home for each test, and none of the variables by which a person steers us or an agent."""
    home = _homes / str(sum(1 for _ in _homes.iterdir()))
    runtime = home / "run"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    for name in list(os.environ):
        if name in (*_PLACES, *_LOOKS) or (
            name.startswith(("LOOPGUARD_", "OPENCODE")) and not name.startswith(_KEPT)
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise NetworkReachedError(f"connection to {address}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(autouse=True)
def _same_terminal() -> Iterator[None]:
    """The terminal pytest itself runs on keeps its settings."""
    if not sys.__stdin__ or not sys.__stdin__.isatty():
        yield
        return
    before = termios.tcgetattr(0)
    yield
    after = termios.tcgetattr(0)
    termios.tcsetattr(0, termios.TCSANOW, before)
    assert after == before, "the test changed the settings of the terminal"


@pytest.fixture(scope="session")
def opencode() -> Path:
    """The real OpenCode. Missing, it fails the test under CI and skips it elsewhere."""
    places = [
        os.environ.get("LOOPGUARD_TEST_OPENCODE"),
        str(ROOT / ".agents/opencode/node_modules/.bin/opencode"),
    ]
    for place in filter(None, places):
        if found := shutil.which(place):
            return Path(found).absolute()
    reason = "OpenCode is not installed: run `make agents`, or name one in LOOPGUARD_TEST_OPENCODE"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
