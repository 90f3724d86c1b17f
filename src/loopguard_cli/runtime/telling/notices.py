"""What the person is told while and after the agent runs.

While the agent owns the screen nothing of ours is written to it: notices go out as toasts, and what
no toast could carry is said once the terminal is ours again. A terminal that is halted (^S), or a pipe
that nobody reads, gets its lines once it takes them: waiting for it would keep the agent's calls waiting.
"""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from loopguard_cli.core.effects import Abort, AnswerGate, Effect, Prompt, Purpose, Record, Tell
from loopguard_cli.core.measures import duration
from loopguard_cli.core.records import CallEnded, CallSeen
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import Wording
from loopguard_cli.runtime.telling.statusline import StatusLine

QUIET_SECONDS = 5.0
"""A run that is over by then needs no line about how it stands."""
SHOW_SECONDS = 1.0
"""Between two updates of it."""
KEPT = 20
"""Notices kept for the end of a run with a screen, or until what is halted goes on."""


class Notices:
    """Standard error, its rules, and the summary."""

    def __init__(self, *, screen: bool = False, locale: Locale = Locale.EN) -> None:
        self.line: StatusLine | None = None
        """Where to say how the run stands."""
        self.screen = screen
        """The agent owns it."""
        self.write: Callable[[str], None] = write
        """How a line gets out; a console that is in the middle of one has its own way."""
        self.wording = Wording(locale)
        self._kept: deque[str] = deque(maxlen=KEPT)
        self.calls = self.blocked = self.aborts = self.continuations = 0

    def show(self, seconds: float) -> None:
        """How a run stands that has lasted ``seconds``; called again and again."""
        self._say_kept()
        if self.line is not None and seconds >= QUIET_SECONDS:
            self.line.show(f"loopguard: {self._summary()}, {duration(seconds)}")

    def hide(self) -> None:
        """The terminal is somebody else's, or has another size; `show` takes its row again."""
        if self.line is not None:
            self.line.hide()

    def say(self, text: str) -> None:
        """One line, at once, or at the end where the agent owns the screen."""
        self._kept.append(text)
        self._say_kept()

    def _say_kept(self) -> None:
        while self._kept and not self.screen and _taken():
            self.write(self._kept.popleft())

    def remark(self, text: str) -> None:
        """One line as the agent starts: at once, and again at the end if its screen has covered it."""
        if self.screen:
            self.write(text)
        self.say(text)

    def tell(self, tell: Tell, *, delivered: bool) -> None:
        """A notice of the hub; ``delivered``: the agent shows it itself."""
        if not delivered:
            self.say(tell.text)

    def count(self, effect: Effect) -> None:
        match effect:
            case Record(record=CallSeen()):
                self.calls += 1
            case AnswerGate(allow=False):
                self.blocked += 1
            case Record(record=CallEnded(leaked=True)):
                self.blocked -= 1
            case Abort():
                self.aborts += 1
            case Prompt(purpose=Purpose.RECOVERY | Purpose.CONTINUATION | Purpose.HANDOFF):
                self.continuations += 1
            case _:
                pass

    def finish(self, *, guarded: bool) -> None:
        """The terminal is ours again: say what had to wait, then the summary."""
        self.hide()
        for text in self._kept:
            write(text)
        self._kept.clear()
        if guarded:
            write(self._summary())

    def _summary(self) -> str:
        return self.wording.summary(
            calls=self.calls, blocked=self.blocked, aborts=self.aborts, continuations=self.continuations
        )


def _taken() -> bool:
    """Standard error would not keep us waiting, as far as can be known."""
    try:
        return bool(select.select([], [sys.stderr], [], 0)[1])
    except (OSError, ValueError):
        return True


def write(text: str) -> None:
    """One line on standard error. Nobody may be there to read it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"loopguard: {' '.join(text.split())}\n")
        sys.stderr.flush()
