"""Answering commands, slash commands and tools for one session."""

from __future__ import annotations

import json
from typing import Any

from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Asked, Surface
from loopguard_cli.goal import claims, tools
from loopguard_cli.goal import commands as c
from loopguard_cli.goal.actions import Actions
from loopguard_cli.goal.answers import Answer, refuse
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.ending import Ending
from loopguard_cli.goal.escape import escape
from loopguard_cli.goal.markers import has_substance
from loopguard_cli.goal.model import MAX_BLOCKER, MAX_EVIDENCE, STOPS, Goal
from loopguard_cli.goal.proof import Prover

COMMAND = "goal.command"
_TOOL = "tool."

_CODES = {
    "no_goal": "no_active_goal",
    "no_goal_to_edit": "no_active_goal",
    "no_objective": "invalid_objective",
    "no_new_objective": "invalid_objective",
    "objective_too_long": "invalid_objective",
}
"""Codes of commands in the older vocabulary of the tools."""


def ours(operation: str) -> bool:
    """Whether ``operation`` (see `core.events.Asked`) is for the goal loop to answer."""
    return operation == COMMAND or operation.removeprefix(_TOOL) in tools.TOOLS


class Desktop:
    """Answers what is asked of one desk."""

    def __init__(self, desk: Desk, prover: Prover, ending: Ending) -> None:
        self._desk = desk
        self._prover = prover
        self._ending = ending

    def handle(self, event: Asked, now: float) -> Answer | None:
        """Answer ``event``. The answer is also returned, unless it comes later."""
        reply = _Reply(self._desk, event)
        if event.operation == COMMAND:
            self._command(event, reply, now)
        else:
            self._tool(event, reply, now)
        return reply.given

    def refuse(self, event: Asked, code: str, text: str) -> None:
        _Reply(self._desk, event).answer(refuse(code, text))

    # --- commands ----------------------------------------------------------------------------

    def _command(self, event: Asked, reply: _Reply, now: float) -> None:
        actions = Actions(self._desk, person=reply.person, name=reply.name)
        verb = event.arguments.get("verb", "")
        if verb in ("complete", "block"):
            self._end(verb, str(event.arguments.get("text", "")), reply, now)
            return
        command = c.read(event.arguments.get("text", ""), verb if isinstance(verb, str) else "")
        if isinstance(command, c.Clear):
            actions.clear(now, reply.answer)
        else:
            reply.answer(actions.perform(command, now))

    def _end(self, verb: str, text: str, reply: _Reply, now: float) -> None:
        """``complete`` and ``block`` on the command line: a person's word, or the agent's from its shell."""
        if verb == "block":
            self._block(text, reply, now)
        elif reply.person:
            self._complete(text.strip() or "declared complete by the user", reply, now)
        elif has_substance(text):
            self._complete(text.strip()[:MAX_EVIDENCE], reply, now)
        else:
            reply.answer(refuse("invalid_completion_claim", "Say what was verified, and how."))

    # --- tools -------------------------------------------------------------------------------

    def _tool(self, event: Asked, reply: _Reply, now: float) -> None:
        name = event.operation.removeprefix(_TOOL)
        args = event.arguments
        actions = Actions(self._desk, person=reply.person, name=reply.name)
        match name:
            case "goal_status" | "get_goal":
                reply.answer(actions.perform(c.Show("status"), now))
            case "get_goal_history":
                reply.answer(actions.perform(c.Show("history"), now))
            case "goal_pause":
                reply.answer(actions.perform(c.Pause(), now))
            case "goal_resume":
                reply.answer(actions.perform(c.Resume(), now))
            case "goal_set" | "set_goal":
                reply.answer(self._set(actions, args, now))
            case "goal_block":
                self._block(args.get("blocker"), reply, now)
            case "goal_complete":
                self._claim(args, reply, now)
            case "update_goal":
                self._update(actions, args, reply, now)
            case "clear_goal":
                actions.clear(now, reply.answer)

    def _set(self, actions: Actions, args: dict[str, Any], now: float) -> Answer:
        try:
            objective = tools.objective(args)
        except tools.BadArgument as error:
            return refuse("invalid_objective", str(error))
        try:
            options = tools.set_options(args)
        except tools.BadArgument as error:
            return refuse("invalid_arguments", str(error))
        return actions.perform(c.Create(objective, options), now)

    def _claim(self, args: dict[str, Any], reply: _Reply, now: float) -> None:
        if self._desk.focused is None:
            reply.answer(refuse("no_active_goal", "There is no active goal."))
            return
        try:
            evidence = claims.render(args)
        except claims.InvalidClaim as error:
            long = error.fault is claims.Fault.TOO_LONG
            code = "completion_rejected" if long else "invalid_completion_claim"
            reply.answer(refuse(code, str(error), fault=error.fault.value))
            return
        self._complete(evidence, reply, now)

    def _complete(self, evidence: str, reply: _Reply, now: float) -> None:
        goal = self._desk.focused
        if (refused := self._not_open(goal, reply, "completion_rejected")) is not None:
            reply.answer(refused)
        elif goal is not None:
            turn = self._desk.turn.message
            self._prover.complete(goal, evidence, turn, now, reply=reply.settle, person=reply.person)

    def _block(self, blocker: object, reply: _Reply, now: float) -> None:
        goal = self._desk.focused
        text = blocker.strip()[:MAX_BLOCKER] if isinstance(blocker, str) else ""
        if goal is None:
            reply.answer(refuse("no_active_goal", "There is no active goal."))
        elif not has_substance(text):
            reply.answer(refuse("missing_blocker", "Name the concrete obstacle."))
        elif (refused := self._not_open(goal, reply, "block_rejected")) is not None:
            reply.answer(refused)
        else:
            self._ending.block(goal.id, text, now, reply.settle)

    def _not_open(self, goal: Goal | None, reply: _Reply, code: str) -> Answer | None:
        """Why the goal cannot end now. A person may end a stopped one, the agent may not."""
        if goal is None:
            return refuse("no_active_goal", "There is no active goal.")
        if goal.id in self._desk.proving:
            return refuse(code, "This goal is being verified already.")
        if not goal.active and not reply.person:
            return refuse(
                code, f"The goal is stopped ({STOPS[goal.stop].title}); only a running goal can end."
            )
        return None

    def _update(self, actions: Actions, args: dict[str, Any], reply: _Reply, now: float) -> None:
        """The older tool that can change several things; all of it is validated before any of it is done."""
        goal, status = self._desk.focused, args.get("status")
        new = args.get("objective")
        refused: Answer | None = None
        objective = ""
        try:
            objective = tools.objective(args) if new is not None else ""
        except tools.BadArgument as error:
            refused = refuse("invalid_objective", str(error))
        evidence, blocker = str(args.get("evidence") or "").strip(), str(args.get("blocker") or "").strip()
        if goal is None:
            refused = refuse("no_active_goal", "There is no active goal.")
        elif status not in (None, "complete", "blocked", "paused", "resumed"):
            refused = refuse("invalid_arguments", "status is complete, blocked, paused or resumed")
        elif new is None and status is None:
            refused = refuse("invalid_arguments", "give an objective, a status, or both")
        elif status == "complete" and new is not None:
            refused = refuse("invalid_arguments", "a goal cannot be changed and completed in one call")
        elif status == "complete" and (not has_substance(evidence) or len(evidence) > MAX_EVIDENCE):
            refused = refuse("invalid_completion_claim", "evidence must say what was verified, and how")
        elif status == "blocked" and not has_substance(blocker):
            refused = refuse("missing_blocker", "Name the concrete obstacle.")
        elif status == "blocked":
            refused = self._not_open(goal, reply, "block_rejected")
        elif status == "resumed" and goal.active:
            refused = Answer(
                ok=False, reply="already_running", text="The goal is already running; nothing was reset."
            )
        elif status == "resumed":
            refused = actions.too_late() or actions.used_up(goal)
        if refused is not None:
            reply.answer(refused)
            return
        answer = actions.perform(c.Edit(objective), now) if objective else Answer()
        if not answer.ok or status is None:
            reply.answer(answer)
        elif status == "complete":
            self._complete(evidence, reply, now)
        elif status == "blocked":
            self._block(blocker, reply, now)
        else:
            reply.answer(actions.perform(c.Pause() if status == "paused" else c.Resume(), now))


