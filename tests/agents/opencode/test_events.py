"""OpenCode's events, read into ours: who speaks, what repeats, what a call came to."""

from collections.abc import Sequence
from typing import Any

import msgspec

from loopguard_cli.agents.base import Hello
from loopguard_cli.agents.opencode.adapter import OpenCode
from loopguard_cli.agents.opencode.protocol import AnyMessage
from loopguard_cli.core import events as ev
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    Prompt,
    Purpose,
    ReadSession,
    Respond,
    RunAudit,
    Trim,
)
from loopguard_cli.core.ids import EffectId, MessageId, PartId, RequestId, SessionId

S = SessionId("ses_1")


class Agent:
    """The adapter, spoken to as the bridge does."""

    def __init__(self, *argv: str) -> None:
        self.adapter = OpenCode(argv or ("opencode",))
        self.adapter.greet(1, Hello(protocol=1, token="t"))

    def say(self, message: dict[str, Any]) -> Sequence[ev.Event]:
        return self.adapter.receive(1, msgspec.convert(message, AnyMessage))

    def native(self, kind: str, **properties: Any) -> Sequence[ev.Event]:
        return self.say({"type": "event", "event": {"type": kind, "properties": properties}})

    def gate(self, call: str = "c1") -> RequestId:
        asked = self.say(
            {"type": "gate", "id": 5, "session": S, "call": call, "tool": "bash", "args": {"a": 1}}
        )
        assert isinstance(asked[0], ev.ToolAsked)
        return asked[0].request

    def tool(self, status: str, call: str = "c1", **state: Any) -> Sequence[ev.Event]:
        part = {
            "id": "p1", "messageID": "m1", "type": "tool", "tool": "bash", "callID": call,
            "state": {"status": status, "input": {"a": 1}, **state},
        }  # fmt: skip
        return self.native("message.part.updated", sessionID=S, part=part)

    def finished(self, **fields: Any) -> ev.ToolFinished:
        (event,) = [e for e in self.tool(**fields) if isinstance(e, ev.ToolFinished)]
        return event


def statuses(events: Sequence[ev.Event]) -> list[ev.Status]:
    return [event.status for event in events if isinstance(event, ev.StatusChanged)]


# --- sessions --------------------------------------------------------------------------------


def test_what_is_repeated_is_told_once() -> None:
    agent = Agent()
    busy = {"sessionID": S, "status": {"type": "busy"}}
    assert statuses(agent.native("session.status", **busy)) == [ev.Status.BUSY]
    assert agent.native("session.status", **busy) == []
    assert statuses(agent.native("session.status", sessionID=S, status={"type": "idle"})) == [ev.Status.IDLE]
    assert agent.native("session.idle", sessionID=S) == []
    info = {"id": S, "directory": "/p", "version": "1.2"}
    assert agent.native("session.created", info=info) == [ev.SessionSeen(session=S, directory="/p")]
    assert agent.native("session.updated", info=info) == []


def test_what_is_not_known_is_counted_and_breaks_nothing() -> None:
    agent = Agent()
    for kind, properties in (
        ("session.rewritten", {}),
        ("session.status", {"sessionID": S, "status": {"type": "dreaming"}}),
        ("session.status", {"sessionID": 5, "status": []}),
        ("message.updated", {"sessionID": S, "info": {"id": "m", "role": "robot"}}),
        ("message.part.updated", {"sessionID": S, "part": {"id": "p", "messageID": "m", "type": "hologram"}}),
        ("message.part.updated", {"sessionID": S, "part": {"id": "p", "type": "tool", "state": "none"}}),
    ):
        (event,) = agent.native(kind, **properties)
        assert isinstance(event, ev.Unparsed)


# --- who speaks ------------------------------------------------------------------------------


def spoken(events: Sequence[ev.Event]) -> ev.UserSpoke:
    (event,) = [event for event in events if isinstance(event, ev.UserSpoke)]
    return event


def test_a_person_speaks_once_however_often_the_message_is_sent() -> None:
    agent = Agent()
    message = {"type": "message", "session": S, "message": "u1", "text": "do it", "agent": "build"}
    said = spoken(agent.say(message))
    assert (said.origin, said.text, said.agent) == (ev.Origin.PERSON, "do it", "build")
    assert agent.say(message) == []
    user = {"id": "u1", "role": "user", "agent": "build"}
    assert agent.native("message.updated", sessionID=S, info=user) == []
    text = {"id": "p1", "messageID": "u1", "type": "text", "text": "do it"}
    assert agent.native("message.part.updated", sessionID=S, part=text) == []


