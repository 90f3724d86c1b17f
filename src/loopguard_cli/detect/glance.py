"""A glance at a text as it grows: whether the rules about sentences and paragraphs have to read it.

Reading a text, sentence by sentence, costs several times what all else that happens to it does, and in nearly
all texts nothing is found. So they are read only where something may be. What is asked here is weaker than
what the rules ask, and much cheaper:

- prose-block: some sentence ends a block that stands there for the last time it takes. Then so do the *units*
  of its text: lines, and what stands in a line between two marks that may end a sentence.
- prose-irregular: some sentence stands two times more than that among the latest 24. Then so do its units.
- the rules about paragraphs: hardly any word of the latest two blocks of a text is new.

The first two are seen with the very character that completes the sentence, so that these rules, which abort,
find what they would find if everything was read. The others nudge, and are asked block by block.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from loopguard_cli.detect.units import BLOCK, FOLDED, Units

_FENCE_MARKS = 3

_EARLY, _EARLY_BLOCKS = BLOCK // 2, 4
"""Characters of each of the first blocks, and how many these are: short texts are looked at more closely."""
_SAMPLE = 128
"""Characters of each later block that are looked at."""
_NUMERIC = b"0123456789abcdefABCDEF"
"""Left out where words are compared, so that numbers and ids are none."""
_FRESH = 0.15
"""Share of words that are new in two blocks: prose and code have 0.45, and one text in a hundred 0.26."""
_FEW, _SEVERAL = 12, 32
"""New words that are few, among so many in the first blocks: a few short lines, over and over."""
_GENERATION = 4
"""Blocks whose words are known, besides those of as many before."""


class Seen(IntEnum):
    """Where something may be found."""

    NOTHING = 0
    SENTENCES = 1
    """Among the latest sentences; or code begins."""
    WORDS = 2
    """In whatever came before, too."""


# Looked up in the class at each piece otherwise.
_NOTHING, _SENTENCES = Seen.NOTHING, Seen.SENTENCES


class Glance:
    """The text of one channel of one message since the last tool call."""

    def __init__(self, copies: int, window: int, *, sentences: bool, wording: bool) -> None:
        """``copies`` of a block, or `MORE` of a sentence in the latest ``window``, are a repetition.

        ``sentences``, ``wording``: the rules for which it is done.
        """
        self.room = _EARLY
        """Characters until the present block is complete; more must not be fed at once."""
        self.blocks = 0
        """Blocks that are complete."""
        self.back = 0
        """How many characters the window of the sentences lies back in which something was seen, or more."""
        self.calm = True
        """Nothing was seen in the latest block that is complete."""
        self._seen = False
        self._tail = ""
        self._units = Units(copies, window) if sentences else None
        self._words = Words() if wording else None

    def feed(self, text: str, *, said: bool) -> Seen:
        """What may be found now that ``text`` has come. Not ``said``: it is read anyway, or was not streamed,
        so that it is nothing to the rules about sentences."""
        found = _NOTHING
        if self._units is not None and said and self._units.feed(text):
            found = _SENTENCES
        if "`" in text or "~" in text:
            marks = self._tail + text
            self._tail = marks[1 - _FENCE_MARKS :]
            if "```" in marks or "~~~" in marks:  # code may begin
                found = _SENTENCES
        else:
            self._tail = ""
        self.room -= len(text)
        if found:
            self.back = self.reach()
        if self._words is not None:
            self._words.feed(text)
            if not self.room and self._words.at_end() and not found:
                found = Seen.WORDS
        if found:
            self._seen = True
        if not self.room:
            self.blocks += 1
            self.room = BLOCK if self.blocks >= _EARLY_BLOCKS else _EARLY
            self.calm, self._seen = not self._seen, False
            if self._units is not None:
                self._units.at_end()
        return found

    def end(self) -> Seen:
        """The part is complete: its last line is, too."""
        self._tail = ""
        if self._units is None or not self._units.feed("\n"):
            return _NOTHING
        self.back = self.reach()
        return _SENTENCES

    def go_on(self, latest: Iterable[str], begun: str, inside: bool) -> None:
        """What was read had the ``latest`` sentences, and one that has ``begun``, maybe ``inside`` a line.
        What comes is not read."""
        if self._units is not None:
            self._units.begin(latest, begun, inside=inside)

    def reach(self) -> int:
        """Characters back to the beginning of a block that the latest sentences lie behind, or more."""
        blocks = self._units.reach() if self._units is not None else 1
        return blocks * BLOCK - self.room


class Words:
    """The words of a text, block by block."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._known: set[bytes] = set()
        self._latest: set[bytes] = set()
        """Of these, the ones that the next generation knows, too."""
        self._blocks = 0
        """Those that were looked at."""
        self._rests = False
        """The next one is not: with one that says so much that is new, it cannot say hardly anything."""
        self._before = (0, 0)
        """Words that were new in the block before, and all of it."""

    def feed(self, text: str) -> None:
        self._pieces.append(text)

    def at_end(self) -> bool:
        """A block is complete: whether it, and the one before it, say hardly anything that was not said."""
        if self._rests:
            self._rests = False
            self._pieces.clear()
            self._before = (_SAMPLE, 0)  # unknown, so that it counts as new
            return False
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._blocks >= _EARLY_BLOCKS:
            text = text[-_SAMPLE:]
        if not text.isascii():
            text = text.casefold()
        words = text.encode("utf-8", "surrogatepass").translate(FOLDED, _NUMERIC).split()
        new = set(words) - self._known
        if self._blocks % _GENERATION == 0:
            self._known, self._latest = self._latest, set()
        self._blocks += 1
        self._known |= new
        self._latest |= new
        (earlier, of), self._before = self._before, (len(new), len(words))
        self._rests = self._blocks > _EARLY_BLOCKS and len(new) > 2 * _FRESH * len(words)
        fresh, every = len(new) + earlier, len(words) + of
        few = fresh <= _FEW and every >= _SEVERAL and self._blocks <= _EARLY_BLOCKS
        return few or fresh <= _FRESH * every
