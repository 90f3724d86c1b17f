"""The turns of the session: from a prompt to its answer, one at a time.

A refusal that ended the turn is followed by a prompt that says why, and a person's prompts wait here
until the turn before them is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.acp.calls import Calls
from loopguard_cli.agents.acp.gate import Gate
from loopguard_cli.agents.acp.protocol import Prompted, Usage, read
from loopguard_cli.agents.acp.replies import Replies
from loopguard_cli.agents.acp.sending import Part, Returned, send
from loopguard_cli.agents.acp.updates import Updates
from loopguard_cli.agents.base import Show, Shown
from loopguard_cli.core.effects import Abort
from loopguard_cli.core.events import (
    AgentError,
    EffectSettled,
    Origin,
    Status,
    StatusChanged,
    Unparsed,
    UsageReported,
    UserSpoke,
)  # fmt: skip
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId
from loopguard_cli.wire import jsonrpc

CANCELLED = "cancelled"
_STOPPED = "Info: Operation cancelled by user"
"""Copilot CLI's own word, as text of the model, where a refusal has ended the turn."""
_NO_EFFECT = EffectId("")


class Turn:
    """One of them."""

    def __init__(self, message: MessageId) -> None:
        self.message = message
        self.cancelled = False
        self.refusals: list[str] = []
        """What our gate had to say and the model has not read: no word of the model came since."""


class Turns:
    """What is said in one session, and by whom."""

    def __init__(self, rpc: jsonrpc.Peer[Returned], calls: Calls, gate: Gate) -> None:
        self.session = NO_SESSION
        self.turn: Turn | None = None
        """The one that runs."""
        self.queue: deque[str] = deque()
        """What the person typed meanwhile."""
        self.aborts: list[Abort] = []
        """To be settled when it is over."""
        self.origin = Origin.PERSON
        """Who began it, or the one before."""
        self.status = 0
        """What the agent's exit status says if its own does not: 1 after an error."""
        self.replies = Replies()
        self.updates = Updates(calls, self.replies)
        self._rpc = rpc
        self._gate = gate
        self._messages = 0

    def updated(self, params: dict[str, Any]) -> Iterator[Part]:
        """The agent tells what it does."""
        if not self.session:
            return  # some tell of a session before they have answered that it is open
        if params.get("sessionId") != self.session:
            yield Unparsed(native="update of an unknown session")
            return
        turn = self.turn
        cancelling = turn is not None and turn.cancelled
        for part in self.updates.read(self.session, params.get("update"), cancelling=cancelling):
            if turn is not None and isinstance(part, Shown) and _goes_on(part):
                turn.refusals.clear()
            yield part

    def typed(self, text: str) -> Iterator[Part]:
        """The person wants something."""
        if not text:
            return
        self.queue.append(text)
        if self.turn is not None:
            yield Shown(kind=Show.NOTE, text="sent when this turn is over (^C stops it)")
        elif self.session != NO_SESSION:
            yield from self.go_on()

    def go_on(self) -> Iterator[Part]:
        """No turn runs: begin with what the person typed, or say that there is nothing to do."""
        if self.queue:
            yield from self.prompt(self.queue.popleft(), Origin.PERSON)
        else:
            yield StatusChanged(session=self.session, status=Status.IDLE)

    def prompt(self, text: str, origin: Origin, effect: EffectId = _NO_EFFECT) -> Iterator[Part]:
        """Begin a turn."""
        self._messages += 1
        message = MessageId(f"user.{self._messages}")
        self.turn, self.origin = Turn(message), origin
        self.replies.begin(message)
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]}
        yield send(self._rpc.request("session/prompt", params, self._prompted))
        if origin is Origin.LOOPGUARD:
            yield Shown(kind=Show.PROMPT, text=text)
        yield UserSpoke(session=self.session, message=message, origin=origin, effect=effect, text=text)
        yield StatusChanged(session=self.session, status=Status.BUSY)

    def _prompted(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        turn = self.turn
        if turn is None:
            yield Unparsed(native="answer to no prompt")
            return
        prompted = read(result, Prompted)
        failure = ""
        if prompted is None:
            failure = error.message if error is not None else "the answer is not understood"
            prompted = Prompted(stop_reason=CANCELLED if turn.cancelled else "")
        if turn.refusals and not turn.cancelled and not failure and not self.queue:
            yield from self.replies.finish(self.session, prompted.stop_reason)
            yield from self._used(prompted.usage)
            yield from self.prompt("\n\n".join(turn.refusals), Origin.LOOPGUARD)
            return
        yield from self.over(prompted.stop_reason, prompted.usage, "" if turn.cancelled else failure)

    def abort(self, effect: Abort) -> Iterator[Part]:
        """Stop the turn; settled when it is over."""
        if self.turn is None:
            yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
        else:
            self.aborts.append(effect)
            yield from self.cancel()

    def over(self, reason: str, usage: Usage | None, failure: str = "") -> Iterator[Part]:
        """The turn has ended."""
        turn, self.turn = self.turn, None
        aborted = reason == CANCELLED
        message = self.replies.newest
        finished = list(self.replies.finish(self.session, reason, aborted=aborted))
        yield from finished
        yield Shown(kind=Show.END, text="")
        if failure:
            self.status = 1
            yield Shown(kind=Show.NOTE, text=f"the turn failed: {failure}")
            yield AgentError(session=self.session, message=message, name="prompt", text=failure)
        elif aborted and not finished:
            yield AgentError(session=self.session, message=message, name=CANCELLED, aborted=True)
        yield from self._used(usage)
        yield from self._gate.drop()
        for abort in self.aborts:
            yield EffectSettled(session=abort.session, effect=abort.effect, ok=True)
        self.aborts.clear()
        if turn is not None and not failure:
            self.status = 0
        yield from self.go_on()

    def _used(self, usage: Usage | None) -> Iterator[Part]:
        cost = self.updates.cost_since()
        if usage is None and not cost:
            return
        usage = usage or Usage()
        yield UsageReported(
            session=self.session,
            message=self.replies.newest,
            input=int(usage.input_tokens),
            output=int(usage.output_tokens),
            reasoning=int(usage.thought_tokens or 0),
            cache_read=int(usage.cached_read_tokens or 0),
            cache_write=int(usage.cached_write_tokens or 0),
            total=int(usage.total_tokens),
            cost=cost,
        )

    def cancel(self) -> Iterator[Part]:
        """Ask the agent to stop the turn, if one runs."""
        if self.turn is None or self.turn.cancelled:
            return
        self.turn.cancelled = True
        self.turn.refusals.clear()
        yield send(self._rpc.notification("session/cancel", {"sessionId": self.session}))
        yield from self._gate.cancel()


def _goes_on(shown: Shown) -> bool:
    """The model did something."""
    return shown.kind in (Show.TEXT, Show.TOOL) and shown.text.strip() != _STOPPED
