"""What was seen of a run so far, as far as reading the next event needs it. Bounded."""

from __future__ import annotations

from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import Channel, Origin, Status, UsageReported
from loopguard_cli.core.ids import CallId, EffectId, MessageId, SessionId

MESSAGES = 1000
PARTS = 2000
CALLS = 1000
SESSIONS = 200


class Seen:
    """Shared by the readers of one run."""

    def __init__(self) -> None:
        self.version = ""
        """OpenCode's own version, once a session told it."""
        # by session
        self.parents: Recent[SessionId, SessionId] = Recent(SESSIONS)
        self.statuses: Recent[SessionId, Status] = Recent(SESSIONS)
        self.agents: Recent[SessionId, str] = Recent(SESSIONS)
        self.models: Recent[SessionId, str] = Recent(SESSIONS)
        self.newest_user: Recent[SessionId, MessageId] = Recent(SESSIONS)
        self.newest_reply: Recent[SessionId, MessageId] = Recent(SESSIONS)
        self.aborting: Recent[SessionId, None] = Recent(SESSIONS)
        """Sessions whose turn was aborted and that have done nothing since."""
        # by message
        self.origins: Recent[MessageId, Origin] = Recent(MESSAGES)
        """User messages and who wrote them."""
        self.replies: Recent[MessageId, bool] = Recent(MESSAGES)
        """Assistant messages; True once finished."""
        self.usage: Recent[MessageId, UsageReported] = Recent(MESSAGES)
        self.issued: Recent[EffectId, None] = Recent(MESSAGES)
        """Prompts that we sent; nothing else can claim to be one."""
        # by part and call
        self.channels: Recent[str, Channel] = Recent(PARTS)
        self.asked: Recent[CallId, None] = Recent(CALLS)
        """Calls that came to the gate; the others were seen too late."""
        self.refused: Recent[CallId, None] = Recent(CALLS)
        self.cancelled: Recent[CallId, None] = Recent(CALLS)
        """Calls that the bridge stopped because their turn was over."""

    def is_child(self, session: SessionId) -> bool:
        return session in self.parents

    def forget(self, session: SessionId) -> None:
        for memory in (
            self.parents, self.statuses, self.agents, self.models, self.newest_user, self.newest_reply,
            self.aborting,
        ):  # fmt: skip
            memory.pop(session)
