"""Every reader, against files that the real agents wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from loopguard_cli import history
from loopguard_cli.core.events import (
    AgentConnected,
    Channel,
    Compacted,
    Event,
    FilesChanged,
    Origin,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.session import Usage
from loopguard_cli.history import Conversation
from tests.history.places import CLAUDE, CODEX, GEMINI, PI, conversations, database, read

E = TypeVar("E", bound=Event)


def of(kind: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def main(agent: str, tmp_path: Path) -> Conversation:
    """The recorded conversation itself, not its sub-agent's."""
    if agent == "opencode":
        return conversations(agent, database(tmp_path / "opencode.db"))[0]
    places = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "pi": PI}
    found = conversations(agent, places[agent])
    return next(one for one in found if "subagents" not in one.path.parts)


EVERY = pytest.mark.parametrize("agent", list(history.READERS))

READ_CALL = {
    "opencode": ("bash", "command"),
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "pi": ("bash", "command"),
}


@EVERY
def test_the_repeated_call_is_told_alike_each_time(agent: str, tmp_path: Path) -> None:
    tool, field = READ_CALL[agent]
    events, _ = read(main(agent, tmp_path))
    ended = [e for e in of(ToolFinished, events) if e.args.get(field) == "cat notes.txt"]
    assert len(ended) >= 4
    assert {(e.tool, e.ok, e.output.strip()) for e in ended} == {(tool, True, "alpha\nbeta")}
    assert len({e.call for e in ended}) == len(ended)


@EVERY
def test_every_call_that_began_has_ended_in_its_own_step(agent: str, tmp_path: Path) -> None:
    events, _ = read(main(agent, tmp_path))
    started = {e.call: e for e in of(ToolStarted, events)}
    for ended in of(ToolFinished, events):
        begun = started.pop(ended.call)
        assert (begun.tool, begun.args) == (ended.tool, ended.args)
    assert not started
    assert all(e.message for e in of(ToolStarted, events))


@EVERY
def test_a_failure_is_a_failure(agent: str, tmp_path: Path) -> None:
    _, field = READ_CALL[agent]
    events, _ = read(main(agent, tmp_path))
    (missing,) = [e for e in of(ToolFinished, events) if e.args.get(field) == "cat missing.txt"]
    assert missing.exit_code == 1
    assert "No such file" in missing.output
    # OpenCode's shell tool succeeds whatever the command's exit status is.
    assert missing.ok is (agent == "opencode")


@EVERY
def test_a_person_spoke_twice_and_each_time_the_agent_became_idle(agent: str, tmp_path: Path) -> None:
    events, _ = read(main(agent, tmp_path))
    spoke = [e.text for e in of(UserSpoke, events) if e.origin is Origin.PERSON]
    assert spoke[0].startswith("Please look at the notes")
    assert spoke[1].startswith("Thanks")
    assert len(spoke) == 2
    statuses = [e.status for e in of(StatusChanged, events)]
    assert statuses[:4] == [Status.BUSY, Status.IDLE, Status.BUSY, Status.IDLE]
    assert statuses[-1] is Status.IDLE


@EVERY
def test_what_the_assistant_wrote(agent: str, tmp_path: Path) -> None:
    events, _ = read(main(agent, tmp_path))
    texts = [e.text for e in of(TextSnapshot, events) if e.channel is Channel.TEXT]
    assert texts[0] == "The notes were read and the file is written."
    assert texts[1] == " ".join(["I will check the build now."] * 4)
    replies = of(ReplyStarted, events)
    assert len({e.message for e in replies}) == len(replies)
    assert all(e.model for e in replies)


@EVERY
def test_tokens_add_up(agent: str, tmp_path: Path) -> None:
    events, _ = read(main(agent, tmp_path))
    usage = Usage()
    for event in of(UsageReported, events):
        usage.add(event)
    per_reply = {"opencode": 150, "claude": 157, "codex": 142, "gemini": 142, "pi": 142}[agent]
    assert usage.tokens == per_reply * len(of(ReplyStarted, events))


