"""prose-block and prose-irregular: the assistant announces, and announces again.

Source: the infinity guard. *prose-block*: three consecutive identical blocks of one to eight
completed sentences or lines, each with at least 12 characters and three word tokens.
*prose-irregular*: of the last 24 completed sentences at least 18 belong to repeated ones, at most
12 are distinct, one substantial sentence occurs at least threshold + 2 times, and the latest is a
repeated one. Case and white space are folded. Both look at one message, live text only. A tool call
begins a new window, since something was done; so does fenced code that was not there before (ours).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from loopguard_cli.core.findings import Action, Gauge
from loopguard_cli.detect.repetition import Repetition, digest_cycle
from loopguard_cli.detect.sentences import Line, Sentence
from loopguard_cli.detect.substance import looks_like_code, substantial

MAX_BLOCK = 8
WINDOW = 24
MIN_REPEATED = 18
MAX_DISTINCT = 12
FEW = 4
"""Sentences that are as well looked at one by one."""
MAX_CODE = 0.25
"""Share of the distinct lines that may look like code where nobody fenced it (ours)."""

_CODE = Line.CODE

BLOCK = "prose-block"
IRREGULAR = "prose-irregular"


class ProseWindow:
    """The completed sentences of one message since the last tool call."""

    def __init__(self, threshold: int = 3) -> None:
        self._threshold = threshold
        self._recent: deque[Sentence] = deque(maxlen=max(WINDOW, MAX_BLOCK * threshold))
        self._runs = [0] * (MAX_BLOCK + 1)
        """By block length: for how many sentences in a row each equals the one a block before it."""
        self._running = False
        self._counts: dict[str, int] = {}
        """Of the last `WINDOW` sentences."""
        self._repeated = 0
        """How many of these belong to sentences that occur more than once."""
        self._told: set[tuple[str, str]] = set()

    def clear(self) -> None:
        """Something was done: what comes is a new beginning."""
        self._recent.clear()
        self._runs = [0] * (MAX_BLOCK + 1)
        self._running = False
        self._counts.clear()
        self._repeated = 0

    def add(self, sentences: Sequence[Sentence]) -> Sequence[Repetition]:
        """Take completed sentences in; each repetition is reported once per message."""
        if not self._repeated and len(sentences) >= FEW and self._are_new(sentences):
            return ()
        found: list[Repetition] = []
        recent, counts = self._recent, self._counts
        for sentence in sentences:
            key = sentence.key
            if sentence.line is _CODE:
                # What announces ever other code is not repeated for nothing.
                self.clear()
                continue
            if len(recent) >= WINDOW:
                oldest = recent[-WINDOW].key
                if counts[oldest] == 1:
                    del counts[oldest]
                else:
                    self._forget(oldest)
            if key not in counts:
                counts[key] = 1
                recent.append(sentence)
                if self._running:
                    self._runs = [0] * (MAX_BLOCK + 1)
                    self._running = False
                continue
            counts[key] += 1
            self._repeated += 2 if counts[key] == 2 else 1
            block = self._block(sentence)
            recent.append(sentence)
            repetition = self._blocks(block) if block else self._irregular()
            if repetition is not None:
                self.clear()
                what = (repetition.rule, repetition.identity)
                if what not in self._told:
                    self._told.add(what)
                    found.append(repetition)
        return found

    def _are_new(self, sentences: Sequence[Sentence]) -> bool:
        """Take them in at once where each is another, as mostly."""
        recent, counts = self._recent, self._counts
        keys = [one.key for one in sentences]
        new = dict.fromkeys(keys, 1)
        if len(new) < len(keys) or not counts.keys().isdisjoint(new):
            return False
        if _CODE in [one.line for one in sentences]:
            return False
        if len(keys) >= WINDOW:
            counts.clear()
            new = dict.fromkeys(keys[-WINDOW:], 1)
        else:
            begin = len(recent) - len(counts)
            for at in range(begin, begin + len(counts) + len(keys) - WINDOW):
                del counts[recent[at].key]
        counts.update(new)
        recent.extend(sentences)
        if self._running:
            self._runs = [0] * (MAX_BLOCK + 1)
            self._running = False
        return True

    def latest(self) -> list[str]:
        """The sentences that count, the latest ones."""
        return [one.key for one in self._recent]

    @property
    def following(self) -> bool:
        """prose-irregular is under way: it may be completed by any sentence that is repeated."""
        return self._repeated >= self._threshold + 2

    def gauges(self) -> Iterable[Gauge]:
        """Blocks in a row of the best length; repeated ones among the latest sentences."""
        blocks = max((run // length + 1 for length, run in enumerate(self._runs[1:], 1) if run), default=0)
        if blocks > 1:
            yield Gauge(rule=BLOCK, used=blocks, limit=self._threshold)
        if self._repeated:
            yield Gauge(rule=IRREGULAR, used=self._repeated, limit=MIN_REPEATED)

    def _forget(self, key: str) -> None:
        """One of several equal sentences leaves the window."""
        left = self._counts[key] - 1
        self._counts[key] = left
        self._repeated -= 2 if left == 1 else 1

    # --- blocks ------------------------------------------------------------------------------

    def _block(self, sentence: Sentence) -> int:
        """The shortest block that ``sentence`` completes for the last time it takes; 0: none."""
        recent, runs, needed = self._recent, self._runs, self._threshold - 1
        self._running = True
        found = 0
        for length in range(1, min(MAX_BLOCK, len(recent)) + 1):
            if recent[-length].key != sentence.key:
                runs[length] = 0
                continue
            runs[length] += 1
            if not found and runs[length] >= needed * length and self._substantial(sentence, length):
                found = length
        return found

    def _substantial(self, sentence: Sentence, length: int) -> bool:
        """One copy suffices: the others have the same words."""
        return _counts(sentence) and all(_counts(self._recent[-at]) for at in range(1, length))

    def _blocks(self, length: int) -> Repetition:
        count = self._threshold
        blocks = list(self._recent)[-length * count :]
        last_of_first = blocks[length - 1]
        keys = [one.key for one in blocks[:length]]
        return Repetition(
            rule=BLOCK,
            proposes=Action.ABORT,
            identity=digest_cycle(keys),
            count=count,
            events=tuple(one.event for one in blocks),
            part=last_of_first.part,
            keep=last_of_first.end,
            facts={"threshold": count, "sentences": length},
        )

    # --- irregular cycles --------------------------------------------------------------------

    def _irregular(self) -> Repetition | None:
        needed = self._threshold + 2
        if self._repeated < MIN_REPEATED or len(self._counts) > MAX_DISTINCT:
            return None
        window = list(self._recent)[-WINDOW:]
        often = {key for key, count in self._counts.items() if count >= needed}
        main = [one for one in window if one.key in often and _counts(one)]
        if not main or sum(map(looks_like_code, self._counts)) > MAX_CODE * len(self._counts):
            return None
        counts = Counter(one.key for one in main)
        key = min(counts, key=lambda key: (-counts[key], key))
        first = next(one for one in main if one.key == key)
        return Repetition(
            rule=IRREGULAR,
            proposes=Action.ABORT,
            identity=digest_cycle([key]),
            count=counts[key],
            events=tuple(one.event for one in window if self._counts[one.key] > 1),
            part=first.part,
            keep=first.end,
            facts={
                "threshold": needed,
                "repeated": self._repeated,
                "window": len(window),
                "distinct": len(self._counts),
            },
        )


def _counts(sentence: Sentence) -> bool:
    """A row of a table is no sentence, whatever it says."""
    return sentence.line is not Line.TABLE and substantial(sentence.key)
