"""What a command line of Codex asks for."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from loopguard_cli.agents.base import BridgeAddress, Setup
from loopguard_cli.agents.codex import make
from loopguard_cli.agents.codex.options import Kind, parse


def parsed(line: str) -> Any:
    return parse(shlex.split(line))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("codex exec 'do it'", {"prompt": "do it", "program": ("codex",)}),
        ("codex e 'do it'", {"prompt": "do it"}),
        ("npx @openai/codex@0.171.0 exec go", {"program": ("npx", "@openai/codex@0.171.0"), "prompt": "go"}),
        ("/opt/codex -m gpt exec go", {"program": ("/opt/codex",), "model": "gpt", "prompt": "go"}),
        ("codex exec -", {"prompt": ""}),
        ("codex exec --json -o last.txt go", {"json": True, "last_message": "last.txt", "prompt": "go"}),
        ("codex exec --sandbox=read-only go", {"sandbox": "read-only", "prompt": "go"}),
        ("codex exec -sread-only go", {"sandbox": "read-only", "prompt": "go"}),
        ("codex exec -c a=1 --enable x go", {"server": ("-c", "a=1", "--enable", "x"), "prompt": "go"}),
        ("codex -c model='\"m\"' exec go", {"server": ("-c", 'model="m"'), "prompt": "go"}),
        ("codex exec -i a.png,b.png go", {"images": ("a.png", "b.png"), "prompt": "go"}),
        ("codex exec resume 01a2 go", {"resume": "01a2", "prompt": "go"}),
        ("codex exec resume --last go", {"resume_last": True, "resume": "", "prompt": "go"}),
        ("codex exec --yolo go", {"sandbox": "danger-full-access", "approval": "never"}),
        ("codex exec -- --json", {"json": False, "prompt": "--json"}),
    ],
)
def test_exec(line: str, expected: dict[str, Any]) -> None:
    options = parsed(line)
    assert options.kind is Kind.EXEC
    assert {name: getattr(options, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "server", "screen"),
    [
        ("codex", (), ()),
        ("codex 'fix it'", (), ("fix it",)),
        ("codex -c a=1 -a never 'fix it'", ("-c", "a=1"), ("-a", "never", "fix it")),
        ("codex resume --last", (), ("resume", "--last")),
        ("codex --no-daemon", (), ()),
        ("codex -m exec 'fix it'", (), ("-m", "exec", "fix it")),
    ],
)
def test_the_screen(line: str, server: tuple[str, ...], screen: tuple[str, ...]) -> None:
    options = parsed(line)
    assert (options.kind, options.server, options.screen) == (Kind.SCREEN, server, screen)


@pytest.mark.parametrize(
    "line",
    [
        "codex --version",
        "codex exec --help",
        "codex login",
        "codex mcp list",
        "codex exec review",
        "codex -p x",
    ],
)
def test_what_is_not_ours_to_do_is_left_alone(line: str) -> None:
    assert parsed(line).kind is Kind.OTHER


def test_more_folders_are_added_to_the_one_it_works_in() -> None:
    thread = parsed("codex exec --add-dir /a --add-dir b go").thread("/project")
    assert thread["runtimeWorkspaceRoots"] == ["/project", "/a", "/project/b"]
    assert "runtimeWorkspaceRoots" not in parsed("codex exec go").thread("/project")


def test_folders_for_the_screen_are_ours_to_add() -> None:
    options = parsed("codex --add-dir /a -m gpt")
    assert (options.folders("/project"), options.screen) == (["/project", "/a"], ("-m", "gpt"))


def test_an_option_that_we_cannot_carry_over_is_named() -> None:
    assert parsed("codex exec --worktree go").why == "exec --worktree"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("codex -p work", "codex -p"),
        ("codex review", "codex review"),
        ("codex login", ""),
        ("codex --version", ""),
    ],
)
def test_what_runs_unguarded_is_said_if_it_is_the_work_of_an_agent(line: str, told: str) -> None:
    remarks = make(Setup(argv=tuple(line.split()))).launch({}, BridgeAddress(token="")).remarks
    assert [told in remark for remark in remarks] == ([True] if told else [])


def test_a_screen_without_a_terminal_runs_unguarded_and_that_is_said() -> None:
    for words in ("codex", "sh -c true"):
        asked = Setup(argv=tuple(words.split()), interactive=False)
        (remark,) = make(asked).launch({}, BridgeAddress(token="")).remarks
        assert "UNGUARDED" in remark


def test_the_folder_is_that_of_the_run_or_below_it() -> None:
    assert parsed("codex exec go").folder("/project") == "/project"
    assert parsed("codex exec -C sub go").folder("/project") == "/project/sub"
    assert parsed("codex exec -C /other go").folder("/project") == "/other"
