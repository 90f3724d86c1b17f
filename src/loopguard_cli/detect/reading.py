"""Reading the sentences of one channel of one message, where anything may be found in them.

Until a glance says so (see `detect.glance`) what came is kept unread, and so long as none of it is dropped,
what is found is what would be found if all was read at once. Of a long text only as much is kept as the rules
look back: prose-block and prose-irregular find the same even then; the rules about paragraphs may begin anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from loopguard_cli.core.findings import Gauge
from loopguard_cli.core.ids import PartId
from loopguard_cli.detect.glance import Glance, Seen
from loopguard_cli.detect.mixed import MixedProse
from loopguard_cli.detect.paragraphs import Paragraphs
from loopguard_cli.detect.prose import ProseWindow
from loopguard_cli.detect.repetition import Repetition
from loopguard_cli.detect.sentences import Sentence, Splitter

_MOST_UNREAD = 16_384
"""Characters that are kept;"""
_KEPT = 12_288
"""of more, these: the rules about paragraphs look back so far."""


class Rules(msgspec.Struct):
    """Those that read sentences."""

    prose: ProseWindow | MixedProse | None
    paragraphs: Paragraphs | None

    def clear(self) -> None:
        if self.prose:
            self.prose.clear()
        if self.paragraphs:
            self.paragraphs.clear()

    def read(self, sentences: Sequence[Sentence], *, live: bool) -> list[Repetition]:
        found: list[Repetition] = []
        if self.prose and live:
            found += self.prose.add(sentences)
        if self.paragraphs:
            found += self.paragraphs.add(sentences)
        return found

    def gauges(self) -> Iterable[Gauge]:
        if self.prose:
            yield from self.prose.gauges()
        if self.paragraphs:
            yield from self.paragraphs.gauges()

    def latest(self) -> Iterable[str]:
        """What the latest sentences say, as far as it matters whether they are said again."""
        return self.prose.latest() if self.prose is not None else ()

    def following(self) -> bool:
        """They have seen so much that they need to be told of everything."""
        return (self.prose is not None and self.prose.following) or (
            self.paragraphs is not None and self.paragraphs.following
        )


class _Piece(msgspec.Struct, gc=False):
    """What was not read yet."""

    part: PartId
    text: str
    """Empty: the part is complete."""
    live: bool
    seq: int


class SentenceReading:
    """Hands the sentences to the rules."""

    def __init__(self, rules: Callable[[], Rules], glance: Callable[[], Glance] | None) -> None:
        """Without a ``glance``, everything is read at once."""
        self._make, self._rules = rules, rules()
        self._begin = glance
        self._glance = glance() if glance else None
        self._awake = glance is None
        self._splitters: dict[PartId, Splitter] = {}
        self._unread: deque[_Piece] = deque()
        self._size = 0
        """Characters that were not read yet."""
        self._most = _MOST_UNREAD
        self._passed: dict[PartId, int] = {}
        """By part, those before them that never will be."""

    def open(self, part: PartId) -> Callable[[int], bool]:
        """A part begins. Whether a place in it is code, as far as is known, can be asked from then on."""
        splitter = self._splitters[part] = Splitter(part)
        return splitter.in_code

    def grow(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Repetition]:
        glance = self._glance
        if glance is None:
            return self._read(part, text, live, seq)
        if len(text) < glance.room:
            seen = glance.feed(text, said=live and not self._awake)
            if self._awake:
                return self._read(part, text, live, seq)
            self._unread.append(_Piece(part, text, live, seq))
            self._size += len(text)
            return self._wake(seen) if seen else ()
        found: list[Repetition] = []
        while text:
            blocks = glance.blocks
            piece, text = text[: glance.room], text[glance.room :]
            seen = glance.feed(piece, said=live and not self._awake)
            if self._awake:
                found += self._read(part, piece, live, seq)
            else:
                self._unread.append(_Piece(part, piece, live, seq))
                self._size += len(piece)
                if seen:
                    found += self._wake(seen)
            if glance.blocks > blocks:
                self._rest(glance, part)
        return found

    def end(self, part: PartId, seq: int) -> Sequence[Repetition]:
        """The part is complete. May be said again."""
        if self._glance is None or self._awake:
            return self._rules.read(self._splitters[part].flush(seq), live=True)
        seen = self._glance.end()
        if not self._unread or self._unread[-1].text:
            self._unread.append(_Piece(part, "", True, seq))
        return self._wake(seen) if seen else ()

    def acted(self) -> None:
        """A tool was used: what was said before belongs to a window of its own."""
        if self._awake:
            for splitter in self._splitters.values():
                splitter.flush()
        else:
            for piece in self._unread:
                self._passed[piece.part] = self._passed.get(piece.part, 0) + len(piece.text)
            self._forget()
            self._pass()
        self._rules.clear()
        if self._begin is not None:
            self._glance, self._awake = self._begin(), self._in_fence()

    def restart(self) -> None:
        """The text begins anew, at its first character."""
        self._splitters = {}
        self._forget()
        self._passed.clear()
        if isinstance(self._rules.prose, MixedProse):
            self._rules.prose.restart()
        self._rules.clear()
        if self._begin is not None:
            self._glance, self._awake = self._begin(), False

    def gauges(self) -> Iterable[Gauge]:
        if self._awake:
            return self._rules.gauges()
        now = SentenceReading(self._make, None)
        for piece in self._unread:
            if piece.part not in now._splitters:
                now.open(piece.part)
            now._take(piece)
        return now._rules.gauges()

    # --- inside ------------------------------------------------------------------------------

    def _read(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Repetition]:
        if isinstance(self._rules.prose, MixedProse):
            self._rules.prose.feed(part, text)
        sentences = self._splitters[part].feed(text, seq)
        return self._rules.read(sentences, live=live) if sentences else ()

    def _take(self, piece: _Piece) -> Sequence[Repetition]:
        if piece.text:
            return self._read(piece.part, piece.text, piece.live, piece.seq)
        return self._rules.read(self._splitters[piece.part].flush(piece.seq), live=True)

    def _wake(self, seen: Seen) -> list[Repetition]:
        """Read what was kept, or as much of it as has to do with what was ``seen``."""
        if seen is Seen.SENTENCES and self._glance is not None:
            self._drop(self._glance.back)
        if self._passed:
            self._pass()
            self._rules.clear()
        found: list[Repetition] = []
        for piece in self._unread:
            found += self._take(piece)
        self._forget()
        self._awake = True
        return found

    def _rest(self, glance: Glance, part: PartId) -> None:
        """A block is complete: nothing need be read of the next one, if nothing was seen in this."""
        if not self._awake:
            if self._size > self._most:
                self._drop(max(_KEPT, glance.reach()))
                self._most = max(_MOST_UNREAD, self._size + _MOST_UNREAD - _KEPT)
        elif glance.calm and not self._rules.following() and not self._in_fence():
            self._awake = False
            glance.go_on(self._rules.latest(), *self._splitters[part].opened())

    def _forget(self) -> None:
        """Nothing is unread any more."""
        self._unread.clear()
        self._size, self._most = 0, _MOST_UNREAD

    def _in_fence(self) -> bool:
        return any(splitter.fenced for splitter in self._splitters.values())

    def _drop(self, keep: int) -> None:
        """Of what is unread, keep the last ``keep`` characters and the line that they begin in."""
        surplus = self._size - keep
        begin = offset = 0
        for piece in self._unread:
            if offset > surplus:
                break
            if not piece.text:
                begin = offset  # what follows the end of a part begins a line
            elif (found := piece.text.rfind("\n", 0, max(0, surplus - offset))) >= 0:
                begin = offset + found + 1
            offset += len(piece.text)
        self._size -= begin
        while begin > 0:
            piece = self._unread.popleft()
            size = min(begin, len(piece.text))
            if size < len(piece.text):
                self._unread.appendleft(msgspec.structs.replace(piece, text=piece.text[size:]))
            self._passed[piece.part] = self._passed.get(piece.part, 0) + size
            begin -= size

    def _pass(self) -> None:
        for part, splitter in self._splitters.items():
            splitter.skip(self._passed.get(part, 0))
        self._passed.clear()
