"""The sessions of one run: the person's, and one per sub-agent."""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import AgentError, Event, SessionSeen, Status, StatusChanged
from loopguard_cli.core.ids import NO_SESSION, SessionId

SESSIONS = 1000


class Sessions:
    """Tells of each session once."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._seen: Recent[SessionId, None] = Recent(SESSIONS)

    def see(self, session: SessionId) -> Iterator[Event]:
        """Something of this session came."""
        if not session or session in self._seen:
            return
        self._seen[session] = None
        parent = SessionId(session.partition("/")[0]) if reading.agent_of(session) else NO_SESSION
        yield SessionSeen(session=session, parent=parent, directory=self._directory)

    @staticmethod
    def interrupted(session: SessionId, replies: Replies) -> Iterator[Event]:
        """A turn of the session was interrupted."""
        newest = replies.newest(session)
        finished = list(replies.finish(session, "interrupted", aborted=True))
        yield from finished
        if not finished:
            yield AgentError(session=session, message=newest, name="interrupted", aborted=True)
        yield StatusChanged(session=session, status=Status.IDLE)
