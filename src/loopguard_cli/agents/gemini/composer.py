"""The input box of Gemini CLI's screen: a prompt of ours is pasted there, and sent once it shows.

An Enter that the agent reads together with the paste counts as part of it, and where the paste did not
arrive an Enter would answer whatever else is open there. How long the agent takes is not ours to know, so
nothing is pressed before the screen has shown the text and come to rest, and it is pressed again while
the screen rests and the agent has not taken the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.agents.base import Keys

PRESSES = 5
"""How often Enter is pressed for one prompt."""

_PASTE = b"\x1b[200~%b\x1b[201~"
_AFTER_ESCAPE_SECONDS = 0.5
"""An Escape right before something counts as part of that."""
_FOLDED = b"[Pasted Text"
"""What the screen shows instead of a long text."""
_MARK_BYTES = 16


class Composer:
    """At most one prompt of ours at a time."""

    def __init__(self) -> None:
        self._mark = b""
        """How the text begins that is to show; empty: there is none."""
        self._shown = False
        self._presses = 0
        self._alone = True
        """The person has typed nothing behind it."""
        self._tail = b""

    def put(self, text: str) -> Iterator[Keys]:
        plain = "".join(c for c in text if c.isprintable() or c in "\n\t").encode()
        self._mark = (plain.split() or [b""])[0][:_MARK_BYTES]
        self._shown, self._alone, self._presses, self._tail = False, True, 0, b""
        yield Keys(data=_PASTE % plain, pause=_AFTER_ESCAPE_SECONDS)

    def taken(self) -> None:
        """A prompt has come, ours or another: nothing is left to press Enter for."""
        self._mark = b""

    def printed(self, data: bytes) -> None:
        if self._mark and not self._shown:
            seen = self._tail + data
            self._shown = self._mark in seen or _FOLDED in seen
            self._tail = seen[-_MARK_BYTES:]

    def missed(self) -> None:
        """More was printed than could be read: it may have been among that."""
        self._shown = True

    def touched(self) -> None:
        """The person types: what stands there is theirs to send, unless we just have."""
        self._alone = False

    def paused(self) -> Iterator[Keys]:
        """What was printed last is on the screen."""
        if not self._presses:
            yield from self._press()

    def still(self) -> Iterator[Keys]:
        """Nothing has moved for long."""
        if self._alone:
            yield from self._press()

    def _press(self) -> Iterator[Keys]:
        if self._mark and self._shown and self._presses < PRESSES:
            self._presses += 1
            yield Keys(data=b"\r")
