"""A shell around the goal loop that performs effects at once, or keeps those it is told to keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.testing.scenarios.host import ABLE

S = SessionId("s")
E = TypeVar("E", bound=fx.Effect)
DONE = "[goal:evidence] 12 passed\n[goal:complete]"


class Shell:
    """Performs effects at once, or keeps those that it is told to keep."""

    def __init__(
        self, *, leases: bool = False, able: Capabilities = ABLE, stored: Iterable[GoalRecord] = (),
        settings: GoalSettings | None = None,
    ) -> None:  # fmt: skip
        self.goals = Goals(settings or GoalSettings(), capabilities=able, salt="t", leases=leases)
        self.goals.restore(stored)
        self.now = 1000.0
        self.done: list[fx.Effect] = []
        self.kept: list[fx.Effect] = []
        self.keep: tuple[type[fx.Effect], ...] = ()
        self.status = ev.Status.IDLE
        self.newest = MessageId("")
        self.lease = ev.LeaseSettled(effect=EffectId(""), ok=True)
        self._asked = 0

    def feed(self, event: ev.Event) -> None:
        self.perform(self.goals.receive(event, self.now))

    def perform(self, effects: Iterable[fx.Effect]) -> None:
        for effect in effects:
            self.done.append(effect)
            if isinstance(effect, self.keep):
                self.kept.append(effect)
            else:
                self.settle(effect)

    def settle(self, effect: fx.Effect) -> None:
        match effect:
            case fx.Record(effect=name) if name:
                self.feed(ev.EffectSettled(session=effect.session, effect=name, ok=True))
            case fx.Prompt():
                self.status = ev.Status.BUSY
                self.feed(ev.EffectSettled(session=effect.session, effect=effect.effect, ok=True))
            case fx.Abort():
                self.feed(ev.EffectSettled(session=effect.session, effect=effect.effect, ok=True))
            case fx.ReadSession():
                read = ev.SessionRead(
                    session=effect.session, effect=effect.effect, ok=True, status=self.status,
                    newest_assistant=self.newest,
                )  # fmt: skip
                self.feed(read)
            case fx.TakeLease():
                lease = self.lease
                self.feed(
                    ev.LeaseSettled(
                        session=effect.session, effect=effect.effect, ok=lease.ok, error=lease.error,
                        records=lease.records,
                    )
                )  # fmt: skip
            case _:
                pass

    def ask(
        self, text: str, surface: ev.Surface = ev.Surface.CLI, session: SessionId = NO_SESSION, **more: Any
    ) -> fx.Respond:
        self._asked += 1
        request = RequestId(f"r{self._asked}")
        arguments = {"text": text, **more}
        self.feed(
            ev.Asked(
                session=session,
                request=request,
                operation="goal.command",
                arguments=arguments,
                surface=surface,
            )
        )
        return next(r for r in self.of(fx.Respond) if r.request == request)

    def of(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.done if isinstance(effect, kind)]

    def records(self) -> list[GoalRecord]:
        return [r.record for r in self.of(fx.Record) if isinstance(r.record, GoalRecord)]

    def idle(self, session: SessionId = S) -> None:
        self.status = ev.Status.IDLE
        self.feed(ev.StatusChanged(session=session, status=ev.Status.IDLE))

    def reply(self, name: str, text: str = "Worked.", session: SessionId = S) -> None:
        self.newest = message = MessageId(name)
        self.status = ev.Status.BUSY
        self.now += 5
        self.feed(ev.StatusChanged(session=session, status=ev.Status.BUSY))
        self.feed(ev.ReplyStarted(session=session, message=message, answers=MessageId(f"to-{name}")))
        call = CallId(f"c-{name}")
        self.feed(ev.ToolStarted(session=session, call=call, tool="bash"))
        self.feed(ev.ToolFinished(session=session, call=call, tool="bash"))
        self.feed(ev.TextDelta(session=session, message=message, part=PartId("p"), delta=text))
        self.feed(ev.ReplyFinished(session=session, message=message))

    def goal(self, session: SessionId = S) -> Any:
        return self.goals.book(session).focused


def started(**options: Any) -> Shell:
    """A session with a goal that was continued once."""
    shell = Shell(**options)
    shell.reply("m0")
    shell.ask("repair the build", session=S)
    shell.idle()
    return shell
