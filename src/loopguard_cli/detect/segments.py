"""near-duplicate and stale-reasoning: paragraphs that say nothing new (see `detect.paragraphs`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from loopguard_cli.core.findings import Gauge
from loopguard_cli.detect.repetition import Repetition, of_sentences
from loopguard_cli.detect.sentences import Line, Sentence
from loopguard_cli.detect.substance import looks_like_code

NEAR_DUPLICATE = "near-duplicate"
STALE = "stale-reasoning"

MIN_SEGMENT = 60
MAX_SEGMENT = 700
SEGMENTS = 16
CLUSTER = 5
SIMILARITY = 0.8

STALE_RUN = 10
BEFORE = 8
MAX_NEW = 0.2

NUMBER = re.compile(r"(?<![\w.#/-])\d[\d.,:]*(?![\w/-])")
"""A number that stands alone."""
IDENTIFIER = re.compile(r"[\d_/\\]|\.\w|\(\)")
"""What a word has that names a thing."""

_Trigrams = frozenset[tuple[str, str, str]]


class _Segment(msgspec.Struct, gc=False):
    words: tuple[str, ...]
    last: Sentence

    def trigrams(self) -> _Trigrams:
        words = self.words
        return frozenset(zip(words, words[1:], words[2:], strict=False))


def segments_of(sentences: list[Sentence]) -> Iterator[_Segment]:
    """The paragraphs since the last heading that was new, long ones cut."""
    headings: set[str] = set()
    begin = 0
    for at, one in enumerate(sentences):
        if one.line is Line.HEADING and one.key not in headings:
            headings.add(one.key)
            begin = at + 1
    group: list[Sentence] = []
    chars = 0
    for one in sentences[begin:]:
        if one.line is Line.TABLE or looks_like_code(one.key):
            continue
        if group and (
            one.paragraph != group[0].paragraph or one.part != group[0].part or chars >= MAX_SEGMENT
        ):
            if chars >= MIN_SEGMENT:
                yield _segment(group)
            group, chars = [], 0
        group.append(one)
        chars += len(one.key)


def _segment(group: list[Sentence]) -> _Segment:
    words = NUMBER.sub("#", " ".join(one.key for one in group)).split()
    return _Segment(tuple(words), group[-1])


def near_duplicate(segments: list[_Segment]) -> Iterator[Repetition]:
    alike = _alike(segments)
    if len(alike) >= CLUSTER:
        yield _of_segments(NEAR_DUPLICATE, alike)


def stale_reasoning(segments: list[_Segment]) -> Iterator[Repetition]:
    if _stale(segments, STALE_RUN) == STALE_RUN:
        yield _of_segments(STALE, segments[-STALE_RUN:])


def gauges(segments: list[_Segment], *, reasoning: bool) -> Iterator[Gauge]:
    """Segments like the latest, and the latest ones that say hardly anything new, from the second on."""
    if (used := len(_alike(segments))) > 1:
        yield Gauge(rule=NEAR_DUPLICATE, used=used, limit=CLUSTER)
    if reasoning and (used := _stale(segments, len(segments) - 1)) > 1:
        yield Gauge(rule=STALE, used=used, limit=STALE_RUN)


def _alike(segments: list[_Segment]) -> list[_Segment]:
    """Those of the latest that are nearly the last one, itself included."""
    latest = segments[-SEGMENTS:]
    trigrams = [segment.trigrams() for segment in latest]
    if not trigrams:
        return []
    own = trigrams[-1]
    return [one for one, other in zip(latest, trigrams, strict=True) if _jaccard(own, other) >= SIMILARITY]


def _stale(segments: list[_Segment], most: int) -> int:
    """How many of the latest, ``most`` at most, say hardly anything that those before did not."""
    run = 0
    while run < most and (at := len(segments) - 1 - run) > 0:
        words = set(segments[at].words)
        new = words.difference(*(one.words for one in segments[max(0, at - BEFORE) : at]))
        if len(new) > MAX_NEW * len(words) or any(map(IDENTIFIER.search, new)):
            break
        run += 1
    return run


def _of_segments(rule: str, segments: list[_Segment]) -> Repetition:
    what = " ".join(sorted(set(segments[0].words)))
    return of_sentences(rule, what, [one.last for one in segments], {"segments": len(segments)})


def _jaccard(one: _Trigrams, other: _Trigrams) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
