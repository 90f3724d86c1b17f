"""The one way from event to effect: gates, verdicts, stops, faults, limits, live changes."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    EndRun,
    Prompt,
    Purpose,
    Record,
    Respond,
    SetContext,
    Tell,
)
from loopguard_cli.core.events import (
    Asked,
    EffectSettled,
    PermissionAsked,
    ReplyStarted,
    SessionGone,
    SessionSeen,
    Status,
    StatusChanged,
    Surface,
    ToolFinished,
    Unparsed,
    UsageReported,
)
from loopguard_cli.core.findings import Action
from loopguard_cli.core.hub import MAX_SESSIONS
from loopguard_cli.core.ids import NO_SESSION, CallId, MessageId, RequestId, SessionId
from loopguard_cli.core.records import CallEnded, CallSeen, Fault, GuardChanged, LoopFound
from loopguard_cli.core.settings import Capabilities, CapSettings, Mode
from tests.core.playbook import HEADLESS, Desk, S, answers, asks, of, prose, says

CHILD = SessionId("child")


def records(effects: list[object]) -> list[object]:
    return [e.record for e in effects if isinstance(e, Record)]


# --- the gate --------------------------------------------------------------------------------


def test_every_gate_gets_exactly_one_answer() -> None:
    desk = Desk()
    assert answers(desk.send(says(), asks("c1"))) == [True]
    assert answers(desk.find(Action.BLOCK, asks("c2"))) == [False]
    assert answers(desk.find(Action.ABORT, asks("c3"))) == [False]


def test_a_block_is_written_down_before_it_is_answered_and_told() -> None:
    desk = Desk()
    effects = desk.find(Action.BLOCK, asks())
    kinds = [type(e.record if isinstance(e, Record) else e) for e in effects]
    assert kinds.index(LoopFound) < kinds.index(Tell) < kinds.index(AnswerGate)
    [gate] = of(effects, AnswerGate)
    assert gate.text.startswith("[ANTI-LOOP] ")
    assert desk.panels[S].blocked == ["c1"]
    [seen] = [r for r in records(effects) if isinstance(r, CallSeen)]
    assert seen.verdict == "block"


def test_calls_that_ask_while_their_turn_is_cut_off_are_refused() -> None:
    """Otherwise a call waiting at the gate would run after the abort."""
    desk = Desk()
    desk.send(says())
    desk.find(Action.ABORT, ReplyStarted(session=S, message=MessageId("m1")), **prose())
    assert answers(desk.send(asks("late"))) == [False]


def test_a_refused_call_that_ran_anyway_is_reported_once() -> None:
    desk = Desk()
    for call in ("c1", "c2"):
        desk.find(Action.BLOCK, asks(call))
        desk.send(ToolFinished(session=S, call=CallId(call), tool="bash", ok=True))
    assert [t.topic for t in of(desk.effects, Tell)].count("gate.leaked") == 1


@pytest.mark.parametrize(
    ("end", "leaked"),
    [
        ({"ok": True}, True),
        ({"ok": False, "exit_code": 1}, True),
        ({"ok": False, "refused": True}, False),
        ({"ok": False, "cancelled": True}, False),
        ({"ok": False}, False),
    ],
)
def test_only_calls_that_did_not_run_count_as_blocked(end: dict[str, Any], leaked: bool) -> None:
    """As when we stood still, and the agent did not wait for us any longer."""
    desk = Desk()
    desk.find(Action.BLOCK, asks("c1"))
    desk.find(Action.BLOCK, asks("c2"))
    effects = desk.send(ToolFinished(session=S, call=CallId("c1"), tool="bash", **end))
    assert bool(of(effects, Tell)) is leaked
    assert [r.leaked for r in records(effects) if isinstance(r, CallEnded)] in ([leaked], [])
    assert desk.hub.sessions[S].blocks == (1 if leaked else 2)


# --- abort, continuation, stop ---------------------------------------------------------------


def test_an_abort_is_continued_with_the_agent_and_model_of_the_turn() -> None:
    desk = Desk()
    desk.send(says(), ReplyStarted(session=S, message=MessageId("m1"), agent="plan", model="fake/two"))
    cut = desk.find(Action.ABORT, StatusChanged(session=S, status=Status.BUSY), rule="prose-block")
    [prompt] = of(desk.settle_abort(cut), Prompt)
    assert (prompt.agent, prompt.model, prompt.purpose) == ("plan", "fake/two", Purpose.RECOVERY)
    assert desk.panels[S].resumes == 1


def loop(desk: Desk) -> list[object]:
    """Cut one looping turn off and let its continuation be accepted."""
    cut = desk.find(Action.ABORT, ReplyStarted(session=S, message=MessageId("m1")), **prose(keep_chars=-1))
    done = desk.settle_abort(cut)
    for prompt in of(done, Prompt):
        done += desk.send(EffectSettled(session=S, effect=prompt.effect, ok=True))
    return [*cut, *done]


def test_the_third_loop_ends_a_headless_run_with_80() -> None:
    desk = Desk(HEADLESS)
    desk.send(says())
    assert len(of(loop(desk), Prompt)) == 1
    assert len(of(loop(desk), Prompt)) == 1
    last = loop(desk)
    assert of(last, Abort)
    assert not of(last, Prompt)
    assert [e.code for e in of(last, EndRun)] == [80]


def test_a_one_shot_agent_is_waited_for_while_a_recovery_is_under_way() -> None:
    desk = Desk(HEADLESS)
    desk.send(says())
    assert not desk.hub.pending()
    cut = desk.find(Action.ABORT, ReplyStarted(session=S, message=MessageId("m1")), **prose(keep_chars=-1))
    assert desk.hub.pending()
    [prompt] = of(desk.settle_abort(cut), Prompt)
    assert desk.hub.pending()
    desk.send(EffectSettled(session=S, effect=prompt.effect, ok=True))
    assert not desk.hub.pending()


def test_on_a_screen_the_agent_stays_and_a_message_opens_the_session_again() -> None:
    desk = Desk()
    desk.send(says())
    for _ in range(3):
        last = loop(desk)
    assert not of(last, EndRun)
    assert [t.topic for t in of(last, Tell)][-1] == "loop.stopped"
    assert answers(desk.send(asks("c9"))) == [False]
    desk.send(says("u2"))
    assert answers(desk.send(asks("c10"))) == [True]
    assert len(of(loop(desk), Prompt)) == 1


def test_a_sub_agent_is_cut_off_but_not_prompted_and_ends_nothing() -> None:
    desk = Desk(HEADLESS)
    desk.send(says(), SessionSeen(session=CHILD, parent=S))
    cut = desk.find(Action.ABORT, ReplyStarted(session=CHILD, message=MessageId("m7")), session=CHILD)
    effects = [*cut, *desk.settle_abort(cut, CHILD)]
    assert of(effects, Abort)
    assert not of(effects, Prompt)
    assert not of(effects, EndRun)
    assert answers(desk.send(asks("c1", CHILD))) == [True]


def test_a_nudge_reaches_the_running_turn_and_aborts_nothing() -> None:
    desk = Desk()
    desk.send(says())
    effects = desk.find(Action.NUDGE, StatusChanged(session=S, status=Status.BUSY))
    assert [p.purpose for p in of(effects, Prompt)] == [Purpose.NUDGE]
    assert not of(effects, Abort)


# --- modes -----------------------------------------------------------------------------------


def test_observe_reports_and_does_nothing() -> None:
    desk = Desk(mode=Mode.OBSERVE)
    effects = desk.find(Action.BLOCK, asks()) + desk.find(Action.ABORT, asks("c2"))
    assert answers(effects) == [True, True]
    assert not of(effects, Abort)
    assert {t.topic for t in of(effects, Tell)} == {"loop.warned"}


def test_off_neither_looks_nor_hints() -> None:
    desk = Desk(mode=Mode.OFF)
    effects = desk.find(Action.BLOCK, asks())
    assert answers(effects) == [True]
    assert desk.panels[S].seen == []
    assert [c.system for c in of(effects, SetContext)] == [""]


def test_the_mode_switch_is_live_and_takes_the_hint_with_it() -> None:
    desk = Desk()
    assert of(desk.send(says()), SetContext)[0].system
    effects = desk.send(ask("guard.mode", mode="off"))
    assert [c.system for c in of(effects, SetContext)] == [""]
    assert answers(desk.find(Action.BLOCK, asks())) == [True]
    desk.send(ask("guard.mode", mode="on"))
    assert answers(desk.find(Action.BLOCK, asks("c2"))) == [False]


def test_a_muted_session_is_left_alone_and_the_others_are_not() -> None:
    desk = Desk()
    desk.send(says(), says("u1", CHILD), ask("guard.mute", session=S, on=True))
    assert answers(desk.find(Action.BLOCK, asks())) == [True]
    assert answers(desk.find(Action.BLOCK, asks("c1", CHILD), session=CHILD)) == [False]


# --- who may change what ---------------------------------------------------------------------


def ask(
    operation: str, surface: Surface = Surface.CLI, session: SessionId = NO_SESSION, **arguments: object
) -> Asked:
    return Asked(
        session=session, request=RequestId("q1"), operation=operation, arguments=arguments, surface=surface
    )


@pytest.mark.parametrize(
    "operation", ["guard.mode", "guard.reset", "guard.mute", "guard.settings", "guard.decide"]
)
def test_nothing_inside_the_agent_weakens_the_guard(operation: str) -> None:
    desk = Desk()
    desk.send(says())
    effects = desk.send(ask(operation, Surface.INSIDE, mode="off", on=True))
    assert [(r.ok, r.code) for r in of(effects, Respond)] == [(False, "not_allowed")]
    [record] = [r for r in records(effects) if isinstance(r, GuardChanged)]
    assert not record.accepted
    assert desk.hub.settings.mode is Mode.ON
    assert not desk.hub.sessions[S].state.muted
    assert desk.panels[S].resets == 0


@pytest.mark.parametrize(
    ("operation", "ok"),
    [("guard.decide", True), ("guard.check", True), ("guard.mode", False), ("guard.reset", False)],
)
def test_the_model_may_use_the_two_agreed_tools_only(operation: str, ok: bool) -> None:
    desk = Desk()
    desk.send(says())
    assert [r.ok for r in of(desk.send(ask(operation, Surface.TOOL, S, mode="off")), Respond)] == [ok]


def test_an_unknown_operation_is_answered() -> None:
    assert [r.code for r in of(Desk().send(ask("guard.nonsense")), Respond)] == ["unknown_operation"]


def test_status_counts_calls_blocks_and_usage() -> None:
    desk = Desk()
    desk.send(says(), asks("c1"), asks("c1"))
    desk.find(Action.BLOCK, asks("c2"))
    usage = {"session": S, "message": MessageId("m1"), "input": 10}
    desk.send(UsageReported(**usage, output=5, cost=0.25), UsageReported(**usage, output=9, cost=0.5))
    [said] = of(desk.send(ask("guard.status")), Respond)
    assert said.data["totals"] == {"calls": 2, "turns": 1, "tokens": 19, "cost": 0.5}
    [session] = said.data["sessions"]
    assert (session["blocks"], session["session"]) == (1, S)
    assert said.text == "Guard on, preset infinity: 2 tool calls, 1 blocked, 0 turns cut off."
    assert session["gauges"] == [{"rule": "repeat-call", "used": 2, "limit": 3, "tool": "bash"}]
    assert said.data["caps"] == []


def test_inspect_reads_well_in_a_toast_too() -> None:
    desk = Desk()
    assert [r.text for r in of(desk.send(ask("guard.inspect")), Respond)] == ["No tool calls yet."]


def test_status_tells_how_near_the_caps_are() -> None:
    desk = Desk(caps=CapSettings(calls=9, minutes=2))
    desk.send(says(), asks("c1"))
    desk.now += 30
    [said] = of(desk.send(ask("guard.status")), Respond)
    assert said.data["caps"] == [
        {"name": "calls", "used": 1, "limit": 9},
        {"name": "minutes", "used": 0.5, "limit": 2},
    ]


# --- hard caps -------------------------------------------------------------------------------


def test_a_cap_refuses_the_call_beyond_it_and_ends_the_run() -> None:
    desk = Desk(HEADLESS, caps=CapSettings(calls=2))
    desk.send(says(), StatusChanged(session=S, status=Status.BUSY))
    assert answers(desk.send(asks("c1"), asks("c2"))) == [True, True]
    effects = desk.send(asks("c3"))
    assert answers(effects) == [False]
    assert [e.code for e in of(effects, EndRun)] == [82]
    assert of(effects, Abort)
    assert answers(desk.send(asks("c4"))) == [False]


def test_no_decision_and_no_reset_lifts_a_cap() -> None:
    desk = Desk(caps=CapSettings(calls=1))
    desk.send(says(), asks("c1"), asks("c2"))
    desk.send(ask("guard.decide", Surface.TOOL, S), ask("guard.reset"))
    assert answers(desk.send(asks("c3"))) == [False]


def test_minutes_run_by_the_clock() -> None:
    desk = Desk(HEADLESS, caps=CapSettings(minutes=2))
    desk.send(says(), StatusChanged(session=S, status=Status.BUSY))
    assert desk.hub.deadline() == 220.0
    assert not of(desk.hub.tick(219.9), EndRun)
    assert of(desk.hub.tick(220.0), EndRun)


# --- faults ----------------------------------------------------------------------------------


def test_a_failing_detector_is_put_out_of_use_once_and_the_gate_opens() -> None:
    desk = Desk()
    desk.send(says())
    desk.panels[S].fault = ZeroDivisionError()
    effects = desk.send(asks("c1"), asks("c2"))
    assert answers(effects) == [True, True]
    assert [r.error for r in records(effects) if isinstance(r, Fault)] == ["ZeroDivisionError"]
    assert [t.topic for t in of(effects, Tell)] == ["fault"]


def test_messages_that_are_not_understood_are_counted_and_told_ever_more_rarely() -> None:
    desk = Desk()
    for _ in range(100):
        desk.send(Unparsed(native="session.odd"))
    assert desk.hub.unparsed == 100
    assert len(of(desk.effects, Tell)) == 3


# --- bounds and the agent's own guard ---------------------------------------------------------


def test_sessions_are_bounded_and_their_totals_are_kept() -> None:
    desk = Desk()
    for number in range(MAX_SESSIONS + 20):
        desk.send(asks("c1", SessionId(f"n{number}")))
    assert len(desk.hub.sessions) == MAX_SESSIONS
    assert desk.hub.totals()["calls"] == MAX_SESSIONS + 20
    desk.send(SessionGone(session=SessionId(f"n{MAX_SESSIONS}")))
    assert len(desk.hub.sessions) == MAX_SESSIONS - 1


def test_the_agents_own_doom_loop_question_never_waits_for_a_person() -> None:
    asked = PermissionAsked(session=S, request=RequestId("p1"), permission="doom_loop")
    other = PermissionAsked(session=S, request=RequestId("p2"), permission="bash")
    effects = Desk().send(asked, other)
    assert [(e.request, e.allow) for e in effects if hasattr(e, "allow")] == [("p1", True)]


def test_without_a_way_to_abort_the_person_is_told_why_less_is_done() -> None:
    desk = Desk(Capabilities(gate=True))
    effects = desk.find(Action.ABORT, asks())
    assert answers(effects) == [False]
    assert not of(effects, Abort)
    assert any("cannot be aborted" in t.text for t in of(effects, Tell))
