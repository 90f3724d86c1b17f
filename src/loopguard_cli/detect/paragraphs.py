"""templated-text, few-words, near-duplicate and stale-reasoning: text that says nothing new.

All are guesses from wording and nudge; only the first two go further, when there is no end of it.
Code, quotes and tables are left out, numbers
that stand alone are masked, and a heading that was not there before means that a document moves on,
not that it loops.

- *templated-text* (ours): 32 lines in a row of 200 characters and more are at most 12 but for their
  numbers: counters, retries, words drawn from a small set.
  Lines with several numbers each, ever other ones, are a reckoning.
- *few-words* (ours): 32 lines in a row of 150 words and more are made of so few that each stands there
  seven times: the same announcement in ever other words.
- *near-duplicate* (after oh-my-pi, which found no false alarm on 13,500 blocks at 4 segments): 5 of 16
  segments of 60 to 700 characters share at least 80 % of their word trigrams with one of them.
- *stale-reasoning* (after oh-my-pi; the longest honest run in 536,000 blocks of reasoning was 7): 10
  segments of reasoning in a row with at most 20 % words that the 8 before did not have, and no new
  path or identifier among these.

Of the first two, 96 lines of reasoning or 160 of text may be cut off.

Looked at every 16 sentences; all but the first every 32, and closely only when these hold few new words.
Sentences are read only where two blocks of 1,024 characters, of 512 at first, have hardly any words that are
new (see `detect.glance`); in a text that is shorter nothing is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from loopguard_cli.core.findings import Action, Gauge
from loopguard_cli.detect import segments
from loopguard_cli.detect.masking import has_digit
from loopguard_cli.detect.repetition import Repetition, of_sentences
from loopguard_cli.detect.segments import IDENTIFIER, NUMBER, near_duplicate, segments_of, stale_reasoning
from loopguard_cli.detect.sentences import Line, Sentence
from loopguard_cli.detect.substance import looks_like_code

TEMPLATED = "templated-text"
FEW_WORDS = "few-words"

BATCH = 16
WORDS = 32

LINES = 32
MIN_CHARS = 200
MAX_TEMPLATES = 12

ENDLESS_REASONING, ENDLESS_TEXT = 96, 160
"""Lines of so few templates or words that nobody asked for, or wants to read."""

NUMBERS, NEW_NUMBERS = 2, 0.8
"""Numbers on a line of a reckoning, and the share of lines whose numbers are new."""

MIN_WORDS = 150
MAX_WORDS = 0.14
"""Share of distinct words; plain prose of that length has about 0.45."""
OFTEN = 7
"""How often each word then stands there, on average."""

MAX_CODE = 0.25
"""Share of lines that look like code, data or a log, from which on a text is none of our business."""
MIN_LETTERS = 0.4

_REMEMBERED = 192
"""Sentences kept for the close look: segments enough for the longest rule."""
_LENGTHS = 22
"""More different lengths than so few templates and their numbers make."""
_FAMILIAR = 0.15
_REPETITIVE = 0.6
"""Share of distinct words in the sample below which all words are counted."""
_SAMPLED = 6
"""Share of new words up to which a batch deserves the close look."""

_NUMBERED = re.compile(r"\S*\d\S*")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s")
_LETTER = re.compile(r"[^\W\d_]")
_ROW = re.compile(r"\w,\w")

_CODE = Line.CODE


def template(key: str) -> str:
    """``key`` without its numbers: those that stand alone and, outside lists, ids with digits in them."""
    if not has_digit(key):
        return key
    return NUMBER.sub("#", key) if _ITEM.match(key) else _NUMBERED.sub("#", key)


class Paragraphs:
    """One channel of one message since the last tool call."""

    def __init__(self, *, reasoning: bool) -> None:
        self._reasoning = reasoning
        self._told: set[str] = set()
        self._cut = False
        self._recent: list[Sentence] = []
        """`_REMEMBERED` of them count; it is cut when there are twice as many."""
        self._taken = 0
        self._words: tuple[set[str], set[str]] = (set(), set())
        """Of the latest looks and of those before."""

    def clear(self) -> None:
        """Something was done: what comes is a new beginning."""
        self._recent.clear()
        self._taken = 0
        self._words = (set(), set())

    def add(self, sentences: Sequence[Sentence]) -> Sequence[Repetition]:
        """Take completed sentences in; each rule speaks once per message."""
        if len(sentences) == 1 and sentences[0].line is not _CODE and (self._taken + 1) % BATCH:
            self._recent.append(sentences[0])  # as mostly, where text comes in small pieces
            self._taken += 1
            return ()
        found: list[Repetition] = []
        at = 0
        for code in [n for n, one in enumerate(sentences) if one.line is _CODE]:
            found += self._take(sentences[at:code])
            self._recent.clear()
            at = code + 1
        found += self._take(sentences[at:] if at else sentences)
        return found

    def _take(self, sentences: Sequence[Sentence]) -> list[Repetition]:
        found: list[Repetition] = []
        at, count, recent = 0, len(sentences), self._recent
        while at + (room := BATCH - self._taken % BATCH) <= count:
            recent += sentences[at : at + room]
            self._taken += room
            at += room
            for repetition in self._look():
                if repetition.rule not in self._told or repetition.proposes is Action.ABORT:
                    self._told.add(repetition.rule)
                    found.append(repetition)
        recent += sentences[at:]
        self._taken += count - at
        if len(recent) > 2 * _REMEMBERED:
            del recent[:-_REMEMBERED]
        return found

    @property
    def following(self) -> bool:
        """Something was said about the text, and is said again if there is no end of it."""
        return bool(self._told) and not self._cut

    def gauges(self) -> Iterator[Gauge]:
        """Lines in a row that are few but for their numbers, from half of what it takes on; how often each
        word stands in the latest lines, likewise; segments that are alike, or say nothing new."""
        recent = self._recent[-_REMEMBERED:]
        used = _few_templates(recent)
        if used >= LINES // 2:
            endless = ENDLESS_REASONING if self._reasoning else ENDLESS_TEXT
            yield Gauge(rule=TEMPLATED, used=used, limit=endless if TEMPLATED in self._told else LINES)
        lines = [one.key for one in recent[-WORDS:]]
        words = NUMBER.sub("#", " ".join(lines)).split() if len(lines) == WORDS else []
        if len(words) >= MIN_WORDS and (often := round(len(words) / len(set(words)), 1)) >= OFTEN / 2:
            yield Gauge(rule=FEW_WORDS, used=often, limit=OFTEN)
        yield from segments.gauges(list(segments_of(recent)), reasoning=self._reasoning)

    def _look(self) -> Iterator[Repetition]:
        recent = self._recent
        if len(recent) >= LINES and TEMPLATED not in self._told:
            yield from _templated(recent[-LINES:])
        if self._told:
            yield from self._endless(recent[-_REMEMBERED:])
        if self._taken % WORDS:
            return
        recent = recent[-_REMEMBERED:]
        before, words = _sample(recent[-WORDS:-BATCH]), _sample(recent[-BATCH:])
        distinct = {*before, *words}
        new = len(set(words).difference(before, *self._words))
        if self._taken % (2 * WORDS) == 0:
            self._words = (set(), self._words[0])
        self._words[0].update(distinct)
        if len(distinct) < _REPETITIVE * (len(before) + len(words)):
            yield from _few_words(recent[-WORDS:])
            yield from self._few_words_for_long(recent[-2 * WORDS :])
        if new <= _FAMILIAR * len(set(words)):
            cut = list(segments_of(recent))
            yield from near_duplicate(cut)
            if self._reasoning:
                yield from stale_reasoning(cut)

    def _few_words_for_long(self, lines: list[Sentence]) -> Iterator[Repetition]:
        """Two plans that undo each other have more words, but never other ones."""
        due = self._reasoning and self._taken % (2 * WORDS) == 0 and FEW_WORDS not in self._told
        if due and not _names_things(lines):
            yield from _few_words(lines)

    def _endless(self, recent: list[Sentence]) -> Iterator[Repetition]:
        """What was a nudge has gone on ever since."""
        count = ENDLESS_REASONING if self._reasoning else ENDLESS_TEXT
        if len(recent) < count or self._cut or self._told.isdisjoint((TEMPLATED, FEW_WORDS)):
            return
        found = next(chain(_templated(recent[-count:], count), _few_words(recent[-count:])), None)
        if found is not None:
            self._cut = True
            yield msgspec.structs.replace(found, proposes=Action.ABORT, limit=Action.ABORT)


def _few_templates(lines: Sequence[Sentence]) -> int:
    """How many of the latest lines are at most `MAX_TEMPLATES`, of enough characters to count."""
    templates: set[str] = set()
    used = chars = 0
    for one in reversed(lines):
        templates.add(_template_of(one))
        if len(templates) > MAX_TEMPLATES or one.line is Line.TABLE:
            break
        used, chars = used + 1, chars + len(one.key)
    return used if chars >= MIN_CHARS else 0


def _template_of(one: Sentence) -> str:
    return one.key if one.line is Line.HEADING else template(one.key)


def _templated(lines: list[Sentence], longest: int = _LENGTHS) -> Iterator[Repetition]:
    if len(set(map(len, [one.key for one in lines]))) > longest:
        return
    templates: set[str] = set()
    for one in lines:
        templates.add(_template_of(one))
        if len(templates) > MAX_TEMPLATES:
            return
    if sum(len(one.key) for one in lines) < MIN_CHARS:
        return
    if any(one.line is Line.TABLE for one in lines) or _reckons(lines):
        return
    if sum(_wordless(one.key) for one in lines) <= MAX_CODE * len(lines):
        facts = {"lines": len(lines), "distinct": len(templates)}
        yield of_sentences(TEMPLATED, "\n".join(sorted(templates)), lines, facts)


def _names_things(lines: list[Sentence]) -> bool:
    """Many lines have a word that stands nowhere else: each is about something."""
    counts = Counter(word for one in lines for word in one.key.split())
    return sum(count == 1 for count in counts.values()) > MAX_CODE * len(lines)


def _reckons(lines: list[Sentence]) -> bool:
    """Each line has numbers of its own, more than a counter."""
    numbers = [tuple(NUMBER.findall(_counted(one.key))) for one in lines]
    several = sum(len(one) for one in numbers) >= NUMBERS * len(lines)
    return several and len(set(numbers)) >= NEW_NUMBERS * len(lines)


def _counted(key: str) -> str:
    """``key`` without the number of an item."""
    item = _ITEM.match(key)
    return key[item.end() :] if item else key


def _sample(sentences: list[Sentence]) -> list[str]:
    """Words enough to tell whether a text moves on."""
    return " ".join([one.key for one in sentences[::_SAMPLED]]).split()


def _few_words(lines: list[Sentence]) -> Iterator[Repetition]:
    prose = Line.PROSE
    if any(one.line is not prose for one in lines):
        return
    text = " ".join([one.key for one in lines])
    words = text.split()
    most = MAX_WORDS * len(words)
    if len(words) < MIN_WORDS or sum(map(str.isalpha, set(words))) > most:
        return  # masked numbers would not make fewer of these
    words = NUMBER.sub("#", text).split()
    distinct = set(words)
    if len(distinct) > most:
        return
    if sum(IDENTIFIER.search(word) is not None for word in distinct) > MAX_TEMPLATES:
        return  # ever other files are named
    if _reckons(lines):
        return
    if sum(_wordless(one.key) for one in lines) <= MAX_CODE * len(lines):
        facts = {"lines": len(lines), "distinct": len(distinct)}
        yield of_sentences(FEW_WORDS, " ".join(sorted(distinct)), lines, facts)


def _wordless(key: str) -> bool:
    """Nothing is said on such a line: code, or a row of numbers and ids."""
    words = _NUMBERED.sub("", key)
    few = len(_LETTER.findall(words)) < MIN_LETTERS * len(key)
    return few or looks_like_code(key) or _ROW.search(key) is not None
