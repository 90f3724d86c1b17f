"""call-cycle: one trial under ever other numbers (preset ``balanced``).

Source: reported piles of throw-away scripts (write ``debug7.py``, run it, read the same number again).
A round of a file that is written and a command that runs it, in which nothing but numbers differs from
the round before, with the very same telling result each time. Numbers often name things (migrations,
shards, exercises), so the file has to be called a trial. Five rounds are a nudge, eight may be refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.shapes import CONSIDERED
from loopguard_cli.detect.tools import ACT, EDIT, NOTE, READ

ROUNDS, ROUNDS_HARD = 5, 8
LONGEST = 3
TELLING = 20
"""Characters of a result that says something."""

REWRITES, REWRITES_HARD = 5, 8
"""Times that one file is written with no word that was not there before."""
_CONTENTS = frozenset(["content", "contents", "file_text", "text"])
_PLACES = ("file_path", "filePath", "absolute_path", "path", "filename", "file")

_TRIAL = re.compile(
    r"(?:^|[/\\_\s.-])(?:debug|try|trial|attempt|tmp|temp|scratch|probe|repro|check|verify|test|fix|patch|experiment)"
    r"[a-z_-]*?_?v?\d",
    re.IGNORECASE,
)


class NumberedTrials(Plain):
    """Write a trial, run it, see the same; write the next."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if not call.fresh or call.size < TELLING or call.kind not in (ACT, READ):
            return ()
        recent = self.scene.journal.recent
        if len(recent) < 2 * ROUNDS or recent[-1] is not call or recent[-2].kind is not EDIT:
            return ()
        return self._look(call, now)

    def _look(self, call: Call, now: float) -> Iterator[Finding]:
        recent = self.scene.journal.recent
        calls = [one for one in recent if one.turn == call.turn and one.kind is not NOTE]
        for length in range(2, LONGEST + 1):
            rounds = _rounds(calls, length)
            if rounds >= self.scene.allows(ROUNDS) and _is_trial(calls[-length:]):
                sure = rounds >= self.scene.allows(ROUNDS_HARD)
                yield self.scene.finding(
                    "call-cycle",
                    Action.NUDGE,
                    call,
                    calls[-length * rounds :],
                    now,
                    identity=digest(" ".join(call.shape.words).encode("utf-8", "replace")),
                    count=rounds,
                    limit=Action.ABORT if sure else Action.NUDGE,
                    gate=False,
                    length=length,
                    threshold=ROUNDS,
                )
                return


class Rewritten(Plain):
    """One file written over and over, with nothing new in it and nothing else done."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.kind is not EDIT or call.failed:
            return ()
        recent = self.scene.journal.recent
        if len(recent) < REWRITES or recent[-2].kind is not EDIT or recent[-REWRITES].tool != call.tool:
            return ()
        return self._look(call, now)

    def _look(self, call: Call, now: float) -> Iterator[Finding]:
        recent = self.scene.journal.recent
        place = _whole_file(call)
        row: list[Call] = []
        for one in reversed(recent):
            if one.turn != call.turn or one.tool != call.tool or not place or _whole_file(one) != place:
                break
            row.append(one)
        if len(row) < self.scene.allows(REWRITES) or len({one.key for one in row}) < 2:
            return
        row.reverse()
        known = {word for one in row[: -REWRITES + 1] for word in one.shape.said}
        for one in row[-REWRITES + 1 :]:
            if one.width > CONSIDERED or not one.shape.said <= known:
                return
            known |= one.shape.said
        sure = len(row) >= self.scene.allows(REWRITES_HARD)
        yield self.scene.finding(
            "same-outcome",
            Action.NUDGE,
            call,
            row,
            now,
            identity=digest(place.encode("utf-8", "replace")),
            limit=Action.ABORT if sure else Action.NUDGE,
            gate=False,
            threshold=REWRITES,
        )


def _whole_file(call: Call) -> str:
    """The file that ``call`` writes from its beginning to its end; empty if it is not such a call."""
    given = call.arguments
    if _CONTENTS.isdisjoint(given):
        return ""
    places = (given[name] for name in _PLACES if name in given)
    return next((place for place in places if isinstance(place, str)), "")


def _rounds(calls: Sequence[Call], length: int) -> int:
    """How many rounds of ``length`` calls at the end are one but for numbers."""
    extent = length
    for later, earlier in zip(reversed(calls), list(reversed(calls))[length:], strict=False):
        if not _same_but_numbers(earlier, later):
            break
        extent += 1
    return extent // length


def _same_but_numbers(one: Call, other: Call) -> bool:
    if one.tool != other.tool or one.kind is not other.kind or not (one.complete and other.complete):
        return False
    if one.kind is not EDIT and one.raw != other.raw:
        return False
    if one.width > CONSIDERED or other.width > CONSIDERED or one.key == other.key:
        return False
    return one.shape.words == other.shape.words


def _is_trial(block: Sequence[Call]) -> bool:
    edits = [one for one in block if one.kind is EDIT]
    names = [str(value) for one in edits for value in one.arguments.values() if isinstance(value, str)]
    return bool(edits) and any(len(name) < 256 and _TRIAL.search(name) for name in names)
