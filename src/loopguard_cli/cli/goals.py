"""Asking about goals: a live run if there is one, else the ledger of this folder.

Without a live run the same goal loop answers in this process; what it decides is written to the
ledger, and a goal that comes into force waits for the next run here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopguard_cli.cli import live
from loopguard_cli.errors import LoopguardError, UsageError
from loopguard_cli.exit_codes import ExitCode
from loopguard_cli.runtime.control.client import Answer

if TYPE_CHECKING:
    from loopguard_cli.core.effects import Effect
    from loopguard_cli.core.events import Event
    from loopguard_cli.core.ids import SessionId
    from loopguard_cli.goal.loop import Goals
    from loopguard_cli.store.lease import Leases
    from loopguard_cli.store.ledger import Ledger

ANSWER_WITHIN_S = 900.0
"""Completing waits for checks and auditor; everything else is answered at once."""

WAITS = "No run is live here: the goal waits for the next 'loopguard run' in this folder."

_USAGE = frozenset(
    {"flags", "reserved_word", "no_objective", "no_objectives", "no_new_objective", "objective_too_long",
     "arguments_too_long", "focus_needs_reference", "missing_blocker"}
)  # fmt: skip

_LISTED = frozenset({"no_such_goal", "focus_needs_reference"})
"""Their answer goes on with a list, which an error of one line has no room for."""

_HINTS = {
    "no_such_goal": "'loopguard goal list' shows them",
    "no_goal_to_edit": "set one with 'loopguard goal set'",
    "no_active_goal": "'loopguard goal list' shows what there is; 'loopguard goal set' sets one",
}


class GoalRefused(LoopguardError):
    """The command was understood and cannot be carried out."""

    slug = "goal-refused"
    advice = ""
    exit_code = ExitCode.FAILED


def ask(arguments: Mapping[str, Any], *, run: str = "", session: str = "") -> Answer:
    """Carry out one ``goal.command``. Raises `UsageError` and `GoalRefused` for refusals."""
    answer = _live(arguments, run, session)
    if answer is None:
        answer = _offline(dict(arguments), session)
    if answer.ok:
        return answer
    if answer.code == "flags":
        *mistakes, _ = answer.text.splitlines()
        raise UsageError("; ".join(mistakes), f"see 'loopguard goal {arguments.get('verb')} --help'")
    text = answer.text or f"refused: {answer.code}"
    if answer.code in _LISTED:
        text = text.splitlines()[0]
    if answer.code in _USAGE:
        raise UsageError(text.rstrip("."), f"see 'loopguard goal {arguments.get('verb')} --help'")
    hint = _HINTS.get(answer.code, "")
    raise GoalRefused(text.rstrip(".") if hint else text, hint)


def _live(arguments: Mapping[str, Any], run: str, session: str) -> Answer | None:
    from loopguard_cli.runtime.control import client as control

    try:
        chosen = live.choose(run)
    except live.NoLiveRun:
        if run:
            raise
        return None
    slow = arguments.get("verb") == "complete"
    timeout = ANSWER_WITHIN_S if slow else live.ANSWER_WITHIN_S
    return control.ask(chosen, "goal.command", arguments, session=session, timeout=timeout)


def _offline(arguments: dict[str, Any], session: str) -> Answer:
    """Let the goal loop answer here, from the ledger and, for what changes something, into it."""
    from loopguard_cli.config.load import load_for
    from loopguard_cli.core.ids import SessionId
    from loopguard_cli.core.settings import Capabilities
    from loopguard_cli.goal.loop import Goals
    from loopguard_cli.store.goals import stored_goals
    from loopguard_cli.store.lease import Leases
    from loopguard_cli.store.ledger import Ledger
    from loopguard_cli.store.paths import project_folder, state_path

    project = project_folder(Path.cwd())
    path = state_path(project)
    looking = arguments.get("verb") in _LOOKING
    run = f"cli-{time.time_ns():x}"
    settings = load_for(project).settings.goal
    goals = Goals(settings, capabilities=Capabilities(), salt=run, leases=not looking)
    goals.restore(stored_goals(path).records)
    target = SessionId(session) or goals.latest()
    if looking:
        return _Shell(goals).ask(target, arguments)
    with Ledger.open(path, run=run) as ledger:
        leases = Leases(path, run=run)
        try:
            shell = _Shell(goals, ledger, leases, path)
            answer = shell.ask(target, arguments)
            if answer.ok and _in_force(goals, target):
                shell.perform(goals.wait(target, time.time()))
        finally:
            leases.close()
    if answer.ok and _in_force(goals, SessionId("")):
        answer = Answer(ok=True, text=f"{answer.text}\n{WAITS}", data={**answer.data, "waits": True})
    return answer


_LOOKING = ("status", "history", "list")


def _in_force(goals: Goals, session: SessionId) -> bool:
    focused = goals.book(session).focused
    return focused is not None and focused.active


class _Shell:
    """Performs the few effects that matter without an agent; without a ledger, none but the answer."""

    def __init__(
        self, goals: Goals, ledger: Ledger | None = None, leases: Leases | None = None, path: Path = Path()
    ) -> None:
        self._goals, self._ledger, self._leases, self._path = goals, ledger, leases, path
        self._answer = Answer(ok=False, text="this cannot be answered without a live run", code="no_answer")

    def ask(self, session: SessionId, arguments: dict[str, Any]) -> Answer:
        from loopguard_cli.core.events import Asked
        from loopguard_cli.core.ids import RequestId

        asked = Asked(
            session=session, request=RequestId("cli"), operation="goal.command",
            arguments={**arguments, "session": session},
        )  # fmt: skip
        self._feed(asked)
        return self._answer

    def _feed(self, event: Event) -> None:
        self.perform(self._goals.receive(event, time.time()))

    def perform(self, effects: Iterable[Effect]) -> None:
        from loopguard_cli.core import effects as fx
        from loopguard_cli.core.events import EffectSettled
        from loopguard_cli.store.goals import settle_lease

        for effect in effects:
            match effect:
                case fx.Record() if self._ledger is not None:
                    self._ledger.append(effect.record, sync=effect.sync)
                    if effect.effect:
                        self._feed(EffectSettled(session=effect.session, effect=effect.effect, ok=True))
                case fx.TakeLease():
                    assert self._leases is not None
                    self._feed(settle_lease(self._path, self._leases, effect, time.time()))
                case fx.Respond():
                    self._answer = Answer(ok=effect.ok, text=effect.text, code=effect.code, data=effect.data)
                case _:
                    pass
