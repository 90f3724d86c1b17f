"""Recovery: abort, verified, confirmed idle, trimmed, continued; and every way out of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest

from loopguard_cli.core.effects import (
    Abort,
    CancelEffect,
    Effect,
    Prompt,
    Purpose,
    ReadSession,
    Record,
    Tell,
    Trim,
)
from loopguard_cli.core.events import (
    AgentError,
    EffectSettled,
    Origin,
    SessionGone,
    SessionRead,
    Status,
    StatusChanged,
    UserSpoke,
)
from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.core.ids import EffectId, MessageId, Mint, PartId, SessionId
from loopguard_cli.core.recovery import ABORT_SECONDS, READ_EVERY_SECONDS, Recovery, Step
from loopguard_cli.core.settings import Capabilities, GuardSettings, Locale, RecoverySettings
from loopguard_cli.core.wording import STREAM_TAG, Wording

T = TypeVar("T", bound=Effect)

S = SessionId("s1")
ALL = Capabilities(gate=True, abort=True, prompt=True, trim=True, read_session=True)
LOOP = Finding(
    rule="prose-block",
    proposes=Action.ABORT,
    session=S,
    identity="i",
    count=3,
    events=(1, 2, 3),
    message=MessageId("m1"),
    part=PartId("p1"),
    keep_chars=20,
)


def make(can: Capabilities = ALL, **recovery: object) -> Recovery:
    settings = GuardSettings(recovery=RecoverySettings(**recovery))  # type: ignore[arg-type]
    made = Recovery(S, settings, can, Wording(Locale.EN), Mint("t"))
    made.agent, made.model = "build", "fake/one"
    return made


def of(effects: Iterable[Effect], kind: type[T]) -> list[T]:
    return [e for e in effects if isinstance(e, kind)]


def steps(effects: Iterable[Effect]) -> list[str]:
    return [r.record.step for r in of(effects, Record)]  # type: ignore[union-attr]


def start(recovery: Recovery, now: float = 0.0, *, finding: Finding = LOOP, resume: bool = True) -> EffectId:
    [abort] = of(list(recovery.start(finding, now, resume=resume, newest_user=MessageId("u1"))), Abort)
    return abort.effect


def settle(recovery: Recovery, effect: EffectId, now: float, *, ok: bool = True) -> list[Effect]:
    error = "" if ok else "no"
    return list(recovery.receive(EffectSettled(session=S, effect=effect, ok=ok, error=error), now))


def read(
    recovery: Recovery, effect: EffectId, now: float, status: Status = Status.IDLE, **more: object
) -> list[Effect]:
    event = SessionRead(session=S, effect=effect, ok=True, status=status, **more)  # type: ignore[arg-type]
    return list(recovery.receive(event, now))


def until_prompted(recovery: Recovery, now: float = 0.0) -> Prompt:
    [ask] = of(settle(recovery, start(recovery, now), now), ReadSession)
    [trim] = of(read(recovery, ask.effect, now), Trim)
    [prompt] = of(settle(recovery, trim.effect, now), Prompt)
    return prompt


def test_the_whole_way_keeps_agent_and_model() -> None:
    recovery = make()
    prompt = until_prompted(recovery)
    assert prompt.text.startswith(STREAM_TAG)
    assert (prompt.purpose, prompt.agent, prompt.model) == (Purpose.RECOVERY, "build", "fake/one")
    assert recovery.step is Step.PROMPTING
    assert steps(settle(recovery, prompt.effect, 1.0)) == ["continued"]
    assert not recovery.active
    assert recovery.used == 1


def test_nothing_is_asked_before_the_abort_is_confirmed() -> None:
    recovery = make()
    abort = start(recovery)
    assert list(recovery.receive(StatusChanged(session=S, status=Status.IDLE), 0.1)) == []
    assert of(settle(recovery, abort, 0.2), ReadSession)


def test_an_idle_event_alone_proves_nothing() -> None:
    """Only the agent's own answer does; an idle event merely makes us ask again at once."""
    recovery = make()
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    assert read(recovery, ask.effect, 0.1, Status.BUSY) == []
    effects = list(recovery.receive(StatusChanged(session=S, status=Status.IDLE), 0.15))
    assert [type(e) for e in effects] == [ReadSession]
    assert recovery.step is Step.VERIFYING


