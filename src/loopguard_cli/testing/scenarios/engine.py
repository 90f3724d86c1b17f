"""Drives the goal loop through the steps of one scenario."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind
from loopguard_cli.goal.settings import Audit, GoalSettings, OnFailure, tolerant
from loopguard_cli.goal.usage import whole
from loopguard_cli.testing.scenarios.host import Auditor, HostSession, Message, Outcomes, Sent
from loopguard_cli.testing.scenarios.storage import Memory, Storage

START = 1_000_000
"""Virtual time at the beginning, in seconds."""
TURN_MS = 5000
DEFAULT_SESSION = "s1"

ABLE = Capabilities(
    gate=True, text_deltas=True, reasoning=True, abort=True, prompt=True, trim=True,
    read_session=True, usage=True, child_sessions=True, tools=True, context=True, screen=True,
)  # fmt: skip

Step = dict[str, Any]


def text_of(value: Any) -> str:
    """A text of a scenario: plain, or prefix + repeat x count + suffix."""
    if isinstance(value, dict):
        middle = str(value.get("repeat", "")) * int(value.get("count", 1))
        return f"{value.get('prefix', '')}{middle}{value.get('suffix', '')}"
    return str(value)


class Engine:
    """One scenario's world: host, clock, storage, and the process under test."""

    def __init__(self, given: dict[str, Any], storage: Callable[[Engine], Storage] | None = None) -> None:
        self.given = given
        self.ms = 0
        self.hosts: dict[str, HostSession] = {}
        self.auditor = Auditor(given.get("auditor"))
        self.settings, self.bad_settings = settings_of(given, self.auditor)
        self.prompts, self.reads = Outcomes(), Outcomes()
        self.checks: list[tuple[int | None, str]] = []
        """Exit status and output of the next checks; without any a check does not end."""
        self.storage: Storage = storage(self) if storage is not None else Memory(bool(given.get("persist")))
        self.goals: Goals | None = None
        self.disposed = False
        self.replies: list[fx.Respond] = []
        self.told: list[fx.Tell] = []
        self.records: list[tuple[str, GoalRecord]] = []
        self.unwritten = 0
        """Records that could not be written."""
        self._queue: deque[fx.Effect] = deque()
        self._injections: dict[str, list[Step]] = {}
        self._made = 0
        self._processes = 0
        self._commands: list[tuple[str, RequestId]] = []

    # --- time and process --------------------------------------------------------------------

    @property
    def now(self) -> float:
        return START + self.ms / 1000

    def process(self) -> Goals:
        """The running process; a new one is started where there is none."""
        if self.goals is None:
            self._processes += 1
            self.goals = Goals(
                self.settings, capabilities=ABLE, salt=f"p{self._processes}", leases=self.storage.leases
            )
            self.goals.restore(self.storage.start(self._processes))
        return self.goals

    def book(self, session: str) -> Book:
        if self.goals is None and self.disposed:
            return Book()
        return self.process().book(SessionId(session))

    def advance(self, ms: int) -> None:
        """Let time pass; timers of the loop fire when they are due."""
        target = self.ms + ms
        while self.goals is not None and (due := self.goals.deadline()) is not None:
            at = max(self.ms, round((due - START) * 1000))
            if at > target:
                break
            self.ms = at
            self._run(self.goals.tick(max(self.now, due)))
            if self.goals is not None and self.goals.deadline() == due:
                raise AssertionError(f"the timer at {due} does not move on")
        self.ms = max(self.ms, target)

    def stop(self, *, orderly: bool, again: bool) -> None:
        """End the process: orderly or by a crash. ``again``: the next step may start a new one."""
        if self.goals is not None and orderly:
            self.goals.close()
        self.goals = None
        self.disposed = not again
        self._queue.clear()
        self.storage.stop(orderly=orderly)

    # --- events and effects ------------------------------------------------------------------

    def feed(self, event: ev.Event) -> None:
        if not self.disposed:
            self._run(self.process().receive(event, self.now))

    def _run(self, effects: Iterable[fx.Effect]) -> None:
        self._queue.extend(effects)
        while self._queue:
            self._perform(self._queue.popleft())

    def _inject(self, place: str) -> None:
        for step in self._injections.pop(place, []):
            self.step(step)

    def _settled(self, effect: EffectId, session: SessionId, error: str = "") -> None:
        self.feed(ev.EffectSettled(session=session, effect=effect, ok=not error, error=error))

    def _perform(self, effect: fx.Effect) -> None:
        process = self.goals
        match effect:
            case fx.Record():
                self._record(effect)
            case fx.ReadSession():
                self._read(effect)
            case fx.Prompt():
                self._prompt(effect)
            case fx.Abort():
                self.host(effect.session).aborts += 1
                self._settled(effect.effect, effect.session)
            case fx.SetContext():
                host = self.host(effect.session)
                host.system, host.compaction = effect.system, effect.compaction
                host.host_continues = effect.host_continues
                host.systems.append(effect.system)
            case fx.Tell():
                self.told.append(effect)
                if effect.topic in ("goal.audit.complete-start", "goal.audit.block-start"):
                    self._inject("during_audit_announce")
            case fx.Respond():
                self.replies.append(effect)
                if effect.data.get("work"):
                    # The answer to such a command is itself a prompt in hosts that route commands
                    # through the model: the session is at work from here on.
                    self.host(effect.session).status = ev.Status.BUSY
            case fx.RunAudit():
                self._inject("during_audit")
                if self.goals is process:
                    self._audit(effect)
            case fx.RunCheck():
                self._inject("during_check")
                if self.goals is process and self.checks:
                    code, tail = self.checks.pop(0)
                    self.feed(
                        ev.CheckFinished(
                            session=effect.session, effect=effect.effect, exit_code=code, tail=tail
                        )
                    )
            case fx.TakeLease():
                self.feed(self.storage.take_lease(effect))
            case _:
                pass

    def _record(self, effect: fx.Record) -> None:
        assert isinstance(effect.record, GoalRecord)
        error = self.storage.append(effect.record, sync=effect.sync)
        if error:
            self.unwritten += 1
        else:
            self.records.append((effect.session, effect.record))
        if effect.record.event in (Kind.COMPLETED, Kind.BLOCKED):
            process = self.goals
            self._inject("during_persist")
            if self.goals is not process:
                return
        if effect.effect:
            self._settled(effect.effect, effect.session, error)

    def _read(self, effect: fx.ReadSession) -> None:
        process = self.goals
        self._inject("while_reading")
        if self.goals is not process:
            return
        host, outcome = self.host(effect.session), self.reads.next()
        user, assistant = host.newest("user"), host.newest("assistant")
        self.feed(
            ev.SessionRead(
                session=effect.session,
                effect=effect.effect,
                ok=outcome == "ok",
                error="" if outcome == "ok" else f"read {outcome}",
                status=host.status,
                newest_assistant=MessageId(assistant.name if assistant else ""),
                newest_user=MessageId(user.name if user else ""),
                newest_user_origin=user.origin if user else ev.Origin.PERSON,
                agent=host.agent,
            )
        )

    def _prompt(self, effect: fx.Prompt) -> None:
        host, outcome, process = self.host(effect.session), self.prompts.next(), self.goals
        host.prompts.append(Sent(effect.purpose.value, effect.text, self.ms))
        if outcome == "ok":
            message = self._name("u")
            host.messages.append(Message(message, "user", ev.Origin.LOOPGUARD))
            host.status = ev.Status.BUSY
            self.feed(
                ev.UserSpoke(
                    session=effect.session, message=message, origin=ev.Origin.LOOPGUARD, effect=effect.effect
                )
            )
            self.feed(ev.StatusChanged(session=effect.session, status=ev.Status.BUSY))
            self._inject("during_prompt")
        if self.goals is process:
            self._settled(effect.effect, effect.session, "" if outcome == "ok" else f"prompt {outcome}")

    def _audit(self, effect: fx.RunAudit) -> None:
        auditor = self.auditor
        answer = ev.AuditFinished(session=effect.session, effect=effect.effect)
        match auditor.verdict:
            case "approve":
                answer = msgspec.structs.replace(answer, approved=True)
            case "reject":
                answer = msgspec.structs.replace(answer, approved=False, reason=auditor.reason)
            case "reply":
                answer = msgspec.structs.replace(answer, reply=auditor.text)
            case "none":
                pass
            case "hang":
                return
            case "timeout":
                self.ms += auditor.timeout_ms
                answer = msgspec.structs.replace(answer, error="timeout")
            case failure:
                answer = msgspec.structs.replace(answer, error=failure)
        self.feed(answer)

    # --- names -------------------------------------------------------------------------------

    def host(self, session: str) -> HostSession:
        return self.hosts.setdefault(session, HostSession())

    def _name(self, prefix: str) -> MessageId:
        self._made += 1
        return MessageId(f"{prefix}{self._made}")

    # --- steps -------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Do one step of the scenario."""
        name, session = step["do"], str(step.get("session", DEFAULT_SESSION))
        handler = getattr(self, f"_do_{name}", None)
        if handler is not None:
            handler(step, session)
        elif not self.storage.step(self, step):
            raise NotImplementedError(f"unknown step {name!r}")

    def _do_command(self, step: Step, session: str) -> None:
        request = RequestId(self._name("r"))
        text = text_of(step["text"])
        self._commands.append((text, request))
        self._with_injections(step)
        self.feed(
            ev.Asked(
                session=SessionId(session), request=request, operation="goal.command",
                arguments={"text": text}, surface=ev.Surface.SLASH,
            )
        )  # fmt: skip

    def _do_tool(self, step: Step, session: str) -> None:
        name = {"update_objective": "update_goal"}.get(step["name"], step["name"])
        self._with_injections(step)
        request = RequestId(self._name("r"))
        self.feed(
            ev.Asked(
                session=SessionId(session), request=request, operation=f"tool.{name}",
                arguments=dict(step.get("args", {})), surface=ev.Surface.TOOL,
            )
        )  # fmt: skip
        if self.disposed:
            closed = Goals(self.settings, capabilities=ABLE)
            closed.close()
            asked = ev.Asked(session=SessionId(session), request=request, operation=f"tool.{name}")
            self._run(closed.receive(asked, self.now))

    def _with_injections(self, step: Step) -> None:
        for place in ("while_reading", "during_cooldown", "during_audit_announce", "during_audit",
                      "during_check", "during_persist", "during_prompt"):  # fmt: skip
            if place in step:
                self._injections[place] = list(step[place])

    def _do_assistant_turn(self, step: Step, session: str) -> None:
        self.advance(int(step.get("ms", TURN_MS)))
        host, message = self.host(session), self._name("m")
        host.status = ev.Status.BUSY
        host.messages.append(Message(message, "assistant"))
        where = SessionId(session)
        self.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))
        answers = self._answered(step, where)
        self.feed(ev.ReplyStarted(session=where, message=message, answers=answers, agent=host.agent))
        for _ in range(int(step.get("tools", 1))):
            call = CallId(self._name("c"))
            tool = "task" if step.get("tool_kind") == "subtask" else "bash"
            self.feed(ev.ToolStarted(session=where, call=call, tool=tool, message=message))
            self.feed(ev.ToolFinished(session=where, call=call, tool=tool, message=message))
        text = text_of(step.get("text", ""))
        if text:
            self.feed(ev.TextSnapshot(session=where, message=message, part=PartId(f"{message}t"), text=text))
        tokens = {"input": 100, "output": 200, "reasoning": 0, **step.get("tokens", {})}
        self.feed(usage(where, message, tokens, step.get("cost")))
        self.feed(ev.ReplyFinished(session=where, message=message, finish="stop"))

    def _answered(self, step: Step, session: SessionId) -> MessageId:
        """The user message this turn answers; for ``answers`` the one that carried a command."""
        message = self._name("u")
        if "answers" in step:
            mark = str(step["answers"]).removeprefix("@").lower()
            found = [request for text, request in self._commands if text.lower().startswith(mark)]
            request = found[-1] if found else self._commands[-1][1]
            self.feed(
                ev.UserSpoke(
                    session=session, message=message, origin=ev.Origin.LOOPGUARD, effect=EffectId(request)
                )
            )
        return message

    def _do_idle(self, step: Step, session: str) -> None:
        self._with_injections(step)
        where, host = SessionId(session), self.host(session)
        host.status = ev.Status.IDLE
        self.feed(
            ev.StatusChanged(session=where, status=ev.Status.IDLE, delivery=str(step.get("event_id", "")))
        )
        if self.goals is not None and self.goals.waiting(where) is not None:
            self._inject("during_cooldown")
        while self.goals is not None and (due := self.goals.waiting(where)) is not None:
            self.advance(max(0, round((due - START) * 1000) - self.ms))
        self._injections.clear()

    def _do_user_message(self, step: Step, session: str) -> None:
        host, message = self.host(session), self._name("u")
        host.messages.append(Message(message, "user"))
        if step.get("only_transcript"):
            return
        where = SessionId(session)
        host.status = ev.Status.BUSY
        self.feed(ev.UserSpoke(session=where, message=message, text=text_of(step.get("text", ""))))
        self.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))

    def _do_usage_update(self, step: Step, session: str) -> None:
        message = MessageId(str(step["id"]))
        assistant = step.get("role", "assistant") == "assistant"
        self.feed(usage(SessionId(session), message, step.get("tokens", {}), step.get("cost"), assistant))

    def _do_event(self, step: Step, session: str) -> None:
        where, host = SessionId(session), self.host(session)
        text = str(step.get("message", ""))
        match step["kind"]:
            case "abort":
                self.feed(
                    ev.AgentError(session=where, name=step.get("name", "Aborted"), text=text, aborted=True)
                )
            case "provider_error":
                self.feed(ev.AgentError(session=where, name=step.get("name", "ProviderError"), text=text))
            case "permission_rejected" | "permission_granted" as answer:
                request = RequestId(self._name("p"))
                allowed = answer == "permission_granted"
                self.feed(ev.PermissionAnswered(session=where, request=request, allowed=allowed))
            case "agent_switched":
                host.agent = str(step["agent"])
                read_only = bool(step.get("read_only", False))
                self.feed(ev.AgentSwitched(session=where, agent=host.agent, read_only=read_only))
            case "busy":
                host.status = ev.Status.BUSY
                self.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))
            case "compaction_starting":
                self.feed(ev.CompactionStarting(session=where))
            case "compaction_finished":
                self.feed(ev.Compacted(session=where))
            case "session_created":
                parent = SessionId(str(step.get("parent", "")))
                self.feed(ev.SessionSeen(session=where, parent=parent))
            case kind:
                raise NotImplementedError(f"unknown event {kind!r}")

    def _do_prompts(self, step: Step, session: str) -> None:
        self.prompts.plan(step["plan"])

    def _do_reads(self, step: Step, session: str) -> None:
        self.reads.plan(step["plan"])

    def _do_checks(self, step: Step, session: str) -> None:
        self.checks = [(item.get("exit_code"), str(item.get("tail", ""))) for item in step["plan"]]

    def _do_files_changed(self, step: Step, session: str) -> None:
        self.feed(ev.FilesChanged(session=SessionId(session), files=tuple(step.get("files", ()))))

    def _do_advance_ms(self, step: Step, session: str) -> None:
        self.advance(int(step["ms"]))

    def _do_auditor(self, step: Step, session: str) -> None:
        self.auditor.change({k: v for k, v in step.items() if k != "do"})
        self.settings, _ = settings_of(self.given, self.auditor)
        if self.goals is not None:
            self.goals.reconfigure(self.settings)

    def _do_restart(self, step: Step, session: str) -> None:
        self.stop(orderly=True, again=True)

    def _do_crash(self, step: Step, session: str) -> None:
        self.stop(orderly=False, again=True)

    def _do_dispose(self, step: Step, session: str) -> None:
        self.stop(orderly=True, again=False)


