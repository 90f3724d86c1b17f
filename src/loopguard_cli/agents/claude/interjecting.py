"""Hints for a turn whose hooks are off: messages of our own that Claude Code reads beside the next result.

It takes a message while a turn runs and gives it to the model with the result of the call that runs. With
no call to come it would begin a turn of its own. So a hint waits until a call runs, and what was not read
when an answer ends without one is called back.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.base import Outgoing
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.control import Control, user
from loopguard_cli.agents.settling import settled
from loopguard_cli.core.effects import Prompt
from loopguard_cli.core.events import Event
from loopguard_cli.core.ids import CallId, SessionId

HINTS = 20
"""Waiting at once; the oldest is given up."""

Part = Outgoing | Event


class Interjecting:
    """The hints of one run."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._waiting: list[Prompt] = []
        self._sent: dict[str, Prompt] = {}
        """Not read yet, by the names of their messages."""
        self._running: set[CallId] = set()

    @property
    def queued(self) -> bool:
        return bool(self._sent)

    def hint(self, effect: Prompt) -> Iterator[Part]:
        self._waiting.append(effect)
        if len(self._waiting) > HINTS:
            yield settled(self._waiting.pop(0), "too many hints")
        if self._running:
            yield from self._send()

    def called(self, call: CallId) -> Iterator[Part]:
        """A call is about to run."""
        self._running.add(call)
        yield from self._send()

    def returned(self, call: CallId) -> None:
        self._running.discard(call)

    def lifecycle(self, message: dict[str, Any]) -> Iterator[Part]:
        """What became of a message."""
        state = reading.text(message, "state")
        if state in ("started", "cancelled"):
            hint = self._sent.pop(reading.text(message, "command_uuid"), None)
            if hint is not None:
                yield settled(hint, "" if state == "started" else "it was called back")

    def withdraw(self) -> Iterator[Outgoing]:
        """The turn ends by itself: what was not read would begin another."""
        for name in self._sent:
            yield self._control.request(_told, subtype="cancel_async_message", message_uuid=name)

    def idle(self, _session: SessionId) -> Iterator[Event]:
        """The turn is over."""
        unread = (*self._sent.values(), *self._waiting)
        self._running.clear()
        self._sent.clear()
        self._waiting.clear()
        for hint in unread:
            yield settled(hint, "the turn ended before the hint was read")

    def _send(self) -> Iterator[Outgoing]:
        for hint in self._waiting:
            name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"loopguard:hint:{hint.effect}"))
            self._sent[name] = hint
            yield user(hint.text, name, priority="next")
        self._waiting.clear()


def _told(_error: str) -> Iterator[Part]:
    """What became of the message is told by its lifecycle."""
    yield from ()
