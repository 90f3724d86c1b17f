"""What is worth a notice, and how often, with time as an argument."""

from __future__ import annotations

import pytest

from loopguard_cli.core.effects import Abort, Effect, Level, Record, Tell
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.core.noticing import TOPICS, Noticing, NotifySettings
from loopguard_cli.core.records import AgentSeen, GoalRecord, UserTurn
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import Wording

A, B = SessionId("a"), SessionId("b")


def noticing(**settings: object) -> Noticing:
    return Noticing(NotifySettings(**settings), Wording(Locale.EN))  # type: ignore[arg-type]


def stopped(session: SessionId = A) -> Tell:
    return Tell(session=session, text="it looped again", level=Level.ERROR, topic="loop.stopped")


def goal(event: str, **data: object) -> Record:
    record = GoalRecord(session=A, goal="g1", event=event, detail="what the goal is about", data=data)
    return Record(session=A, record=record)


@pytest.mark.parametrize(
    ("effect", "topic"),
    [
        (stopped(), "loop.stopped"),
        (Tell(text="x", topic="recovery.failed"), "loop.stopped"),
        (Tell(text="x", topic="cap.reached"), "loop.stopped"),
        (Tell(text="x", topic="agent.hung"), "agent.hung"),
        (Record(record=AgentSeen(connected=False, reason="no hello within 8 s")), "agent.unguarded"),
        (goal("completed"), "goal.achieved"),
        (goal("blocked"), "goal.blocked"),
        (goal("limit"), "goal.limit"),
        (goal("budget-wrapup"), "goal.limit"),
        (goal("paused", reason="no_progress"), "goal.limit"),
    ],
)
def test_what_is_worth_a_notice(effect: Effect, topic: str) -> None:
    notice = noticing().decide(effect, 0.0)
    assert notice is not None
    assert notice.topic == topic


@pytest.mark.parametrize(
    "effect",
    [
        Tell(text="x", topic="loop.blocked"),
        Tell(text="x"),
        Abort(effect=EffectId("e")),
        Record(record=AgentSeen(connected=True, agent="claude")),
        Record(record=UserTurn()),
        goal("set"),
        goal("paused"),  # by a person
        goal("paused", reason="user_interrupted"),
    ],
)
def test_what_is_not(effect: Effect) -> None:
    assert noticing().decide(effect, 0.0) is None


def test_a_notice_about_a_goal_never_says_what_the_goal_is() -> None:
    notice = noticing().decide(goal("blocked"), 0.0)
    assert notice is not None
    assert "about" not in f"{notice.title} {notice.text}"
    assert noticing().decide(goal("completed"), 0.0).level is Level.SUCCESS  # type: ignore[union-attr]


def test_one_topic_of_one_session_rests_for_a_while() -> None:
    deciding = noticing(min_seconds=60)
    assert deciding.decide(stopped(), 0.0)
    assert deciding.decide(stopped(), 59.9) is None
    assert deciding.decide(stopped(B), 30.0)
    assert deciding.decide(goal("completed"), 30.0)
    later = deciding.decide(stopped(), 60.0)
    assert later is not None
    assert later.held_back == 1
    assert deciding.decide(stopped(), 120.0).held_back == 0  # type: ignore[union-attr]


def test_an_hour_has_only_so_many() -> None:
    deciding = noticing(min_seconds=0, max_per_hour=3)
    sent = [deciding.decide(stopped(SessionId(str(n))), 10.0 * n) for n in range(5)]
    assert [one is not None for one in sent] == [True, True, True, False, False]
    assert deciding.decide(stopped(), 3599.9) is None
    assert deciding.decide(stopped(), 3600.0)


def test_topics_are_chosen() -> None:
    deciding = noticing(topics=("goal.achieved",))
    assert deciding.decide(stopped(), 0.0) is None
    assert deciding.decide(goal("completed"), 0.0)


def test_nothing_grows_with_the_run() -> None:
    deciding = noticing(min_seconds=1, max_per_hour=1000)
    for number in range(20_000):
        deciding.decide(stopped(SessionId(str(number))), number * 10.0)
    assert max(len(value) for value in vars(deciding).values() if hasattr(value, "__len__")) <= 1000


@pytest.mark.parametrize("locale", list(Locale))
@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_a_headline(topic: str, locale: Locale) -> None:
    assert Wording(locale).notice_title(topic)