def test_a_busy_agent_is_asked_again_until_the_deadline_then_left_alone() -> None:
    recovery = make(idle_wait_seconds=1.0)
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    now, asked = 0.0, 0
    while recovery.active:
        assert read(recovery, ask.effect, now, Status.BUSY) == []
        due = recovery.deadline()
        assert due is not None
        now = due
        effects = list(recovery.tick(now))
        for again in of(effects, ReadSession):
            ask, asked = again, asked + 1
    assert asked == int(1.0 / READ_EVERY_SECONDS) - 1
    assert [t.topic for t in of(effects, Tell)] == ["recovery.failed"]
    assert not of(effects, Prompt)


@pytest.mark.parametrize("where", ["abort", "prompt"])
def test_a_failed_step_warns_and_is_not_repeated(where: str) -> None:
    recovery = make()
    effect = start(recovery) if where == "abort" else until_prompted(recovery).effect
    effects = settle(recovery, effect, 0.5, ok=False)
    assert [t.topic for t in of(effects, Tell)] == ["recovery.failed"]
    assert not recovery.active
    assert recovery.deadline() is None


def test_an_abort_that_is_never_answered_ends_in_a_warning() -> None:
    recovery = make()
    start(recovery)
    assert list(recovery.tick(ABORT_SECONDS - 0.1)) == []
    assert of(list(recovery.tick(ABORT_SECONDS)), Tell)
    assert not recovery.active


def test_a_failed_trim_does_not_stop_the_continuation() -> None:
    recovery = make()
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    [trim] = of(read(recovery, ask.effect, 0.0), Trim)
    assert of(settle(recovery, trim.effect, 0.1, ok=False), Prompt)


def test_trimming_can_be_switched_off() -> None:
    recovery = make(trim=False)
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    effects = read(recovery, ask.effect, 0.0)
    assert of(effects, Prompt)
    assert not of(effects, Trim)


def test_the_allowance_is_two_and_only_a_person_renews_it() -> None:
    recovery = make()
    for _ in range(2):
        settle(recovery, until_prompted(recovery).effect, 0.0)
    ours = UserSpoke(session=S, message=MessageId("c2"), origin=Origin.LOOPGUARD)
    assert list(recovery.receive(ours, 1.0)) == []
    [ask] = of(settle(recovery, start(recovery, 2.0), 2.0), ReadSession)
    assert not recovery.continues
    [trim] = of(read(recovery, ask.effect, 2.0), Trim)
    assert not of(settle(recovery, trim.effect, 2.0), Prompt)
    assert not recovery.active

    list(recovery.receive(UserSpoke(session=S, message=MessageId("u2"), agent="plan"), 3.0))
    assert recovery.used == 0
    assert until_prompted(recovery, 4.0).agent == "plan"


@pytest.mark.parametrize(
    "event",
    [
        UserSpoke(session=S, message=MessageId("u2")),
        SessionGone(session=S),
    ],
)
@pytest.mark.parametrize("at", ["aborting", "verifying", "trimming", "prompting"])
def test_a_person_or_the_end_of_the_session_cancels_at_every_step(event: UserSpoke, at: str) -> None:
    recovery = make()
    abort = start(recovery)
    if at != "aborting":
        [ask] = of(settle(recovery, abort, 0.0), ReadSession)
    if at in ("trimming", "prompting"):
        [trim] = of(read(recovery, ask.effect, 0.0), Trim)
    if at == "prompting":
        settle(recovery, trim.effect, 0.0)
    effects = list(recovery.receive(event, 0.5))
    assert steps(effects) == ["cancelled"]
    assert len(of(effects, CancelEffect)) == (1 if at == "prompting" else 0)
    assert not recovery.active
    assert recovery.deadline() is None
    assert settle(recovery, abort, 1.0) == []


def test_a_message_that_only_the_agent_knows_of_cancels_too() -> None:
    recovery = make()
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    effects = read(recovery, ask.effect, 0.1, newest_user=MessageId("u9"), newest_user_origin=Origin.PERSON)
    assert steps(effects) == ["cancelled"]


def test_an_abort_by_hand_after_ours_cancels() -> None:
    recovery = make()
    until_prompted(recovery)
    ours = AgentError(session=S, aborted=True)
    assert list(recovery.receive(ours, 0.1)) == [], "the echo of our own abort"
    list(recovery.receive(StatusChanged(session=S, status=Status.BUSY), 0.2))
    assert steps(recovery.receive(ours, 0.3)) == ["cancelled"]


def test_stop_only_still_takes_the_loop_out_of_the_history() -> None:
    recovery = make(enabled=False)
    [ask] = of(settle(recovery, start(recovery), 0.0), ReadSession)
    [trim] = of(read(recovery, ask.effect, 0.0), Trim)
    assert not of(settle(recovery, trim.effect, 0.0), Prompt)
    assert not recovery.active
    assert not recovery.continues
