"""What the notifications of the server mean, thread by thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from loopguard_cli.agents.base import Outgoing
from loopguard_cli.agents.codex import calls
from loopguard_cli.agents.codex.protocol import (
    RAW_ITEM,
    Delta,
    GoalOf,
    ItemOf,
    RawItemOf,
    ThreadId,
    ThreadOf,
    Trouble,
    TurnOf,
    UsageOf,
    read,
)
from loopguard_cli.agents.codex.thread import Thread
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import (
    AgentDisconnected,
    Channel,
    Compacted,
    Event,
    SessionGone,
    SessionSeen,
    Status,
    StatusChanged,
    Unparsed,
)
from loopguard_cli.core.ids import EffectId, SessionId

Part = Outgoing | Event

THREADS = 100
PROMPTS = 1000


class Listener:
    """The threads of one server. What else a turn's begin and end bring about is the heir's."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._threads: Recent[SessionId, Thread] = Recent(THREADS)
        self._side: Recent[SessionId, None] = Recent(THREADS)
        """Conversations about the task that are not the task."""
        self._sent: Recent[str, EffectId] = Recent(PROMPTS)
        """Our prompts, by the name that they carry."""
        self._errors: dict[SessionId, str] = {}
        """What was reported before the turn ended for it."""
        self._ungated = False

    def _notified(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        of = params.get("threadId")
        if isinstance(of, str) and of in self._side:
            yield from self._aside(method, params)
            return
        handle = _HANDLERS.get(method)
        if handle is not None:
            kind, take = handle
            given = read(params, kind)
            if given is None:
                yield Unparsed(native=f"notification {method}"[:100])
            else:
                yield from take(self, given)
        elif method.startswith(_ABOUT_WORK) and method not in _IGNORED and not method.startswith(_VOICE):
            yield Unparsed(native=f"notification {method}"[:100])

    def _aside(self, _method: str, _params: dict[str, Any]) -> Iterator[Part]:
        """Something about a side conversation."""
        yield from ()

    def _thread_started(self, given: ThreadOf) -> Iterator[Part]:
        thread = given.thread
        if thread.ephemeral and not self._takes_ephemeral(thread.id):
            self._side[thread.id] = None
        elif thread.id not in self._threads:
            self._threads[thread.id] = Thread(thread.id, thread.cwd)
            yield SessionSeen(
                session=thread.id, parent=thread.parent_thread_id or SessionId(""), directory=thread.cwd
            )

    def _takes_ephemeral(self, _thread: SessionId) -> bool:
        return False

    def _closed(self, given: ThreadId) -> Iterator[Part]:
        if self._threads.pop(given.thread_id) is not None:
            yield SessionGone(session=given.thread_id)

    def _compacted(self, given: ThreadId) -> Iterator[Part]:
        yield Compacted(session=given.thread_id)

    def _turn_started(self, given: TurnOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        self._errors.pop(thread.session, None)
        yield from thread.began(given.turn)

    def _turn_completed(self, given: TurnOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        yield from thread.ended(given.turn, self._errors.pop(thread.session, ""))

    def _item_started(self, given: ItemOf) -> Iterator[Part]:
        thread = self._thread(given.thread_id)
        if given.item.type == "userMessage":
            yield from thread.spoke(given.item, self._sent.get(given.item.client_id or "", EffectId("")))
        else:
            yield from thread.item_began(given.item)
            yield from self._check_gate(thread)

    def _item_completed(self, given: ItemOf) -> Iterator[Part]:
        if given.item.type == "userMessage":
            yield from self._item_started(given)
        else:
            thread = self._thread(given.thread_id)
            if not calls.is_known(given.item):
                yield Unparsed(native=f"item {given.item.type}"[:100])
            yield from thread.item_ended(given.item)
            yield from self._check_gate(thread)

    def _raw(self, given: RawItemOf) -> Iterator[Part]:
        if given.thread_id in self._threads:
            yield from self._thread(given.thread_id).said(given.item)

    def _text(self, given: Delta) -> Iterator[Part]:
        yield from self._thread(given.thread_id).piece(given.item_id, given.delta, Channel.TEXT)

    def _reasoning(self, given: Delta) -> Iterator[Part]:
        yield from self._thread(given.thread_id).piece(given.item_id, given.delta, Channel.REASONING)

    def _used(self, given: UsageOf) -> Iterator[Part]:
        yield from self._thread(given.thread_id).used(given.token_usage.last)

    def _trouble(self, given: Trouble) -> Iterator[Part]:
        if given.will_retry:
            yield StatusChanged(session=given.thread_id, status=Status.RETRY)
        elif given.thread_id:
            self._errors[given.thread_id] = given.error.message

    def _goal(self, given: GoalOf) -> Iterator[Part]:
        self._thread(given.thread_id).goal = given.goal.status
        yield from ()

    def _goal_cleared(self, given: ThreadId) -> Iterator[Part]:
        self._thread(given.thread_id).goal = ""
        yield from ()

    def _check_gate(self, thread: Thread) -> Iterator[Part]:
        """A command that nobody asked us about: our hook is not called, and that is said."""
        if thread.ungated and not self._ungated:
            self._ungated = True
            reason = f"{thread.ungated} ran without our hook being asked"
            yield AgentDisconnected(reason=reason, bypassed=True)

    def _known(self) -> list[Thread]:
        return [thread for _, thread in self._threads.items()]

    def _thread(self, session: SessionId) -> Thread:
        thread = self._threads.get(session, None)
        if thread is None:
            thread = self._threads[session] = Thread(session, self._directory)
        return thread


_HANDLERS: dict[str, tuple[type[Any], Callable[[Any, Any], Iterable[Part]]]] = {
    "thread/started": (ThreadOf, Listener._thread_started),
    "thread/compacted": (ThreadId, Listener._compacted),
    "thread/closed": (ThreadId, Listener._closed),
    "thread/deleted": (ThreadId, Listener._closed),
    "thread/goal/updated": (GoalOf, Listener._goal),
    "thread/goal/cleared": (ThreadId, Listener._goal_cleared),
    "thread/tokenUsage/updated": (UsageOf, Listener._used),
    "turn/started": (TurnOf, lambda self, given: self._turn_started(given)),
    "turn/completed": (TurnOf, lambda self, given: self._turn_completed(given)),
    "item/started": (ItemOf, Listener._item_started),
    "item/completed": (ItemOf, Listener._item_completed),
    "item/agentMessage/delta": (Delta, Listener._text),
    "item/reasoning/textDelta": (Delta, Listener._reasoning),
    "item/reasoning/summaryTextDelta": (Delta, Listener._reasoning),
    RAW_ITEM: (RawItemOf, Listener._raw),
    "error": (Trouble, Listener._trouble),
}

_ABOUT_WORK = ("item/", "turn/", "thread/")
"""Beginnings of the notifications that tell what is done in a thread; one that we do not know is counted."""
_VOICE = "thread/realtime/"
_IGNORED = {
    "item/autoApprovalReview/completed", "item/autoApprovalReview/started",
    "item/commandExecution/outputDelta", "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta", "item/fileChange/patchUpdated", "item/mcpToolCall/progress",
    "item/plan/delta", "item/reasoning/summaryPartAdded", "thread/archived", "thread/attachment/updated",
    "thread/environment/connected", "thread/environment/disconnected", "thread/name/updated",
    "thread/prediction/updated", "thread/project/updated", "thread/queue/changed",
    "thread/readState/changed", "thread/reverted", "thread/search/partial", "thread/section/changed",
    "thread/settings/updated", "thread/status/changed", "thread/unarchived", "turn/diff/updated",
    "turn/moderationMetadata", "turn/plan/updated",
}  # fmt: skip
"""They say nothing about loops."""
