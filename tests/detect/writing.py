"""An assistant that writes: tests stream texts and look at what the rules about text say."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from loopguard_cli.core.events import (
    Channel,
    Event,
    Origin,
    ReplyFinished,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    UserSpoke,
)
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId
from loopguard_cli.detect.responses import responses
from loopguard_cli.detect.text import streamed_text
from tests.detect.sitting import S, settings


class Writer:
    """One session of the families about text."""

    def __init__(self, preset: str = "balanced", *assignments: str) -> None:
        made = [family(S, settings(preset, *assignments)) for family in (streamed_text, responses)]
        self.detectors = [detector for detector in made if detector is not None]
        self.findings: list[Finding] = []
        self._seq = count()
        self._names = count()

    def feed(self, event: Event) -> list[Finding]:
        seq = next(self._seq)
        found = [one for detector in self.detectors for one in detector.observe(event, seq, 0.0)]
        self.findings += found
        return found

    # --- writing -----------------------------------------------------------------------------

    def write(
        self, *pieces: str, message: str = "m", part: str = "p", channel: Channel = Channel.TEXT
    ) -> list[Finding]:
        """Stream ``pieces`` as deltas of one part."""
        found: list[Finding] = []
        for piece in pieces:
            found += self.feed(
                TextDelta(
                    session=S, message=MessageId(message), part=PartId(part), channel=channel, delta=piece
                )
            )
        return found

    def think(self, *pieces: str, message: str = "m", part: str = "r") -> list[Finding]:
        return self.write(*pieces, message=message, part=part, channel=Channel.REASONING)

    def show(
        self,
        text: str,
        *,
        message: str = "m",
        part: str = "p",
        synthetic: bool = False,
        ended: bool = False,
    ) -> list[Finding]:
        """The whole part so far, as a snapshot."""
        return self.feed(
            TextSnapshot(
                session=S,
                message=MessageId(message),
                part=PartId(part),
                text=text,
                synthetic=synthetic,
                ended=ended,
            )
        )

    def finish(self, message: str = "m", **fields: bool) -> list[Finding]:
        return self.feed(ReplyFinished(session=S, message=MessageId(message), **fields))

    # --- around it ---------------------------------------------------------------------------

    def use(self, tool: str = "read") -> None:
        name = f"c{next(self._names)}"
        self.feed(ToolAsked(session=S, request=RequestId(name), call=CallId(name), tool=tool))
        self.feed(ToolFinished(session=S, call=CallId(name), tool=tool, output="done"))

    def prompt(self, text: str, origin: Origin = Origin.PERSON) -> None:
        message = MessageId(f"u{next(self._names)}")
        self.feed(UserSpoke(session=S, message=message, origin=origin, text=text))

    def turn(self, prompt: str, answer: str, *, tools: Iterable[str] = ()) -> list[Finding]:
        """A whole turn: prompt, tools, one answer, idle."""
        self.prompt(prompt)
        for tool in tools:
            self.use(tool)
        name = f"m{next(self._names)}"
        before = len(self.findings)
        self.write(answer, message=name)
        self.finish(name)
        self.feed(StatusChanged(session=S, status=Status.IDLE))
        return self.findings[before:]

    def rules(self) -> list[str]:
        return [finding.rule for finding in self.findings]
