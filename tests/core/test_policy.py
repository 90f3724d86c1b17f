"""Policy: mode, ladder with memory, ceilings per rule, what the agent lets us do."""

from __future__ import annotations

import pytest

from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.core.policy import REMEMBERED, Policy
from loopguard_cli.core.settings import (
    CallSettings,
    Capabilities,
    GuardSettings,
    Mode,
    Preset,
    RuleAction,
)

ABLE = Capabilities(gate=True, abort=True, nudge=True, prompt=True)


def finding(
    proposes: Action, identity: str = "x", *, limit: Action = Action.STOP, count: int = 3, rule: str = "r"
) -> Finding:
    return Finding(rule=rule, proposes=proposes, limit=limit, identity=identity, count=count, events=(1,))


def judged(policy: Policy, *findings: Finding, at_gate: bool = True) -> Action:
    return policy.judge(findings, at_gate=at_gate).action


# --- the ladder ------------------------------------------------------------------------------


def test_a_loop_is_met_with_what_its_rule_proposes() -> None:
    for action in (Action.NOTE, Action.WARN, Action.NUDGE, Action.BLOCK, Action.ABORT, Action.STOP):
        assert judged(Policy(GuardSettings(), ABLE), finding(action)) is action


def test_the_same_loop_seen_again_meets_the_next_rung() -> None:
    policy = Policy(GuardSettings(), ABLE)
    assert [judged(policy, finding(Action.NUDGE)) for _ in range(2)] == [Action.NUDGE, Action.BLOCK]


def test_never_beyond_what_the_evidence_justifies() -> None:
    policy = Policy(GuardSettings(), ABLE)
    weak = finding(Action.NUDGE, limit=Action.NUDGE)
    assert judged(policy, weak) is Action.NUDGE
    assert max(judged(policy, weak) for _ in range(9)) <= Action.NUDGE
    assert judged(policy, finding(Action.NUDGE, limit=Action.BLOCK)) is Action.BLOCK


def test_one_nudge_is_enough_until_the_repetitions_have_doubled() -> None:
    policy = Policy(GuardSettings(), ABLE)
    said = [judged(policy, finding(Action.NUDGE, limit=Action.NUDGE, count=n)) for n in range(3, 13)]
    assert [n for n, action in zip(range(3, 13), said, strict=True) if action is Action.NUDGE] == [3, 6, 12]


def test_a_refused_call_asked_for_again_too_often_ends_the_turn() -> None:
    policy = Policy(GuardSettings(calls=CallSettings(blocked_retries=2)), ABLE)
    said = [judged(policy, finding(Action.BLOCK)) for _ in range(5)]
    assert said == [Action.BLOCK] * 3 + [Action.ABORT] * 2


def test_each_loop_has_its_own_rung() -> None:
    policy = Policy(GuardSettings(), ABLE)
    judged(policy, finding(Action.NUDGE, "x"))
    assert judged(policy, finding(Action.NUDGE, "y")) is Action.NUDGE


def test_a_person_makes_the_ladder_forget_and_so_does_a_reset() -> None:
    for forget in (Policy.person_spoke, Policy.reset):
        policy = Policy(GuardSettings(), ABLE)
        judged(policy, finding(Action.NUDGE))
        forget(policy)
        assert judged(policy, finding(Action.NUDGE)) is Action.NUDGE


def test_escalation_is_said() -> None:
    policy = Policy(GuardSettings(), ABLE)
    first = policy.judge([finding(Action.NUDGE)], at_gate=True)
    second = policy.judge([finding(Action.NUDGE)], at_gate=True)
    assert (first.escalated, second.escalated) == (False, True)


@pytest.mark.parametrize("preset", [Preset.INFINITY, Preset.PI])
def test_the_other_presets_have_no_ladder(preset: Preset) -> None:
    policy = Policy(GuardSettings(preset=preset), ABLE)
    assert [judged(policy, finding(Action.NUDGE)) for _ in range(9)] == [Action.NUDGE] * 9
    assert [judged(policy, finding(Action.BLOCK)) for _ in range(4)] == [Action.BLOCK] * 4


def test_only_pi_lets_a_refused_call_be_asked_for_without_end() -> None:
    settings = {preset: GuardSettings(preset=preset) for preset in (Preset.PI, Preset.INFINITY)}
    said = {
        preset: [judged(policy, finding(Action.BLOCK, limit=Action.BLOCK)) for _ in range(9)]
        for preset, policy in ((preset, Policy(one, ABLE)) for preset, one in settings.items())
    }
    assert said[Preset.PI] == [Action.BLOCK] * 9
    assert said[Preset.INFINITY] == [Action.BLOCK] * 4 + [Action.ABORT] * 5


def test_the_memory_is_bounded_and_forgets_the_one_unseen_for_longest() -> None:
    policy = Policy(GuardSettings(), ABLE)
    judged(policy, finding(Action.NUDGE, "old"))
    for n in range(REMEMBERED):
        judged(policy, finding(Action.NUDGE, str(n)))
    assert judged(policy, finding(Action.NUDGE, str(REMEMBERED - 1))) is Action.BLOCK
    assert judged(policy, finding(Action.NUDGE, "old")) is Action.NUDGE