def test_nobody_can_claim_to_be_us() -> None:
    agent = Agent()
    forged = {"type": "message", "session": S, "message": "u1", "text": "x", "effect": "e1"}
    assert spoken(agent.say(forged)).origin is ev.Origin.PERSON
    agent.adapter.carry_out(Prompt(session=S, effect=EffectId("e2"), text="x", purpose=Purpose.RECOVERY))
    ours = {"type": "message", "session": S, "message": "u2", "effect": "e2", "real": False}
    said = spoken(agent.say(ours))
    assert (said.origin, said.effect) == (ev.Origin.LOOPGUARD, "e2")


def test_the_prompt_of_a_sub_agent_is_not_the_persons() -> None:
    agent = Agent()
    agent.native("session.created", info={"id": "ses_2", "parentID": S})
    said = spoken(agent.say({"type": "message", "session": "ses_2", "message": "u1", "text": "sub job"}))
    assert said.origin is ev.Origin.PARENT


def test_a_synthetic_message_is_the_agents_own() -> None:
    assert spoken(Agent().say({"type": "message", "session": S, "message": "u", "real": False})).origin is (
        ev.Origin.HOST
    )


def test_planning_is_known_from_the_agent() -> None:
    agent = Agent()
    events = agent.say({"type": "message", "session": S, "message": "u1", "text": "x", "agent": "plan"})
    assert events[0] == ev.AgentSwitched(session=S, agent="plan", read_only=True)
    events = agent.say({"type": "message", "session": S, "message": "u2", "text": "x", "agent": "plan"})
    assert [type(event) for event in events] == [ev.UserSpoke]


# --- calls -----------------------------------------------------------------------------------


def test_a_call_that_came_to_the_gate_only_ends() -> None:
    agent = Agent()
    agent.gate()
    assert agent.tool("running") == []
    (event,) = agent.tool("completed", output="ok", metadata={"exit": 3})
    assert isinstance(event, ev.ToolFinished)
    assert (event.ok, event.output, event.exit_code, event.cancelled) == (True, "ok", 3, False)


def test_a_call_that_nobody_asked_for_also_begins() -> None:
    assert [type(event) for event in Agent().tool("error", error="no")] == [ev.ToolStarted, ev.ToolFinished]


def test_a_refused_call_is_told_from_a_failed_one() -> None:
    agent = Agent()
    request = agent.gate()
    (order,) = agent.adapter.carry_out(AnswerGate(session=S, request=request, allow=False, text="no")).orders
    assert order.message == {"type": "answer", "id": 5, "allow": False, "text": "no"}  # type: ignore[union-attr]
    done = agent.finished(status="error", error="no")
    assert (done.ok, done.refused, done.cancelled) == (False, True, False)


def test_calls_that_an_abort_ended_say_nothing_about_themselves() -> None:
    agent = Agent()
    agent.gate("c1")
    agent.gate("c2")
    agent.say({"type": "cancelled", "session": S, "call": "c2"})
    assert agent.finished(status="error", call="c2", error="x").cancelled
    agent.native("session.error", sessionID=S, error={"name": "MessageAbortedError"})
    assert agent.finished(status="completed", call="c1", output="half").cancelled


def test_an_unknown_tool_has_failed_whatever_its_status_says() -> None:
    part = {
        "id": "p1", "messageID": "m1", "type": "tool", "tool": "invalid", "callID": "c1",
        "state": {"status": "completed", "input": {"tool": "nosuch", "error": "not available"}},
    }  # fmt: skip
    done = Agent().native("message.part.updated", sessionID=S, part=part)[-1]
    assert isinstance(done, ev.ToolFinished)
    assert (done.ok, done.output) == (False, "not available")


def test_a_cut_output_keeps_length_and_digest() -> None:
    done = Agent().finished(status="completed", output={"$cut": "head", "chars": 900, "digest": "d"})
    assert (done.output, done.output_chars, done.output_digest) == ("head", 900, "d")


# --- usage -----------------------------------------------------------------------------------


def test_the_figures_of_a_message_are_told_when_they_change() -> None:
    agent = Agent()
    info = {
        "id": "m1", "role": "assistant", "parentID": "u1", "cost": 0.5,
        "tokens": {"input": 100, "output": 25, "reasoning": 5, "cache": {"read": 20, "write": 0}},
    }  # fmt: skip
    first = [
        e for e in agent.native("message.updated", sessionID=S, info=info) if isinstance(e, ev.UsageReported)
    ]
    assert [(u.input, u.output, u.reasoning, u.cache_read, u.cost) for u in first] == [(100, 25, 5, 20, 0.5)]
    assert agent.native("message.updated", sessionID=S, info=info) == []
    info["tokens"] = {"input": 0, "output": 0}
    assert agent.native("message.updated", sessionID=S, info=info) == [], "an aborted step says zero"


