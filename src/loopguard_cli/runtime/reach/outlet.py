"""Writing to the person's terminal or pipe without being held up by it."""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress

FLUSH_SECONDS = 10.0
"""What takes nothing for so long does not get the last words."""


def own_descriptor(fd: int) -> int:
    """The same terminal or pipe, not blocking us; the given descriptor is shared with others, who may rely
    on how it is. Where that cannot be had: ``fd`` itself."""
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError):
        if os.isatty(fd):
            return os.open(os.ttyname(fd), flags)
        if sys.platform == "linux" and stat.S_ISFIFO(os.fstat(fd).st_mode):
            return os.open(f"/proc/self/fd/{fd}", flags)
    return fd


def writable(fd: int) -> bool:
    """Wait until it takes something; False: it does not."""
    return bool(select.select([], [fd], [], FLUSH_SECONDS)[1])
