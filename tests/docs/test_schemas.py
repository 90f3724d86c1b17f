"""What commands print with ``--json`` is what docs/schemas says, in both directions.

Printed values are valid by the schema; and a field that no schema knows fails as well, since the
schemas are closed for the test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from scripts.schemas import OUTPUTS, schemas
from tests.cli.looking import GOAL, LOOPED, record
from tests.history.stories import Story

ROOT = Path(__file__).parents[2]
TRACE = """\
{"trace": "a", "label": "loop", "loop_kind": "identical_call", "loop_at": 1}
{"t": 0, "kind": "user", "text": "fix it"}
"""
CALL = """\
{"t": %d, "kind": "tool_call", "tool": "bash", "args": {"command": "cat a"}, "id": "%d"}
{"t": %d, "kind": "tool_result", "tool": "bash", "id": "%d", "ok": true, "output": "a"}
"""


def closed(schema: Any) -> Any:
    """The schema, with every object whose fields it names taking no others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if (
        schema.get("type") == "object"
        and isinstance(schema.get("properties"), dict)
        and "allOf" not in schema
    ):
        made.setdefault("additionalProperties", False)
    return made


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(closed(schema) if name not in OPEN else schema)


OPEN = {"goal"}
"""The answer's data has the fields of one of several shapes, beside those of every answer."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a recorded run, a goal, and sessions, one of them with a loop."""
    home = tmp_path_factory.mktemp("home")
    project = home / "shop"
    (project / ".git").mkdir(parents=True)
    record(project, *LOOPED, GOAL)
    (project / "traces").mkdir()
    calls = [CALL % (at, at, at, at) for at in range(1, 6)]
    (project / "traces" / "a.jsonl").write_text(TRACE + "".join(calls))
    story = Story(home / ".pi/agent/sessions/--shop--/1_s.jsonl", folder=str(project)).person("look")
    for _ in range(5):
        story.calls("bash", "alpha", command="cat a")
    story.says("Done.").write()
    (project / ".opencode" / "goals").mkdir(parents=True)
    return project


@pytest.fixture
def printed(place: Path) -> Callable[..., list[Any]]:
    """Runs a command line in the project; returns the values it printed."""

    def run(*words: str, lines: bool = False) -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-m", "loopguard_cli", *words], cwd=place, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(place.parent), "LANG": "C.UTF-8"}, timeout=120,
        )  # fmt: skip
        # Doctor finds what does not work here, and says so by its status.
        assert done.returncode in ((0, 1) if words[0] == "doctor" else (0,)), done
        return [json.loads(line) for line in done.stdout.splitlines()] if lines else [json.loads(done.stdout)]

    return run


COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "status": (("status", "--json"),),
    "inspect": (("inspect", "--json"),),
    "history": (("history", "--json", "--all"),),
    "doctor": (("doctor", "--json"),),
    "agents": (("agents", "--json"),),
    "goal": (
        ("goal", "status", "--json"),
        ("goal", "list", "--json"),
        ("goal", "history", "--json"),
        ("goal", "set", "--json", "make the tests pass"),
        ("goal", "status", "--json"),
        ("goal", "complete", "--json", "looked at it"),
        ("goal", "status", "--json"),
        ("goal", "history", "--json"),
    ),
    "goal-import": (("goal", "import", "--json"),),
    "scan": (("scan", "--json"), ("scan", "--json", "--agent", "codex")),
    "report": (("report", "--json"), ("report", "--json", "1_s"), ("report", "--json", "traces/a.jsonl")),
    "replay": (("replay", "traces/a.jsonl", "--json"),),
    "eval": (("eval", "traces", "--json"),),
    "config": (("config", "show", "--json"),),
    "config-files": (("config", "path", "--json"),),
}
ELSEWHERE = {"answer", "demo", "settings"}
"""Answers of live runs (below), the demonstration (tests/cli), and a schema itself."""
LINES = {"history", "replay"}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_for_programs_is_what_its_schema_says(name: str, printed: Callable[..., list[Any]]) -> None:
    check = validator(name)
    for words in COMMANDS[name]:
        values = printed(*words, lines=name in LINES)
        assert values
        for value in values:
            check.validate(value)


def test_what_is_printed_of_goals_has_the_shape_that_its_kind_says(
    printed: Callable[..., list[Any]],
) -> None:
    schema = json.loads(schemas()["goal"])
    (answer,) = printed("goal", "list", "--json")
    assert answer["data"]["reply"] == "list"
    known = {"reply", "work", *schema["$defs"]["ListData"]["properties"]}
    assert set(answer["data"]) <= known
    broken = {**answer, "data": {"reply": "list"}}
    assert list(Draft202012Validator(schema).iter_errors(broken)), "a missing field is noticed"


def test_a_loop_is_in_what_scan_and_report_print(printed: Callable[..., list[Any]]) -> None:
    (scanned,) = printed("scan", "--json")
    assert [place["loop"]["rule"] for place in scanned["largest"]] == ["repeat-call"]
    (report,) = printed("report", "--json", "1_s")
    assert [alarm["rule"] for alarm in report["alarms"]] == ["repeat-call"]
    assert not report["has_content"]


def _declared() -> Iterator[str]:
    """Commands that have the option, by their own word."""
    from loopguard_cli.cli.app import COMMANDS as ENTRIES
    from loopguard_cli.cli.lazy import load

    for entry in ENTRIES:
        command: Any = load(entry)
        for name, part in getattr(command, "commands", {"": command}).items():
            if any("--json" in parameter.opts for parameter in part.params):
                yield f"{entry.name} {name}".strip()


def test_every_command_with_json_has_a_schema() -> None:
    """Commands of live runs and of goals are described together."""
    described = " ".join(output.commands for output in OUTPUTS.values())
    for command in _declared():
        word, _, part = command.partition(" ")
        assert word in described, command
        assert word in ("goal", "config") or not part, command
    assert {"config show", "config path", "config apply"} == {
        command for command in _declared() if command.startswith("config ")
    }
    assert OUTPUTS.keys() == {*COMMANDS, *ELSEWHERE}
