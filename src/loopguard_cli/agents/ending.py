"""How replies and turns end, where hooks tell of turns and another stream of what is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from loopguard_cli.agents.settling import settled
from loopguard_cli.core.effects import Abort
from loopguard_cli.core.events import AgentError, Event, ReplyFinished, Status, StatusChanged
from loopguard_cli.core.ids import MessageId, SessionId

INTERRUPTED = "interrupted"


class Speaking(Protocol):
    """A session."""

    busy: bool
    open: bool
    """The newest reply is not complete."""
    reply: MessageId


def finish(
    state: Speaking, session: SessionId, *, reason: str = "", error: str = "", aborted: bool = False
) -> Iterator[Event]:
    """The newest reply is complete, if there is one that was not."""
    if state.open:
        state.open = False
        yield ReplyFinished(session=session, message=state.reply, finish=reason, error=error, aborted=aborted)


def idle(
    state: Speaking, session: SessionId, given_up: Iterable[Event], aborts: Iterable[Abort], *, aborted: bool
) -> Iterator[Event]:
    """The turn is over. ``given_up``: what does not outlive it; ``aborts`` have done what they should."""
    was_open = state.open
    yield from finish(state, session, reason=INTERRUPTED if aborted else "", aborted=aborted)
    if aborted and not was_open:
        yield AgentError(session=session, message=state.reply, name=INTERRUPTED, aborted=True)
    yield from given_up
    state.busy = False
    for abort in aborts:
        yield settled(abort)
    yield StatusChanged(session=session, status=Status.IDLE)