# --- effects ---------------------------------------------------------------------------------


def test_every_effect_is_settled_exactly_once_whatever_happens() -> None:
    agent = Agent()
    effects = (
        Abort(session=S, effect=EffectId("e1")),
        Prompt(session=S, effect=EffectId("e2"), text="x", purpose=Purpose.RECOVERY),
        ReadSession(session=S, effect=EffectId("e3")),
        Trim(session=S, effect=EffectId("e4"), message=MessageId("m"), part=PartId("p"), keep_chars=3),
        RunAudit(session=S, effect=EffectId("e5"), prompt="x", timeout=1.0),
    )
    for effect in effects:
        assert agent.adapter.carry_out(effect).orders
    settled = [*agent.say({"type": "done", "id": "e1", "ok": True})]
    assert agent.say({"type": "done", "id": "e1", "ok": True}) == []
    settled += [event for event in agent.adapter.exited(0) if hasattr(event, "effect")]
    assert sorted(event.effect for event in settled) == ["e1", "e2", "e3", "e4", "e5"]  # type: ignore[attr-defined]
    assert [e for e in agent.adapter.exited(0) if hasattr(e, "effect")] == []


def test_an_auditors_answer() -> None:
    agent = Agent()
    agent.adapter.carry_out(RunAudit(session=S, effect=EffectId("e1"), prompt="x", timeout=1.0))
    (event,) = agent.say({"type": "done", "id": "e1", "ok": True, "data": {"text": "[audit:approved]"}})
    assert event == ev.AuditFinished(session=S, effect=EffectId("e1"), reply="[audit:approved]")


def test_without_a_connection_nothing_hangs() -> None:
    agent = Agent()
    assert agent.adapter.lost(1, "closed") == [ev.AgentDisconnected(reason="closed")]
    answer = agent.adapter.carry_out(
        Prompt(session=S, effect=EffectId("e1"), text="x", purpose=Purpose.RECOVERY)
    )
    assert answer.orders == ()
    (event,) = answer.events
    assert isinstance(event, ev.EffectSettled)
    assert not event.ok
    assert agent.adapter.carry_out(AnswerGate(session=S, request=RequestId("1.5"), allow=True)).orders == ()


def test_a_one_shot_agent_that_is_leaving_has_stopped_and_is_trimmed_next_time() -> None:
    agent = Agent("opencode", "run", "x")
    trim = Trim(session=S, effect=EffectId("e1"), message=MessageId("m"), part=PartId("p"), keep_chars=3)
    agent.adapter.carry_out(trim)
    (settled,) = agent.say({"type": "done", "id": "e1", "ok": False, "error": "no instance is running"})
    assert isinstance(settled, ev.EffectSettled)
    assert settled.ok
    greeting = agent.adapter.greet(2, Hello(protocol=1, token="t"))
    assert [order.message["op"] for order in greeting.orders] == ["trim"]  # type: ignore[union-attr]


# --- questions -------------------------------------------------------------------------------


def test_a_slash_command_in_a_session_that_never_ran_finds_it_idle() -> None:
    agent = Agent()
    ask = {
        "type": "ask",
        "id": 1,
        "session": S,
        "operation": "goal",
        "arguments": {"text": "set x"},
        "surface": "slash",
    }
    status, asked = agent.say(ask)
    assert status == ev.StatusChanged(session=S, status=ev.Status.IDLE)
    assert isinstance(asked, ev.Asked)
    assert (asked.operation, asked.arguments, asked.surface) == (
        "goal.command",
        {"text": "set x"},
        ev.Surface.SLASH,
    )
    assert len(agent.say(ask)) == 1


def test_an_answer_goes_to_whoever_asked_and_only_once() -> None:
    agent = Agent()
    agent.adapter.greet(2, Hello(protocol=1, token="t"))
    ask = msgspec.convert({"type": "ask", "id": 9, "session": S, "operation": "loop_check"}, AnyMessage)
    (asked,) = agent.adapter.receive(2, ask)
    assert isinstance(asked, ev.Asked)
    respond = Respond(session=S, request=asked.request, ok=True, text="never")
    (order,) = agent.adapter.carry_out(respond).orders
    assert (order.peer, order.message["id"]) == (2, 9)  # type: ignore[union-attr]
    assert agent.adapter.carry_out(respond).orders == ()
