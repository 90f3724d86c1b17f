"""A driven agent: one JSON object a line on its standard streams.

It is told ``{"prompt": TEXT}`` and ``{"stop": true}``; it says ``{"say": TEXT}``, ``{"call": ID, "run":
COMMAND}`` when it runs one, ``{"done": ID, "output": TEXT, "code": N}`` afterwards, and ``{"idle": true}``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    BridgeAddress,
    Form,
    LaunchPlan,
    Order,
    Outgoing,
    Setup,
    Show,
    Shown,
    Streams,
    answer,
)
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import Abort, Effect, Prompt, Purpose, ReadSession, Trim
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    EffectSettled,
    Event,
    Origin,
    ReplyFinished,
    ReplyStarted,
    SessionRead,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId, SessionId
from loopguard_cli.core.settings import Capabilities

CAPABILITIES = Capabilities(text_deltas=True, abort=True, prompt=True, read_session=True)
"""Only what is true. It cannot be asked before a call (``gate``), so a repeated call costs the turn."""

SURFACES = tuple(
    Surface(form=form, example="example-agent", reached="driven", capabilities=CAPABILITIES)
    for form in (Form.CONSOLE, Form.ONE_SHOT)
)

CALLS = 1000
_PERSON = EffectId("")


class Line(msgspec.Struct):
    """What it says. All fields have defaults: other versions say more, or less."""

    say: str = ""
    call: str = ""
    run: str = ""
    done: str = ""
    output: str = ""
    code: int | None = None
    idle: bool = False


class Example(Unbridged):
    """One run of it."""

    name = "example"
    capabilities = CAPABILITIES
    speaks: Any = Line
    session = SessionId("main")
    finished = False

    def __init__(self, setup: Setup) -> None:
        self.commands = setup.commands
        self._setup = setup
        self._turns = 0
        self._busy = False
        self._origin = Origin.PERSON
        self._queue: deque[str] = deque()
        self._aborts: list[Abort] = []
        self._commands: Recent[str, str] = Recent(CALLS)

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        form = Form.CONSOLE if self._setup.interactive else Form.ONE_SHOT
        return LaunchPlan(argv=self._setup.argv, form=form, streams=Streams.PIPED)

    def began(self) -> Answer:
        return Answer(events=(AgentConnected(agent=self.name), SessionSeen(session=self.session)))

    # --- what it says ------------------------------------------------------------------------

    def heard(self, message: Line) -> Answer:
        return answer(self._heard(message))

    def _heard(self, line: Line) -> Iterator[Outgoing | Event]:
        if line.say:
            part = PartId(f"{self._reply}.text")
            yield TextDelta(session=self.session, message=self._reply, part=part, delta=line.say)
            yield Shown(kind=Show.TEXT, text=line.say)
        elif line.call:
            self._commands[line.call] = line.run
            yield ToolStarted(session=self.session, **self._call(line.call))
            yield Shown(kind=Show.TOOL, text=line.run)
        elif line.done:
            ok = line.code in (0, None)
            yield ToolFinished(
                session=self.session, ok=ok, output=line.output, exit_code=line.code, **self._call(line.done)
            )
        elif line.idle:
            yield Shown(kind=Show.END, text="")
            yield from self._over()
            if self._queue:
                yield from self._prompt(self._queue.popleft(), Origin.PERSON)
        else:
            yield Unparsed(native="a line with nothing that we know")

    def _call(self, call: str) -> dict[str, Any]:
        command = self._commands.get(call, "")
        return {"call": CallId(call), "tool": "run", "args": {"command": command}, "message": self._reply}

    @property
    def _reply(self) -> MessageId:
        return MessageId(f"reply.{self._turns}")

    def _over(self) -> Iterator[Event]:
        """The turn has ended, however it did: now an abort is settled."""
        if self._busy:
            self._busy = False
            yield ReplyFinished(session=self.session, message=self._reply, aborted=bool(self._aborts))
        for abort in self._aborts:
            yield EffectSettled(session=self.session, effect=abort.effect, ok=True)
        self._aborts.clear()
        yield StatusChanged(session=self.session, status=Status.IDLE)

    # --- what the person wants ---------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return not self._busy and not self._queue

    def typed(self, text: str) -> Answer:
        if not text:
            return Answer()
        if self._busy:
            self._queue.append(text)
            return Answer((Shown(kind=Show.NOTE, text="sent when this turn is over"),))
        return answer(self._prompt(text, Origin.PERSON))

    def _prompt(self, text: str, origin: Origin, effect: EffectId = _PERSON) -> Iterator[Outgoing | Event]:
        self._turns += 1
        self._busy, self._origin = True, origin
        yield Order(peer=CHILD, message={"prompt": text})
        if origin is Origin.LOOPGUARD:
            yield Shown(kind=Show.PROMPT, text=text)
        user = MessageId(f"user.{self._turns}")
        yield UserSpoke(session=self.session, message=user, origin=origin, effect=effect, text=text)
        yield StatusChanged(session=self.session, status=Status.BUSY)
        yield ReplyStarted(session=self.session, message=self._reply, answers=user)

    def interrupted(self) -> Answer:
        self._queue.clear()
        return Answer((Order(peer=CHILD, message={"stop": True}),) if self._busy else ())

    def chosen(self, _question: str, _key: str) -> Answer:
        return Answer()  # it asks no questions

    # --- what the guard wants ----------------------------------------------------------------

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def _carry_out(self, effect: Effect) -> Iterator[Outgoing | Event]:
        match effect:
            case Abort() if self._busy:
                self._aborts.append(effect)
                yield Order(peer=CHILD, message={"stop": True})
            case Abort():
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
            case Prompt() if not self._busy and effect.purpose is not Purpose.NUDGE:
                yield from self._prompt(effect.text, Origin.LOOPGUARD, effect.effect)
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
            case Prompt() | Trim():
                error = "a turn is running" if isinstance(effect, Prompt) else "what was said stays said"
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=False, error=error)
            case ReadSession():
                yield SessionRead(
                    session=effect.session,
                    effect=effect.effect,
                    ok=True,
                    status=Status.BUSY if self._busy else Status.IDLE,
                    newest_assistant=self._reply,
                    newest_user=MessageId(f"user.{self._turns}"),
                    newest_user_origin=self._origin,
                )
            case _:
                pass  # what is not in CAPABILITIES is not asked for, or need not be answered

    def exited(self, code: int) -> Sequence[Event]:
        self._queue.clear()
        return [*self._over(), AgentExited(code=code)]


def make(setup: Setup) -> Example:
    return Example(setup)
