"""Whole runs, with a stand-in for the agent: what is judged, what files change, how they end."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

STANDIN = Path(__file__).with_name("standin.py")
LOOPGUARD = (sys.executable, "-m", "loopguard_cli")


def command(task: str, *options: str) -> list[str]:
    return [*LOOPGUARD, "run", "--agent", "opencode", *options, "--", sys.executable, str(STANDIN), task]


def run(
    task: str, folder: Path, *options: str, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(task, *options), cwd=folder, env={**os.environ, **(environ or {})}, capture_output=True,
        text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize("environ", [{}, {"LOOPGUARD_LOOPBACK": "1"}])
def test_the_third_call_is_refused_and_the_exit_status_is_the_agents(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    done = run("counted", tmp_path, environ=environ)
    assert done.returncode == 0b011, done
    assert "3 tool calls, 1 blocked" in done.stderr


def test_a_refused_call_that_has_run_is_not_counted_as_blocked(tmp_path: Path) -> None:
    done = run("late", tmp_path)
    assert done.returncode == 0b011, done
    assert "3 tool calls, 0 blocked, 1 turn cut off" in done.stderr
    history = subprocess.run(
        [*LOOPGUARD, "history", "--all"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert history.stdout.count("it ran although refused") == 1


def test_it_is_said_that_an_agent_cannot_be_told_to_refuse_unanswered_calls(tmp_path: Path) -> None:
    wish = "guard.fail_closed has no effect here"
    assert wish in run("counted", tmp_path, "--set", "guard.fail_closed=true").stderr
    assert wish not in run("counted", tmp_path).stderr


def test_the_agents_version_is_in_the_history(tmp_path: Path) -> None:
    run("counted", tmp_path)
    history = subprocess.run(
        [*LOOPGUARD, "history", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "stand-in" in history.stdout


def test_whoever_wants_to_know_is_told_before_the_run_ends(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    settings = ("guard.caps.calls=1", f"notify.command=tee {told}", "notify.desktop=false")
    run("counted", tmp_path, *(word for setting in settings for word in ("--set", setting)))
    assert json.loads(told.read_text())["topic"] == "loop.stopped"


def test_a_notice_command_that_does_not_exist_stops_the_start(tmp_path: Path) -> None:
    done = run("counted", tmp_path, "--set", "notify.command=no-such-program")
    assert done.returncode == 2
    assert "notify.command" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_tightens_holds_at_once(tmp_path: Path) -> None:
    done = run("tightened", tmp_path)
    assert done.returncode == 0b001, done
    assert "loopguard.toml has changed and is in force" in done.stdout


def test_a_file_that_loosens_waits_for_the_person(tmp_path: Path) -> None:
    done = run("loosened", tmp_path)
    assert done.returncode == 0b011, done
    assert "loopguard config apply" in done.stdout
    refused = [
        line
        for line in (tmp_path / ".loopguard" / "ledger.jsonl").read_text().splitlines()
        if '"guard"' in line
    ]
    assert [json.loads(line)["record"]["accepted"] for line in refused] == [False]


def test_what_an_agent_may_have_loosened_is_pointed_out_at_the_next_start(tmp_path: Path) -> None:
    run("loosened", tmp_path)
    again = run("counted", tmp_path)
    assert "loopguard.toml:" in again.stderr
    assert "loosens the guard, and is in force now" in again.stderr
    (tmp_path / "loopguard.toml").unlink()
    assert "loosens the guard" not in run("counted", tmp_path).stderr


def test_a_person_outside_puts_it_in_force(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text("[guard]\nlocale = 'en'\n")
    process = subprocess.Popen(
        command("waiting"), cwd=tmp_path, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        (tmp_path / "loopguard.toml").write_text("[guard]\nmode = 'observe'\n")
        subprocess.run([*LOOPGUARD, "config", "apply"], cwd=tmp_path, capture_output=True, check=True)
        status = subprocess.run(
            [*LOOPGUARD, "status", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert '"observe"' in status.stdout
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_a_supervisor_that_is_killed_leaves_the_agent_alone(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("waiting"), cwd=tmp_path, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        process.kill()
        assert process.stdout.read() == "", "the agent has noticed and ended by itself"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_no_agent_runs_is_the_exit_status(tmp_path: Path, number: signal.Signals) -> None:
    """Between two invocations of a one-shot agent, that of the last one says nothing about the signal."""
    agent = tmp_path / "opencode"
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STANDIN.with_name("once.py")}" "$@"\n')
    agent.chmod(0o755)
    waiting = ("--goal", "make the tests pass", "--set", "goal.cooldown_seconds=600")
    with subprocess.Popen(
        [*LOOPGUARD, "run", *waiting, "--", str(agent), "run", "do it"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout
            agents = int(process.stdout.readline())
            deadline = time.monotonic() + 30
            while psutil.pid_exists(agents) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(number)
            assert process.wait(30) == 128 + number
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--goal", "make the tests pass"), 128 + signal.SIGTERM)]
)
def test_an_agent_that_ends_well_when_told_to_has_not_achieved_its_goal(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    agent = tmp_path / "opencode"
    agent.write_text("#!/bin/sh\ntrap 'exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n")
    agent.chmod(0o755)
    with subprocess.Popen(
        [*LOOPGUARD, "run", *options, "--", str(agent), "run", "do it"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(30) == code


def test_an_agent_whose_output_we_read_ends_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = "trap '' HUP PIPE; sleep 1000 & echo $! > pids; echo $$ >> pids; wait; sleep 1000"
    agent = ("sh", "-c", script)
    with subprocess.Popen(
        [*LOOPGUARD, "run", "--events", "ndjson", "--", *agent], cwd=tmp_path, stdin=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 30
        pids = tmp_path / "pids"
        while not pids.exists() or len(pids.read_text().split()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        left = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
        process.kill()
    assert psutil.wait_procs(left, timeout=30)[1] == []


DEAF = "works without asking the guard (it says nothing and does not answer)."
DRIVEN = (
    ("acp",), ("claude", "-p", "do it"), ("codex", "exec", "--skip-git-repo-check", "do it"),
    ("qwen", "-p", "do it"),
)  # fmt: skip


@pytest.mark.parametrize("answers", [False, True])
def test_driven_agents_that_work_and_do_not_answer_are_pointed_out(tmp_path: Path, *, answers: bool) -> None:
    """Within ten seconds, and none that answers, though it has nothing to say.

    Each is started by a program that only waits for it. All run at the same time.
    """
    standin = [sys.executable, str(STANDIN.with_name("deafened.py")), *(["answers"] if answers else [])]
    processes: dict[Path, subprocess.Popen[str]] = {}
    try:
        for name, *arguments in DRIVEN:
            agent, said = tmp_path / name, tmp_path / f"{name}.said"
            agent.write_text(f"#!/bin/sh\n{shlex.join(standin)}\n:\n")
            agent.chmod(0o755)
            folder = tmp_path / f"{name}.d"
            folder.mkdir()
            with said.open("w") as errors:
                processes[said] = process = subprocess.Popen(
                    [*LOOPGUARD, "run", "--agent", name, "--", str(agent), *arguments], cwd=folder,
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, text=True,
                )  # fmt: skip
            assert process.stdin
            process.stdin.write("do it")
            process.stdin.close()
        deadline = time.monotonic() + (15 if answers else 60)
        quiet = set(processes)
        while quiet and time.monotonic() < deadline:
            time.sleep(0.1)
            quiet = {said for said in quiet if DEAF not in said.read_text()}
            assert all(process.poll() is None for process in processes.values())
        assert quiet == (set(processes) if answers else set()), [said.read_text() for said in processes]
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(30)


def linked(folder: Path) -> None:
    (folder / ".loopguard").symlink_to(folder.parent)


def no_folder(folder: Path) -> None:
    (folder / ".loopguard").touch()


def not_toml(folder: Path) -> None:
    (folder / "loopguard.toml").write_text("[guard")


def not_a_mode(folder: Path) -> None:
    (folder / "loopguard.toml").write_text("[guard]\nmode = 'of'\n")


@pytest.mark.parametrize(
    ("prepare", "code", "said"),
    [
        (linked, 125, ".loopguard is a symbolic link"),
        (no_folder, 125, ".loopguard is not a folder"),
        (not_toml, 2, "loopguard.toml:1: "),
        (not_a_mode, 2, "loopguard.toml:2: guard.mode: "),
    ],
)
def test_without_a_ledger_or_settings_the_agent_is_not_started(
    prepare: Callable[[Path], None], code: int, said: str, tmp_path: Path
) -> None:
    prepare(tmp_path)
    done = run("counted", tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("loopguard: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr


def test_a_disk_that_fills_up_is_said_once_and_the_guard_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *command("counted", "--record", str(record))],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0b011, done
    assert "3 tool calls, 1 blocked" in done.stderr
    assert done.stderr.count("the history is incomplete: cannot write to ") == 1
    assert done.stderr.count(f"the record is incomplete: cannot write to {record}: ") == 1
    ledger = (tmp_path / ".loopguard" / "ledger.jsonl").read_bytes()
    assert ledger.endswith(b"\n"), "no record is there by half"
