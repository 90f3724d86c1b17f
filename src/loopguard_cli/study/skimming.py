"""Telling at a glance that a text which is over has nothing in it for the rules about streamed text.

Live, a text comes in pieces, and those rules have to follow it. Afterwards all of it is there, and of nearly
every text a few searches show that none of them can find anything. What is asked here is weaker than what
any of them asks, so the findings are the same (`tests/study/test_skimming.py` holds that against the rules):

- prose-block, prose-irregular: some sentence occurs at least three times. Then so does what stands in it
  between two marks that may end a sentence.
- the rules about paragraphs look first at 32 sentences.
- char-cycle: 180 characters and more have a period of up to 60, or 1,024 and more one of up to 2,000.

Of a text that may be one of the first two, the sentences are read and the rules about paragraphs asked. That
is half of what it takes to follow it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot, ToolFinished
from loopguard_cli.core.holding import CLOSERS, ENDS, FINAL
from loopguard_cli.core.ids import CallId, MessageId
from loopguard_cli.detect.panel import DetectorPanel
from loopguard_cli.detect.paragraphs import LINES, WORDS, Paragraphs
from loopguard_cli.detect.periodic import MAX_UNIT, SHORT_UNIT
from loopguard_cli.detect.sentences import Line, Splitter
from loopguard_cli.detect.substance import substantial
from loopguard_cli.detect.text import TextRules
from loopguard_cli.detect.textparts import MAX_MESSAGES

SENTENCES = min(LINES, WORDS)
"""With fewer, no rule about paragraphs looks."""
COPIES = 3
"""Of a sentence, at the lowest setting."""
SHORT_RUN, LONG_RUN = 180, 1_024
"""Characters of the shortest cycles of units up to `SHORT_UNIT`, and of longer ones or counted ones."""

TEXTS = 8
CHARACTERS = 16_384
"""Of one channel of one message; what has more is read as it would be live."""

_BREAK = re.compile(f"[{ENDS}{FINAL}\n]")
_PLAIN = {**{ord(mark): "." for mark in ENDS}, **{ord(mark): None for mark in CLOSERS}}
_AROUND = f"{ENDS}{CLOSERS}{FINAL} \t\r\n\f\v\u300d\u300f\u201d\u2019\uff09\u3011\u300b\u3009"
"""What the beginning of a sentence may have left over from the one before."""

_PROBE = 64
_PROBE_EVERY = 256
"""So near to each other that one probe, and what it repeats, lie within any long cycle."""
_ONE_DIGIT = str.maketrans("123456789", "000000000")

_TEXT = Channel.TEXT


class Unremarkable(TextDelta, frozen=True, kw_only=True, tag="unremarkable"):
    """A whole text that the rules about streamed text need not read."""


class _Close:
    """A closer look at the texts of one channel of one message: at their sentences."""

    def __init__(self, channel: Channel) -> None:
        self._prose = channel is _TEXT
        self._paragraphs = Paragraphs(reasoning=channel is Channel.REASONING)
        self._keys: Counter[str] = Counter()
        self._acts = 0

    def finds(self, text: str, acts: int) -> bool:
        """Whether anything may be found with ``text``, before which tools were used ``acts`` times."""
        if acts > self._acts:
            self._acts = acts
            self._paragraphs.clear()
            self._keys.clear()
        splitter = Splitter()
        sentences = splitter.feed(text) + splitter.flush()
        if self._paragraphs.add(sentences):
            return True
        if not self._prose:
            return False
        keys = [one.key for one in sentences if one.line is not Line.CODE]
        self._keys.update(keys)
        return any(self._keys[key] >= COPIES and substantial(key) for key in keys)


class _Log:
    """What was passed over in one channel of one message."""

    __slots__ = ("bits", "close", "read", "size", "texts")

    def __init__(self) -> None:
        self.close: _Close | None = None
        """Once its texts had to be looked at closely."""
        self.texts: list[tuple[int, TextSnapshot, int]] = []
        """Each with the number of its event, and how often a tool had been used before."""
        self.bits: list[str] = []
        """What stands between two marks in all of them."""
        self.size = 0
        self.read = False
        """One of its texts had to be read, and so have all that follow."""


class SkimmingPanel(DetectorPanel):
    """A panel that need not be told of each piece of a text that is over."""

    def skim(self, event: TextSnapshot, index: int) -> bool:
        """Whether nothing can be found in ``event``, nor in it together with the other texts of its message.

        Then the panel is told of it as one `Unremarkable`, otherwise piece by piece. Each text must be a
        part of its own.
        """
        channels = self._logs.get(event.message)
        if channels is None:
            channels = self._logs[event.message] = {}
            if len(self._logs) > MAX_MESSAGES:
                del self._logs[next(iter(self._logs))]
        log = channels.get(event.channel)
        if log is None:
            log = channels[event.channel] = _Log()
        if log.read:
            return False
        self._fresh = True
        text = event.text
        log.size += len(text)
        if log.close is None:
            log.bits += bits(text)
        if (
            log.size > CHARACTERS
            or len(log.texts) >= TEXTS
            or may_cycle(text)
            or (self._has_much(log, event.channel) and self._finds(log, event))
        ):
            self._catch_up(log)
            return False
        log.texts.append((index, event, self._acts))
        return True

    def acted(self) -> None:
        """A tool was used: for the rules about streamed text a window ends."""
        if self._fresh:
            self._fresh = False
            self._acts += 1

    # --- inside ------------------------------------------------------------------------------

    def _assemble(self) -> None:
        super()._assemble()
        heard = [one for one in self._detectors if TextDelta in one.HEARS]
        self._readers = [one for one in heard if isinstance(one, TextRules)]
        self._hearing[Unremarkable] = [one for one in heard if not isinstance(one, TextRules)]
        self._logs: dict[MessageId, dict[Channel, _Log]] = {}
        """Of the messages that the rules remember."""
        self._acts = 0
        self._fresh = False

    @staticmethod
    def _has_much(log: _Log, channel: Channel) -> bool:
        if log.close is not None or len(log.bits) >= SENTENCES:
            return True
        return channel is _TEXT and repeats(log.bits)

    def _finds(self, log: _Log, event: TextSnapshot) -> bool:
        if log.close is None:
            log.close = _Close(event.channel)
            log.bits = []  # from here on nobody asks for them
            for _, earlier, acts in log.texts:
                log.close.finds(earlier.text, acts)
        return log.close.finds(event.text, self._acts)

    def _catch_up(self, log: _Log) -> None:
        """Let the readers have what they were spared, since what comes belongs to it."""
        log.read = True
        acts = -1
        for index, event, before in log.texts:
            if before > acts >= 0:
                self._end_window(event, index)
            acts = before
            whole = TextDelta(
                session=event.session,
                message=event.message,
                part=event.part,
                channel=event.channel,
                delta=event.text,
            )
            for reader in self._readers:
                reader.observe(whole, index, 0.0)
        if log.texts and self._acts > acts:
            self._end_window(log.texts[-1][1], log.texts[-1][0])
        log.texts, log.bits, log.close = [], [], None

    def _end_window(self, event: TextSnapshot, index: int) -> None:
        used = ToolFinished(session=event.session, call=CallId(""), tool="")
        for reader in self._readers:
            reader.observe(used, index, 0.0)


def bits(text: str) -> Sequence[str]:
    """What stands between two places where a sentence may end, case and white space folded: equal sentences
    have equal bits, and each has at least one."""
    text = text.casefold()
    if text.isascii():
        # Without what may stand between its mark and the white space, a sentence ends where ". " stands.
        text = text.translate(_PLAIN).replace("\n", ". ")
        if "  " in text or not text.isprintable():  # other white space
            text = " ".join(text.split())
        found = text.split(". ")
    else:
        found = [" ".join(bit.split()) for bit in _BREAK.split(text)]
    return [bare for bit in found if (bare := bit.strip(_AROUND))]


def repeats(bits: Sequence[str]) -> bool:
    """One of ``bits`` may stand there `COPIES` times."""
    return len(bits) - len(set(bits)) >= COPIES - 1


def may_cycle(text: str) -> bool:
    """``text`` may have a cycle long enough for char-cycle, its numbers counting on or not."""
    size, unit = len(text), SHORT_UNIT
    # The second or third unit from where a cycle begins stands, shifted by the period, before itself.
    for at in range(unit, size - unit + 1, unit) if size >= SHORT_RUN else ():
        if text.find(text[at : at + unit], at - unit, at + unit - 1) >= 0:
            return True
    if size < LONG_RUN:
        return False
    text = text.translate(_ONE_DIGIT)
    for at in range(_PROBE_EVERY, size - _PROBE + 1, _PROBE_EVERY):
        if text.rfind(text[at : at + _PROBE], max(0, at - MAX_UNIT), at + _PROBE - 1) >= 0:
            return True
    return False
