"""The family of rules about streamed text: one reading of each message, shared by all rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopguard_cli.core.events import (
    Channel,
    Event,
    Gap,
    ReplyFinished,
    SessionGone,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.findings import Finding, Gauge
from loopguard_cli.core.ids import MessageId, PartId, SessionId
from loopguard_cli.core.settings import GuardSettings, Preset
from loopguard_cli.detect.base import Quiet, evidence
from loopguard_cli.detect.counted import CountedCycle
from loopguard_cli.detect.mixed import MixedProse
from loopguard_cli.detect.paragraphs import Paragraphs
from loopguard_cli.detect.periodic import CharCycle
from loopguard_cli.detect.prose import ProseWindow
from loopguard_cli.detect.repetition import Repetition
from loopguard_cli.detect.sentences import Sentence, Splitter
from loopguard_cli.detect.textparts import TextParts

_CALLS = frozenset({ToolAsked, ToolStarted, ToolFinished})


def streamed_text(session: SessionId, settings: GuardSettings, *, mixed: bool = False) -> TextRules | None:
    """The family, unless the preset or the settings leave it out."""
    if settings.preset is Preset.PI or not settings.text.enabled:
        return None
    return TextRules(session, settings, mixed=mixed)


class TextRules(Quiet):
    """Preset ``infinity``: the prose rules. ``balanced``: all of them.

    ``mixed`` text (see `core.settings.Capabilities`) is held to be outputs for the most part: logs, listings,
    progress. There, ``balanced`` guesses nothing from wording, asks for more copies of a line, and follows
    cycles as it does in code.
    """

    HEARS: frozenset[type[Event]] = frozenset(
        {TextDelta, TextSnapshot, ToolAsked, ToolStarted, ToolFinished, ReplyFinished, Gap, SessionGone}
    )

    def __init__(self, session: SessionId, settings: GuardSettings, *, mixed: bool = False) -> None:
        self._session = session
        self._all = settings.preset is Preset.BALANCED
        self._mixed = mixed and self._all
        self._threshold = settings.text.threshold
        self._parts: TextParts[MessageReading] = TextParts(self._open)
        self._fresh = False
        """Something was written since a tool was used."""

    def observe(self, event: Event, seq: int, now: float) -> Iterable[Finding]:
        if not self._fresh and type(event) in _CALLS:
            return ()
        match event:
            case TextDelta():
                if event.channel is Channel.TEXT or self._all:
                    self._fresh = True
                    return self._parts.delta(event, seq)
            case TextSnapshot():
                if not event.synthetic and (event.channel is Channel.TEXT or self._all):
                    self._fresh = True
                    return self._parts.snapshot(event, seq)
            case ToolAsked() | ToolStarted() | ToolFinished():
                self._fresh = False
                for reading in self._parts.readings():
                    reading.acted()
            case ReplyFinished():
                return self._parts.finished(event.message, seq)
            case Gap() | SessionGone():
                self._parts.clear()
            case _:
                pass
        return ()

    def reset(self) -> None:
        self._parts.clear()

    def gauges(self, now: float) -> Iterable[Gauge]:
        newest: dict[str, Gauge] = {}
        for reading in self._parts.readings():
            newest |= {gauge.rule: gauge for gauge in reading.gauges()}
        return newest.values()

    def _open(self, message: MessageId, channel: Channel) -> MessageReading:
        window = MixedProse if self._mixed else ProseWindow
        prose = window(self._threshold) if channel is Channel.TEXT else None
        guessing = self._all and not self._mixed
        paragraphs = Paragraphs(reasoning=channel is Channel.REASONING) if guessing else None
        return MessageReading(
            self._session, message, channel, prose, paragraphs, cycles=self._all, code=self._mixed
        )


class MessageReading:
    """Hands what is new in one channel of one message to the rules."""

    def __init__(
        self,
        session: SessionId,
        message: MessageId,
        channel: Channel,
        prose: ProseWindow | MixedProse | None,
        paragraphs: Paragraphs | None,
        *,
        cycles: bool,
        code: bool,
    ) -> None:
        """``code``: all of it counts as code where cycles are looked for."""
        self._session, self._message = session, message
        self._prose, self._paragraphs, self._cycles = prose, paragraphs, cycles
        self._code = code
        # Stored reasoning may be signed by the provider: it is never trimmed.
        self._trimmable = channel is Channel.TEXT
        self._whole = True
        self._fresh = False
        """It has grown since a tool was used."""
        self._splitters: dict[PartId, Splitter] = {}
        self._followed: dict[PartId, CharCycle] = {}

    def grow(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Finding]:
        self._fresh = True
        splitter = self._splitters.get(part)
        if splitter is None:
            splitter = self._splitters[part] = Splitter(part)
            if self._cycles:
                in_code = _everywhere if self._code else splitter.in_code
                self._followed[part] = CharCycle(part, in_code, CountedCycle(part, in_code))
        if isinstance(self._prose, MixedProse):
            self._prose.feed(part, text)
        sentences = splitter.feed(text, seq) if self._whole else ()
        found = self._read(sentences, live) if sentences else []
        if self._cycles and (cycles := self._followed[part].feed(text, seq)):
            found += self._findings(cycles)
        return found

    def end(self, part: PartId, seq: int) -> Sequence[Finding]:
        splitter = self._splitters.get(part)
        return self._read(splitter.flush(seq), live=True) if splitter else ()

    def acted(self) -> None:
        """A tool was used: what was said before belongs to a window of its own."""
        if not self._fresh:
            return
        self._fresh = False
        for splitter in self._splitters.values():
            splitter.flush()
        if self._prose:
            self._prose.clear()
        if self._paragraphs:
            self._paragraphs.clear()

    def restart(self) -> None:
        self._splitters, self._followed = {}, {}
        if isinstance(self._prose, MixedProse):
            self._prose.restart()
        elif self._prose:
            self._prose.clear()
        if self._paragraphs:
            self._paragraphs.clear()

    def exclude(self) -> None:
        """From here on only cycles are looked for; what is code stays as it was last known."""
        self.acted()
        self._prose = self._paragraphs = None
        self._whole = False

    def gauges(self) -> Iterable[Gauge]:
        if self._prose:
            yield from self._prose.gauges()
        if self._fresh:
            if self._paragraphs:
                yield from self._paragraphs.gauges()
            for followed in self._followed.values():
                yield from followed.gauges()

    def _read(self, sentences: Sequence[Sentence], live: bool) -> list[Finding]:
        found: list[Finding] = []
        if self._prose and live and (repetitions := self._prose.add(sentences)):
            found += self._findings(repetitions)
        if self._paragraphs and (repetitions := self._paragraphs.add(sentences)):
            found += self._findings(repetitions)
        return found

    def _findings(self, repetitions: Iterable[Repetition]) -> list[Finding]:
        return [
            Finding(
                rule=one.rule,
                proposes=one.proposes,
                limit=one.limit,
                session=self._session,
                identity=one.identity,
                count=one.count,
                events=evidence(sorted(set(one.events))),
                facts=dict(one.facts),
                message=self._message,
                part=PartId(one.part),
                keep_chars=one.keep if self._trimmable else -1,
            )
            for one in repetitions
        ]


def _everywhere(_offset: int) -> bool:
    return True
