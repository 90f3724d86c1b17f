"""What the scenarios cannot say: sessions, holds, leases, surfaces, exit statuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.goal.shell import DONE, S, Shell, started

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal.evolve import fold
from loopguard_cli.goal.model import Book, StopReason

# --- sessions ----------------------------------------------------------------------------------


def test_a_goal_set_before_there_is_a_session_waits_for_the_first_one() -> None:
    shell = Shell()
    answer = shell.ask("repair the build")
    assert answer.ok
    assert shell.goal(NO_SESSION).active
    shell.now += 600
    shell.feed(ev.SessionSeen(session=SessionId("child"), parent=SessionId("other")))
    shell.feed(ev.StatusChanged(session=SessionId("child"), status=ev.Status.BUSY))
    assert shell.goal(SessionId("child")) is None
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="go"))
    assert shell.goal(NO_SESSION) is None
    assert shell.goal().active
    assert shell.goal().time_in_force(shell.now) == 0


def test_only_the_message_that_opens_the_session_is_free() -> None:
    shell = Shell()
    shell.ask("repair the build")
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="go"))
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u2"), text="no, wait"))
    assert shell.goal().stop is StopReason.USER_INTERVENTION


def test_a_waiting_goal_is_the_same_after_a_restart_and_still_runs() -> None:
    before = Shell()
    before.ask("repair the build")
    after = Shell(stored=before.records())
    assert after.goals.opening(after.now).count("repair the build") == 1
    after.idle()
    assert after.goal().active
    assert [p.purpose for p in after.of(fx.Prompt)] == [fx.Purpose.CONTINUATION]


def test_a_goal_set_from_outside_starts_an_idle_session_and_that_prompt_is_no_continuation() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.idle()
    shell.ask("repair the build")
    assert len(shell.of(fx.Prompt)) == 1
    assert shell.goal().turns == 0
    shell.reply("m1")
    shell.idle()
    assert len(shell.of(fx.Prompt)) == 2
    assert shell.goal().turns == 1


def test_a_goal_set_in_a_busy_session_waits_until_that_is_idle() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.ask("repair the build")
    assert shell.of(fx.Prompt) == []


def test_what_sub_agents_do_is_not_the_sessions_turn() -> None:
    shell = started()
    shell.reply("m1", "Delegated.")
    child = SessionId("child")
    shell.feed(ev.SessionSeen(session=child, parent=S))
    shell.reply("x", DONE, session=child)
    shell.newest = MessageId("m1")
    shell.idle(child)
    shell.idle()
    assert shell.goal().active
    assert shell.goal().turns == 2


def test_prompts_keep_the_agent_model_and_variant_under_which_the_goal_was_set() -> None:
    shell = Shell()
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u"), agent="build", model="a/b", variant="high"))
    shell.ask("repair the build", session=S)
    shell.feed(ev.ReplyStarted(session=S, message=MessageId("m"), agent="other", model="c/d"))
    shell.newest = MessageId("m")
    shell.idle()
    prompt = shell.of(fx.Prompt)[0]
    assert (prompt.agent, prompt.model, prompt.variant) == ("build", "a/b", "high")


# --- the guard, aborts, holds ------------------------------------------------------------------


def test_nothing_is_prompted_while_the_guard_holds_the_session() -> None:
    shell = started()
    shell.reply("m1")
    shell.perform(shell.goals.hold(S, True, shell.now))
    shell.idle()
    assert len(shell.of(fx.Prompt)) == 1
    shell.perform(shell.goals.hold(S, False, shell.now))
    assert len(shell.of(fx.Prompt)) == 2


def test_a_hold_between_claim_and_prompt_gives_the_claim_back() -> None:
    shell = started()
    shell.reply("m1")
    shell.keep = (fx.Record,)
    shell.idle()
    shell.perform(shell.goals.hold(S, True, shell.now))
    claim = next(k for k in shell.kept if isinstance(k, fx.Record) and k.effect)
    shell.settle(claim)
    assert len(shell.of(fx.Prompt)) == 1
    shell.keep = ()
    shell.perform(shell.goals.hold(S, False, shell.now))
    assert len(shell.of(fx.Prompt)) == 2


def test_our_own_abort_is_no_interruption_by_a_person() -> None:
    shell = started()
    shell.ask("pause", session=S)
    assert len(shell.of(fx.Abort)) == 1
    shell.keep = (fx.ReadSession,)
    shell.ask("resume", session=S)
    shell.feed(ev.AgentError(session=S, name="MessageAbortedError", aborted=True))
    assert shell.goal().active


def test_a_person_who_aborts_a_turn_pauses_the_goal() -> None:
    shell = started()
    shell.feed(ev.AgentError(session=S, name="MessageAbortedError", aborted=True))
    assert shell.goal().stop is StopReason.USER_INTERRUPTED


def test_without_a_way_to_look_at_the_session_its_events_decide() -> None:
    shell = Shell(able=Capabilities(prompt=True))
    shell.reply("m0")
    shell.ask("repair the build", session=S)
    shell.idle()
    assert shell.of(fx.ReadSession) == []
    assert len(shell.of(fx.Prompt)) == 1


def test_the_agents_own_compaction_is_no_reply() -> None:
    shell = started()
    shell.reply("m1", "Worked on.")
    summary = MessageId("sum")
    shell.feed(ev.ReplyStarted(session=S, message=summary, summary=True))
    shell.feed(ev.TextSnapshot(session=S, message=summary, part=PartId("p"), text=DONE))
    shell.idle()
    assert shell.goal().active


def test_a_claim_streamed_in_pieces_is_read_whole() -> None:
    shell = started()
    shell.reply("m1", "All done.\n[goal:evi")
    shell.feed(ev.TextDelta(session=S, message=MessageId("m1"), part=PartId("p"), delta=DONE[9:]))
    shell.idle()
    assert shell.goal() is None
    assert shell.goals.book(S).archive[0].evidence == "12 passed"


def test_an_agent_that_does_not_say_how_its_session_stands_is_asked_again() -> None:
    shell = started()
    shell.reply("m1")
    shell.keep = (fx.ReadSession,)
    shell.idle()
    due = shell.goals.deadline()
    assert due is not None
    shell.now = due
    shell.perform(shell.goals.tick(due))
    assert shell.goal().meters.prompt_failures == 1
    shell.settle(shell.kept[0])
    assert len(shell.of(fx.Prompt)) == 1
    shell.keep = ()
    retry = shell.goals.deadline()
    assert retry is not None
    shell.now = retry
    shell.perform(shell.goals.tick(retry))
    assert len(shell.of(fx.Prompt)) == 2


# --- proof that goes stale ---------------------------------------------------------------------


def proving() -> Shell:
    """A claim whose check runs."""
    shell = Shell()
    shell.reply("m0")
    shell.ask('repair the build --check "make test"', session=S)
    shell.idle()
    shell.reply("m1")
    shell.keep = (fx.RunCheck,)
    claim = ev.Asked(
        session=S, request=RequestId("claim"), operation="tool.goal_complete", surface=ev.Surface.TOOL,
        arguments={"summary": "all tests pass"},
    )  # fmt: skip
    shell.feed(claim)
    return shell


def passed(shell: Shell) -> bool:
    """The check passes; whether the claim is accepted."""
    (check,) = shell.of(fx.RunCheck)
    shell.feed(ev.CheckFinished(session=S, effect=check.effect, exit_code=0))
    return next(r for r in shell.of(fx.Respond) if r.request == "claim").ok


def started_call(tool: str) -> ev.ToolStarted:
    return ev.ToolStarted(session=S, call=CallId("beside"), tool=tool)


def ended_call(tool: str, **more: Any) -> ev.ToolFinished:
    return ev.ToolFinished(session=S, call=CallId("beside"), tool=tool, **more)


@pytest.mark.parametrize("tool", ["bash", "write", "Edit", "task", "something_else"])
def test_what_runs_beside_the_checks_makes_them_stale(tool: str) -> None:
    shell = proving()
    shell.feed(started_call(tool))
    assert not passed(shell), "it still runs, and may write"
    shell = proving()
    shell.feed(started_call(tool))
    shell.feed(ended_call(tool))
    assert not passed(shell)
    assert "changed after the checks" in shell.of(fx.Respond)[-1].text


@pytest.mark.parametrize(
    "tool", ["read", "Grep", "read_file", "TodoWrite", "goal_complete", "mcp__loopguard__goal_complete"]
)
def test_what_only_reads_beside_them_does_not(tool: str) -> None:
    shell = proving()
    shell.feed(started_call(tool))
    assert passed(shell)


def test_a_refused_call_changes_nothing() -> None:
    shell = proving()
    shell.feed(ended_call("write", ok=False, refused=True))
    assert passed(shell)


def test_files_that_change_by_themselves_make_them_stale() -> None:
    shell = proving()
    shell.feed(ev.FilesChanged(session=S, files=("a.py",)))
    assert not passed(shell)


# --- surfaces ----------------------------------------------------------------------------------


def test_the_agents_own_shell_cannot_raise_a_limit_or_reopen_a_goal() -> None:
    shell = started()
    answer = shell.ask("edit --max-turns 99", ev.Surface.INSIDE, S)
    assert (answer.ok, answer.code) == (False, "limit_raise_refused")
    shell.ask("pause", session=S)
    shell.ask("edit repair the tests", ev.Surface.INSIDE, S)
    assert shell.goal().objective == "repair the tests"
    assert shell.goal().stop is StopReason.USER_PAUSED


def test_an_unlimited_budget_counts_as_raised() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.ask("repair --max-total-tokens 90k --max-cost 2", session=S)
    for text in ("replace it --max-total-tokens 91k", "replace it --max-cost 3"):
        assert shell.ask(text, ev.Surface.TOOL, S).code == "limit_raise_refused"
    assert shell.ask("edit --max-cost 1", ev.Surface.TOOL, S).ok


def test_a_person_may_declare_a_goal_achieved_and_the_agent_must_prove_it() -> None:
    shell = started()
    shell.ask("pause", session=S)
    assert not shell.ask("it works", ev.Surface.INSIDE, S, verb="complete").ok
    assert shell.ask("looked at it myself", session=S, verb="complete").ok
    assert shell.goals.book(S).archive[0].evidence == "looked at it myself"


def test_hints_name_the_command_that_works_where_they_are_read() -> None:
    shell = Shell()
    assert "Set one: /goal <" in shell.ask("status", ev.Surface.SLASH, S).text
    assert "Set one: loopguard goal set <" in shell.ask("status", session=S).text
    shell.ask("repair", session=S)
    shell.ask("pause", session=S)
    assert "(/goal resume | clear)" in shell.ask("status", ev.Surface.SLASH, S).text
    assert "(loopguard goal resume | clear)" in shell.ask("status", session=S).text
    assert "(loopguard goal add keeps" in shell.ask("another", session=S).text


# --- leases ------------------------------------------------------------------------------------


def test_goals_of_another_process_are_left_alone_and_that_is_said_once() -> None:
    stored = started().records()
    shell = Shell(leases=True, stored=stored)
    shell.lease = ev.LeaseSettled(
        effect=EffectId(""), ok=False, error="another loopguard drives this session"
    )
    shell.reply("m1")
    shell.idle()
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u")))
    assert shell.of(fx.Prompt) == []
    assert shell.records() == []
    assert [t.topic for t in shell.of(fx.Tell)] == ["goal.passive"]
    assert shell.ask("status", session=S).code == "session_owned_elsewhere"


def test_with_the_lease_comes_what_the_ledger_knows_now_and_nothing_runs() -> None:
    stored = started().records()
    shell = Shell(leases=True)
    shell.lease = ev.LeaseSettled(effect=EffectId(""), ok=True, records=tuple(stored))
    answer = shell.ask("status", session=S)
    assert "recovered after restart" in answer.text
    assert shell.goal().stop is StopReason.RECOVERED


def test_a_lease_that_is_lost_ends_the_driving() -> None:
    shell = started(leases=True)
    assert shell.goals.drives(S)
    shell.feed(ev.LeaseSettled(session=S, effect=EffectId("x"), ok=False, error="taken over"))
    shell.reply("m1")
    shell.idle()
    assert not shell.goals.drives(S)
    assert len(shell.of(fx.Prompt)) == 1


def test_waiting_goals_go_to_the_one_run_that_holds_their_lease() -> None:
    before = Shell()
    before.ask("repair the build")
    shell = Shell(leases=True, stored=before.records())
    shell.lease = ev.LeaseSettled(effect=EffectId(""), ok=False, error="another run")
    shell.idle()
    assert shell.goal() is None


# --- ends --------------------------------------------------------------------------------------


def test_the_exit_status_says_how_goals_ended() -> None:
    assert Shell().goals.exit_code() is None
    shell = started()
    assert shell.goals.exit_code() == 82
    shell.reply("m1", "No key.\n[goal:blocked]")
    shell.idle()
    assert shell.goals.exit_code() == 81
    shell.ask("resume", session=S)
    shell.reply("m2", DONE)
    shell.idle()
    assert shell.goals.exit_code() == 0


def test_restated_records_give_the_same_goals() -> None:
    shell = started()
    shell.ask("add sweep the floor", session=S)
    again, bad = fold({}, shell.goals.restated(shell.now))
    assert bad == 0
    assert again[S] == shell.goals.book(S)


def test_records_of_an_unknown_kind_are_counted_and_skipped() -> None:
    shell = Shell()
    bad = shell.goals.restore([GoalRecord(session=S, goal="g", event="from-the-future")])
    assert bad == 1
    assert shell.goals.book(S) == Book()


def test_a_closed_loop_answers_that_it_is_closed_and_does_nothing_else() -> None:
    shell = started()
    shell.goals.close()
    count = len(shell.done)
    shell.idle()
    assert shell.goals.deadline() is None
    assert not shell.goals.drives(S)
    assert shell.goals.exit_code() == 82
    assert len(shell.done) == count
    assert shell.ask("status", session=S).code == "shutting_down"


def test_goals_of_an_old_session_can_wait_for_the_next_one() -> None:
    before = started()
    before.ask("pause", session=S)
    offline = Shell(stored=before.records())
    assert offline.goals.latest() == S
    offline.ask("resume", session=S)
    offline.perform(offline.goals.wait(S, offline.now))
    again = Shell(stored=[*before.records(), *offline.records()])
    again.idle(SessionId("next"))
    assert again.goal(SessionId("next")).objective == "repair the build"
    assert again.goal(SessionId("next")).active


def test_an_agent_that_says_it_is_idle_before_it_is_is_asked_again() -> None:
    """A one-shot agent exits next, and no event of it would wake the goal any more."""
    shell = started()
    shell.reply("m2")
    shell.feed(ev.StatusChanged(session=S, status=ev.Status.IDLE))  # but when asked it is busy
    before = len(shell.of(fx.Prompt))
    shell.status = ev.Status.IDLE
    due = shell.goals.deadline()
    assert due is not None
    shell.now = due
    shell.perform(shell.goals.tick(shell.now))
    assert len(shell.of(fx.Prompt)) == before + 1


def test_an_agent_that_stays_busy_is_left_alone_after_a_while() -> None:
    shell = started()
    shell.reply("m2")
    shell.feed(ev.StatusChanged(session=S, status=ev.Status.IDLE))
    before, began = len(shell.of(fx.Prompt)), shell.now
    while (due := shell.goals.deadline()) is not None:
        shell.now = due
        shell.perform(shell.goals.tick(due))
    assert shell.now - began == 10
    assert len(shell.of(fx.Prompt)) == before
    shell.idle()
    assert len(shell.of(fx.Prompt)) == before + 1
