"""Who calls a hook: the agent itself, or something that was started inside it.

The address of our hooks can be read by every program that the agent starts, and a call which says
that the person has spoken would loosen the guard. Callers are told apart by the system, never by what
they say: which process holds the other end, whose child it is, in which session it runs.

The agent is the process that calls first: that is before any of its tools can have run. Where not
even that one can be made out (containers, systems that do not tell), nobody is refused.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path

import psutil

from loopguard_cli.runtime.processes.loopback import OtherEnd
from loopguard_cli.runtime.processes.peers import descends, session_of


class Caller(Enum):
    AGENT = auto()
    STRANGER = auto()
    GONE = auto()
    """It hung up before it could be looked at; nobody waits for an answer."""


class HookPeers:
    """What is known of the agent that may call the hooks of one run."""

    def __init__(self) -> None:
        self._launched = 0
        self._over_http = _Known()
        self._by_client = _Known()

    def launched(self, pid: int) -> None:
        """The agent was started, as process ``pid`` or something below that."""
        self._launched = pid
        self._over_http, self._by_client = _Known(), _Known()

    def connected(self, connection: socket.socket) -> Caller:
        """Who is at the other end of a loopback connection."""
        known, end = self._over_http, OtherEnd(connection)
        if known.agent and end.belongs_to(known.agent):
            return Caller.AGENT
        if known.agent and end.closed:
            return Caller.GONE
        if known.agent and known.lives:
            return Caller.STRANGER
        return known.settle(end.below(self._launched) if self._launched else None)

    def called(self, client: int, answer: int, command: Sequence[str]) -> Caller:
        """Who has called by the shell client ``command``, as process ``client``.

        ``answer``: our descriptor of the pipe that it says it waits at.
        """
        known = self._by_client
        parent, leads = _parent(client, answer, command) if self._launched else (None, False)
        if known.agent and parent is None and not psutil.pid_exists(client):
            return Caller.GONE
        if known.agent and known.agent != parent and known.lives:
            return Caller.STRANGER
        if parent is not None and parent != known.agent and not descends(parent, self._launched):
            parent = None
        return known.settle(parent, leads=leads)


class _Known:
    """The process that calls in one of the two ways; 0: none has."""

    def __init__(self) -> None:
        self.agent = 0
        self._session = 0
        self._leads = False
        """Each of its clients leads a session, as the hooks of Claude Code do."""

    @property
    def lives(self) -> bool:
        return psutil.pid_exists(self.agent)

    def settle(self, caller: int | None, *, leads: bool = False) -> Caller:
        """``caller`` calls (None: that cannot be made out), and no other one that is known lives."""
        if not self.agent:
            if caller is not None:
                self.agent, self._session, self._leads = caller, session_of(caller), leads
            return Caller.AGENT
        # What the tools of an agent start runs in sessions of its own, or leads one.
        if caller is None or session_of(caller) != self._session or leads != self._leads:
            return Caller.STRANGER
        self.agent = caller
        return Caller.AGENT


def _parent(client: int, answer: int, command: Sequence[str]) -> tuple[int | None, bool]:
    """Whose child a shell client is, and whether it leads a session; None: it is no client of ours."""
    if not _waits_at(client, answer):
        return None, False
    try:
        process = psutil.Process(client)
        parent = process.parent() if process.cmdline() == list(command) else None
        # Between them may be a shell that was asked for nothing else.
        if parent is not None and parent.cmdline()[-1:] == [shlex.join(command)]:
            parent = parent.parent()
    except psutil.Error:
        return None, False
    if parent is None:
        return None, False
    session = session_of(client)
    leads = session == client
    return (parent.pid if leads or session == session_of(parent.pid) else None), leads


def _waits_at(client: int, answer: int) -> bool:
    """Whether a process holds the pipe ``answer`` as ``hook.sh`` does; True where that is not told."""
    try:
        held = Path(f"/proc/{client}/fd/3").stat()
    except OSError:
        return not Path("/proc/self/fd").is_dir()
    return os.path.samestat(held, os.fstat(answer))
