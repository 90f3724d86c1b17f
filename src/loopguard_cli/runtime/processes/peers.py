"""Who is at the other end of a local socket, and whether it is inside our own run."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import NamedTuple

_SOL_LOCAL = 0
_LOCAL_PEERPID = 2
"""macOS <sys/un.h>; the socket module does not name them."""


class Peer(NamedTuple):
    pid: int
    uid: int


def peer_of(connection: socket.socket) -> Peer | None:
    """The process that connected; None where the system does not tell (loopback TCP)."""
    if connection.family != getattr(socket, "AF_UNIX", None):
        return None
    try:
        if hasattr(socket, "SO_PEERCRED"):
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid, uid, _ = struct.unpack("3i", raw)
            return Peer(pid, uid)
        # The folder is ours alone (0700), so whoever connects has our user id.
        return Peer(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), os.geteuid())
    except OSError:
        return None


def descends(pid: int, ancestor: int) -> bool:
    """Whether process ``pid`` is ``ancestor`` or below it."""
    import psutil

    if pid == ancestor:
        return True
    try:
        return any(parent.pid == ancestor for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


def same_login_session(pid: int) -> bool:
    """Whether ``pid`` is in our POSIX session. The shell tools of agents begin sessions of their own."""
    return 0 < session_of(pid) == session_of(0)


def session_of(pid: int) -> int:
    """The POSIX session of a process; 0 when it is gone, and where there are none."""
    if sys.platform == "win32":
        return 0
    try:
        return os.getsid(pid)
    except OSError:
        return 0
