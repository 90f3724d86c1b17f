from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from loopguard_cli.config import schema
from loopguard_cli.errors import ConfigError


def test_show_lists_every_setting_with_value_and_origin(cli: Cli, project: Path) -> None:
    (project / "loopguard.toml").write_text("[guard]\nmode = 'observe'\n")
    done = cli("config", "show", LOOPGUARD_GUARD_PACE_TURNS="3")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in done.stdout.splitlines()}
    assert rows.keys() == schema.leaves().keys()
    assert rows["guard.mode"] == ["observe", f"project file {project}/loopguard.toml:2"]
    assert rows["guard.pace.turns"] == ["3", "environment LOOPGUARD_GUARD_PACE_TURNS"]
    assert rows["guard.hint"] == ["true", "default"]


def test_show_takes_a_section_flags_and_json(cli: Cli) -> None:
    done = cli(
        "config", "show", "guard.calls", "--changed", "--json", "--set", "guard.calls.ignore_tools=a,b"
    )
    assert json.loads(done.stdout) == {
        "guard.calls.ignore_tools": {
            "value": ["a", "b"],
            "layer": "flag",
            "place": "--set guard.calls.ignore_tools",
        }
    }


def test_set_writes_the_shared_file_by_default_and_others_on_demand(cli: Cli, project: Path) -> None:
    home = project.parent / "xdg"
    for option in ((), ("--local",), ("--user",)):
        done = cli("config", "set", "guard.mode", "observe", *option, XDG_CONFIG_HOME=str(home))
        assert done.returncode == 0, done.stderr
    for file in (
        project / "loopguard.toml",
        project / ".loopguard/config.toml",
        home / "loopguard/config.toml",
    ):
        assert file.read_text() == '[guard]\nmode = "observe"\n'


def test_set_tells_when_a_stronger_source_stays_in_force(cli: Cli) -> None:
    done = cli("config", "set", "guard.mode", "off", LOOPGUARD_MODE="on")
    assert done.returncode == 0
    assert done.stderr == "note: LOOPGUARD_MODE (environment) is stronger and stays in force\n"


def test_unset_takes_it_out_again(cli: Cli, project: Path) -> None:
    cli("config", "set", "guard.mode", "off")
    assert "removed" in cli("config", "unset", "guard.mode").stdout
    assert "guard.mode is not set in" in cli("config", "unset", "guard.mode").stdout
    assert (project / "loopguard.toml").read_text() == "[guard]\n"


def test_unset_takes_out_what_no_version_knows(cli: Cli, project: Path) -> None:
    (project / "loopguard.toml").write_text("[guard]\nold = 1\n")
    assert "removed" in cli("config", "unset", "guard.old").stdout
    assert (project / "loopguard.toml").read_text() == "[guard]\n"


def test_path_tells_which_files_there_are(cli: Cli, project: Path) -> None:
    (project / "loopguard.toml").write_text("")
    found = {row["path"]: row["exists"] for row in json.loads(cli("config", "path", "--json").stdout)}
    assert found[str(project / "loopguard.toml")] is True
    assert found[str(project / ".loopguard/config.toml")] is False
    assert len(found) == 3


def test_the_project_is_found_from_a_folder_below(cli: Cli, project: Path) -> None:
    below = project / "src"
    below.mkdir()
    (project / "loopguard.toml").write_text("[guard]\nhint = false\n")
    assert "false" in cli("config", "show", "guard.hint").stdout


def test_schema_is_json(cli: Cli) -> None:
    assert json.loads(cli("config", "schema").stdout)["title"] == "loopguard.toml"


def test_import_writes_what_it_shows_unless_asked_not_to(cli: Cli, project: Path) -> None:
    old = project / ".pi" / "loop-guard.json"
    old.parent.mkdir()
    old.write_text('{"enabled": false, "maxTurns": 7}')
    done = cli("config", "import", str(old), "--dry-run")
    assert "guard.pace.turns = 7" in done.stdout
    assert not (project / "loopguard.toml").exists()
    done = cli("config", "import", str(old))
    assert str(project / "loopguard.toml") in done.stdout
    assert "guard.mode" in cli("config", "show", "guard.mode", "--changed").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("set", "guard.mod", "on"), "unknown setting 'guard.mod' (did you mean 'guard.mode'?)"),
        (
            ("set", "guard.mode", "loud"),
            f"guard.mode: expected one of on, observe, off, got 'loud' ({ConfigError.advice})",
        ),
        (
            ("set", "guard.mode", "on", "--user", "--local"),
            "--user and --local exclude each other (give one of them)",
        ),
        (("unset", "guard.mod"), "unknown setting 'guard.mod' (did you mean 'guard.mode'?)"),
        (("show", "guard.mod"), "unknown setting 'guard.mod' (did you mean 'guard.mode'?)"),
        (("import", "none.json"), "none.json: no such file (name the old plugin's JSON file)"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_status_2(cli: Cli, words: tuple[str, ...], line: str) -> None:
    done = cli("config", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"loopguard: {line}\n")


def test_a_damaged_file_stops_every_command_that_needs_settings(cli: Cli, project: Path) -> None:
    (project / "loopguard.toml").write_text("[guard]\nmode = on\n")
    done = cli("config", "show")
    assert done.returncode == 2
    assert done.stderr.startswith(f"loopguard: {project}/loopguard.toml:2: ")
    assert done.stderr.count("\n") == 1


def test_what_a_project_may_not_name_is_refused_there_and_told_where_it_stands(
    cli: Cli, project: Path
) -> None:
    home = str(project.parent / "xdg")
    done = cli("config", "set", "notify.command", "say", XDG_CONFIG_HOME=home)
    assert done.returncode == 2
    assert "--user" in done.stderr
    assert cli("config", "set", "notify.command", "say", "--user", XDG_CONFIG_HOME=home).returncode == 0
    (project / "loopguard.toml").write_text("[notify]\ncommand = 'evil'\n")
    shown = cli("config", "show", "notify.command", XDG_CONFIG_HOME=home)
    assert shown.stdout.split()[1] == "say"
    assert f"{project}/loopguard.toml:2: notify.command ignored" in shown.stderr
