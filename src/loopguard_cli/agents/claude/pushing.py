"""How a prompt of ours gets into an interactive session, without a key being pressed.

Two ways. While the Stop hook of a turn waits for its answer, the answer can say what to go on with; the
model reads that as feedback. Claude Code ends the turn anyhow after so many such answers without a tool
call between them, so we stay below. Else a hook that has been waiting in the background fails, and its
complaint begins a turn; every prompt starts another waiting hook, so there is always one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopguard_cli.agents.base import HookReply
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.effects import Prompt
from loopguard_cli.core.ids import EffectId, SessionId

SESSIONS = 100
DEFAULT_CAP = 9
"""Answers to the Stop hook in a row, without a tool call, after which the turn ends all the same."""
_TAGS = re.compile(r"[<>&]")
_WAKES = 2
"""The exit status with which a waiting hook begins a turn."""


class _Ways:
    """What is open in one session."""

    __slots__ = ("answers", "pushed", "stop", "waiter", "waiting")

    def __init__(self) -> None:
        self.stop = self.waiter = 0
        """Numbers of the waiting calls; 0: there is none."""
        self.answers = 0
        self.waiting: list[Prompt] = []
        """To be pushed as soon as a hook waits, one by one."""
        self.pushed: list[Prompt] = []
        """On their way; each comes back as a prompt of the agent."""


class Pushing:
    """The open ways of all sessions. ``cap``: as `DEFAULT_CAP`."""

    def __init__(self, cap: int = DEFAULT_CAP) -> None:
        self._cap = cap
        self._ways: Recent[SessionId, _Ways] = Recent(SESSIONS)

    # --- ways open and close -----------------------------------------------------------------

    def stops(self, session: SessionId, call: int) -> None:
        """The Stop hook waits for its answer."""
        self._of(session).stop = call

    def waits(self, session: SessionId, call: int) -> Iterator[HookReply]:
        """Another hook waits in the background; one is enough."""
        ways = self._of(session)
        if ways.waiter:
            yield HookReply(call=ways.waiter)
        ways.waiter = call
        if ways.waiting:
            yield from self._push(ways)

    def considered(self, call: int) -> Iterator[HookReply]:
        """Nothing came for the Stop hook: the turn may end."""
        for ways in self._ways.values():
            if ways.stop == call:
                ways.stop = 0
                yield HookReply(call=call)

    def gone(self, call: int) -> None:
        for ways in self._ways.values():
            if ways.stop == call:
                ways.stop = 0
            if ways.waiter == call:
                ways.waiter = 0

    def worked(self, session: SessionId) -> None:
        """A tool was called."""
        self._of(session).answers = 0

    # --- prompts -----------------------------------------------------------------------------

    def answer(self, prompt: Prompt) -> HookReply | None:
        """Send by the Stop hook; None if that cannot be."""
        ways = self._of(prompt.session)
        if not ways.stop or ways.answers + 1 >= self._cap:
            return None
        call, ways.stop, ways.answers = ways.stop, 0, ways.answers + 1
        # Not as a refusal: that would show the model the hook's address, with the word that lets it in.
        output = {"hookEventName": "Stop", "additionalContext": prompt.text}
        return HookReply(call=call, body={"hookSpecificOutput": output})

    def push(self, prompt: Prompt) -> Iterator[HookReply]:
        """Send by the waiting hook, as soon as there is one."""
        ways = self._of(prompt.session)
        ways.waiting.append(prompt)
        if ways.waiter:
            yield from self._push(ways)

    def came(self, session: SessionId, text: str) -> Prompt | None:
        """A turn begins with ``text``: the prompt of ours that it is; None: it is none."""
        ways = self._of(session)
        ways.answers = 0
        came = next((prompt for prompt in ways.pushed if _mark(prompt.text) in text), None)
        if came is not None:
            ways.pushed.remove(came)
        return came

    def cancel(self, effect: EffectId) -> None:
        for ways in self._ways.values():
            ways.waiting = [prompt for prompt in ways.waiting if prompt.effect != effect]

    def unsent(self) -> Iterator[Prompt]:
        """The agent is gone: what it never took."""
        for ways in self._ways.values():
            yield from (*ways.pushed, *ways.waiting)
            ways.pushed, ways.waiting = [], []

    def _push(self, ways: _Ways) -> Iterator[HookReply]:
        call, ways.waiter, prompt = ways.waiter, 0, ways.waiting.pop(0)
        ways.pushed.append(prompt)
        yield HookReply(call=call, code=_WAKES, text=prompt.text)

    def _of(self, session: SessionId) -> _Ways:
        ways = self._ways.get(session, None)
        if ways is None:
            ways = self._ways[session] = _Ways()
        return ways


def _mark(text: str) -> str:
    """The longest piece of a prompt that comes back as it was sent: what looks like a tag may not."""
    return max(_TAGS.split(text), key=len).strip()
