"""An agent that takes its time: events, answers and orders travel for random moments and cross each other."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from functools import partial

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.testing.scenarios.host import ABLE

S = SessionId("s")
NOBODY = EffectId("")
IMPATIENT = ("goal_resume", "goal_set", "set_goal", "update_goal")
"""Tools with which an agent might go on by itself."""


class Race:
    """One session whose goal goes on for ever, until somebody stops it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 1e6
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self.goals = Goals(
            GoalSettings(max_turns=10_000, max_seconds=1e8, no_tool_turns=0, no_progress_turns=10_000),
            capabilities=ABLE,
            salt="t",
        )
        # What the supervisor did.
        self.prompts: list[fx.Prompt] = []
        self.aborts = 0
        self.cancelled: set[EffectId] = set()
        self.stopped_at: int | None = None
        """Prompts given when the stop became known."""
        self.stop_known = float("inf")
        self.outlived = 0
        """Turns of ours that came to their own end although the stop had long been known."""
        # What the agent does.
        self.busy = False
        self.turn = 0
        """Grows with every turn, so that what belongs to an older one is dropped."""
        self.newest_user, self.newest_assistant = MessageId(""), MessageId("")
        self.origin = ev.Origin.PERSON
        self.waiting: list[tuple[str, EffectId]] = []
        self.running = ""
        """Whose turn it is: ours, the person's, nobody's."""
        self._arrives = self._ordered = 0.0
        """When the newest event, and the newest order, is there: neither overtakes those before it."""
        self.goals.receive(ev.StatusChanged(session=S, status=ev.Status.IDLE), self.now)

    # --- time --------------------------------------------------------------------------------

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._queue, (self.now + seconds, self._number, do))

    def travel(self) -> float:
        return self.chance.choice((0.0, 0.001, 0.02, 0.3)) * self.chance.random()

    def run(self, until: float) -> None:
        while True:
            due = self.goals.deadline()
            at = min(self._queue[0][0] if self._queue else until, until if due is None else due)
            if at >= until:
                self.now = until
                return
            self.now = max(self.now, at)
            if due is not None and due <= self.now:
                self.perform(self.goals.tick(self.now))
            elif self._queue:
                heapq.heappop(self._queue)[2]()

    # --- the supervisor ----------------------------------------------------------------------

    def tell(self, event: ev.Event, *, stop: bool = False) -> None:
        """``event`` sets out for the supervisor now."""

        def arrive() -> None:
            if stop:
                self.stopped_at, self.stop_known = len(self.prompts), self.now
            self.arrive(event)

        self._arrives = max(self._arrives, self.now + self.travel())
        self.later(self._arrives - self.now, arrive)

    def arrive(self, event: ev.Event) -> None:
        self.perform(self.goals.receive(event, self.now))

    def perform(self, effects: Iterable[fx.Effect]) -> None:
        for effect in effects:
            match effect:
                case fx.Record(effect=name) if name:
                    settled = ev.EffectSettled(session=S, effect=name, ok=True)
                    self.later(self.travel(), partial(self.arrive, settled))
                case fx.Prompt():
                    self.prompts.append(effect)
                    self.order(partial(self.take, effect))
                case fx.CancelEffect():
                    self.cancelled.add(effect.effect)
                case fx.Abort():
                    self.aborts += 1
                    self.order(partial(self.abort, effect))
                case fx.ReadSession():
                    self.later(self.travel(), partial(self.read, effect))
                case _:
                    pass

    def order(self, do: Callable[[], None]) -> None:
        self._ordered = max(self._ordered, self.now + self.travel())
        self.later(self._ordered - self.now, do)

    # --- the agent ---------------------------------------------------------------------------

    def take(self, prompt: fx.Prompt) -> None:
        if prompt.effect in self.cancelled:
            self.tell(ev.EffectSettled(session=S, effect=prompt.effect, ok=False, error="cancelled"))
            return
        self.tell(ev.EffectSettled(session=S, effect=prompt.effect, ok=True))
        self.begin("ours", prompt.effect)

    def begin(self, whose: str, effect: EffectId = NOBODY) -> None:
        if self.busy:
            self.waiting.append((whose, effect))
            return
        self.busy, self.running = True, whose
        self.turn += 1
        number = self.turn
        user, reply = MessageId(f"u{number}"), MessageId(f"m{number}")
        self.origin = ev.Origin.LOOPGUARD if whose == "ours" else ev.Origin.PERSON
        self.newest_user = user
        if whose == "ours":
            self.tell(ev.UserSpoke(session=S, message=user, origin=self.origin, effect=effect))
        self.tell(ev.StatusChanged(session=S, status=ev.Status.BUSY))
        self.newest_assistant = reply
        self.tell(ev.ReplyStarted(session=S, message=reply, answers=user))
        for _ in range(self.chance.randrange(3)):
            self.later(self.chance.uniform(0, 4), lambda: self.impatient(number))
        self.later(self.chance.uniform(0.01, 4), lambda: self.end(number, reply))

    def impatient(self, number: int) -> None:
        if not self.busy or self.turn != number or self.running != "ours":
            return
        name = self.chance.choice(IMPATIENT)
        arguments = {"objective": "something else"} if "set" in name else {}
        arguments = {"status": "resumed"} if name == "update_goal" else arguments
        self._number += 1
        self.tell(
            ev.Asked(
                session=S, request=RequestId(f"t{self._number}"), operation=f"tool.{name}",
                arguments=arguments, surface=ev.Surface.TOOL,
            )
        )  # fmt: skip

    def end(self, number: int, reply: MessageId) -> None:
        if not self.busy or self.turn != number:
            return
        self.outlived += self.running == "ours" and self.now > self.stop_known + 1
        self.tell(ev.TextDelta(session=S, message=reply, part=PartId("p"), delta=f"Step {number} is done."))
        self.tell(ev.ReplyFinished(session=S, message=reply))
        self.rest()

    def rest(self) -> None:
        self.busy, self.running = False, ""
        if self.waiting:
            self.begin(*self.waiting.pop(0))
        else:
            self.tell(ev.StatusChanged(session=S, status=ev.Status.IDLE))

    def abort(self, effect: fx.Abort) -> None:
        self.cut(stop=False)
        self.tell(ev.EffectSettled(session=S, effect=effect.effect, ok=True))

    def cut(self, *, stop: bool) -> None:
        """The turn ends here, with the two idle events that OpenCode sends."""
        self.waiting.clear()
        if not self.busy:
            return
        self.busy, self.running = False, ""
        self.tell(ev.AgentError(session=S, name="MessageAbortedError", aborted=True), stop=stop)
        for _ in range(2):
            self.tell(ev.StatusChanged(session=S, status=ev.Status.IDLE))

    def read(self, effect: fx.ReadSession) -> None:
        read = ev.SessionRead(
            session=S, effect=effect.effect, ok=True,
            status=ev.Status.BUSY if self.busy else ev.Status.IDLE,
            newest_assistant=self.newest_assistant, newest_user=self.newest_user,
            newest_user_origin=self.origin,
        )  # fmt: skip
        self.tell(read)

    # --- the person --------------------------------------------------------------------------

    def command(self, text: str, *, stop: bool = False) -> None:
        self._number += 1
        asked = ev.Asked(
            session=S, request=RequestId(f"c{self._number}"), operation="goal.command",
            arguments={"text": text},
        )  # fmt: skip
        self.tell(asked, stop=stop)

    def escape(self) -> None:
        """Escape does something only while the agent works."""
        if self.busy:
            self.cut(stop=True)
        else:
            self.later(0.05, self.escape)

    def message(self) -> None:
        self._number += 1
        spoken = MessageId(f"p{self._number}")
        self.newest_user, self.origin = spoken, ev.Origin.PERSON
        self.tell(ev.UserSpoke(session=S, message=spoken, text="rather this"), stop=True)
        self.begin("the person's")
