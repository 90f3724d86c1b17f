"""How Qwen Code's print mode is started, and asked by its hooks."""

from __future__ import annotations

import json

from loopguard_cli.agents import choose
from loopguard_cli.agents.base import BridgeAddress, HookCall, HookReply, Setup
from loopguard_cli.agents.qwen.driven import Qwen
from loopguard_cli.agents.qwen.hooks import VARIABLE
from loopguard_cli.agents.tools import ToolProgram
from loopguard_cli.core.effects import AnswerGate
from loopguard_cli.core.events import ToolAsked

ADDRESS = BridgeAddress(token="t", folder="/run/x", hook_command=("/bin/sh", "/run/x/hook.sh"))


def adapter() -> Qwen:
    made = choose(Setup(argv=("qwen", "-p", "hey"), interactive=False))
    assert isinstance(made, Qwen)
    return made


def test_our_hooks_come_as_defaults_of_its_settings() -> None:
    plan = adapter().launch({}, ADDRESS)
    (name,) = plan.files
    assert plan.environment == {VARIABLE: f"/run/x/{name}"}
    hooks = json.loads(plan.files[name])["hooks"]
    assert hooks["PreToolUse"][0]["hooks"][0]["command"] == "/bin/sh /run/x/hook.sh PreToolUse"


def test_our_tools_come_by_a_server_that_asks_nobody_in_its_turn() -> None:
    program = ToolProgram(("loopguard", "mcp"), {"WORD": "secret"})
    made = choose(Setup(argv=("qwen", "-p", "hey"), interactive=False, tool_program=program))
    (settings,) = made.launch({}, ADDRESS).files.values()
    server = json.loads(settings)["mcpServers"]["loopguard"]
    assert server == {"command": "loopguard", "args": ["mcp"], "env": {"WORD": "secret"}, "trust": True}


def test_defaults_of_somebody_elses_are_not_hidden_and_it_is_said_what_that_costs() -> None:
    made = adapter()
    plan = made.launch({VARIABLE: "/etc/defaults.json"}, ADDRESS)
    assert (plan.environment, plan.files) == ({}, {})
    assert VARIABLE in plan.remarks[0]
    assert not made.capabilities.gate


def test_a_call_is_asked_about_by_the_name_it_has_in_the_conversation() -> None:
    made = adapter()
    body = {
        "session_id": "s",
        "tool_name": "run_shell_command",
        "tool_input": {"command": "ls"},
        "tool_use_id": "toolu_1",
        "tool_call_id": "call_1",
    }
    events = made.called(HookCall(call=7, hook="PreToolUse", body=body)).events
    (asked,) = (event for event in events if isinstance(event, ToolAsked))
    assert asked.call == "call_1"
    refusal = AnswerGate(session=asked.session, request=asked.request, allow=False, text="no")
    (reply,) = made.carry_out(refusal).orders
    assert isinstance(reply, HookReply)
    assert reply.call == 7
    assert reply.body is not None
    assert reply.body["hookSpecificOutput"]["permissionDecision"] == "deny"
