"""pi's command line: which form is meant, and what is added to it."""

from __future__ import annotations

import json

import pytest

from loopguard_cli.agents.base import Form
from loopguard_cli.agents.pi.launch import BRIDGE, auditor, bridge_path, first, is_pi, parse


@pytest.mark.parametrize(
    ("line", "interactive", "form", "message"),
    [
        ("pi", True, Form.SCREEN, False),
        ("pi", False, Form.ONE_SHOT, False),
        ("pi fix it", True, Form.SCREEN, True),
        ("pi -p fix", True, Form.ONE_SHOT, True),
        ("pi --print --model m", True, Form.ONE_SHOT, False),
        ("pi --mode json fix", True, Form.ONE_SHOT, True),
        ("pi --mode=json fix", True, Form.ONE_SHOT, True),
        ("pi --mode text", True, Form.SCREEN, False),
        ("pi --mode rpc", False, Form.SERVER, False),
        ("pi --session-id abc -c", True, Form.SCREEN, False),
        ("pi -- -odd", True, Form.SCREEN, True),
        ("pi --version", True, Form.PLAIN, False),
        ("pi --list-models", False, Form.PLAIN, False),
        ("pi install npm:x", True, Form.PLAIN, True),
        ("npx -y @earendil-works/pi-coding-agent@1.6.0 -p fix", True, Form.ONE_SHOT, True),
    ],
)
def test_forms(line: str, interactive: bool, form: Form, message: bool) -> None:
    invocation = parse(line.split(), interactive=interactive)
    assert (invocation.form, invocation.message) == (form, message)


def test_the_extension_stands_behind_the_program_and_the_rest_as_typed() -> None:
    invocation = parse(("npx", "pi", "-p", "--model", "m", "fix it"), interactive=True)
    plan = first(invocation, {"token": "t"})
    assert plan.argv == ("npx", "pi", "-e", bridge_path(), "-p", "--model", "m", "fix it")
    assert json.loads(plan.environment[BRIDGE])["token"] == "t"


def test_what_is_no_agent_work_is_started_as_typed() -> None:
    plan = first(parse(("pi", "list"), interactive=True), {"token": "t"})
    assert (plan.argv, plan.environment, plan.bridged) == (("pi", "list"), {}, False)


@pytest.mark.parametrize(
    ("line", "said"),
    [("pi -p", ("work",)), ("pi -p fix", ()), ("pi", ()), ("pi --mode json", ("work",))],
)
def test_a_goal_is_the_prompt_of_a_one_shot_pi_that_has_none(line: str, said: tuple[str, ...]) -> None:
    plan = first(parse(line.split(), interactive=True), {}, "work")
    assert plan.argv[1 + 2 + len(line.split()) - 1 :] == said


def test_an_auditor_may_only_read_and_keeps_nothing() -> None:
    invocation = parse(("pi", "--provider=p", "--model", "m", "--continue", "-p", "fix"), interactive=True)
    plan = auditor(invocation, "Is it done?", "other/model")
    assert plan.argv[:2] == ("pi", "-p")
    assert {"--no-session", "--no-extensions", "--no-approve"} < set(plan.argv)
    assert plan.argv[plan.argv.index("--tools") + 1] == "read,grep,find,ls"
    assert plan.argv[-3:] == ("--provider=p", "--model", "m")
    assert plan.stdin == b"Is it done?"
    assert "--continue" not in plan.argv


@pytest.mark.parametrize("word", ["pi", "/usr/bin/pi", "@earendil-works/pi-coding-agent@latest"])
def test_names_of_pi(word: str) -> None:
    assert is_pi(word)


@pytest.mark.parametrize("word", ["pip", "pi-acp", "python"])
def test_names_of_others(word: str) -> None:
    assert not is_pi(word)
