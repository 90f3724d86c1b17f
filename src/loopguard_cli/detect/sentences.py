"""Sentences of a growing text, in any language, without code and quotes.

A sentence ends at its terminator or at the end of its line. Which of the two it is, and whether a
point belongs to a file name (``README.md``), a dotfile, a URL or a version, can only be told from
what follows; until that has been streamed the sentence is open. So the sentences of a text do not
depend on the pieces in which it came.

Left out: fenced code (three or more backticks or tildes, also inside lists; an open fence is
code until it is closed) and block quotes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from enum import Enum
from string import ascii_lowercase

import msgspec

from loopguard_cli.core.holding import FINAL, LOOK_BACK, READY
from loopguard_cli.detect.endings import Marks, ends_at, first_end

# Left over from the end of the sentence before.
_LEADING = f" \t\r\f\v{FINAL}\u300d\u300f\u201d\u2019\uff09\u3011\u300b\u3009"
_CONTENT = re.compile(r"[^\W_]")

_NOT_PLAIN = frozenset("`~>#|-*+0123456789\r")
"""What may begin a fence, a quote, a heading, a row of a table or an item of a list, or an empty line."""

_SHORT = 256
"""Characters of a text in which there are too few marks to remember them."""

_LETTERS = frozenset(ascii_lowercase)
_NONE = frozenset[str]()
"""What begins a line that is neither, and says something: in ASCII. In other texts more may."""

_HEAD = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_MARKER_BEGUN = re.compile(r"(?:[-*+]|\d{1,9}[.)]?)$")
_FENCE = re.compile(r"(`+|~+)(.*)")
_MIN_FENCE = 3

# Beyond these lengths nothing is waited for any more, so that no text costs more than its length.
_LONGEST_HEAD = 200
_LONGEST_FENCE_LINE = 300

_CLOSING = {
    "`": re.compile(r"^[ \t]*(`{3,})[ \t\r]*$", re.MULTILINE),
    "~": re.compile(r"^[ \t]*(~{3,})[ \t\r]*$", re.MULTILINE),
}
_FENCED_CHARS = 2_000
"""Characters by which the contents of two fences are compared."""
_CODES = 64
"""Fences whose contents are remembered per part."""
_PROMPT = ">>> "
"""Begins a line of a Python transcript, not a quote."""

_TOGGLES = 256
"""Fences whose places are remembered per part."""


class Line(Enum):
    """What the line is on which a sentence stands."""

    PROSE = "prose"
    HEADING = "heading"
    TABLE = "table"
    QUOTE = "quote"
    CODE = "code"
    """Not a sentence: fenced code or a line of a transcript that was not there before."""


# Looked up in the class at each line otherwise.
_PROSE, _QUOTE, _TABLE, _HEADING = Line.PROSE, Line.QUOTE, Line.TABLE, Line.HEADING
_WHOLE_LINES = (_QUOTE, _TABLE)


class Sentence(msgspec.Struct, gc=False):
    """One completed sentence (or line without a terminator)."""

    key: str
    """The sentence with case and white space folded."""
    start: int
    """Offset in its part, in characters."""
    end: int
    """Offset behind it; its white space is not counted."""
    event: int
    """Sequence number of the event that completed it."""
    paragraph: int
    """Ordinal of its paragraph in the part; blank lines separate paragraphs."""
    line: Line
    part: str = ""


class Splitter:
    """Splits one part of a message. Feed it the text in order; each sentence comes out once."""

    def __init__(self, part: str = "") -> None:
        self._part = part
        self._held: list[str] = []
        self._look_back = ""
        self._base = 0
        """Offset of the first held character."""
        self._fence = ""
        """The opening run of the fence we are in."""
        self._fenced = ""
        """The beginning of its code."""
        self._known_code: dict[str, None] = {}
        self._line: Line | None = None
        """Kind of the line we are in the middle of; None: at its start."""
        self._paragraph = 0
        self._code: deque[tuple[int, bool]] = deque([(0, False)], maxlen=_TOGGLES)

    def feed(self, text: str, event: int = 0) -> list[Sentence]:
        """The sentences that ``text`` completes."""
        if self._fence or self._line in _WHOLE_LINES:
            if "\n" not in text:
                self._held.append(text)
                return []
        else:
            seen = self._look_back + text
            if READY.search(seen) is None:
                self._held.append(text)
                self._look_back = seen[-LOOK_BACK:]
                return []
        if self._held:
            self._held.append(text)
            text = "".join(self._held)
        return self._read(text, event, final=False)

    def flush(self, event: int = 0) -> list[Sentence]:
        """The part is complete: its last line is, too."""
        text = "".join(self._held)
        return self._read(text, event, final=True) if text else []

    def skip(self, size: int) -> None:
        """Nobody needs to know what is held, nor the next ``size`` characters, behind which a line begins.
        No fence is in them."""
        self._base += sum(map(len, self._held)) + size
        self._held, self._look_back, self._line = [], "", None
        self._paragraph += 1

    def opened(self) -> tuple[str, bool]:
        """The sentence that is open, as far as it goes, or the quote; and whether it began within a line."""
        text = "".join(self._held)
        return ("> " + text, False) if self._line is _QUOTE else (text, self._line is not None)

    @property
    def fenced(self) -> bool:
        """The latest line that was read is code."""
        return bool(self._fence)

    def in_code(self, offset: int) -> bool:
        """Whether the character at ``offset`` is fenced code, as far as is known so far."""
        at = bisect_right(self._code, (offset, True)) - 1
        return at >= 0 and self._code[at][1]

    # --- lines -------------------------------------------------------------------------------

    def _read(self, text: str, event: int, *, final: bool) -> list[Sentence]:
        found: list[Sentence] = []
        # In ASCII, small letters stand where the capital ones do, so that all are folded at once.
        folded, plain = (text.lower(), _LETTERS) if text.isascii() else (text, _NONE)
        at, size = 0, len(text)
        marks = Marks(text) if size > _SHORT else None
        boundary = 0  # where the next one ends, once it is known
        base, part, prose, add = self._base, self._part, _PROSE, found.append
        while at < size:
            if self._fence:
                at = self._code_lines(text, at, event, found, final=final)
                if self._fence:
                    break
                continue
            newline = text.find("\n", at)
            if newline >= at and self._line is None:
                if newline == at:
                    self._paragraph += 1
                    at += 1
                    continue
                if marks is not None:
                    marks.seek(at)
                    boundary = marks.end
                elif boundary <= at:
                    boundary = first_end(text, at)
                if boundary >= newline and (line := folded[at:newline].rstrip()):
                    # It is one sentence, as most lines of most texts are, unless it begins something else.
                    raw = line.lstrip(" \t")
                    if raw[0] in plain and "  " not in raw and "\t" not in raw:
                        stop = base + at + len(line)
                        add(Sentence(raw, stop - len(raw), stop, event, self._paragraph, prose, part))
                        at = newline + 1
                        continue
                    heading = raw[0] == "#" and len(line) - len(raw) <= _LONGEST_HEAD
                    if heading or raw[0] not in _NOT_PLAIN:
                        self._line = _HEADING if heading else None
                        self._add(folded, at, newline, event, found)
                        self._line = None
                        at = newline + 1
                        continue
            whole = newline >= 0 or final
            end = newline if newline >= 0 else size
            if self._line is None and text[at].isalpha():
                self._line = _PROSE
            elif self._line is None:
                begins = self._begin(text, at, end, whole, event, found)
                if begins is None:
                    break
                if not begins:
                    at = end if newline < 0 else newline + 1
                    continue
            if self._line is _QUOTE:
                at = end
            else:
                at = self._sentences(text, folded, marks or Marks(text), at, end, event, found, whole=whole)
            if not whole:
                break
            self._line = None
            at = end if newline < 0 else newline + 1
        self._base += at
        rest = text[at:]
        self._held = [rest] if rest else []
        self._look_back = rest[-LOOK_BACK:]
        return found

    def _code_lines(self, text: str, at: int, event: int, found: list[Sentence], *, final: bool) -> int:
        """Skip the whole lines of code from ``at`` on, up to the one that closes the fence."""
        end = len(text) if final else text.rfind("\n", at) + 1
        if end <= at:
            return at
        for match in _CLOSING[self._fence[0]].finditer(text, at, end):
            if len(match[1]) >= len(self._fence):
                code = self._fenced + text[at : match.start()]
                self._fence = ""
                self._toggle(match.end() + 1, False)
                self._add_code(code[:_FENCED_CHARS], match.end(), event, found)
                return min(match.end() + 1, len(text))
        self._fenced = (self._fenced + text[at:end])[:_FENCED_CHARS]
        return end

    def _begin(
        self, text: str, at: int, end: int, whole: bool, event: int, found: list[Sentence]
    ) -> bool | None:
        """What line begins at ``at``. True: read on. False: it is done with. None: not known yet."""
        head = _HEAD.match(text, at, end)
        first = head.end() if head else at
        if first - at > _LONGEST_HEAD:
            self._line = Line.PROSE
            return True
        if first == end or text[first] == "\r":
            if whole:
                self._paragraph += 1
            return False if whole else None
        mark = text[first]
        if mark == ">":
            if text.startswith(_PROMPT, first):
                if not whole:
                    return None
                self._add_code(text[first:end], end, event, found)
                return False
            if not whole and _PROMPT.startswith(text[first:end]):
                return None
            self._line = Line.QUOTE
            return True
        if mark in "`~" and (opened := self._opens(text, first, end, whole)) is not True:
            return opened
        if not whole and _MARKER_BEGUN.match(text, first, end):
            return None
        self._line = _HEADING if mark == "#" else _TABLE if mark == "|" else _PROSE
        return True

    def _opens(self, text: str, first: int, end: int, whole: bool) -> bool | None:
        """A run of backticks or tildes. False: it opened a fence. True: it is prose. None: not known yet."""
        match = _FENCE.match(text, first, end)
        if match is None or end - first > _LONGEST_FENCE_LINE:
            return True
        run, rest = match.groups()
        if len(run) < _MIN_FENCE and rest:
            return True
        if not whole:
            return None
        if len(run) < _MIN_FENCE or (run[0] == "`" and "`" in rest):
            return True
        self._fence, self._fenced = run, ""
        self._toggle(end + 1, True)
        return False

    def _add_code(self, code: str, at: int, event: int, found: list[Sentence]) -> None:
        """Say that there is code, when it is other code than before."""
        known = self._known_code
        if code in known:
            return
        if known:
            place = self._base + at
            found.append(Sentence(code, place, place, event, self._paragraph, Line.CODE, self._part))
        known[code] = None
        if len(known) > _CODES:
            del known[next(iter(known))]

    def _toggle(self, at: int, code: bool) -> None:
        self._code.append((self._base + at, code))

    # --- sentences ---------------------------------------------------------------------------

    def _sentences(
        self,
        text: str,
        folded: str,
        marks: Marks,
        at: int,
        end: int,
        event: int,
        found: list[Sentence],
        *,
        whole: bool,
    ) -> int:
        """Collect the sentences between ``at`` and ``end``; where the open one begins."""
        if self._line is not _TABLE:
            marks.seek(at)
            while marks.end < end or (marks.end == end and not whole):
                if text[marks.start] != "." or ends_at(text, at, marks.start):
                    self._add(folded, at, marks.end, event, found)
                    at = marks.end
                marks.seek(marks.start + 1)
        if whole:
            self._add(folded, at, end, event, found)
            at = end
        return at

    def _add(self, folded: str, at: int, stop: int, event: int, found: list[Sentence]) -> None:
        """Collect the sentence between ``at`` and ``stop``, without the white space around it."""
        line = folded[at:stop].rstrip()
        raw = line.lstrip()
        if not raw[:1].isalnum():
            if not _CONTENT.search(raw):
                return
            raw = raw.lstrip(_LEADING)
        key = raw.casefold()
        if "  " in key or "\t" in key:
            key = " ".join(key.split())
        kind = self._line or _PROSE
        end = self._base + at + len(line)
        found.append(Sentence(key, end - len(raw), end, event, self._paragraph, kind, self._part))
