"""The journal: one session's tool calls, each counted once, with its outcome and its round.

A call is counted when it is first heard of: asked for at the gate, started (agents without a gate)
or finished (agents that report nothing earlier). A *round* is what the agent sends off together:
a call asked for while another is still open belongs to the same round.

Bounded: `OPEN` calls in flight, `RECENT` past calls, outputs of the last `READABLE` of them, and
one line per key for the last `KEYS` keys.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from loopguard_cli.core.events import (
    Event,
    Origin,
    SessionGone,
    Status,
    StatusChanged,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.findings import Cost
from loopguard_cli.core.ids import CallId, CallKey, MessageId
from loopguard_cli.detect import said
from loopguard_cli.detect.agreement import ALIKE, DIFFERENT, EQUAL, STEADY, Sameness
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.outcomes import says_dead
from loopguard_cli.detect.tools import ACT, EDIT, MOVE, WAIT

OPEN = 256
RECENT = 64
READABLE = 24
KEYS = 512
MESSAGES = 16
KNOWN = 1_024

PATIENCE = 120.0
"""Seconds without any call after which the world may have changed by itself."""

BREATH = 1.0
"""Seconds; no model reads a result and answers with the next call faster, so calls that follow each
other within it were sent off together, even if the agent reports them one by one."""


class Line:
    """What is known of one key."""

    __slots__ = ("asked", "degree", "known", "last", "repeats", "same", "swings", "unchanged")

    def __init__(self) -> None:
        self.asked = 0
        """Calls asked for with this key, all told."""
        self.last: Call | None = None
        """The latest with an outcome."""
        self.same: list[Call] = []
        """The latest ones whose outcomes agree and between which nothing changed, oldest first;
        of many, the first and the latest."""
        self.repeats = 0
        """How many they are."""
        self.degree = EQUAL
        """The weakest agreement among them."""
        self.unchanged = 0
        """How many of the latest outcomes agree, whatever changed in between."""
        self.known: list[Call] = []
        """One call for each of its latest different outcomes, the latest first."""
        self.swings = 0
        """How often an earlier outcome came back after another one, though nothing had changed: chance."""


_NO_LINE = (CallKey(""), Line())

SAME_KEPT = 16

OUTCOMES_KEPT = 2
"""Different outcomes of one key that are known again."""


class Journal:
    """All calls of a session, fed by `asked`, `ended` and `follow`."""

    def __init__(self, recent: int = RECENT) -> None:
        self.recent: deque[Call] = deque(maxlen=max(recent, RECENT))
        """Counted calls, oldest first, the one being asked for included; refused ones are taken out."""
        self.open: OrderedDict[CallId, Call] = OrderedDict()
        self.lines: OrderedDict[CallKey, Line] = OrderedDict()
        self._latest: tuple[CallKey, Line] = _NO_LINE
        """What `line` answered last."""
        self.row: list[Call] = []
        """The latest calls, as far as they have one key; of many, the first and the latest."""
        self.row_length = 0
        """How many they are."""
        self.turn = 0
        self.since_resume = RECENT
        """Calls asked for since a recovery continued the turn, at most `RECENT`."""
        self.news = 0
        """Goes up with every outcome that a call did not have before."""
        self.epoch = 0
        """Goes up with everything that may make an equal call worth repeating: something that may
        have changed the world, done for the first time or with another outcome, or a person's message."""
        self.changes = 0
        """Goes up with what certainly did: a file changed for the first time, a person's message."""
        self.round = 0
        self.batch = 0
        self.waits = 0
        self.tokens = 0
        self.said = said.Said()
        """What the assistant wrote since its last call; streamed text goes in here directly."""
        self._known: OrderedDict[str, None] = OrderedDict()
        self._usage: OrderedDict[MessageId, int] = OrderedDict()

    # --- feeding -----------------------------------------------------------------------------

    def asked(self, event: ToolAsked | ToolStarted | ToolFinished, seq: int, now: float) -> Call | None:
        """Take in that a call is asked for, or begins; None if it was heard of before."""
        if event.call in self.open:
            return None
        return self._asked(Call(event, seq, now))

    def unheard(self, event: ToolFinished) -> bool:
        """The call has an end that counts, and nothing was heard of its beginning (see `asked`)."""
        return not event.refused and event.call not in self.open

    def ended(self, event: ToolFinished, seq: int, now: float) -> Call | None:
        """Take in the end of a call; None if it did not run."""
        call = self.open.pop(event.call, None)
        if call is None:
            return None
        if event.refused:
            self._withdraw(call)
            return None
        call.end(event, seq, now)
        self._ended(call)
        return call

    def follow(self, event: Event) -> None:
        """Take in what happens beside the calls."""
        match event:
            case UserSpoke(origin=Origin.PERSON):
                self.open.clear()
                self.row.clear()
                self.epoch += 1
                self.changes += 1
                self.turn += 1
            case TextSnapshot():
                self.said.add(event)
            case StatusChanged(status=Status.IDLE):
                self.open.clear()
            case UsageReported():
                self._used(event)
            case SessionGone():
                self.clear()
            case _:
                pass

    def refuse(self, call: CallId) -> Call | None:
        """The call did not run: it has no outcome and breaks nobody's row."""
        refused = self.open.pop(call, None)
        if refused is not None:
            self._withdraw(refused)
        return refused

    def keep(self, recent: int) -> None:
        """Remember this many of the latest calls from now on, if it is more than usual."""
        if max(recent, RECENT) != self.recent.maxlen:
            self.recent = deque(self.recent, maxlen=max(recent, RECENT))

    def resume(self) -> None:
        """The turn was cut off and goes on: old calls count, but do not convict by themselves."""
        self.since_resume = 0

    def clear(self) -> None:
        self.recent.clear()
        self.row.clear()
        self.open.clear()
        self.lines.clear()
        self._latest = _NO_LINE

    def forget(self, call: Call) -> None:
        """Start the key of ``call``, which is being asked for, afresh: it counts as the first."""
        self.lines.pop(call.key, None)
        self._latest = _NO_LINE
        self.line(call.key).asked = 1
        kept = [other for other in self.recent if other.key != call.key or other is call]
        self.recent.clear()
        self.recent.extend(kept)
        self.row, self.row_length = [call], 1

    # --- reading -----------------------------------------------------------------------------

    def line(self, key: CallKey) -> Line:
        if key == self._latest[0]:  # each rule asks for the line of the call at hand
            return self._latest[1]
        found = self.lines.get(key)
        if found is None:
            found = self.lines[key] = Line()
            while len(self.lines) > KEYS:
                self.lines.popitem(last=False)
        else:
            self.lines.move_to_end(key)
        self._latest = key, found
        return found

    def find(self, call: CallId) -> Call | None:
        """A call in flight, or one of the latest."""
        if (found := self.open.get(call)) is not None:
            return found
        return next((past for past in reversed(self.recent) if past.id == call), None)

    def unchanged(self, call: Call) -> list[Call]:
        """Earlier calls with the key of ``call`` and agreeing outcomes, oldest first, if nothing
        changed between and since them."""
        line = self.line(call.key)
        return [one for one in line.same if one is not call] if self._carries_on(line, call) else []

    def cost(self, since: Call, calls: int, now: float) -> Cost:
        """What was spent from ``since`` on."""
        return Cost(calls=calls, tokens=self.tokens - since.tokens, seconds=round(now - since.asked_at, 3))

    # --- inside ------------------------------------------------------------------------------

    def _asked(self, call: Call) -> Call:
        text = self.said.take()
        call.said = text
        last = self.recent[-1] if self.recent else None
        if last is not None and call.asked_at - last.ended_at > PATIENCE:
            self.epoch += 1
        call.waits = self.waits
        self.waits += call.pauses
        if not self.open:
            self.round += 1
            if last is None or text or call.asked_at - last.ended_at > BREATH:
                self.batch += 1
        call.round, call.batch = self.round, self.batch
        call.epoch, call.turn = self.epoch, self.turn
        self.since_resume = min(self.since_resume + 1, RECENT)
        call.tokens = self.tokens
        line = self.line(call.key)
        call.fresh = line.asked == 0
        line.asked += 1
        self._follow(call)
        self.open[call.id] = call
        while len(self.open) > OPEN:
            self.open.popitem(last=False)
        self.recent.append(call)
        if len(self.recent) > READABLE:
            self.recent[-READABLE - 1].slim()
        return call

    def _follow(self, call: Call) -> None:
        row = self.row
        if row and row[0].key != call.key:
            row.clear()
        self.row_length = self.row_length + 1 if row else 1
        if len(row) >= SAME_KEPT:
            del row[1]
        row.append(call)

    def _withdraw(self, call: Call) -> None:
        self.line(call.key).asked -= 1
        if call in self.recent:
            self.recent.remove(call)
        if call in self.row:
            self.row.remove(call)
            self.row_length -= 1

    def _ended(self, call: Call) -> None:
        if not call.complete:
            return
        line = self.line(call.key)
        degree = call.sameness(line.last) if line.last is not None else DIFFERENT
        if degree >= STEADY:
            line.unchanged += 1
        else:
            line.unchanged = 1
        call.token = _token(line, call, degree)
        if line.known[0] is not call and degree < STEADY and self._carries_on(line, call):
            line.swings += 1
        if degree >= STEADY and self._carries_on(line, call):
            line.degree = min(line.degree, degree)
        else:
            line.same.clear()
            line.repeats = 0
            line.degree = EQUAL
        line.repeats += 1
        if len(line.same) >= SAME_KEPT:
            del line.same[1]
        line.same.append(call)
        line.last = call
        if call.kind in (EDIT, ACT):
            if call.fresh and not call.failed:
                self.epoch += 1
                self.changes += call.writes
            elif not call.fresh and degree < STEADY:
                # What acts and now does something else stands in another world (a bisection's next step).
                self.epoch += 1
        elif call.kind is MOVE and not call.failed:
            # Pages move on even where the answer does not show it (pictures, "ok").
            self.epoch += 1
        call.left = self.epoch
        if self._is_news(call) and degree < STEADY:
            # That it is dead is no news, for however long and however often it died.
            old = degree is ALIKE and call.kind is WAIT and says_dead(call.output or "")
            self.news += not old

    @staticmethod
    def _carries_on(line: Line, call: Call) -> bool:
        last = line.last
        return last is not None and last.left == call.epoch

    def _is_news(self, call: Call) -> bool:
        asked = call.question if call.kind is WAIT else call.key
        fact = f"{asked}:{call.raw}"
        news = fact not in self._known
        self._known[fact] = None
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return news

    def _used(self, event: UsageReported) -> None:
        total = event.total or (
            event.input + event.output + event.reasoning + event.cache_read + event.cache_write
        )
        before = self._usage.get(event.message, 0)
        self._usage[event.message] = max(before, total)
        self.tokens += max(0, total - before)
        while len(self._usage) > MESSAGES:
            self._usage.popitem(last=False)


def _token(line: Line, call: Call, degree: Sameness) -> str:
    """A name for the call's key and outcome; the same for an outcome that it had before."""
    known = line.known
    if degree >= STEADY:
        return known[0].token
    for at, other in enumerate(known[1:], 1):
        if call.is_steady(other):
            known.insert(0, known.pop(at))
            return other.token
    known.insert(0, call)
    del known[OUTCOMES_KEPT:]
    return f"{call.key}:{call.ended_seq}"
