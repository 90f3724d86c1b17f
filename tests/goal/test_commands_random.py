"""Random commands, events and failures: what must hold whatever a person does."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.evolve import fold
from loopguard_cli.goal.model import StopReason
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION

OBJECTIVES = st.sampled_from(["paint", "saw", "glue", "sweep the floor", 'mark "left"'])
DONE = "[goal:evidence] measured twice\n[goal:complete]"
STUCK = "The glue is empty.\n[goal:blocked]"
REPLIES = st.sampled_from(["Cut a board.", "ok", "", DONE, STUCK, "[goal:complete]", "[goal:blocked]"])


class Commands(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine({"persist": True})
        self.order: list[str] = []
        self.stopped_at: int | None = None

    def _do(self, text: str) -> None:
        self.engine.step({"do": "command", "text": text})
        focused = self.engine.book(DEFAULT_SESSION).focused
        if focused is not None and focused.active:
            self.stopped_at = None

    @rule(objective=OBJECTIVES)
    def set_goal(self, objective: str) -> None:
        self._do(objective)

    @rule(objective=OBJECTIVES)
    def add(self, objective: str) -> None:
        self._do(f"add {objective}")

    @rule(number=st.integers(1, 5))
    def focus(self, number: int) -> None:
        self._do(f"focus {number}")

    @rule(objectives=st.lists(OBJECTIVES, min_size=1, max_size=4))
    def sequence(self, objectives: list[str]) -> None:
        self._do("sequence " + "; ".join(objectives))

    @rule(objective=OBJECTIVES)
    def edit(self, objective: str) -> None:
        self._do(f"edit {objective}")

    @rule()
    def resume(self) -> None:
        self._do("resume")

    @rule(word=st.sampled_from(["pause", "clear"]))
    def stop(self, word: str) -> None:
        self.engine.step({"do": "command", "text": word})
        self._remember_stop()

    @rule()
    def speak(self) -> None:
        self.engine.step({"do": "user_message", "text": "wait"})
        self._remember_stop()

    @rule(kind=st.sampled_from(["abort", "provider_error", "permission_rejected"]))
    def trouble(self, kind: str) -> None:
        self.engine.step({"do": "event", "kind": kind})
        self._remember_stop()

    @rule(text=REPLIES, tools=st.integers(0, 1), output=st.sampled_from([5, 200]))
    def turn(self, text: str, tools: int, output: int) -> None:
        self.engine.step({"do": "assistant_turn", "text": text, "tools": tools, "tokens": {"output": output}})

    @rule()
    def idle(self) -> None:
        self.engine.step({"do": "idle"})

    @rule(inner=st.sampled_from(["pause", "clear", "resume", "add saw"]), place=st.sampled_from(
        ["while_reading", "during_cooldown", "during_persist", "during_prompt"]))  # fmt: skip
    def idle_disturbed(self, inner: str, place: str) -> None:
        self.engine.step({"do": "idle", place: [{"do": "command", "text": inner}]})
        self.stopped_at = None

    @rule(outcomes=st.lists(st.sampled_from(["ok", "error", "throw"]), max_size=4))
    def prompts(self, outcomes: list[str]) -> None:
        self.engine.step({"do": "prompts", "plan": outcomes})

    @rule(fails=st.booleans())
    def storage(self, fails: bool) -> None:
        word = "fail" if fails else "ok"
        self.engine.step({"do": "storage", "state": word, "ledger": word})

    @rule(ms=st.sampled_from([10, 5000, 700_000]))
    def wait(self, ms: int) -> None:
        self.engine.advance(ms)

    @rule(how=st.sampled_from(["restart", "crash"]))
    def restart(self, how: str) -> None:
        self.engine.step({"do": how})
        self.order = []  # what was never written is gone
        self.engine.step({"do": "command", "text": "status"})
        self._remember_stop()

    def _remember_stop(self) -> None:
        focused = self.engine.book(DEFAULT_SESSION).focused
        if focused is None or not focused.active:
            self.stopped_at = len(self.engine.host(DEFAULT_SESSION).prompts)

    @invariant()
    def only_the_focused_goal_runs(self) -> None:
        book = self.engine.book(DEFAULT_SESSION)
        assert len({goal.id for goal in book.goals}) == len(book.goals)
        assert not book.focus or book.focused is not None
        assert [goal.id for goal in book.goals if goal.active and goal.id != book.focus] == []
        assert book.last_result is None or book.last_result in book.archive

    @invariant()
    def creation_order_stays(self) -> None:
        now = [goal.id for goal in self.engine.book(DEFAULT_SESSION).goals]
        kept = [name for name in self.order if name in now]
        assert now[: len(kept)] == kept
        self.order = now

    @invariant()
    def nothing_is_sent_after_a_stop(self) -> None:
        focused = self.engine.book(DEFAULT_SESSION).focused
        if focused is not None and focused.stop is StopReason.QUEUED:
            return
        if self.stopped_at is not None:
            assert len(self.engine.host(DEFAULT_SESSION).prompts) == self.stopped_at

    @invariant()
    def the_ledger_gives_the_same_goals(self) -> None:
        failures = self.engine.storage.failures  # type: ignore[attr-defined]
        records: list[GoalRecord] = self.engine.storage.records  # type: ignore[attr-defined]
        if failures.state or self._lost(records):
            return
        stored = fold({}, records)[0].get(SessionId(DEFAULT_SESSION))
        now = self.engine.book(DEFAULT_SESSION)
        assert [(g.id, g.stop, g.turns, g.objective) for g in (stored.goals if stored else ())] == [
            (g.id, g.stop, g.turns, g.objective) for g in now.goals
        ]
        assert ([r.id for r in stored.archive] if stored else []) == [r.id for r in now.archive]

    def _lost(self, records: list[GoalRecord]) -> bool:
        """Something was decided that no disk knows."""
        return self.engine.unwritten > 0


Commands.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCommands = Commands.TestCase
