"""The terminal adapter: the text on the screen in, keys out; the last resort for any program.

Everything here is inferred from a screen, so it is used sparingly: nothing is typed but the interrupt
key and, where the person named the program an agent, prompts; and those only when it is at rest and the
person is not in the middle of typing something.

A turn begins with an Enter of the person or a prompt of ours, and is over when nothing was written for
a while (`ReadsAlong.still`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    Keys,
    LaunchPlan,
    Outgoing,
    Setup,
    Streams,
    answer,
)
from loopguard_cli.agents.terminal.typing import KEYS, prompt, understood
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import Abort, AnswerGate, Effect, Prompt, Purpose, ReadSession, Trim
from loopguard_cli.core.events import (
    AgentConnected,
    AgentError,
    AgentExited,
    EffectSettled,
    Event,
    Gap,
    Origin,
    ReplyFinished,
    ReplyStarted,
    SessionRead,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, MessageId, PartId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.wire.terminal_text import TerminalText

SESSION = SessionId("terminal")
PART = PartId("screen")

MESSAGE_CHARS = 48_000
"""A message is closed here: the text rules leave out what is longer than 65,536 characters."""

ECHOES = 3
"""Prompts of ours whose echo on the screen is recognised."""

MARKS = 3
"""Punctuation in a row that may belong to a text; more of it is a bar or dots."""

PIECE = 20
"""Characters of a piece within a line that are told from other text; shorter ones are in everything."""

_FRAME = " \t│┃║╎┆▌▐|"
"""What programs draw around their text."""


def capabilities(*, prompt: bool, screen: bool = True) -> Capabilities:
    return Capabilities(
        text_deltas=True, abort=True, prompt=prompt, read_session=True, screen=screen, mixed=True
    )


class TerminalAgent(Unbridged):
    """One run of one program."""

    name = "terminal"

    def __init__(self, setup: Setup, *, typing: bool = True) -> None:
        """``typing``: it is an agent, so prompts may be typed into it."""
        self.capabilities = capabilities(prompt=typing, screen=setup.interactive)
        self._setup = setup
        self._typing = typing
        self._text = TerminalText()
        self._connected = False
        self._status = Status.IDLE
        self._messages = 0
        self._message = MessageId("")
        """The reply that is being written; empty before its first text."""
        self._chars = 0
        self._user = MessageId("")
        self._origin = Origin.PERSON
        self._answering = False
        """Somebody prompted, and the reply is not over yet."""
        self._in_line = False
        """What came out last was not the end of its line."""
        self._draft = False
        """The person has typed something and not entered it."""
        self._echoes: deque[str] = deque(maxlen=ECHOES)

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        setup = self._setup
        name = PurePath(setup.argv[0]).name
        key = setup.terminal.interrupt.value
        remark = f"{name}: only the text it writes to the terminal is guarded; a loop is interrupted by {key}"
        if not self._typing:
            remark += " and not continued (--agent terminal says that it is an agent)"
        form = Form.SCREEN if setup.interactive else Form.ONE_SHOT
        return LaunchPlan(
            argv=setup.argv, form=form, streams=Streams.TERMINAL, bridged=False, remarks=(remark,)
        )

    def exited(self, code: int) -> Sequence[Event]:
        return (*self._over(), AgentExited(code=code))

    # --- what is on the terminal -------------------------------------------------------------

    def printed(self, data: bytes) -> Answer:
        return Answer(events=(*self._connect(), *self._come_out(self._text.feed(data))))

    def drawn(self) -> Answer:
        return Answer() if self._draft else Answer(events=tuple(self._come_out(self._text.drawn())))

    def _come_out(self, pieces: Sequence[str]) -> Iterator[Event]:
        if said := self._said(pieces):
            yield from self._busy()
            yield from self._write(said)

    def paused(self) -> Answer:
        return Answer()

    def still(self) -> Answer:
        return Answer(events=tuple(self._over()))

    def sized(self, rows: int, columns: int) -> Answer:
        self._text.resize(rows, columns)
        return Answer()

    def missed(self, count: int) -> Answer:
        self._text.forget()
        reason = f"{count} bytes of output came too fast to be read"
        return Answer(events=(Gap(session=SESSION, reason=reason),))

    def keyed(self, data: bytes) -> Answer:
        typed = understood(data)
        self._text.touched()
        events: list[Event] = []
        if typed.stop and self._status is Status.BUSY:
            # The person's own interrupt: what waits to be prompted is not wanted any more.
            events.append(AgentError(session=SESSION, name="interrupted", aborted=True))
        if typed.draft is not None:
            self._draft = typed.draft
        if typed.entered:
            events += self._spoke(Origin.PERSON)
        return Answer(events=tuple(events))

    # --- effects -----------------------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._do(effect))

    def _do(self, effect: Effect) -> Iterator[Outgoing | Event]:
        match effect:
            case Abort() if self._text.alternate and not self._typing:
                # It may be an editor, or several programs at once, and be told with an Escape something else.
                error = "a full screen is only interrupted in a program named an agent (--agent terminal)"
                yield EffectSettled(session=SESSION, effect=effect.effect, ok=False, error=error)
            case Abort():
                yield Keys(data=KEYS[self._setup.terminal.interrupt])
                yield EffectSettled(session=SESSION, effect=effect.effect, ok=True)
            case ReadSession():
                yield SessionRead(
                    session=SESSION,
                    effect=effect.effect,
                    ok=True,
                    status=self._status,
                    newest_assistant=self._message,
                    newest_user=self._user,
                    newest_user_origin=self._origin,
                )
            case Prompt():
                yield from self._prompt(effect)
            case Trim():
                yield EffectSettled(
                    session=SESSION, effect=effect.effect, ok=False, error="a screen cannot be trimmed"
                )
            case AnswerGate():
                pass  # nothing asks here
            case _:
                pass

    def _prompt(self, effect: Prompt) -> Iterator[Outgoing | Event]:
        refusal = ""
        if not self._typing:
            refusal = "prompts are only typed into a program named an agent (--agent terminal)"
        elif effect.purpose is Purpose.NUDGE or self._status is not Status.IDLE:
            refusal = "it is busy"
        elif self._draft:
            refusal = "the person is typing"
        elif self._text.alternate and not self._text.bracketed_paste:
            refusal = "it shows a full screen that takes no paste"
        if refusal:
            yield EffectSettled(session=SESSION, effect=effect.effect, ok=False, error=refusal)
            return
        self._echoes.append(_folded(effect.text))
        yield from prompt(effect.text, bracketed=self._text.bracketed_paste)
        yield from self._spoke(Origin.LOOPGUARD, effect)
        yield EffectSettled(session=SESSION, effect=effect.effect, ok=True)

    # --- turns -------------------------------------------------------------------------------

    def _connect(self) -> Iterator[Event]:
        if not self._connected:
            self._connected = True
            yield AgentConnected(agent=self.name)
            yield SessionSeen(session=SESSION, directory=self._setup.directory)

    def _busy(self) -> Iterator[Event]:
        if self._status is not Status.BUSY:
            self._status = Status.BUSY
            yield StatusChanged(session=SESSION, status=Status.BUSY)

    def _spoke(self, origin: Origin, effect: Prompt | None = None) -> Iterator[Event]:
        yield from self._connect()
        yield from self._finish()
        self._user, self._origin, self._answering = self._mint("u"), origin, True
        if origin is Origin.LOOPGUARD and effect is not None:
            yield UserSpoke(
                session=SESSION, message=self._user, origin=origin, effect=effect.effect, text=effect.text
            )
        else:
            yield UserSpoke(session=SESSION, message=self._user, effect=EffectId(""))
        yield from self._busy()

    def _write(self, text: str) -> Iterator[Event]:
        if self._chars >= MESSAGE_CHARS:
            yield from self._finish()
        if not self._message:
            self._message = self._mint("a")
            yield ReplyStarted(session=SESSION, message=self._message, answers=self._user)
        self._chars += len(text)
        yield TextDelta(session=SESSION, message=self._message, part=PART, delta=text)

    def _over(self) -> Iterator[Event]:
        """It waits for somebody. A reply is over only if one was asked for: servers and logs say the
        same again and again without being asked."""
        if self._answering:
            self._answering = False
            yield from self._finish()
        if self._status is not Status.IDLE:
            self._status = Status.IDLE
            yield StatusChanged(session=SESSION, status=Status.IDLE)

    def _finish(self) -> Iterator[Event]:
        if self._message:
            yield ReplyFinished(session=SESSION, message=self._message)
            self._message, self._chars = MessageId(""), 0

    def _mint(self, kind: str) -> MessageId:
        self._messages += 1
        return MessageId(f"{kind}{self._messages}")

    def _said(self, pieces: Sequence[str]) -> str:
        """What the program says itself: no frames around it, and not what we typed."""
        kept: list[str] = []
        for piece in pieces:
            line, end = (piece[:-1], "\n") if piece.endswith("\n") else (piece, "")
            inside, self._in_line = self._in_line, not end
            # What goes on in a line is part of it as it is.
            text = line if inside else line.lstrip(_FRAME)
            text = text.rstrip(_FRAME) if end else text
            bare = len(text.strip()) > MARKS if inside else bool(text)
            if bare and not any(char.isalnum() for char in text):
                continue
            folded = _folded(text)
            if len(folded) > (PIECE if inside else 0) and any(folded in echo for echo in self._echoes):
                continue
            kept.append(text + end)
        return "".join(kept)


def _folded(text: str) -> str:
    return " ".join(text.split())