def usage(
    session: SessionId, message: MessageId, tokens: dict[str, Any], cost: Any, assistant: bool = True
) -> ev.UsageReported:
    names = ("input", "output", "reasoning", "cache_read", "cache_write", "total")
    return ev.UsageReported(
        session=session,
        message=message,
        cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        assistant=assistant,
        **{name: whole(tokens.get(name, 0)) for name in names},
    )


_SETTINGS: dict[str, tuple[str, float]] = {
    "max_turns": ("max_turns", 1),
    "max_duration_ms": ("max_seconds", 1e-3),
    "max_tokens": ("max_tokens", 1),
    "min_delay_ms": ("cooldown_seconds", 1e-3),
    "no_progress_token_threshold": ("no_progress_threshold", 1),
    "no_progress_turns": ("no_progress_turns", 1),
    "no_tool_turns": ("no_tool_turns", 1),
    "interrupt_on_user_message": ("pause_on_message", 1),
    "budget_wrapup_ratio": ("wrapup_ratio", 1),
    "warn_turns_remaining": ("warn_turns", 1),
    "warn_ms_remaining": ("warn_seconds", 1e-3),
    "warn_tokens_remaining": ("warn_tokens", 1),
    "max_prompt_failures": ("max_prompt_failures", 1),
    "result_retention_ms": ("retention_seconds", 1e-3),
    "max_stored_results": ("max_results", 1),
    "audit_messages": ("audit_messages", 1),
    "lifecycle_messages": ("notices", 1),
}


def settings_of(given: dict[str, Any], auditor: Auditor) -> tuple[GoalSettings, tuple[str, ...]]:
    """The settings that ``given`` of a scenario asks for."""
    values: dict[str, Any] = {}
    for name, (ours, scale) in _SETTINGS.items():
        if name in given:
            value = given[name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            values[ours] = value * scale if number and scale != 1 else value
    if auditor.present:
        values["audit"] = Audit.BUILTIN if auditor.builtin else Audit.COMMAND
        values["audit_command"] = "" if auditor.builtin else "auditor"
        values["audit_timeout"] = auditor.timeout_ms / 1000
        values["audit_on_failure"] = OnFailure(auditor.failure_policy)
    return tolerant(values)
