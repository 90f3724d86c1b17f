from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.core.effects import TakeLease
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.core.records import UserTurn
from loopguard_cli.goal.evolve import WAITING, fold
from loopguard_cli.goal.records import Attached, Kind, Set, pack
from loopguard_cli.store.goals import settle_lease, stored_goals
from loopguard_cli.store.lease import Leases
from loopguard_cli.store.ledger import Ledger

SESSION = SessionId("ses_1")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / ".loopguard"
    with Ledger.open(path, run="r") as ledger:
        ledger.append(UserTurn(session=SESSION))
        ledger.append(pack(WAITING, "g1", Kind.SET, Set(at=1.0, objective="first")))
        ledger.append(pack(SessionId("ses_2"), "g2", Kind.SET, Set(at=2.0, objective="second")))
    return path


def take(session: SessionId) -> TakeLease:
    return TakeLease(session=session, effect=EffectId("e1"))


def test_only_goals_are_given_back_and_damage_is_told(state: Path) -> None:
    with (state / "ledger.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    stored = stored_goals(state)
    assert [record.goal for record in stored.records] == ["g1", "g2"]
    assert [damage.reason for damage in stored.damage] == ["foreign"]


def test_nothing_stored_is_no_goals(tmp_path: Path) -> None:
    assert stored_goals(tmp_path / "none").books() == {}


def test_a_lease_comes_with_the_sessions_goals_as_they_are_now(state: Path) -> None:
    with Ledger.open(state, run="other") as ledger:
        ledger.append(pack(SESSION, "", Kind.ATTACHED, Attached(at=3.0, source=WAITING)))
    settled = settle_lease(state, Leases(state, run="mine"), take(SESSION), 5.0)
    assert (settled.ok, settled.effect) == (True, "e1")
    books, bad = fold({}, settled.records)
    assert bad == 0
    assert [goal.objective for goal in books[SESSION].goals] == ["first"]
    assert settle_lease(state, Leases(state, run="mine"), take(WAITING), 5.0).records == ()


def test_of_two_runs_one_gets_the_goals_that_wait(state: Path) -> None:
    mine, other = Leases(state, run="mine"), Leases(state, run="other")
    assert settle_lease(state, mine, take(WAITING), 5.0).ok
    refused = settle_lease(state, other, take(WAITING), 5.0)
    assert (refused.ok, refused.unsafe, refused.records) == (False, False, ())
    assert "another loopguard drives this session" in refused.error


def test_trouble_with_the_folder_is_told_as_such(state: Path, tmp_path: Path) -> None:
    (state / "leases").symlink_to(tmp_path)
    settled = settle_lease(state, Leases(state, run="mine"), take(SESSION), 5.0)
    assert (settled.ok, settled.unsafe) == (False, True)
    assert "not a folder of ours" in settled.error
