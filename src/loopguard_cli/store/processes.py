"""Who a process is, beyond its number: numbers are used again, and mean nothing on another host."""

from __future__ import annotations

import functools
import os
import platform
import re
from pathlib import Path

_PROC = Path("/proc")
_ENDED = frozenset({"Z", "X", "x"})
_PLAIN_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def started(pid: int) -> str | None:
    """An opaque name for the moment at which process ``pid`` began; None if there is none.

    One that has ended and only waits to be reaped counts as none.
    """
    if pid <= 0:
        return None
    if (_PROC / "self" / "stat").exists():
        return _started_linux(pid)
    return _started_elsewhere(pid)


def alive(pid: int, start: str) -> bool:
    """The very process that began at ``start`` still runs."""
    return started(pid) == start


@functools.cache
def host() -> str:
    return platform.node()


@functools.cache
def space() -> str:
    """Within what process numbers are comparable (containers may share host name and folder)."""
    try:
        return str((_PROC / "self" / "ns" / "pid").readlink())
    except OSError:
        return ""


def shown_host(name: str) -> str:
    """``name`` if it looks like a host name: it comes from a file and goes to a terminal."""
    return name if _PLAIN_HOST.fullmatch(name) else "another host"


@functools.cache
def _boot() -> str:
    try:
        return (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()[:8]
    except OSError:
        return ""


def _started_linux(pid: int) -> str | None:
    # Ticks since boot, unlike a wall clock time, do not change when the clock is set.
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = stat.rpartition(b")")[2].split()
    state, ticks = fields[0].decode(), fields[19].decode()
    return None if state in _ENDED else f"{_boot()}:{ticks}"


def _started_elsewhere(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{process.create_time():.1f}"
    except psutil.AccessDenied:
        return f"hidden:{os.getpid()}"
    except psutil.Error:
        return None