class _Reply:
    """The one answer to one question, in the form its surface expects."""

    def __init__(self, desk: Desk, event: Asked) -> None:
        self._desk = desk
        self._event = event
        self.person = event.surface in (Surface.CLI, Surface.SLASH)
        typed = event.surface in (Surface.CLI, Surface.INSIDE)
        self.name = "loopguard goal" if typed else f"/{desk.settings.command_name}"
        self.given: Answer | None = None

    def settle(self, ok: bool, code: str, text: str) -> None:
        """For answers that come later."""
        self.answer(Answer(text=text, reply="done") if ok else refuse(code, text))

    def answer(self, answer: Answer) -> None:
        self.given = answer
        operation = self._event.operation
        text, code = answer.text, answer.code
        if operation.startswith(_TOOL):
            code = _CODES.get(code, code)
            text = self._for_the_model(operation.removeprefix(_TOOL), answer, code)
        self._desk.out.append(
            Respond(
                session=self._desk.session,
                request=self._event.request,
                ok=answer.ok,
                text=text,
                code=code,
                data={"reply": answer.reply, "work": answer.work, **answer.data},
            )
        )

    def _for_the_model(self, name: str, answer: Answer, code: str) -> str:
        if not tools.TOOLS[name].envelope:
            return escape(answer.text)
        envelope: dict[str, Any] = {
            "version": tools.VERSION, "operation": name, "ok": answer.ok, "message": answer.text,
        }  # fmt: skip
        if not answer.ok:
            envelope["error"] = code
        if answer.data:
            envelope["data"] = answer.data
        return escape(json.dumps(envelope, ensure_ascii=False))
