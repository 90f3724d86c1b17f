"""``loopguard doctor``: each trouble has its line, its advice and its effect on the exit status."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.looking import LOOPED, live_run, record
from tests.cli.test_status import LIVE
from tests.pty.terminal import Terminal

from loopguard_cli.agents import AGENTS
from loopguard_cli.cli import crash
from loopguard_cli.cli.commands import doctor
from loopguard_cli.cli.diagnosis import Level, state
from loopguard_cli.store.lease import Leases
from loopguard_cli.testing.subjects import SUBJECTS


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def lines(area: str) -> list[tuple[str, str]]:
    return [(one.level.value, one.text) for one in doctor.examine() if one.area == area]


def install(programs: Path, name: str, script: str) -> None:
    programs.mkdir(parents=True, exist_ok=True)
    program = programs / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.usefixtures("project")
def test_whatever_is_wrong_comes_with_advice() -> None:
    found = list(doctor.examine())
    assert {one.area for one in found} == {"loopguard", "terminal", "agents", "settings", "state", "runs"}
    for one in found:
        assert bool(one.advice) == (one.level in (Level.WARNING, Level.PROBLEM)), one


def test_agents_are_found_with_their_versions(project: Path, programs: Path) -> None:
    tested = AGENTS["opencode"].tested
    assert project.exists()
    assert lines("agents")[0] == ("warning", "no agent that we know is on PATH")
    install(programs, "opencode", f"echo {tested}")
    assert lines("agents") == [("ok", f"OpenCode {tested} ({programs}/opencode)")]
    install(programs, "opencode", f"echo Version {tested}.")
    assert lines("agents") == [("ok", f"OpenCode {tested} ({programs}/opencode)")]
    install(programs, "opencode", "echo opencode 99.1.0-beta")
    (level, text) = lines("agents")[0]
    assert level == "note"
    assert "OpenCode 99.1.0-beta" in text
    assert tested in text


def test_an_agent_that_does_not_start_is_a_problem(project: Path, programs: Path) -> None:
    install(programs, "opencode", "exit 1")
    assert lines("agents") == [("problem", f"OpenCode: '{programs}/opencode --version' fails")]
    assert project.exists()
    assert doctor.command(as_json=True) == 1


def test_an_adapter_of_a_protocol_is_compared_with_itself(project: Path, programs: Path) -> None:
    """Not with the version of the protocol; one that prints no version has a package that says it."""
    tested = SUBJECTS["codex-acp"].tested
    package = programs.parent / "node_modules" / "codex-acp"
    install(package, "main.sh", "exit 2")
    (package / "package.json").write_text(json.dumps({"version": tested, "bin": {"codex-acp": "main.sh"}}))
    (programs / "codex-acp").symlink_to(package / "main.sh")
    install(programs, "pi-acp", "echo 99.1.0")
    assert project.exists()
    codex, pi = lines("agents")
    assert codex == ("ok", f"codex-acp {tested} ({programs}/codex-acp)")
    assert pi[0] == "note"
    assert SUBJECTS["pi-acp"].tested in pi[1]


def test_a_protocol_is_tried_by_those_that_speak_it(
    programs: Path, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    assert programs.exists()
    assert doctor.command("acp") == 1
    said = capsys.readouterr().out
    assert all(name in said for name, subject in SUBJECTS.items() if subject.agent == "acp")
    assert "can be: opencode" in cli("doctor", "terminal").stderr
    assert "did you mean 'gemini-acp'?" in cli("doctor", "gemni-acp").stderr


def test_settings_are_checked_and_their_origins_told(project: Path) -> None:
    assert lines("settings") == [("ok", "no settings file; defaults hold")]
    file = project / "loopguard.toml"
    file.write_text('[guard]\nmode = "observe"\n')
    assert ("ok", f"guard.mode is set by project file {file}:2") in lines("settings")
    assert ("warning", "the guard's mode is observe: loops are not stopped") in lines("settings")
    file.write_text('[guard]\nmode = "sometimes"\n')
    (_, problem) = lines("settings")
    assert problem[0] == "problem"
    assert f"{file}:2: guard.mode" in problem[1]


def test_the_ledger_and_its_damage(project: Path) -> None:
    assert "does not exist yet" in lines("state")[0][1]
    record(project, *LOOPED)
    assert lines("state")[0] == ("ok", f"{project}/.loopguard: ledger with 17 records")
    with (project / ".loopguard" / "ledger.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    assert ("warning", "1 damaged places in the ledger: ledger.jsonl:18 (foreign)") in lines("state")


def test_a_linked_state_folder_is_a_problem(project: Path, tmp_path: Path) -> None:
    (project / ".loopguard").symlink_to(tmp_path)
    assert lines("state") == [("problem", f"{project}/.loopguard is a symbolic link")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_a_problem(project: Path) -> None:
    project.chmod(0o500)
    try:
        assert ("problem", f"{project} cannot be written to") in lines("state")
    finally:
        project.chmod(0o700)


def test_little_space_is_a_warning(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LITTLE_SPACE", 1 << 62)
    assert lines("state")[0][0] == "warning"
    assert str(project) in lines("state")[0][1]


def test_leases(project: Path) -> None:
    leases = Leases(project / ".loopguard", run="aaaa1111")
    assert leases.acquire("ses_1") is None
    assert ("ok", "goals are driven by: aaaa1111") in lines("state")
    (file,) = (project / ".loopguard" / "leases").glob("*.json")
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, "started": "long ago"}))
    assert ("note", "1 lease of runs that are gone; the next run takes over") in lines("state")
    file.write_text("{")
    assert ("warning", "1 lease cannot be made out") in lines("state")


def test_live_runs_are_asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines("runs")[-1] == ("ok", "no live run")
    with live_run(project, "aaaa1111", LIVE):
        assert ("ok", "run aaaa1111 of opencode answers, its agent is guarded") in lines("runs")
    with live_run(project, "aaaa1111", {}):
        assert ("warning", "run aaaa1111 of opencode answers, but its agent is not guarded") in lines("runs")
    monkeypatch.setattr(state, "ANSWER_WITHIN_S", 0.01)
    with live_run(project, "aaaa1111", None):
        assert ("warning", "run aaaa1111 of opencode does not answer") in lines("runs")


@pytest.mark.usefixtures("project")
def test_a_runtime_folder_of_somebody_else_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "runtime"
    (place / "elsewhere").mkdir(parents=True)
    (place / "loopguard").symlink_to(place / "elsewhere")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    assert lines("runs")[0][0] == "problem"


@pytest.mark.usefixtures("project")
def test_crash_reports_are_pointed_to() -> None:
    written = crash.write_report(RuntimeError())
    assert ("warning", f"1 crash report, the newest {written}") in lines("loopguard")


@pytest.mark.usefixtures("project")
def test_another_loopguard_on_the_path_is_pointed_out(programs: Path) -> None:
    assert ("warning", "no 'loopguard' on PATH") in lines("loopguard")
    install(programs, "loopguard", f"exec {sys.executable}")
    assert ("warning", f"a shell would start another one: {programs}/loopguard") in lines("loopguard")
    (programs / "loopguard").write_text(f"#!{sys.executable}\n")
    assert ("ok", f"started as {programs}/loopguard") in lines("loopguard")


def test_as_a_command(cli: Cli, project: Path) -> None:
    done = cli("doctor")
    assert done.returncode == 0
    # Agents, and neither protocols nor ways to run any program.
    (named,) = re.findall(r"-> install one of: ([^;]*);", done.stdout)
    assert set(named.split(", ")) == {
        "OpenCode", "Claude Code", "Codex", "pi", "Gemini CLI", "Qwen Code", "Copilot CLI",
    }  # fmt: skip
    assert done.stdout.rstrip().endswith("warnings.")
    (project / "loopguard.toml").write_text("[guard")
    failed = cli("doctor", "--json")
    assert failed.returncode == 1
    found: list[dict[str, Any]] = json.loads(failed.stdout)
    assert [one["area"] for one in found if one["level"] == "problem"] == ["settings"]


def test_the_terminal_is_described(project: Path) -> None:
    argv = [sys.executable, "-m", "loopguard_cli", "doctor"]
    environ = {**os.environ, "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
    with Terminal(argv, cwd=project, env=environ, rows=60, columns=120) as terminal:
        assert terminal.wait() == 0
        assert "xterm-256color, 120x60, colours" in terminal.text
