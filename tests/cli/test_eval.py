"""``loopguard eval`` as a person and a script use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.test_replay import lines


@pytest.fixture
def traces(project: Path) -> Path:
    """A loop, a healthy trace, and one of which nobody knows what it is."""
    folder = project / "traces"
    folder.mkdir()
    (folder / "loop.jsonl").write_text("\n".join(lines()))
    healthy = lines(2)
    healthy[0] = json.dumps({"trace": "h", "label": "healthy", "loop_kind": "plain", "loop_at": None})
    (folder / "healthy.jsonl").write_text("\n".join(healthy))
    unknown = lines()
    unknown[0] = json.dumps({"trace": "u", "label": "unknown"})
    (folder / "unknown.jsonl").write_text("\n".join(unknown))
    return folder


def first_report(printed: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(printed)["presets"][0]["report"]
    return report


def test_a_table_for_people(cli: Cli, traces: Path) -> None:
    done = cli("eval", str(traces), "--preset", "balanced", "--preset", "pi")
    assert done.returncode == 0
    assert "balanced" in done.stdout
    assert "pi" in done.stdout.split()
    assert "identical_call" in done.stdout


def test_json_for_scripts(cli: Cli, traces: Path) -> None:
    done = cli("eval", str(traces), "--json")
    assert done.returncode == 0
    one = first_report(done.stdout)
    assert (one["preset"], one["healthy"], one["false_alarms"]) == ("balanced", 1, [])
    assert one["groups"]["exact"] == {"loops": 1, "caught": 1, "nudged": 1, "missed": []}


def test_what_if_other_settings_held(cli: Cli, traces: Path) -> None:
    done = cli("eval", str(traces), "--json", "--set", "guard.rules.repeat-call=off")
    one = first_report(done.stdout)
    assert one["groups"]["exact"]["caught"] == 0


def test_the_settings_of_the_folder_are_left_out_of_it(cli: Cli, traces: Path, project: Path) -> None:
    (project / "loopguard.toml").write_text('[guard]\nmode = "off"\n')
    one = first_report(cli("eval", str(traces), "--json").stdout)
    assert one["groups"]["exact"]["caught"] == 1


def test_a_damaged_trace_ends_it_or_is_left_out(cli: Cli, traces: Path) -> None:
    (traces / "odd.jsonl").write_text('{"trace": "odd", "label": "loop"}\n{"kind": 7}\n')
    done = cli("eval", str(traces))
    assert done.returncode == 2
    assert "odd.jsonl:2: " in done.stderr
    assert "Traceback" not in done.stderr
    done = cli("eval", str(traces), "--keep-going", "--json")
    assert done.returncode == 0
    assert "odd.jsonl:2: " in done.stderr
    assert first_report(done.stdout)["traces"] == 3


def test_a_folder_without_traces_is_refused(cli: Cli, project: Path) -> None:
    (project / "empty").mkdir()
    done = cli("eval", "empty")
    assert done.returncode == 2
    assert "empty: no traces (*.jsonl) here" in done.stderr
    assert "nowhere: no such file or folder" in cli("eval", "nowhere").stderr


def test_our_own_state_is_no_trace(cli: Cli, traces: Path) -> None:
    (traces / ".loopguard").mkdir()
    (traces / ".loopguard" / "ledger.jsonl").write_text('{"unrelated": 1}\n')
    assert cli("eval", str(traces)).returncode == 0