@EVERY
def test_session_folder_and_version_are_known(agent: str, tmp_path: Path) -> None:
    events, tally = read(main(agent, tmp_path))
    (seen,) = of(SessionSeen, events)
    assert seen.directory == "/home/dev/shop"
    assert {e.session for e in events if not isinstance(e, AgentConnected)} == {seen.session}
    (connected,) = of(AgentConnected, events)
    assert connected.agent == agent
    assert (tally.damaged, tally.oversized, tally.unknown) == (0, 0, 0)
    assert tally.records > 10


@EVERY
def test_the_format_is_told_by_the_first_bytes(agent: str, tmp_path: Path) -> None:
    wanted = main(agent, tmp_path)
    found = list(history.find(wanted.path))
    assert {one.agent for one in found} == {agent}
    assert wanted.path in {one.path for one in found}


def test_money_where_the_agent_wrote_it_down(tmp_path: Path) -> None:
    costs = {}
    for agent in history.READERS:
        usage = Usage()
        for event in of(UsageReported, read(main(agent, tmp_path))[0]):
            usage.add(event)
        costs[agent] = round(usage.cost, 6)
        (tmp_path / "opencode.db").unlink(missing_ok=True)
    assert costs == {"opencode": 0.00144, "claude": 0.020272, "codex": 0, "gemini": 0, "pi": 0.001575}


def test_sub_agents_know_their_parent(tmp_path: Path) -> None:
    claude = next(one for one in conversations("claude", CLAUDE) if "subagents" in one.path.parts)
    opencode = conversations("opencode", database(tmp_path / "opencode.db"))[1]
    for conversation in (claude, opencode):
        parent = main(conversation.agent, tmp_path / "other") if conversation is claude else None
        events, _ = read(conversation)
        (seen,) = of(SessionSeen, events)
        assert seen.parent
        if parent is not None:
            assert seen.parent == parent.path.stem
        (spoke,) = of(UserSpoke, events)
        assert spoke.origin is Origin.PARENT


def test_claude_says_where_it_compacted_and_what_was_no_message_to_the_model() -> None:
    events, _ = read(main("claude", Path()))
    assert len(of(Compacted, events)) == 1
    after = events[events.index(of(Compacted, events)[0]) :]
    assert all(e.origin is Origin.HOST for e in of(UserSpoke, after))


def test_opencode_says_which_files_changed(tmp_path: Path) -> None:
    events, _ = read(main("opencode", tmp_path))
    (changed,) = of(FilesChanged, events)
    assert changed.files == ("/home/dev/shop/out.txt",)
    write = next(e for e in of(ToolFinished, events) if e.tool == "write")
    assert events.index(write) < events.index(changed)


def test_opencode_calls_of_one_step_overlap(tmp_path: Path) -> None:
    """Both were started before the first of them ended."""
    events, _ = read(main("opencode", tmp_path))
    calls = [e for e in events if isinstance(e, ToolStarted | ToolFinished) and e.call.startswith("call_5_")]
    assert [type(e) for e in calls] == [ToolStarted, ToolStarted, ToolFinished, ToolFinished]


def test_opencode_reasoning_is_a_channel_of_its_own(tmp_path: Path) -> None:
    events, _ = read(main("opencode", tmp_path))
    (thought,) = [e for e in of(TextSnapshot, events) if e.channel is Channel.REASONING]
    assert thought.text == "Let me think about it."


def test_installed_looks_where_the_agents_keep_them(tmp_path: Path) -> None:
    projects = tmp_path / "claude-elsewhere" / "projects" / "-p"
    projects.mkdir(parents=True)
    source = main("claude", tmp_path).path
    (projects / source.name).write_bytes(source.read_bytes())
    database_folder = tmp_path / ".local" / "share" / "opencode"
    database_folder.mkdir(parents=True)
    database(database_folder / "opencode.db")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude-elsewhere")}
    found = list(history.installed(tmp_path, environ))
    assert sorted(one.agent for one in found) == ["claude", "opencode", "opencode"]
    assert not list(history.installed(tmp_path / "nobody", {}))
