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
from loopguard_cli.detect.glance import Glance
from loopguard_cli.detect.mixed import MixedProse
from loopguard_cli.detect.paragraphs import Paragraphs
from loopguard_cli.detect.periodic import CharCycle
from loopguard_cli.detect.prose import MAX_BLOCK, WINDOW, ProseWindow
from loopguard_cli.detect.reading import Rules, SentenceReading
from loopguard_cli.detect.repetition import Repetition
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
        threshold, spoken = self._threshold, channel is Channel.TEXT
        guessing = self._all and not self._mixed

        def rules() -> Rules:
            window = MixedProse if self._mixed else ProseWindow
            return Rules(
                window(threshold) if spoken else None,
                Paragraphs(reasoning=channel is Channel.REASONING) if guessing else None,
            )

        def glance() -> Glance:
            latest = max(WINDOW, MAX_BLOCK * threshold)
            return Glance(threshold, latest, sentences=spoken, wording=guessing)

        sentences = SentenceReading(rules, None if self._mixed else glance)
        return MessageReading(self._session, message, channel, sentences, cycles=self._all, code=self._mixed)


class MessageReading:
    """Hands what is new in one channel of one message to the rules."""

    def __init__(
        self,
        session: SessionId,
        message: MessageId,
        channel: Channel,
        sentences: SentenceReading,
        *,
        cycles: bool,
        code: bool,
    ) -> None:
        """``code``: all of it counts as code where cycles are looked for."""
        self._session, self._message = session, message
        self._sentences, self._cycles, self._code = sentences, cycles, code
        # Stored reasoning may be signed by the provider: it is never trimmed.
        self._trimmable = channel is Channel.TEXT
        self._whole = True
        self._fresh = False
        """It has grown since a tool was used."""
        self._followed: dict[PartId, CharCycle | None] = {}

    def grow(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Finding]:
        self._fresh = True
        followed = self._followed
        if part in followed:
            cycle = followed[part]
        else:
            in_code = self._sentences.open(part)
            if self._code:
                in_code = _everywhere
            cycle = CharCycle(part, in_code, CountedCycle(part, in_code)) if self._cycles else None
            followed[part] = cycle
        read = self._sentences.grow(part, text, live, seq) if self._whole else ()
        cycles = cycle.feed(text, seq) if cycle is not None else ()
        return self._findings([*read, *cycles]) if read or cycles else ()

    def end(self, part: PartId, seq: int) -> Sequence[Finding]:
        if not self._whole or part not in self._followed:
            return ()
        return self._findings(self._sentences.end(part, seq))

    def acted(self) -> None:
        """A tool was used: what was said before belongs to a window of its own."""
        if self._fresh:
            self._fresh = False
            self._sentences.acted()

    def restart(self) -> None:
        self._followed = {}
        self._sentences.restart()

    def exclude(self) -> None:
        """From here on only cycles are looked for; what is code stays as it was last known."""
        self.acted()
        self._whole = False

    def gauges(self) -> Iterable[Gauge]:
        if self._whole:
            yield from self._sentences.gauges()
        if self._fresh:
            for followed in self._followed.values():
                if followed is not None:
                    yield from followed.gauges()

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
