"""One thread of the agent: its turns, the messages and calls in them, as events.

The protocol has items and no model calls. A message of ours is one model call: it begins with the
first item behind the prompt, or behind the figures of the model call before, and ends with its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.agents.codex import calls
from loopguard_cli.agents.codex.calls import Call
from loopguard_cli.agents.codex.protocol import Figures, Item, RawItem, Turn, strings, text_of
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Event,
    FilesChanged,
    Origin,
    ReplyFinished,
    ReplyStarted,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId, SessionId

CALLS = 1000
INTERRUPTED = "interrupted"


class Thread:
    """What is known of one thread."""

    def __init__(self, session: SessionId, directory: str) -> None:
        self.session = session
        self.directory = directory
        self.turn = ""
        """The running turn."""
        self._last = ""
        self.newest = MessageId("")
        """The newest message of the assistant."""
        self.user = MessageId("")
        """The newest message to it, and who wrote that."""
        self.origin = Origin.PERSON
        self.goal = ""
        """Status of the agent's own goal for this thread; empty without one."""
        self.ungated = ""
        """A tool that ran although our gate was not asked."""
        self._gated: Recent[CallId, Call] = Recent(CALLS)
        """Calls that a hook asked about, as it told them."""
        self._wanted: Recent[CallId, Call] = Recent(CALLS)
        """Calls as the model wrote them."""
        self._running: dict[CallId, Call] = {}
        self._waited: dict[CallId, str] = {}
        """Those that the model waits for, with their process if they have one. Others of the running
        calls were left in the background, which is the model's way to start a server."""
        self._over: Recent[CallId, None] = Recent(CALLS)
        self._streamed: Recent[str, None] = Recent(CALLS)
        """Items whose text came in pieces."""
        self._open = False
        self._numbers = 0
        self._prompted = False

    # --- turns -------------------------------------------------------------------------------

    def began(self, turn: Turn) -> Iterator[Event]:
        if turn.id in (self.turn, self._last):
            return
        self.turn, self._prompted = turn.id, False
        yield StatusChanged(session=self.session, status=Status.BUSY)

    def ended(self, turn: Turn, error: str = "") -> Iterator[Event]:
        """The turn is over. ``error``: what the agent reported before."""
        if turn.status == INTERRUPTED:
            for call_id in self._waited:
                if (call := self._running.pop(call_id, None)) is not None:
                    self._over[call_id] = None
                    yield calls.cut_off(self.session, call_id, call)
        self._waited.clear()
        aborted = turn.status == INTERRUPTED
        was_open = self._open
        yield from self._finish(aborted=aborted)
        failure = (turn.error.message if turn.error is not None else "") or error
        if turn.status == "failed" or (aborted and not was_open):
            yield AgentError(
                session=self.session,
                message=self.newest,
                name=turn.status,
                text="" if aborted else failure,
                aborted=aborted,
            )
        self.turn, self._last = "", turn.id
        yield StatusChanged(session=self.session, status=Status.IDLE)

    def used(self, last: Figures) -> Iterator[Event]:
        """A model call is over, and what it asked for was answered."""
        self._waited.clear()
        if not self._open:
            return
        yield UsageReported(
            session=self.session,
            message=self.newest,
            input=max(0, last.input_tokens - last.cached_input_tokens),
            output=last.output_tokens,
            reasoning=last.reasoning_output_tokens,
            cache_read=last.cached_input_tokens,
            cache_write=last.cache_write_input_tokens,
            total=last.total_tokens,
        )
        yield from self._finish()

    @property
    def processes(self) -> tuple[str, ...]:
        """Commands that the model waits for: an interrupted turn does not end them."""
        return tuple(filter(None, self._waited.values()))

    # --- items -------------------------------------------------------------------------------

    def spoke(self, item: Item, ours: EffectId) -> Iterator[Event]:
        """A message to the agent. ``ours``: the effect that sent it."""
        if MessageId(item.id) == self.user:
            return
        yield from self._finish()
        self._prompted = True
        self.user = MessageId(item.id)
        self.origin = Origin.LOOPGUARD if ours else Origin.PERSON
        text = text_of(item.content)
        yield UserSpoke(session=self.session, message=self.user, origin=self.origin, effect=ours, text=text)

    def piece(self, item: str, text: str, channel: Channel) -> Iterator[Event]:
        """Text is streamed."""
        if not text or not self.turn:
            return
        yield from self._begin()
        self._streamed[item] = None
        yield TextDelta(
            session=self.session, message=self.newest, part=PartId(item), channel=channel, delta=text
        )

    def item_began(self, item: Item) -> Iterator[Event]:
        if not self.turn or item.id in self._over or item.id in self._running:
            return
        if calls.is_call(item):
            yield from self._begin()
            yield from self._run(item)
        elif item.type in ("agentMessage", "reasoning"):
            yield from self._begin()

    def item_ended(self, item: Item) -> Iterator[Event]:
        if item.id in self._over:
            return
        if calls.is_call(item):
            yield from self._begin()
            yield from self._run(item)
            call = self._running.pop(item.id)
            self._waited.pop(item.id, None)
            self._over[item.id] = None
            yield calls.finished(self.session, item, call, self.newest)
            if item.type == "fileChange" and item.status == "completed":
                yield FilesChanged(session=self.session, files=calls.changed(item))
        elif item.type == "agentMessage":
            yield from self._whole(item, item.text or "", Channel.TEXT)
        elif item.type == "reasoning":
            text = strings(item.content) or strings(item.summary)
            yield from self._whole(item, text, Channel.REASONING)

    def said(self, item: RawItem) -> Iterator[Event]:
        """Model and agent talk: only here it is told of calls that came to nothing."""
        if item.type == "function_call" and item.call_id:
            self._wanted[item.call_id] = calls.wanted(item)
        elif calls.came_to_nothing(item) and (call := self._wanted.pop(item.call_id)) and self.turn:
            if item.call_id in self._over or item.call_id in self._running:
                return
            self._over[item.call_id] = None
            yield from self._begin()
            yield from calls.failed(self.session, item, call, self.newest)

    # --- the gate ----------------------------------------------------------------------------

    def gate(self, call_id: CallId, call: Call) -> Iterator[Event]:
        """A hook asks."""
        self._gated[call_id] = call
        if self.turn:
            yield from self._begin()

    def refuse(self, call_id: CallId, reason: str) -> Iterator[Event]:
        call = self._gated.get(call_id, None)
        if call is not None and call_id not in self._over:
            self._over[call_id] = None
            yield calls.refused(self.session, call_id, call, reason)

    def drop(self, call_id: CallId) -> Iterator[Event]:
        """It was asked about, and its turn is interrupted before it ran."""
        call = self._gated.get(call_id, None)
        if call is not None and call_id not in self._over:
            self._over[call_id] = None
            yield calls.cut_off(self.session, call_id, call)

    # --- inside ------------------------------------------------------------------------------

    def _run(self, item: Item) -> Iterator[ToolStarted]:
        if item.id in self._running:
            return
        call = self._gated.get(item.id, None)
        if call is None:
            call = calls.told(item, self.directory)
            self.ungated = self.ungated or (call.tool if item.type == "commandExecution" else "")
        self._running[item.id] = call
        self._waited[item.id] = item.process_id or ""
        yield calls.started(self.session, item, call, self.newest)

    def _whole(self, item: Item, text: str, channel: Channel) -> Iterator[Event]:
        if not text or not self.turn or item.id in self._streamed:
            return
        yield from self._begin()
        yield TextSnapshot(
            session=self.session,
            message=self.newest,
            part=PartId(item.id),
            channel=channel,
            text=text,
            ended=True,
        )

    def _begin(self) -> Iterator[Event]:
        if self._open:
            return
        if not self._prompted:
            # A turn without a prompt: the agent goes on by itself, with a goal of its own.
            self._prompted = True
            self.user, self.origin = MessageId(f"turn.{self.turn}"), Origin.HOST
            yield UserSpoke(session=self.session, message=self.user, origin=Origin.HOST)
        self._open = True
        self._numbers += 1
        self.newest = MessageId(f"{self.turn}.{self._numbers}")
        yield ReplyStarted(session=self.session, message=self.newest, answers=self.user)

    def _finish(self, *, aborted: bool = False) -> Iterator[Event]:
        if self._open:
            self._open = False
            yield ReplyFinished(session=self.session, message=self.newest, aborted=aborted)
