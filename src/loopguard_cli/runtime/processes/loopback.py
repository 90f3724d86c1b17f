"""Whose process is at the other end of a loopback connection; sockets of that kind do not tell.

Linux lists who has which socket in ``/proc``; elsewhere psutil asks the system for the connections of
one process.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

Connection = tuple[tuple[str, int], tuple[str, int]]
"""Address and port of the other end, and of ours."""

_PROC = Path("/proc")
_LISTED = (_PROC / "net/tcp").is_file()
"""Connections and open files stand in there."""

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2
_ANY_STATE, _ANY_COOKIE = 0xFFFFFFFF, b"\xff" * 8
_HEADER = struct.Struct("=IHHII")
"""<linux/netlink.h>, <linux/sock_diag.h>, <linux/inet_diag.h>."""
_ANSWER_SECONDS = 0.1

_MAPPED = "0000000000000000FFFF0000"
"""What stands before an IPv4 address in Linux's table of IPv6, as written on little-endian machines."""


class OtherEnd:
    """The other end of an IPv4 connection to us. A lookup costs about a tenth of a millisecond."""

    def __init__(self, connection: socket.socket) -> None:
        self._ends: Connection | None = None
        with suppress(OSError):  # hung up
            self._ends = (connection.getpeername()[:2], connection.getsockname()[:2])
        self._inode = _inode(self._ends) if self._ends and _LISTED else ""

    @property
    def closed(self) -> bool:
        """Nobody has it any more, as far as the system tells."""
        return self._ends is None or (_LISTED and self._inode in {"", "0"})

    def belongs_to(self, pid: int) -> bool:
        """Whether process ``pid`` has it."""
        if self._ends is None or self.closed:
            return False
        if _LISTED:
            return f"socket:[{self._inode}]" in _files(pid)
        with suppress(psutil.Error):
            return any(
                (c.raddr, c.laddr) == self._ends[::-1] for c in psutil.Process(pid).net_connections("tcp")
            )
        return False

    def below(self, ancestor: int) -> int | None:
        """The process that has it, of ``ancestor`` and those below it."""
        with suppress(psutil.Error):
            top = psutil.Process(ancestor)
            family = [top, *top.children(recursive=True)]
            return next((one.pid for one in family if self.belongs_to(one.pid)), None)
        return None


def _files(pid: int) -> Iterator[str]:
    """What a process has open."""
    with suppress(OSError):
        for file in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                yield str(file.readlink())


def _inode(ends: Connection) -> str:
    """The number by which Linux knows the other end; "0" or empty: it is closed."""
    try:
        return _asked(ends)
    except (OSError, struct.error):  # a container may keep us from asking
        return _read(ends)


def _asked(ends: Connection) -> str:
    """By sock_diag(7), which finds one connection among many at once. Raises OSError, struct.error."""
    (theirs, their_port), (ours, our_port) = ends
    ports = struct.pack("!HH", their_port, our_port)
    addresses = b"".join(socket.inet_aton(address).ljust(16, b"\0") for address in (theirs, ours))
    query = struct.pack("=BBxxI", socket.AF_INET, socket.IPPROTO_TCP, _ANY_STATE)
    query += ports + addresses + struct.pack("=I", 0) + _ANY_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asking:
        asking.settimeout(_ANSWER_SECONDS)
        asking.sendto(_HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 1, 0) + query, (0, 0))
        answer = asking.recv(4096)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _ERROR:
        number = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        if number == errno.ENOENT:
            return ""
        raise OSError(number, "sock_diag")
    # struct inet_diag_msg: four bytes, the ends of 48 bytes, and five numbers, the last of them this.
    return str(struct.unpack_from("=I", answer, _HEADER.size + 4 + 48 + 16)[0])


def _read(ends: Connection) -> str:
    """From the table of all connections; takes milliseconds."""
    (theirs, their_port), (ours, our_port) = ends
    for table, before in (("tcp", ""), ("tcp6", _MAPPED)):
        line = f" {before}{_hex(theirs)}:{their_port:04X} {before}{_hex(ours)}:{our_port:04X} ".encode()
        with suppress(OSError):
            listed = (_PROC / "net" / table).read_bytes()
            if (at := listed.find(line)) >= 0:
                # local remote state queues timer retransmits uid timeout inode
                return listed[at:].split(None, 9)[8].decode()
    return ""


def _hex(address: str) -> str:
    return f"{struct.unpack('=I', socket.inet_aton(address))[0]:08X}"
