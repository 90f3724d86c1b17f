"""The steps of the format that concern agent, person and time; storage has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.usage import whole
from loopguard_cli.testing.scenarios.given import settings_of, text_of
from loopguard_cli.testing.scenarios.host import ABLE, START, Message

if TYPE_CHECKING:
    from loopguard_cli.testing.scenarios.engine import Engine

Step = dict[str, Any]
TURN_MS = 5000


def _command(engine: Engine, step: Step, session: str) -> None:
    request = RequestId(engine.name("r"))
    text = text_of(step["text"])
    engine.commands.append((text, request))
    _with_injections(engine, step)
    engine.feed(
        ev.Asked(
            session=SessionId(session), request=request, operation="goal.command",
            arguments={"text": text}, surface=ev.Surface.SLASH,
        )
    )  # fmt: skip


def _tool(engine: Engine, step: Step, session: str) -> None:
    name = {"update_objective": "update_goal"}.get(step["name"], step["name"])
    _with_injections(engine, step)
    request = RequestId(engine.name("r"))
    engine.feed(
        ev.Asked(
            session=SessionId(session), request=request, operation=f"tool.{name}",
            arguments=dict(step.get("args", {})), surface=ev.Surface.TOOL,
        )
    )  # fmt: skip
    if engine.disposed:
        closed = Goals(engine.settings, capabilities=ABLE)
        closed.close()
        asked = ev.Asked(session=SessionId(session), request=request, operation=f"tool.{name}")
        engine.run(closed.receive(asked, engine.now))


def _with_injections(engine: Engine, step: Step) -> None:
    for place in ("while_reading", "during_cooldown", "during_audit_announce", "during_audit",
                  "during_check", "during_persist", "during_prompt"):  # fmt: skip
        if place in step:
            engine.injections[place] = list(step[place])


def _assistant_turn(engine: Engine, step: Step, session: str) -> None:
    engine.advance(int(step.get("ms", TURN_MS)))
    host, message = engine.host(session), engine.name("m")
    host.status = ev.Status.BUSY
    host.messages.append(Message(message, "assistant"))
    where = SessionId(session)
    engine.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))
    answers = _answered(engine, step, where)
    engine.feed(ev.ReplyStarted(session=where, message=message, answers=answers, agent=host.agent))
    for _ in range(int(step.get("tools", 1))):
        call = CallId(engine.name("c"))
        tool = "task" if step.get("tool_kind") == "subtask" else "bash"
        engine.feed(ev.ToolStarted(session=where, call=call, tool=tool, message=message))
        engine.feed(ev.ToolFinished(session=where, call=call, tool=tool, message=message))
    text = text_of(step.get("text", ""))
    if text:
        engine.feed(ev.TextSnapshot(session=where, message=message, part=PartId(f"{message}t"), text=text))
    tokens = {"input": 100, "output": 200, "reasoning": 0, **step.get("tokens", {})}
    engine.feed(usage(where, message, tokens, step.get("cost")))
    engine.feed(ev.ReplyFinished(session=where, message=message, finish="stop"))


def _answered(engine: Engine, step: Step, session: SessionId) -> MessageId:
    """The user message this turn answers; for ``answers`` the one that carried a command."""
    message = engine.name("u")
    if "answers" in step:
        mark = str(step["answers"]).removeprefix("@").lower()
        found = [request for text, request in engine.commands if text.lower().startswith(mark)]
        request = found[-1] if found else engine.commands[-1][1]
        engine.feed(
            ev.UserSpoke(
                session=session, message=message, origin=ev.Origin.LOOPGUARD, effect=EffectId(request)
            )
        )
    return message


def _idle(engine: Engine, step: Step, session: str) -> None:
    _with_injections(engine, step)
    where, host = SessionId(session), engine.host(session)
    host.status = ev.Status.IDLE
    engine.feed(
        ev.StatusChanged(session=where, status=ev.Status.IDLE, delivery=str(step.get("event_id", "")))
    )
    if engine.goals is not None and engine.goals.waiting(where) is not None:
        engine.inject("during_cooldown")
    while engine.goals is not None and (due := engine.goals.waiting(where)) is not None:
        engine.advance(max(0, round((due - START) * 1000) - engine.ms))
    engine.injections.clear()


def _user_message(engine: Engine, step: Step, session: str) -> None:
    host, message = engine.host(session), engine.name("u")
    host.messages.append(Message(message, "user"))
    if step.get("only_transcript"):
        return
    where = SessionId(session)
    host.status = ev.Status.BUSY
    engine.feed(ev.UserSpoke(session=where, message=message, text=text_of(step.get("text", ""))))
    engine.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))


def _usage_update(engine: Engine, step: Step, session: str) -> None:
    message = MessageId(str(step["id"]))
    assistant = step.get("role", "assistant") == "assistant"
    engine.feed(usage(SessionId(session), message, step.get("tokens", {}), step.get("cost"), assistant))


def _event(engine: Engine, step: Step, session: str) -> None:
    where, host = SessionId(session), engine.host(session)
    text = str(step.get("message", ""))
    match step["kind"]:
        case "abort":
            engine.feed(
                ev.AgentError(session=where, name=step.get("name", "Aborted"), text=text, aborted=True)
            )
        case "provider_error":
            engine.feed(ev.AgentError(session=where, name=step.get("name", "ProviderError"), text=text))
        case "permission_rejected" | "permission_granted" as answer:
            request = RequestId(engine.name("p"))
            allowed = answer == "permission_granted"
            engine.feed(ev.PermissionAnswered(session=where, request=request, allowed=allowed))
        case "agent_switched":
            host.agent = str(step["agent"])
            read_only = bool(step.get("read_only", False))
            engine.feed(ev.AgentSwitched(session=where, agent=host.agent, read_only=read_only))
        case "busy":
            host.status = ev.Status.BUSY
            engine.feed(ev.StatusChanged(session=where, status=ev.Status.BUSY))
        case "compaction_starting":
            engine.feed(ev.CompactionStarting(session=where))
        case "compaction_finished":
            engine.feed(ev.Compacted(session=where))
        case "session_created":
            parent = SessionId(str(step.get("parent", "")))
            engine.feed(ev.SessionSeen(session=where, parent=parent))
        case kind:
            raise NotImplementedError(f"unknown event {kind!r}")


def _prompts(engine: Engine, step: Step, _session: str) -> None:
    engine.prompts.plan(step["plan"])


def _reads(engine: Engine, step: Step, _session: str) -> None:
    engine.reads.plan(step["plan"])


def _checks(engine: Engine, step: Step, _session: str) -> None:
    engine.checks = [(item.get("exit_code"), str(item.get("tail", ""))) for item in step["plan"]]


def _files_changed(engine: Engine, step: Step, session: str) -> None:
    engine.feed(ev.FilesChanged(session=SessionId(session), files=tuple(step.get("files", ()))))


def _advance_ms(engine: Engine, step: Step, _session: str) -> None:
    engine.advance(int(step["ms"]))


def _auditor(engine: Engine, step: Step, _session: str) -> None:
    engine.auditor.change({k: v for k, v in step.items() if k != "do"})
    engine.settings, _ = settings_of(engine.given, engine.auditor)
    if engine.goals is not None:
        engine.goals.reconfigure(engine.settings)


def _restart(engine: Engine, _step: Step, _session: str) -> None:
    engine.stop(orderly=True, again=True)


def _crash(engine: Engine, _step: Step, _session: str) -> None:
    engine.stop(orderly=False, again=True)


def _dispose(engine: Engine, _step: Step, _session: str) -> None:
    engine.stop(orderly=True, again=False)


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


STEPS: dict[str, Callable[[Engine, Step, str], None]] = {
    "command": _command,
    "tool": _tool,
    "assistant_turn": _assistant_turn,
    "idle": _idle,
    "user_message": _user_message,
    "usage_update": _usage_update,
    "event": _event,
    "prompts": _prompts,
    "reads": _reads,
    "checks": _checks,
    "files_changed": _files_changed,
    "advance_ms": _advance_ms,
    "auditor": _auditor,
    "restart": _restart,
    "crash": _crash,
    "dispose": _dispose,
}
