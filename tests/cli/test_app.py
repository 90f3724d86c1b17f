from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest
import typer
from tests.cli.conftest import Cli

from loopguard_cli import __version__
from loopguard_cli.cli.app import COMMANDS, command_tree
from loopguard_cli.cli.lazy import load

HEAVY = ("asyncio", "msgspec", "pexpect", "platformdirs", "psutil", "rich", "tomllib")


def imported_by(*words: str, **environ: str) -> set[str]:
    """The top-level modules in the interpreter after a command line was run in it."""
    program = (
        "import atexit, json, os, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['loopguard', *{list(words)!r}]\n"
        f"os.environ.update({environ!r})\n"
        "from loopguard_cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", [("--version",), ("--help",)])
def test_what_everybody_waits_for_loads_nothing_heavy_and_no_command(words: tuple[str, ...]) -> None:
    modules = imported_by(*words)
    assert not modules & set(HEAVY)
    assert not any(name.startswith("loopguard_cli.cli.commands.") for name in modules)


COMPLETIONS = {
    "bash": {"COMP_WORDS": "loopguard {}", "COMP_CWORD": "{at}"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "loopguard {}"},
    "fish": {"_TYPER_COMPLETE_ARGS": "loopguard {}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    "powershell": {"_TYPER_COMPLETE_ARGS": "loopguard {}", "_TYPER_COMPLETE_WORD_TO_COMPLETE": ""},
}


def completing(shell: str, words: str) -> dict[str, str]:
    """The variables that a shell's completion script sets."""
    at = str(len(words.split(" ")))
    given = {name: value.format(words, at=at) for name, value in COMPLETIONS[shell].items()}
    return {"_LOOPGUARD_COMPLETE": f"complete_{shell}", **given}


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_completion_of_a_command_name_loads_nothing_heavy_and_no_command(shell: str) -> None:
    modules = imported_by(**completing(shell, "st"))
    assert not modules & set(HEAVY)
    assert not any(name.startswith("loopguard_cli.cli.commands.") for name in modules)


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_completion_of_a_goal_number_loads_no_more_than_it_must(shell: str) -> None:
    modules = imported_by(**completing(shell, "goal focus "))
    assert not modules & (set(HEAVY) - {"msgspec"})
    assert "loopguard_cli.store.lease" not in modules


def test_status_loads_neither_rich_nor_asyncio_into_a_pipe() -> None:
    assert not imported_by("status") & (set(HEAVY) - {"msgspec"})


def test_a_completion_keeps_brackets_of_a_help_text(cli: Cli) -> None:
    done = cli(**completing("zsh", "sta"))
    assert "Show runs, sessions, loops and goals of this folder" in done.stdout


def test_no_part_of_us_builds_on_click_itself(pytestconfig: pytest.Config) -> None:
    for file in (pytestconfig.rootpath / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "import click" not in text, file
        assert "from click" not in text, file
        assert "typer._click" not in text, file


def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert (done.returncode, done.stdout) == (0, f"loopguard {__version__}\n")


def test_help_lists_every_command_with_its_summary_in_80_columns(cli: Cli) -> None:
    done = cli("--help", COLUMNS="200")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for entry in COMMANDS:
        assert any(line.split(maxsplit=1) == [entry.name, entry.summary] for line in lines), entry
    assert max(map(len, lines)) <= 80
    assert "loopguard run -- opencode" in done.stdout


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_explains_itself_in_80_columns(entry: object, cli: Cli) -> None:
    done = cli(entry.name, "--help")  # type: ignore[attr-defined]
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def subcommands() -> list[tuple[str, str]]:
    """Every command below a command, with its parent."""
    return [
        (entry.name, name)
        for entry in COMMANDS
        for name, command in getattr(load(entry), "commands", {}).items()
        if not command.hidden
    ]


@pytest.mark.parametrize(("parent", "name"), subcommands())
def test_every_subcommand_explains_itself_in_80_columns(parent: str, name: str, cli: Cli) -> None:
    done = cli(parent, name, "--help", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    head, _, examples = done.stdout.partition("Examples:")
    assert f"Usage: loopguard {parent} {name}" in head
    for line in examples.split("\n\n")[1].splitlines():
        assert line.strip().startswith(f"loopguard {parent} {name}"), line


def test_braces_in_a_usage_line_are_a_choice(cli: Cli) -> None:
    assert cli("mode", "--help").stdout.startswith("Usage: loopguard mode [OPTIONS] {on|observe|off}\n")
    assert cli("check", "--help").stdout.startswith("Usage: loopguard check [OPTIONS] TOOL [ARGS]\n")
    help_of_set = cli("config", "set", "--help").stdout
    assert help_of_set.startswith("Usage: loopguard config set [OPTIONS] KEY VALUE\n")


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_option_of_every_command_says_what_it_does(entry: object) -> None:
    command = load(entry)  # type: ignore[arg-type]
    context = typer.Context(command, info_name=command.name)
    for part in (command, *getattr(command, "commands", {}).values()):
        assert inspect.cleandoc(part.help or ""), part.name
        for parameter in part.get_params(context):
            record = parameter.get_help_record(context)
            assert record is None or record[1], (part.name, parameter.name)
            assert record is None or " range>" not in record[0], (part.name, parameter.name)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("statu",), "no such command 'statu' (did you mean 'status'?)"),
        (("frobnicate",), "no such command 'frobnicate' (see 'loopguard --help')"),
        (("--versio",), "no such option: --versio (did you mean --version?)"),
        ((), "missing command (see 'loopguard --help')"),
        (("check",), "missing argument 'TOOL' (see 'loopguard check --help')"),
        (("reset", "--jsn"), "no such option: --jsn (did you mean --json?)"),
        (("config", "sho"), "no such command 'sho' (did you mean 'show'?)"),
    ],
)
def test_a_wrong_command_line_is_one_line_naming_the_nearest_right_one(
    cli: Cli, words: tuple[str, ...], line: str
) -> None:
    done = cli(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"loopguard: {line}\n")


def test_the_names_of_commands_are_completed_with_their_summaries() -> None:
    tree = command_tree()
    context = tree.make_context("loopguard", [], resilient_parsing=True)
    found = {item.value: item.help for item in tree.shell_complete(context, "")}
    assert {entry.name: entry.summary for entry in COMMANDS}.items() <= found.items()
