"""Programs that run beside the agent: completion checks and auditors."""

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from loopguard_cli.agents.base import Form, LaunchPlan
from loopguard_cli.core.effects import RunAudit, RunCheck
from loopguard_cli.core.events import AuditFinished, CheckFinished, Event
from loopguard_cli.core.ids import EffectId
from loopguard_cli.runtime.checks import TAIL_BYTES, Jobs
from loopguard_cli.runtime.processes import tree

E1 = EffectId("e1")


class Outcome:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.arrived = asyncio.Event()

    def post(self, events: Iterable[Event]) -> None:
        self.events += events
        self.arrived.set()


async def checked(command: str, *, timeout: float = 20.0, directory: str = "") -> CheckFinished:
    outcome = Outcome()
    jobs = Jobs(outcome.post)
    jobs.check(RunCheck(effect=E1, command=command, timeout=timeout, directory=directory))
    await asyncio.wait_for(outcome.arrived.wait(), 30)
    await jobs.close()
    (event,) = outcome.events
    assert isinstance(event, CheckFinished)
    assert jobs.pids == set()
    return event


def check(command: str, **options: object) -> CheckFinished:
    return asyncio.run(checked(command, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("exit 3", 3), ("no-such-program-of-ours", 127)])
def test_the_exit_status_decides(command: str, code: int) -> None:
    assert check(command).exit_code == code


def test_the_end_of_both_outputs_is_kept() -> None:
    tail = check("yes filler | head -n 20000; echo seen >&2; echo last").tail
    assert tail.endswith("seen\nlast\n")
    assert len(tail) == TAIL_BYTES


def test_it_runs_where_it_was_told_to(tmp_path: Path) -> None:
    assert check("pwd", directory=str(tmp_path)).tail.strip() == str(tmp_path)
    assert check("true", directory=str(tmp_path / "missing")).error == "no such file or directory"


def test_one_that_takes_too_long_is_ended_with_all_below_it(tmp_path: Path) -> None:
    done = check(f"(sleep 600 & echo $! > {tmp_path}/pid; wait) & echo begun; wait", timeout=0.5)
    assert (done.exit_code, done.error) == (None, "timed out after 0.5 s")
    assert done.tail == "begun\n"
    assert ended(int((tmp_path / "pid").read_text()))


def ended(pid: int) -> bool:
    """Killed processes take a moment to go; some systems keep them as zombies."""
    tick = threading.Event()
    for _ in range(1000):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        tick.wait(0.01)
    return False


def test_a_child_left_behind_does_not_hold_it_up(tmp_path: Path) -> None:
    """It keeps the output open, for longer than any test waits."""
    done = check(f"echo started; sleep 600 & echo $! > {tmp_path}/pid")
    assert (done.exit_code, done.tail) == (0, "started\n")
    assert ended(int((tmp_path / "pid").read_text()))


def test_one_that_is_not_wanted_any_more_says_nothing() -> None:
    async def test() -> None:
        outcome = Outcome()
        jobs = Jobs(outcome.post)
        jobs.check(RunCheck(effect=E1, command="sleep 600", timeout=900))
        while not jobs.pids:
            await asyncio.sleep(0.01)
        jobs.cancel(E1)
        while jobs.pids:
            await asyncio.sleep(0.01)
        assert outcome.events == []

    asyncio.run(test())


def test_the_end_of_a_run_spares_what_runs_beside_it(tmp_path: Path) -> None:
    """Between two processes of a one-shot agent everything else of the run is ended."""

    async def test() -> CheckFinished:
        outcome = Outcome()
        jobs = Jobs(outcome.post)
        jobs.check(
            RunCheck(effect=E1, command="sh -c 'touch begun; sleep 0.3; echo whole'", timeout=20,
                     directory=str(tmp_path))
        )  # fmt: skip
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        await tree.end_all("no such run", jobs.pids)
        await asyncio.wait_for(outcome.arrived.wait(), 20)
        (event,) = outcome.events
        assert isinstance(event, CheckFinished)
        return event

    done = asyncio.run(test())
    assert (done.exit_code, done.tail) == (0, "whole\n")


async def audited(audit: RunAudit, plan: LaunchPlan | None = None) -> AuditFinished:
    outcome = Outcome()
    jobs = Jobs(outcome.post)
    if plan is None:
        jobs.audit(audit)
    else:
        jobs.audit_by(audit, plan, lambda output: f"read: {output}")
    await asyncio.wait_for(outcome.arrived.wait(), 30)
    await jobs.close()
    (event,) = outcome.events
    assert isinstance(event, AuditFinished)
    return event


@pytest.mark.parametrize(("code", "approved"), [(0, True), (1, False)])
def test_an_external_auditor_gets_json_and_answers_by_its_exit_status(code: int, approved: bool) -> None:
    command = (
        f"""python3 -c 'import json, sys; print(json.load(sys.stdin)["goal"]["objective"])'; exit {code}"""
    )
    audit = RunAudit(
        effect=E1, prompt="verify", timeout=20, command=command, payload={"goal": {"objective": "port it"}}
    )
    done = asyncio.run(audited(audit))
    assert (done.approved, done.reason, done.error) == (approved, "port it", "")


def test_an_auditor_that_does_not_read_its_input() -> None:
    audit = RunAudit(effect=E1, prompt="x" * 1_000_000, timeout=20, command="exit 0")
    assert asyncio.run(audited(audit)).approved is True


def test_an_auditor_of_the_agents_own() -> None:
    audit = RunAudit(effect=E1, prompt="verify", timeout=20)
    plan = LaunchPlan(
        argv=("sh", "-c", "echo noise >&2; cat; echo $WORD"), form=Form.ONE_SHOT, stdin=b"asked ",
        environment={"WORD": "said"}, bridged=False,
    )  # fmt: skip
    done = asyncio.run(audited(audit, plan))
    assert (done.reply, done.approved, done.error) == ("read: asked said\n", None, "")


def test_an_auditor_of_the_agents_own_that_fails() -> None:
    audit = RunAudit(effect=E1, prompt="verify", timeout=20)
    plan = LaunchPlan(argv=("sh", "-c", "echo [audit:approved]; exit 3"), form=Form.ONE_SHOT, bridged=False)
    done = asyncio.run(audited(audit, plan))
    assert (done.reply, done.error) == ("", "the auditor exited with 3")
