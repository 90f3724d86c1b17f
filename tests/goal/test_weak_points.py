"""What the replaced goal loop got wrong; docs/decisions/0012 lists all of it with its proof."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.goal.shell import DONE, S, Shell, started

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import MessageId, RequestId, SessionId
from loopguard_cli.goal.model import MAX_OBJECTIVE, Mode
from loopguard_cli.goal.settings import Audit, GoalSettings
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.ledger import Ledger

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "decisions" / "0012-faults-of-the-replaced-goal-loop.md"


def test_every_fault_of_the_list_has_a_proof_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 35
    cases = {
        entry["id"]
        for file in (TESTS / "scenarios" / "cases").glob("*.json")
        for entries in json.loads(file.read_text()).values()
        if isinstance(entries, list)
        for entry in entries
    }
    sources = "\n".join(file.read_text() for file in TESTS.glob("*/test_*.py"))
    for row in rows:
        proofs = re.findall(r"`([^`]+)`", row.split("|")[3])
        assert proofs, row
        for proof in proofs:
            assert proof in cases or f"def {proof}(" in sources, proof


def newest_prompt(shell: Shell) -> str:
    return shell.of(fx.Prompt)[-1].text


def test_the_objective_is_in_every_prompt() -> None:
    shell = started()
    assert "repair the build" in newest_prompt(shell)
    shell.reply("m1")
    shell.idle()
    assert "repair the build" in newest_prompt(shell)
    shell.feed(ev.Compacted(session=S))
    shell.reply("m2")
    shell.idle()
    assert "repair the build" in newest_prompt(shell)
    shell.ask("edit repair the tests", session=S)
    shell.reply("m3")
    shell.idle()
    assert "repair the tests" in newest_prompt(shell)
    shell.ask("add polish it", session=S)
    shell.reply("m4")
    shell.idle()
    assert "polish it" in newest_prompt(shell)
    shell.ask("focus 1", session=S)
    shell.reply("m5")
    shell.idle()
    assert "repair the tests" in newest_prompt(shell)
    shell.ask("sequence first; second", session=S)
    shell.reply("m6")
    shell.idle()
    assert "first" in newest_prompt(shell)
    shell.reply("m7", DONE)
    shell.idle()
    assert "second" in newest_prompt(shell)
    after = Shell(stored=shell.records())
    after.idle()
    after.ask("resume", session=S)
    assert "second" in newest_prompt(after)


def test_only_what_was_sent_counts() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.idle()
    shell.ask("repair the build", session=S)
    shell.reply("m1")
    shell.keep = (fx.Prompt,)
    shell.idle()
    prompt = shell.of(fx.Prompt)[-1]
    turns = shell.goal().turns
    shell.feed(ev.EffectSettled(session=S, effect=prompt.effect, ok=False, error="refused"))
    assert shell.goal().turns == turns
    assert shell.goal().meters.prompt_failures == 1


def test_the_auditor_gets_the_whole_claim() -> None:
    shell = Shell(settings=GoalSettings(audit=Audit.BUILTIN))
    shell.reply("m0")
    shell.idle()
    shell.ask("repair the build", session=S)
    shell.reply("m1")
    shell.keep = (fx.RunAudit,)
    claim = {
        "summary": "the beginning of it",
        "criteria": [{"criterion": f"number {n}", "evidence": ["x" * 300]} for n in range(20)],
        "knownLimitations": ["the end of it"],
    }
    shell.feed(
        ev.Asked(session=S, request=RequestId("claim"), operation="tool.goal_complete",
                 surface=ev.Surface.TOOL, arguments=claim)
    )  # fmt: skip
    (audit,) = shell.of(fx.RunAudit)
    for part in ("the beginning of it", *(f"number {n}" for n in range(20)), "the end of it"):
        assert part in audit.prompt
        assert part in audit.payload["evidence"]


def test_no_reply_is_kept_whole() -> None:
    shell = started()
    secret = "The pass phrase is swordfish"
    shell.reply("m1", "Working. " * 100 + secret)
    shell.idle()
    assert secret not in repr(shell.records())
    assert shell.goal().last_text
    assert len(shell.goal().last_text) < 64


@pytest.mark.parametrize("letter", ["x", "語", "\N{GRINNING FACE}"])
def test_the_longest_objective_is_written_once_and_survives(tmp_path: Path, letter: str) -> None:
    objective = letter * MAX_OBJECTIVE
    shell = Shell()
    shell.reply("m0")
    shell.ask(objective, session=S)
    shell.idle()
    shell.reply("m1")
    shell.idle()
    shell.ask("pause", session=S)
    with Ledger.open(tmp_path / "state", run="r") as ledger:
        for record in shell.records():
            ledger.append(record, sync=True)
    stored = stored_goals(tmp_path / "state")
    assert stored.damage == ()
    assert sum(objective in repr(record) for record in stored.records) == 1
    focused = stored.books()[S].focused
    assert focused is not None
    assert focused.objective == objective


def test_only_the_flag_orders() -> None:
    shell = Shell()
    shell.ask("go through the steps in order, strictly one by one, mode ordered", session=S)
    assert shell.goal().mode is Mode.NORMAL
    shell.ask("go through the steps --mode ordered", session=S)
    assert shell.goal().mode is Mode.ORDERED


def test_a_failed_outcome_keeps_the_goals_place() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.ask("first", session=S)
    shell.ask("add second", session=S)
    shell.ask("focus 1", session=S)
    shell.idle()
    shell.reply("m1", DONE)
    shell.keep = (fx.Record,)
    shell.idle()
    outcome = next(r for r in shell.kept if isinstance(r, fx.Record) and r.effect)
    shell.keep = ()
    shell.feed(ev.EffectSettled(session=S, effect=outcome.effect, ok=False, error="no space"))
    assert [goal.objective for goal in shell.goals.book(S).goals] == ["first", "second"]
    assert shell.goals.book(S).archive == ()


def test_of_too_many_results_the_oldest_goes() -> None:
    shell = Shell(settings=GoalSettings(max_results=2))
    names = [SessionId(f"s{n}") for n in range(3)]
    for name in names:
        shell.newest = MessageId("")
        shell.reply(f"m0-{name}", session=name)
        shell.ask("repair it", session=name)
        shell.idle(name)
        shell.reply(f"m1-{name}", DONE, session=name)
        shell.idle(name)
        shell.now += 10
    assert [bool(shell.goals.book(name).last_result) for name in names] == [False, True, True]
    assert all(shell.goals.book(name).archive for name in names)
