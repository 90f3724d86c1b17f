"""The registry: how a command line finds its adapter, and what each adapter says of itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.agents import AGENTS, STREAM, Surface, choose, find
from loopguard_cli.agents.base import BridgeAddress, Driven, Form, Setup
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS, LOOP_GUARD, ToolProgram, goal_command
from loopguard_cli.errors import UsageError
from loopguard_cli.testing.subjects import SUBJECTS

INSTALLED = Path(__file__).parents[1] / "real" / "agents"
ADDRESS = BridgeAddress(
    token="token",
    unix="/run/agent",
    hooks="http://127.0.0.1:9/token/",
    hook_command=("/hook",),
    folder="/run",
)
COMMAND, WORD = "/opt/loopguard-tools", "let-me-in"

BY_EVENTS = "stream"
"""Never chosen for a program, but by ``--events``."""
BY_DEFAULT = "terminal"
"""Chosen for whatever nothing else recognises, at a terminal."""

NAMED = sorted(AGENTS.keys() - {BY_EVENTS, BY_DEFAULT})


def setup(argv: tuple[str, ...], *, interactive: bool = True, events: str = "") -> Setup:
    return Setup(
        argv=argv,
        tools=(*GUARD_TOOLS, *GOAL_TOOLS),
        commands=(LOOP_GUARD, goal_command()),
        directory="/project",
        interactive=interactive,
        keyboard=interactive,
        tool_program=ToolProgram((COMMAND, "mcp"), {"WORD": WORD}),
        events=events,
    )


def chosen(argv: tuple[str, ...]) -> str:
    """The registry's name of the adapter's module; what it calls itself depends on the program behind it."""
    adapter = choose(setup(argv))
    module = type(adapter).__module__
    return next((name for name, known in AGENTS.items() if module.startswith(f"{known.module}.")), module)


# --- how a command line is recognised -------------------------------------------------------------


def _spellings() -> Iterator[Any]:
    for name in NAMED:
        known = AGENTS[name]
        assert known.programs, name
        for program in sorted(known.programs):
            for argv in (
                (program,),
                (f"/opt/some where/{program}",),
                (f"./node_modules/.bin/{program}",),
                ("npx", program),
                ("npx", "-y", f"./bin/{program}"),
                ("env", "COLOR=1", program),
                ("timeout", "600", program),
                ("nice", "-n", "5", f"/usr/local/bin/{program}"),
            ):
                yield pytest.param(name, argv, id=shlex.join(argv))
        for package in sorted(known.packages):
            for argv in (
                ("npx", package),
                ("npx", "--yes", f"{package}@1.2.3"),
                ("npm", "exec", "--", f"{package}@latest"),
                ("pnpm", "dlx", package),
                ("bunx", package),
                ("env", "COLOR=1", "npx", package),
            ):
                yield pytest.param(name, argv, id=shlex.join(argv))


@pytest.mark.parametrize(("name", "argv"), [*_spellings()])
def test_it_is_recognised_however_it_is_started(name: str, argv: tuple[str, ...]) -> None:
    assert AGENTS[name].starts(argv)
    assert [other for other in NAMED if other != name and AGENTS[other].starts(argv)] == []


@pytest.mark.parametrize(
    "argv",
    [
        ("vim", "claude"),
        ("cat", "pi"),
        ("grep", "-r", "codex"),
        ("/home/claude/build.sh",),
        ("pi2",),
        ("piper",),
    ],
    ids=shlex.join,
)
def test_a_word_that_is_no_program_starts_no_agent(argv: tuple[str, ...]) -> None:
    assert [name for name in AGENTS if AGENTS[name].starts(argv)] == []
    assert chosen(argv) == BY_DEFAULT


def test_a_program_told_to_speak_acp_to_a_person_gets_us_as_its_client() -> None:
    argv = ("npx", "some-acp-agent", "--acp")
    assert chosen(argv) == "acp"
    assert choose(setup(argv, interactive=False)).name == "none", "an editor may talk to it"


def test_whatever_else_is_a_program_on_a_terminal_or_left_alone() -> None:
    assert chosen(("./anything",)) == BY_DEFAULT
    assert choose(setup(("./anything",), interactive=False)).name == "none"


@pytest.mark.parametrize("name", AGENTS)
def test_a_name_decides_whatever_the_program_is_called(name: str) -> None:
    events = "claude" if name == STREAM else ""
    adapter = choose(setup(("./wrapper", "-p", "run"), interactive=False, events=events), name)
    assert type(adapter).__module__.startswith(f"{AGENTS[name].module}.")


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - {STREAM}))
def test_a_format_of_events_is_refused_where_nobody_would_read_it(name: str) -> None:
    with pytest.raises(UsageError, match=f"--events cannot be given with --agent {name}"):
        choose(setup(("./wrapper",), events="claude"), name)


def test_an_unknown_name_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(UsageError) as error:
        find("nonsense")
    assert all(name in error.value.hint for name in AGENTS)
    assert "did you mean" not in error.value.hint
    with pytest.raises(UsageError, match="did you mean 'gemini'") as error:
        find("gemni")


# --- what it says of itself -----------------------------------------------------------------------


def _surfaces() -> Iterator[Any]:
    for name, known in AGENTS.items():
        for number, surface in enumerate(known.load().SURFACES):
            yield pytest.param(name, surface, id=f"{name}-{number}")


@pytest.mark.parametrize(("name", "surface"), [*_surfaces()])
def test_the_table_says_what_its_example_gets(name: str, surface: Surface) -> None:
    """The example of each line of `loopguard agents` leads to this adapter, form and abilities."""
    command, piped, _ = surface.example.partition("<")
    options, _, words = f" {command}".rpartition(" -- ")
    given = dict(zip(*[iter(options.split())] * 2, strict=True))
    events = given.get("--events", "")
    asked = setup(tuple(shlex.split(words)), interactive=not piped, events=events)
    adapter = choose(asked, given.get("--agent", "stream" if events else ""))
    assert type(adapter).__module__.startswith(f"{AGENTS[name].module}.")
    assert adapter.launch({"HOME": "/home/person"}, ADDRESS).form is surface.form
    assert adapter.capabilities == surface.capabilities


@pytest.mark.parametrize("name", NAMED)
def test_the_version_it_is_tested_with_is_the_one_that_is_installed_for_that(name: str) -> None:
    if name == "acp":
        assert AGENTS[name].tested == "1", "a version of the protocol"
        return
    wanted = json.loads((INSTALLED / name / "package.json").read_text())["dependencies"]
    pinned = {wanted[package] for package in AGENTS[name].packages if package in wanted}
    assert pinned == {AGENTS[name].tested}


@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if subject.tested])
def test_so_is_that_of_each_agent_behind_a_protocol(name: str) -> None:
    subject = SUBJECTS[name]
    wanted = json.loads((INSTALLED / subject.program / "package.json").read_text())["dependencies"]
    pinned = {wanted[package] for package in AGENTS[subject.agent].packages if package in wanted}
    assert pinned == {subject.tested}


# --- our tools ------------------------------------------------------------------------------------


def test_a_program_for_tools_is_never_rendered_without_its_word() -> None:
    program = ToolProgram((COMMAND, "mcp"), {"WORD": WORD})
    ways = [getattr(program, name) for name in dir(program) if not name.startswith("_")]
    assert len(ways) == 2
    for way in ways:
        assert COMMAND in str(way())
        assert WORD in str(way())


@pytest.mark.parametrize(("name", "surface"), [*_surfaces()])
def test_whoever_starts_it_gives_it_its_word(name: str, surface: Surface) -> None:
    """And nowhere else: not to the agent itself, where every command that it runs could read it."""
    adapter = (
        find(name).load().make(setup((name,), interactive=surface.form is not Form.ONE_SHOT, events="claude"))
    )
    plan = adapter.launch({"HOME": "/home/person"}, ADDRESS)
    said = [*plan.argv, *map(str, plan.files.values())]
    if isinstance(adapter, Driven):
        said += map(str, adapter.began().orders)
    assert sum(COMMAND in word for word in said) == sum(WORD in word for word in said)
    assert WORD not in str(plan.environment)
