"""repeat-error for errors that are not equal, and yet one (preset ``balanced``).

Sources: reported loops that `detect.errors` cannot see because no two errors are equal.

- *Echoes*: one tool fails in the same way with ever other arguments, and the error names what it was
  given (a selector, a column, a text to replace). Two errors are the same when only words of the two
  calls differ. Six in a row are a nudge, ten abort the turn; of reads, which honestly try several
  places or names, eight are a nudge and no more.
- *Causes*: ever other programs run into one wall. What the system says about it (the names of its
  error numbers, refused logins) is the same, and about the same thing: a word of most of the calls that
  many of the errors name. Of the latest dozen failures six are a nudge and nine abort the turn, if at
  least two kinds of errors are among them, and nothing was changed meanwhile.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect import masking
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.errors import KEPT, SAYING
from loopguard_cli.detect.journal import PATIENCE
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Plain, Row, Scene
from loopguard_cli.detect.tools import READ, WAIT, command_of, is_shell

ECHOES, ECHOES_HARD = 6, 10
READS = 8

FAILURES = 12
CAUSES, CAUSES_HARD = 6, 9
ABOUT, NAMED = 0.75, 0.5
"""Shares of the calls that must be about one thing, and of the errors that must name it."""

PLAIN = 400
"""Characters of what a command prints that says little else, though its status may not say so."""

HEAD = 1_024
"""Characters of an error in which its cause is looked for."""

_CAUSES = {
    "permission": "permission denied|operation not permitted|access denied|access is denied|eacces|eperm:",
    "read-only": "read-only file|erofs",
    "full": "no space left on device|disk quota exceeded|enospc",
    "refused": "connection refused|econnrefused",
    "unreachable": "no route to host|network is unreachable|connection timed out|etimedout",
    "unknown host": "could not resolve|name or service not known|name resolution|enotfound|getaddrinfo",
    "in use": "address already in use|eaddrinuse|resource busy|text file busy|could not get lock",
    "certificate": "certificate verify failed|certificate has expired|self-signed certificate"
    "|ssl certificate",
    "login": "unauthorized|unauthorised|forbidden|authentication failed|authentication required"
    "|bad credentials|invalid api key|invalid token|invalid credentials|token expired|token has expired",
}
"""What systems and servers say, in small letters."""
_EVERYWHERE = frozenset(["read-only", "full"])
"""What concerns the whole machine, whatever a call is about."""
_ABROAD = frozenset(["unreachable", "unknown host", "certificate", "login"])
"""What the other end says, without naming what it was asked for."""
_ANYWAY = frozenset(
    [
        "http",
        "https",
        "curl",
        "wget",
        "bash",
        "shell",
        "command",
        "script",
        "authorization",
        "bearer",
        "header",
        "localhost",
    ]
)
"""Words of calls that say nothing about what they are about."""
_SAYINGS = tuple((cause, tuple(said.split("|"))) for cause, said in _CAUSES.items())


class EchoedError(Row):
    """One tool, one way of failing, ever other arguments."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._varied = False
        """Not all of their errors are equal; those are `detect.errors`' matter."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.cancelled:
            return ()
        row = self._row
        last = row[-1] if row else None
        if not call.failed:
            if last is None or call.batch != last.batch:
                row.clear()
            return ()
        if last is not None:
            if call.batch == last.batch or call.pauses or call.waits > last.waits:
                return ()
            if call.asked_at - last.ended_at > PATIENCE or not fails_alike(last, call):
                row.clear()
        self._varied = bool(row) and (self._varied or row[-1].complaint() != call.complaint())
        self._lengthen(call, KEPT)
        reads = call.kind is READ
        nudge, count = READS if reads else ECHOES, len(row)
        if not self._varied or count < self.scene.allows(nudge):
            return ()
        if len({one.key for one in row}) < nudge // 2:
            return ()
        sure = count >= self.scene.allows(ECHOES_HARD) and not reads
        finding = self.scene.finding(
            "repeat-error",
            Action.ABORT if sure else Action.NUDGE,
            call,
            row,
            now,
            identity=digest(f"{call.tool}:{' '.join(_left(row[0], row[-1]))}".encode("utf-8", "replace")),
            limit=Action.STOP if sure else Action.NUDGE,
            gate=False,
            threshold=nudge,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        row = self._row
        if row and self._varied:
            limit = self.scene.allows(READS if row[-1].kind is READ else ECHOES)
            yield Gauge(rule="repeat-error", used=len(row), limit=limit, tool=row[-1].tool)


class SharedCause(Plain):
    """Many programs, one wall."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._failures: deque[tuple[Call, str, str]] = deque(maxlen=FAILURES)
        """Failed calls, with the head of what they said and its cause."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if not call.failed and (call.size > PLAIN or not is_shell(call.tool)):
            return ()
        if call.cancelled or not call.output or call.pauses or call.kind is WAIT:
            return ()
        failures = self._failures
        if failures:
            last = failures[-1][0]
            if last.batch == call.batch:
                return ()
            if last.epoch != call.epoch or call.asked_at - last.ended_at > PATIENCE:
                failures.clear()
        head = call.output[:HEAD]
        cause = cause_of(head)
        if not (cause or call.failed):
            return ()
        failures.append((call, head, cause))
        if not cause or len(failures) < CAUSES:
            return ()
        same = [(one, said) for one, said, why in failures if why == cause]
        if len(same) < self.scene.allows(CAUSES):
            return ()
        if all(one.failed for one, _ in same) and len({one.complaint() for one, _ in same}) < 2:
            return ()  # `detect.errors` has said so
        if len({one.key for one, _ in same}) < 2:
            return ()
        if cause not in _EVERYWHERE and not _one_thing(same, named=cause not in _ABROAD):
            return ()
        sure = len(same) >= self.scene.allows(CAUSES_HARD)
        finding = self.scene.finding(
            "repeat-error",
            Action.ABORT if sure else Action.NUDGE,
            call,
            [one for one, _ in same],
            now,
            identity=digest(f"{cause}:{call.turn}".encode()),
            limit=Action.STOP if sure else Action.NUDGE,
            gate=False,
            threshold=CAUSES,
        )
        return (finding,)

    def spoke(self) -> None:
        self._failures.clear()

    def clear(self) -> None:
        self._failures.clear()

    def gauges(self, now: float) -> Iterable[Gauge]:
        if not self._failures:
            return
        call, _, cause = self._failures[-1]
        same = [one for one, _, why in self._failures if why == cause]
        # Equal errors, and errors of equal calls, are shown by the rules that count those.
        if cause and len({one.complaint() for one in same}) > 1 and len({one.key for one in same}) > 1:
            limit = self.scene.allows(CAUSES)
            yield Gauge(rule="repeat-error", used=len(same), limit=limit, tool=call.tool)


@lru_cache(maxsize=64)
def cause_of(error: str) -> str:
    """The name of the wall that ``error`` tells of; empty if it tells of none."""
    lowered = error.lower()
    for cause, sayings in _SAYINGS:
        for saying in sayings:
            if saying in lowered:
                return cause
    return ""


def fails_alike(one: Call, other: Call) -> bool:
    """Both are of one tool and their errors differ at most in words of their arguments."""
    if one.tool != other.tool or one.kind is not other.kind or one.output is None or other.output is None:
        return False
    if one.complaint() == other.complaint():
        return True
    left = _left(one, other)
    return sum(map(len, left)) >= SAYING and left == _left(other, one)


def _left(one: Call, other: Call) -> list[str]:
    """The words of the error of ``one`` that neither of the two calls has in its arguments."""
    return [
        word
        for word in masking.words(one.complaint())
        if word not in one.shape.said and word not in other.shape.said
    ]


def _one_thing(same: Sequence[tuple[Call, str]], *, named: bool) -> bool:
    """Most of these calls are about something, which many of the errors name if they have to (``named``)."""
    told = Counter(word for one, _ in same for word in one.shape.said | one.shape.numbers)
    programs = {word for one, _ in same for word in command_of(one.arguments).split()[:1]}
    about = [
        word
        for word, calls in told.items()
        if calls >= ABOUT * len(same)
        and len(word) > 2
        and word not in programs
        and word.lower() not in _ANYWAY
    ]
    if not named:
        return any(len(word) > 3 for word in about)
    least = NAMED * len(same)
    return any(sum(word in said for _, said in same) >= least for word in about)
