"""How Gemini CLI is started: its forms, and the extension that is put beside the person's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_cli.agents.base import BridgeAddress, Form, LaunchPlan, Setup, Streams
from loopguard_cli.agents.gemini import make
from loopguard_cli.agents.gemini.invocation import parse
from loopguard_cli.agents.tools import GUARD_TOOLS, LOOP_GUARD, ToolProgram
from loopguard_cli.core.effects import Prompt, Purpose
from loopguard_cli.core.events import EffectSettled
from loopguard_cli.core.ids import EffectId, SessionId

ADDRESS = BridgeAddress(token="t", hook_command=("/bin/sh", "/h o/hook.sh", "/f", "1"), folder="/f")
EXTENSION = "home/.gemini/extensions/loopguard/"


def launch(*argv: str, interactive: bool = True, opening: str = "", **environ: str) -> LaunchPlan:
    setup = Setup(
        argv=("gemini", *argv),
        interactive=interactive,
        tools=GUARD_TOOLS,
        commands=(LOOP_GUARD,),
        tool_program=ToolProgram(("loopguard", "mcp"), {"WORD": "w"}),
    )
    adapter: Any = make(setup)
    adapter.opening = opening
    plan: LaunchPlan = adapter.launch({"HOME": "/home/person", **environ}, ADDRESS)
    return plan


@pytest.mark.parametrize(
    ("argv", "interactive", "form"),
    [
        ((), True, Form.SCREEN),
        (("fix it",), True, Form.SCREEN),
        (("-i", "fix it"), True, Form.SCREEN),
        (("-p", "fix it"), True, Form.ONE_SHOT),
        (("--prompt=fix it",), True, Form.ONE_SHOT),
        ((), False, Form.ONE_SHOT),
        (("mcp", "list"), True, Form.PLAIN),
        (("-m", "mcp"), True, Form.SCREEN),
        (("--version",), True, Form.PLAIN),
    ],
)
def test_the_form_follows_from_the_command_line(argv: tuple[str, ...], interactive: bool, form: Form) -> None:
    assert parse(("gemini", *argv), interactive=interactive).form is form


def test_the_screen_gets_a_terminal_and_the_command_line_stays_as_typed() -> None:
    plan = launch("--yolo", "fix it")
    assert (plan.argv, plan.streams) == (("gemini", "--yolo", "fix it"), Streams.TERMINAL)
    assert plan.environment == {"GEMINI_CLI_HOME": "/f/home"}


def test_the_persons_folder_is_mirrored_wherever_they_have_it() -> None:
    (mirror,) = launch().mirrors
    assert (mirror.folder, mirror.at) == ("/home/person/.gemini", "home/.gemini")
    assert "settings.json" in mirror.written
    (moved,) = launch(GEMINI_CLI_HOME="/elsewhere").mirrors
    assert moved.folder == "/elsewhere/.gemini"


def test_the_extension_holds_hooks_tools_and_commands() -> None:
    files = launch().files
    hooks = json.loads(files[EXTENSION + "hooks/hooks.json"])["hooks"]
    assert hooks["BeforeTool"][0]["hooks"][0]["command"] == "/bin/sh '/h o/hook.sh' /f 1 BeforeTool"
    manifest = json.loads(files[EXTENSION + "gemini-extension.json"])
    server = {"command": "loopguard", "args": ["mcp"], "env": {"WORD": "w"}}
    assert manifest["mcpServers"] == {"loopguard": server}
    assert EXTENSION + "commands/loop-guard.toml" in files


@pytest.mark.parametrize(
    ("argv", "lasting"),
    [
        (("--yolo", "-p", "fix it"), ("--yolo",)),
        (("-m", "pro", "--prompt=fix it", "-o", "json"), ("-m", "pro", "-o", "json")),
        (("-r", "latest", "-p", "go on", "more"), ()),
        (("--session-id", "abc", "-e", "own", "-p", "fix", "--", "it"), ("-e", "own")),
    ],
)
def test_it_goes_on_in_its_session_with_what_holds_for_all_of_it(
    argv: tuple[str, ...], lasting: tuple[str, ...]
) -> None:
    again = parse(("gemini", *argv), interactive=False).again("ses", "go on")
    assert again == (*lasting, "--resume", "ses", "--prompt", "go on")


def test_another_start_has_the_same_extension_and_home() -> None:
    adapter: Any = make(Setup(argv=("gemini", "-e", "own", "-p", "fix it"), interactive=False))
    first = adapter.launch({"HOME": "/home/person"}, ADDRESS)
    prompt = Prompt(session=SessionId("ses"), effect=EffectId("e"), text="Go on.", purpose=Purpose.RECOVERY)
    second = adapter.relaunch({"HOME": "/home/person"}, ADDRESS, prompt)
    assert second.argv == ("gemini", "-e", "loopguard", "-e", "own", "--resume", "ses", "--prompt", "Go on.")
    assert (second.environment, second.files, second.mirrors) == (
        first.environment,
        first.files,
        first.mirrors,
    )
    assert [event.effect for event in adapter.exited(1) if isinstance(event, EffectSettled)] == ["e"]


def test_a_choice_of_extensions_is_widened_by_ours() -> None:
    assert launch("-e", "none").argv == ("gemini", "-e", "loopguard", "-e", "none")


def test_a_sandbox_of_its_own_is_said_to_be_unguarded() -> None:
    plan = launch("--sandbox")
    assert "UNGUARDED" in plan.remarks[0]
    assert not plan.bridged


@pytest.mark.parametrize(("interactive", "option"), [(True, "--prompt-interactive"), (False, "--prompt")])
def test_a_goal_opens_where_the_command_line_has_no_prompt(interactive: bool, option: str) -> None:
    assert launch(interactive=interactive, opening="Go.").argv == ("gemini", option, "Go.")
    assert "Go." not in launch("-p", "fix it", interactive=interactive, opening="Go.").argv


def test_with_acp_it_is_an_agent_of_that_protocol() -> None:
    assert make(Setup(argv=("gemini", "--acp"))).name == "acp"
