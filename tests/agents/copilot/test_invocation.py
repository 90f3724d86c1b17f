"""Copilot CLI's command line."""

from __future__ import annotations

import pytest

from loopguard_cli.agents import choose
from loopguard_cli.agents.acp.adapter import Acp
from loopguard_cli.agents.base import BridgeAddress, Form, Setup
from loopguard_cli.agents.copilot.adapter import Copilot
from loopguard_cli.agents.copilot.invocation import parse
from loopguard_cli.core.effects import Prompt, Purpose
from loopguard_cli.core.ids import EffectId, SessionId

ADDRESS = BridgeAddress(token="t", folder="/run/x", hook_command=("/bin/sh", "/run/x/hook.sh"))


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("copilot -p hey", Form.ONE_SHOT),
        ("copilot --prompt=hey --yolo", Form.ONE_SHOT),
        ("copilot", Form.SCREEN),
        ("copilot -i hey", Form.SCREEN),
        ("copilot --resume", Form.SCREEN),
        ("copilot --version", Form.PLAIN),
        ("copilot plugin list", Form.PLAIN),
        ("copilot --allow-tool shell write -p hey", Form.ONE_SHOT),
        ("copilot --connect", Form.REMOTE),
        ("copilot --headless", Form.SERVER),
        ("npx -y @github/copilot@1.0.102 -phey", Form.ONE_SHOT),
    ],
)
def test_the_form_that_was_asked_for(words: str, form: Form) -> None:
    assert parse(words.split(), interactive=True).form is form


def test_without_a_terminal_the_prompt_is_on_standard_input() -> None:
    assert parse(["copilot", "--allow-all-tools"], interactive=False).form is Form.ONE_SHOT


def test_a_continuation_takes_over_what_holds_for_the_session() -> None:
    given = (
        "copilot --model m --allow-tool shell write --attachment a.png -n title --resume=old -p --odd -s "
        "--output-format json --continue"
    )
    asked = parse(given.split(), interactive=False)
    assert asked.json
    assert asked.again("id", "- go on") == (
        "--model", "m", "--allow-tool", "shell", "write", "-s", "--output-format", "json", "--resume=id",
        "--prompt", "- go on",
    )  # fmt: skip


def test_our_plugin_comes_along_with_every_start() -> None:
    adapter = choose(Setup(argv=("npx", "@github/copilot", "-p", "hey"), interactive=False))
    assert isinstance(adapter, Copilot)
    ours = ("--plugin-dir", "/run/x/copilot")
    first = adapter.launch({}, ADDRESS)
    assert first.argv == ("npx", "@github/copilot", *ours, "-p", "hey")
    assert {name.partition("/")[0] for name in first.files} == {"copilot"}
    prompt = Prompt(session=SessionId("id"), effect=EffectId("e"), text="on", purpose=Purpose.CONTINUATION)
    again = adapter.relaunch({}, ADDRESS, prompt)
    assert again.argv == ("npx", "@github/copilot", *ours, "--resume=id", "--prompt", "on")


def test_a_first_prompt_is_given_where_there_is_none() -> None:
    adapter = choose(Setup(argv=("copilot", "-s"), interactive=False))
    assert isinstance(adapter, Copilot)
    adapter.opening = "the goal"
    assert adapter.launch({}, ADDRESS).argv[-3:] == ("--prompt", "the goal", "-s")


def test_with_acp_it_is_an_agent_of_that_protocol() -> None:
    assert isinstance(choose(Setup(argv=("copilot", "--acp"), interactive=False)), Acp)
