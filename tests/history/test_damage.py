"""Damage, other versions and a writer at work: counted, never fatal, nothing touched."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from loopguard_cli import history
from loopguard_cli.core.events import (
    AgentError,
    Origin,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    UserSpoke,
)
from loopguard_cli.history import Conversation, Tally, lines, opencode
from tests.history.places import CLAUDE, CODEX, GEMINI, OPENCODE, PI, conversations, database, read

FILES = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "pi": PI}
LINES = pytest.mark.parametrize("agent", list(FILES))


def copy(agent: str, tmp_path: Path) -> Conversation:
    source = next(one for one in conversations(agent, FILES[agent]) if "subagents" not in one.path.parts)
    path = tmp_path / source.path.name
    path.write_bytes(source.path.read_bytes())
    return conversations(agent, path)[0]


def written(tmp_path: Path, name: str, *records: object) -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


@LINES
def test_damaged_lines_are_counted_and_the_others_read(agent: str, tmp_path: Path) -> None:
    conversation = copy(agent, tmp_path)
    whole, _ = read(conversation)
    good = conversation.path.read_bytes().splitlines(keepends=True)
    bad = [b'{"type":\n', b"\x00\xff\xfe\n", b"[1,2]\n", b'"text"\n', b"\n", b"[" * 100_000 + b"\n"]
    conversation.path.write_bytes(b"".join([*good[:5], *bad, *good[5:]]))
    events, tally = read(conversation)
    assert events == whole
    assert tally.damaged == len(bad) - 1  # an empty line is none
    assert tally.records == len(good)


@LINES
def test_a_line_that_is_just_being_written_waits(agent: str, tmp_path: Path) -> None:
    conversation = copy(agent, tmp_path)
    before, _ = read(conversation)
    with conversation.path.open("ab") as file:
        file.write(b'{"type":"assistant","mess')
    events, tally = read(conversation)
    assert events == before
    assert tally.damaged == 1


@LINES
def test_a_last_line_without_its_end_counts_if_it_is_whole(agent: str, tmp_path: Path) -> None:
    conversation = copy(agent, tmp_path)
    before, _ = read(conversation)
    conversation.path.write_bytes(conversation.path.read_bytes().rstrip(b"\n"))
    events, tally = read(conversation)
    assert events == before
    assert tally.damaged == 0


@LINES
def test_lines_that_are_too_long_are_left_out(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 20_000)
    conversation = copy(agent, tmp_path)
    before, _ = read(conversation)
    content = conversation.path.read_bytes()
    conversation.path.write_bytes(content + b'{"type":"' + b"x" * 70_000 + b'"}\n' + b'{"type":"custom"}\n')
    events, tally = read(conversation)
    assert events == before
    assert tally.oversized == 1
    assert tally.bytes == conversation.path.stat().st_size


@LINES
def test_types_of_another_version_are_counted(agent: str, tmp_path: Path) -> None:
    conversation = copy(agent, tmp_path)
    before, _ = read(conversation)
    with conversation.path.open("ab") as file:
        if agent == "gemini":
            file.write(b'{"futureThing":1}\n')
        else:
            file.write(b'{"type":"future_thing","payload":{}}\n')
    events, tally = read(conversation)
    assert events == before
    assert tally.unknown == 1


@LINES
def test_reading_changes_nothing(agent: str, tmp_path: Path) -> None:
    conversation = copy(agent, tmp_path)
    before = conversation.path.read_bytes()
    read(conversation)
    assert conversation.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [conversation.path]


def test_foreign_files_are_nobodys(tmp_path: Path) -> None:
    for name, content in (("a.jsonl", b"{}\n"), ("b.json", b"[]"), ("c.db", b"no"), ("d.txt", b"x")):
        (tmp_path / name).write_bytes(content)
        assert not list(history.find(tmp_path / name))
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE session (name TEXT)")
        other.commit()
    assert not list(history.find(tmp_path / "other.db"))


@pytest.mark.parametrize("pattern", ["**/*.jsonl", ""])
def test_a_pipe_is_no_history(tmp_path: Path, pattern: str) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert not list(lines.files("claude", tmp_path if pattern else pipe, pattern))


@pytest.mark.parametrize(("agent", "name"), [("claude", "a.jsonl"), ("gemini", "session-a.json")])
def test_a_pipe_that_took_a_files_place_is_not_waited_for(tmp_path: Path, agent: str, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="not a regular file"):
        list(history.read(Conversation(agent=agent, path=tmp_path / name), Tally()))


# --- OpenCode's database ---------------------------------------------------------------------


def test_a_closed_database_is_read_without_leaving_files(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for conversation in conversations("opencode", path):
        read(conversation)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_what_is_only_in_the_log_of_a_live_database_is_read(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    (session, _) = conversations("opencode", path)
    before, _ = read(session)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute(
            "INSERT INTO message SELECT 'msg_zz', session_id, time_created + 9000000, time_updated, data "
            "FROM message WHERE session_id = ? AND data LIKE '%\"user\"%' LIMIT 1",
            (session.session,),
        )
        said = json.dumps({"type": "text", "text": "still there?"})
        writer.execute("INSERT INTO part VALUES ('prt_zz', 'msg_zz', ?, 0, 0, ?)", (session.session, said))
        writer.commit()
        writer.execute("BEGIN IMMEDIATE")  # and it is in the middle of another write
        writer.execute("UPDATE session SET title = 'half'")
        after, _ = read(session)
        writer.rollback()
    said = [e.text for e in after if isinstance(e, UserSpoke)]
    assert said[-1] == "still there?"
    assert len(said) == len([e for e in before if isinstance(e, UserSpoke)]) + 1


def test_damaged_rows_are_counted(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    (session, _) = conversations("opencode", path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE part SET data = '{\"type\":' WHERE id IN (SELECT id FROM part LIMIT 1)")
        writer.execute(
            "UPDATE message SET data = 'x' WHERE id IN (SELECT id FROM message ORDER BY id DESC LIMIT 1)"
        )
        writer.commit()
    events, tally = read(session)
    assert tally.damaged == 2
    assert [e for e in events if isinstance(e, ToolFinished)]


def test_parts_that_are_too_long_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path / "opencode.db")
    (session, _) = conversations("opencode", path)
    before, _ = read(session)
    monkeypatch.setattr(opencode, "MAX_ROW_BYTES", 20_000)
    with closing(sqlite3.connect(path)) as writer:
        for order in ("ASC", "DESC"):  # in the midst of the others
            writer.execute(
                "INSERT INTO part SELECT 'prt_long' || ?, id, session_id, time_created, 0, ? FROM message "
                f"WHERE session_id = ? ORDER BY time_created {order} LIMIT 1",
                (order, json.dumps({"type": "text", "text": "x" * 70_000}), session.session),
            )
        writer.commit()
    events, tally = read(session)
    assert events == before
    assert (tally.oversized, tally.damaged) == (2, 0)


def test_a_part_that_is_no_text_is_one_damaged_part(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    (session, _) = conversations("opencode", path)
    _, whole = read(session)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(
            "UPDATE part SET data = CAST(x'7b22ff' AS TEXT) WHERE id = (SELECT max(id) FROM part "
            "WHERE session_id = ?)",
            (session.session,),
        )
        writer.commit()
    _, tally = read(session)
    assert (tally.damaged, tally.records) == (1, whole.records)


def test_a_database_with_damaged_pages_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    found = conversations("opencode", path)
    content = bytearray(path.read_bytes())
    content[20_000:] = b"\xa5" * (len(content) - 20_000)
    path.write_bytes(content)
    for conversation in found:
        _, tally = read(conversation)
        assert tally.damaged >= 1


def test_a_call_that_never_ended_has_no_end(tmp_path: Path) -> None:
    """The agent was killed while the tool ran."""
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(OPENCODE.read_text("utf-8"))
        made.execute('UPDATE part SET data = replace(data, \'"status":"completed"\', \'"status":"running"\')')
        made.commit()
    (session, _) = conversations("opencode", path)
    events, tally = read(session)
    assert len([e for e in events if isinstance(e, ToolStarted)]) == 8
    assert [e.ok for e in events if isinstance(e, ToolFinished)] == [False]
    assert tally.damaged == 0


# --- other versions --------------------------------------------------------------------------


def test_older_codex_shells_say_their_exit_status_in_json(tmp_path: Path) -> None:
    def item(**payload: object) -> dict[str, object]:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}

    path = written(
        tmp_path,
        "rollout.jsonl",
        {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "t1", "cwd": "/p"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "<user_instructions>x"}]),
        item(type="message", role="user", content=[{"type": "input_text", "text": "do it"}]),
        item(type="function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}'),
        item(
            type="function_call_output",
            call_id="c1",
            output='{"output":"nope\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}',
        ),
        item(type="custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch"),
        item(type="custom_tool_call_output", call_id="c2", output="Success"),
    )
    events, _ = read(conversations("codex", path)[0])
    assert [e.text for e in events if isinstance(e, UserSpoke)] == ["do it"]
    shell, patch = (e for e in events if isinstance(e, ToolFinished))
    assert (shell.args, shell.ok, shell.exit_code, shell.output) == ({"command": ["ls"]}, False, 2, "nope\n")
    assert (patch.args, patch.ok) == ({"input": "*** Begin Patch"}, True)


def test_older_gemini_chats_are_one_json_file(tmp_path: Path) -> None:
    path = tmp_path / "session-1.json"
    message = {"id": "1", "type": "user", "timestamp": "2026-01-01T00:00:00Z", "content": "do it"}
    call = {"id": "c", "name": "ls", "args": {}, "status": "success", "result": [
        {"functionResponse": {"response": {"output": "a"}}}
    ]}  # fmt: skip
    reply = {"id": "2", "type": "gemini", "content": "", "toolCalls": [call], "model": "m"}
    path.write_text(json.dumps({"sessionId": "s", "projectHash": "h", "messages": [message, reply]}))
    events, tally = read(conversations("gemini", path)[0])
    assert [e.output for e in events if isinstance(e, ToolFinished)] == ["a"]
    assert tally.records == 1
    path.write_text("{")
    events, tally = read(conversations("gemini", path)[0])
    assert tally.damaged == 1


def test_claude_sidechains_inside_the_sessions_file_are_sessions_of_their_own(tmp_path: Path) -> None:
    def line(**more: object) -> dict[str, object]:
        return {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "uuid": "u", **more}

    path = written(
        tmp_path,
        "s.jsonl",
        line(type="user", parentUuid=None, message={"role": "user", "content": "do it"}),
        line(type="user", isSidechain=True, message={"role": "user", "content": "look"}),
        line(type="assistant", isSidechain=True, message={"id": "m", "content": "y"}),
        line(type="user", message={"role": "user", "content": "[Request interrupted by user]"}),
    )
    events, _ = read(conversations("claude", path)[0])
    assert {(e.session, e.origin) for e in events if isinstance(e, UserSpoke)} == {
        ("s", Origin.PERSON),
        ("s/sidechain", Origin.PARENT),
    }
    (text,) = (e for e in events if isinstance(e, TextSnapshot))
    assert text.session == "s/sidechain"
    (interrupted,) = (e for e in events if isinstance(e, AgentError))
    assert interrupted.aborted