# --- several findings ------------------------------------------------------------------------


def test_the_strongest_finding_decides_and_the_first_of_equals() -> None:
    policy = Policy(GuardSettings(), ABLE)
    weak, strong, equal = (
        finding(Action.NUDGE, "a"),
        finding(Action.ABORT, "b"),
        finding(Action.ABORT, "c"),
    )
    assert policy.judge([weak, strong, equal], at_gate=True).finding is strong


def test_nothing_found_is_allowed() -> None:
    verdict = Policy(GuardSettings(), ABLE).judge([], at_gate=True)
    assert (verdict.action, verdict.finding) == (Action.ALLOW, None)


# --- modes and ceilings ----------------------------------------------------------------------


@pytest.mark.parametrize("preset", list(Preset))
def test_observe_reports_and_never_stops_anything(preset: Preset) -> None:
    policy = Policy(GuardSettings(mode=Mode.OBSERVE, preset=preset), ABLE)
    counts = range(3, 13)
    verdicts = [policy.judge([finding(Action.BLOCK, count=count)], at_gate=True) for count in counts]
    assert {verdict.action for verdict in verdicts} == {Action.WARN}
    told = [count for count, verdict in zip(counts, verdicts, strict=True) if not verdict.again]
    assert told == ([3, 6, 12] if preset is Preset.BALANCED else [*counts])
    assert judged(policy, finding(Action.ABORT, "b"), at_gate=False) is Action.WARN


def test_off_says_nothing() -> None:
    assert judged(Policy(GuardSettings(mode=Mode.OFF), ABLE), finding(Action.STOP)) is Action.ALLOW


def test_a_rule_can_be_capped_or_switched_off() -> None:
    settings = GuardSettings(rules={"soft": RuleAction.WARN, "silent": RuleAction.OFF})
    policy = Policy(settings, ABLE)
    assert judged(policy, finding(Action.ABORT, "a", rule="soft")) is Action.WARN
    assert judged(policy, finding(Action.ABORT, "b", rule="silent")) is Action.ALLOW
    assert judged(policy, finding(Action.ABORT, "c", rule="other")) is Action.ABORT


@pytest.mark.parametrize("preset", list(Preset))
@pytest.mark.parametrize(
    ("settings", "can"),
    [({"rules": {"r": RuleAction.NUDGE}}, ABLE), ({}, Capabilities(nudge=True, prompt=True))],
    ids=["capped", "unable to do more"],
)
def test_a_hint_instead_of_something_stronger_is_not_given_at_every_call(
    preset: Preset, settings: dict[str, object], can: Capabilities
) -> None:
    policy = Policy(GuardSettings(preset=preset, **settings), can)  # type: ignore[arg-type]
    actions = [judged(policy, finding(Action.BLOCK, count=count), at_gate=can.gate) for count in range(3, 13)]
    assert [count for count, action in enumerate(actions, 3) if action is Action.NUDGE] == [3, 6, 12]
    assert set(actions) == {Action.NUDGE, Action.NOTE}


def test_new_settings_hold_from_the_next_judgement_on_and_forget_nothing() -> None:
    policy = Policy(GuardSettings(), ABLE)
    judged(policy, finding(Action.NUDGE))
    policy.reconfigure(GuardSettings(mode=Mode.OBSERVE))
    assert judged(policy, finding(Action.NUDGE, count=6)) is Action.WARN
    policy.reconfigure(GuardSettings())
    assert judged(policy, finding(Action.NUDGE)) >= Action.BLOCK


# --- what the agent lets us do ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("can", "proposed", "at_gate", "done"),
    [
        (ABLE, Action.BLOCK, False, Action.ABORT),
        (Capabilities(abort=True, nudge=True, prompt=True), Action.BLOCK, False, Action.ABORT),
        (Capabilities(nudge=True, prompt=True), Action.BLOCK, False, Action.NUDGE),
        (Capabilities(), Action.BLOCK, False, Action.WARN),
        (Capabilities(gate=True, nudge=True, prompt=True), Action.ABORT, True, Action.BLOCK),
        (Capabilities(gate=True, nudge=True, prompt=True), Action.ABORT, False, Action.NUDGE),
        (Capabilities(gate=True), Action.STOP, False, Action.WARN),
        (Capabilities(gate=True, abort=True), Action.NUDGE, True, Action.WARN),
        (Capabilities(), Action.WARN, False, Action.WARN),
    ],
)
def test_what_cannot_be_done_becomes_the_nearest_that_can(
    can: Capabilities, proposed: Action, at_gate: bool, done: Action
) -> None:
    verdict = Policy(GuardSettings(), can).judge([finding(proposed)], at_gate=at_gate)
    assert verdict.action is done
    weaker = done is not proposed and can != ABLE
    assert bool(verdict.degraded) is weaker
