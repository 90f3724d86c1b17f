"""Starting OpenCode: what a command line means, what is added to the environment, how it goes on."""

import json
from typing import Any

import pytest

from loopguard_cli.agents.base import Form
from loopguard_cli.agents.opencode import launch
from loopguard_cli.core.effects import Prompt, Purpose
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.errors import ConfigError


@pytest.mark.parametrize(
    ("line", "form", "message"),
    [
        ("opencode", Form.SCREEN, False),
        ("opencode some/folder", Form.SCREEN, False),
        ("opencode --prompt hello", Form.SCREEN, False),
        ("/opt/bin/opencode run hello", Form.ONE_SHOT, True),
        ("opencode run", Form.ONE_SHOT, False),
        ("opencode run --model a/b --agent build", Form.ONE_SHOT, False),
        ("opencode run --model a/b fix it", Form.ONE_SHOT, True),
        ("opencode run --command review", Form.ONE_SHOT, True),
        ("npx -y opencode-ai@latest run hello", Form.ONE_SHOT, True),
        ("opencode run --attach http://localhost:4096 hello", Form.REMOTE, True),
        ("opencode attach http://localhost:4096", Form.REMOTE, True),
        ("opencode serve --port 0", Form.SERVER, False),
        ("opencode models", Form.PLAIN, False),
        ("opencode run --help", Form.PLAIN, False),
        ("./wrapper.sh run", Form.ONE_SHOT, False),
    ],
)
def test_a_command_line(line: str, form: Form, message: bool) -> None:
    found = launch.parse(line.split())
    assert (found.form, found.message) == (form, message)


def first(line: str, environ: dict[str, str] | None = None, opening: str = "") -> Any:
    return launch.first(launch.parse(line.split()), environ or {}, {"token": "t"}, opening)


def test_the_command_line_stays_as_typed() -> None:
    line = "npx -y opencode-ai run --model a/b -- --not-an-option"
    assert list(first(line).argv) == line.split()


def test_only_servers_may_be_silent_at_first() -> None:
    lazy = {
        line for line in ("opencode", "opencode run x", "opencode serve", "opencode web") if first(line).lazy
    }
    assert lazy == {"opencode serve", "opencode web"}


def test_the_persons_own_configuration_stays() -> None:
    own = '{"plugin": ["theirs"], "model": "a/b", // a comment\n}'
    environment = first("opencode", {launch.CONTENT: own}).environment
    content = json.loads(environment[launch.CONTENT])
    assert content == {"plugin": ["theirs", launch.bridge_url()], "model": "a/b"}
    boot = json.loads(environment[launch.BRIDGE])
    assert boot["shell"] == {launch.CONTENT: own}, "an OpenCode in the agent's shell gets theirs alone"


@pytest.mark.parametrize("own", ["{", "[]", '"text"', '{"plugin": 5}'])
def test_a_broken_configuration_is_refused(own: str) -> None:
    with pytest.raises(ConfigError, match=launch.CONTENT):
        first("opencode", {launch.CONTENT: own})


def test_a_registry_that_cannot_be_reached_does_not_hold_up_the_start() -> None:
    environment = first("opencode", {launch.RETRIES: "7"}).environment
    assert environment[launch.RETRIES] == "0"
    assert json.loads(environment[launch.BRIDGE])["restore"] == {launch.RETRIES: "7"}


@pytest.mark.parametrize(
    ("line", "environ", "said"),
    [
        ("opencode --pure", {}, "runs unguarded"),
        ("opencode", {"OPENCODE_PURE": "1"}, "runs unguarded"),
        ("opencode attach http://localhost:4096", {}, "not guarded; start that server with"),
    ],
)
def test_where_no_bridge_gets_in_that_is_said(line: str, environ: dict[str, str], said: str) -> None:
    plan = first(line, environ)
    assert not plan.bridged
    assert said in plan.remarks[0]


def test_a_goal_is_the_first_prompt_where_there_is_none() -> None:
    assert first("opencode run", opening="begin").stdin == b"begin"
    assert first("opencode run fix it", opening="begin").stdin is None
    assert first("opencode", opening="begin").stdin is None


def test_it_goes_on_in_the_same_session_with_the_same_agent_and_model() -> None:
    prompt = Prompt(
        session=SessionId("ses_1"), effect=EffectId("e1"), text="go on", purpose=Purpose.RECOVERY,
        agent="careful", model="a/b", variant="high",
    )  # fmt: skip
    line = "opencode run --format json --title t -f file -c fix it"
    plan = launch.again(launch.parse(line.split()), {}, {"token": "t"}, prompt)
    assert " ".join(plan.argv) == (
        "opencode run --format json --agent careful --model a/b --variant high --session ses_1"
    )

    assert plan.stdin == b"go on"
    chosen = launch.parse(["opencode", "run", "-m", "c/d", "--agent=mine", "x"])
    assert list(launch.again(chosen, {}, {"token": "t"}, prompt).argv) == (
        ["opencode", "run", "-m", "c/d", "--agent", "mine", "--variant", "high", "--session", "ses_1"]
    )


@pytest.mark.parametrize("typed", ["--auto=false", "--auto false", "--auto", "--thinking true --auto=false"])
def test_a_switch_goes_on_as_it_was_set(typed: str) -> None:
    prompt = Prompt(
        session=SessionId("ses_1"), effect=EffectId("e1"), text="go on", purpose=Purpose.RECOVERY
    )  # fmt: skip
    chosen = launch.parse(f"opencode run {typed} fix it".split())
    assert " ".join(launch.again(chosen, {}, {"token": "t"}, prompt).argv) == (
        f"opencode run {typed} --session ses_1"
    )


def test_an_auditor_may_read_and_leaves_nothing() -> None:
    own = '{"agent": {"theirs": {}}, "model": "a/b"}'
    plan = launch.auditor(
        launch.parse(["opencode", "run", "--auto", "x"]), {launch.CONTENT: own}, "verify", "c/d"
    )
    assert " ".join(plan.argv) == "opencode run --format json --agent loopguard-verifier --model c/d"
    config = json.loads(plan.environment[launch.CONTENT])
    permission = config["agent"][launch.VERIFIER]["permission"]
    assert next(iter(permission.items())) == ("*", "deny")
    assert {name for name, action in permission.items() if action == "allow"} == {"read", "glob", "grep"}
    assert config["agent"]["theirs"] == {}
    assert plan.environment["OPENCODE_DB"] == ":memory:"
    assert launch.BRIDGE not in plan.environment


def test_the_last_words_of_an_auditor() -> None:
    def line(kind: str, message: str, text: str) -> str:
        return json.dumps({"type": kind, "part": {"type": kind, "messageID": message, "text": text}})

    output = [
        line("text", "m1", "I look."),
        "noise",
        "{}",
        line("text", "m2", "Seen."),
        line("tool", "m2", ""),
        line("text", "m2", "[audit:approved]"),
    ]
    assert launch.answer("\n".join(output)) == "Seen.\n[audit:approved]"
    assert launch.answer("") == ""


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ("-i", Form.SCREEN),
        ("-ci", Form.SCREEN),
        ("-ic", Form.SCREEN),
        ("--interactive=true", Form.SCREEN),
        ("-c", Form.ONE_SHOT),
        ("-mmini/i", Form.ONE_SHOT),
        ("-f -i", Form.ONE_SHOT),
    ],
)
def test_a_run_with_a_screen(options: str, form: Form) -> None:
    invocation = launch.parse(["opencode", "run", *options.split(), "fix"])
    assert invocation.form is form
