"""Programs that print their events: what is read, what it means, and that every byte goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.agents.base import BridgeAddress, Form, Interrupt, Setup, Streams
from loopguard_cli.agents.streams import make
from loopguard_cli.agents.streams.adapter import LINE_BYTES, Format
from loopguard_cli.core.effects import Abort
from loopguard_cli.core.events import (
    AgentConnected,
    AgentError,
    AgentExited,
    Channel,
    EffectSettled,
    Event,
    FilesChanged,
    Origin,
    ReplyFinished,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
    encode,
)
from loopguard_cli.core.ids import CallId, EffectId, MessageId, RequestId, SessionId
from loopguard_cli.errors import UsageError

ROOT = Path(__file__).parents[3]


def stream(kind: str) -> Any:
    return make(Setup(argv=("./agent",), events=kind))


def read(kind: str, lines: Sequence[Any], *, code: int = 0) -> list[Event]:
    agent = stream(kind)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return [*agent.printed(data).events, *agent.exited(code)]


def only(events: Sequence[Event], *kinds: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def claude(
    *content: dict[str, Any], kind: str = "assistant", message: str = "m1", **more: Any
) -> dict[str, Any]:
    return {"type": kind, "session_id": "s", "message": {"id": message, "content": list(content)}, **more}


CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/p"},
    claude({"type": "thinking", "thinking": "Hm."}),
    claude({"type": "text", "text": "I look."}),
    claude({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
    claude(
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a b"}]},
        kind="user",
    ),
    claude({"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "a"}}, message="m2"),
    claude({"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}, kind="user"),
    claude({"type": "text", "text": "Sub."}, message="m3", parent_tool_use_id="t3"),
    {"type": "result", "subtype": "success", "session_id": "s", "result": "Done."},
]


def test_claude() -> None:
    events = read("claude", CLAUDE)
    assert isinstance(events[0], AgentConnected)
    assert [e.delta for e in only(events, TextDelta)] == ["Hm.", "I look.", "Sub."]
    assert only(events, TextDelta)[0].channel is Channel.REASONING
    assert [(e.tool, e.args) for e in only(events, ToolStarted)] == [
        ("Bash", {"command": "ls"}),
        ("Edit", {"file_path": "a"}),
    ]
    assert [(e.ok, e.output) for e in only(events, ToolFinished)] == [(True, "a b"), (False, "no")]
    assert [(e.session, e.parent) for e in only(events, SessionSeen)] == [("s", ""), ("s/t3", "s")]
    assert [e.status for e in only(events, StatusChanged)] == [Status.BUSY, Status.IDLE]
    assert len(only(events, UserSpoke)) == 1
    assert events[-1] == AgentExited(code=0)


def test_claude_streamed() -> None:
    def piece(**event: Any) -> dict[str, Any]:
        return {"type": "stream_event", "session_id": "s", "event": event}

    events = read(
        "claude",
        [
            piece(type="message_start", message={"id": "m1"}),
            piece(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "I lo"}),
            piece(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "ok."}),
            claude({"type": "text", "text": "I look."}),
            {"type": "result", "session_id": "s", "is_error": True, "subtype": "error", "result": "bad"},
        ],
    )
    assert [e.delta for e in only(events, TextDelta)] == ["I lo", "ok."]
    assert [(e.name, e.text) for e in only(events, AgentError)] == [("error", "bad")]


CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "Hm."}},
    {
        "type": "item.started",
        "item": {
            "id": "1",
            "type": "command_execution",
            "command": "/bin/bash -lc 'echo hi'",
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "1",
            "type": "command_execution",
            "command": "/bin/bash -lc 'echo hi'",
            "aggregated_output": "hi\n",
            "exit_code": 3,
            "status": "failed",
        },
    },
    {
        "type": "item.completed",
        "item": {"id": "2", "type": "file_change", "changes": [{"path": "a.py"}], "status": "completed"},
    },
    {
        "type": "item.completed",
        "item": {
            "id": "3",
            "type": "mcp_tool_call",
            "server": "x",
            "tool": "y",
            "arguments": {"a": 1},
            "result": {"content": [{"type": "text", "text": "z"}]},
            "status": "completed",
        },
    },
    {"type": "item.completed", "item": {"id": "4", "type": "agent_message", "text": "all good"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}},
]


def test_codex() -> None:
    events = read("codex", CODEX)
    assert [(e.tool, e.args) for e in only(events, ToolStarted)] == [
        ("exec_command", {"cmd": "echo hi"}),
        ("apply_patch", {"changes": [{"path": "a.py"}]}),
        ("mcp__x__y", {"a": 1}),
    ]
    finished = only(events, ToolFinished)
    assert [(e.ok, e.output, e.exit_code) for e in finished] == [
        (True, "hi\n", 3),
        (True, "", None),
        (True, "z", None),
    ]
    assert [e.files for e in only(events, FilesChanged)] == [("a.py",)]
    assert [e.delta for e in only(events, TextDelta)] == ["Hm.", "all good"]
    (usage,) = only(events, UsageReported)
    assert (usage.input, usage.cache_read, usage.output) == (6, 4, 2)
    assert [e.status for e in only(events, StatusChanged)] == [Status.BUSY, Status.IDLE]


def test_codex_that_fails() -> None:
    failed = {"type": "turn.failed", "error": {"message": "no model"}}
    events = read("codex", [*CODEX[:2], {"type": "error", "message": "retrying"}, failed], code=1)
    assert [e.text for e in only(events, AgentError)] == ["no model"]
    assert only(events, StatusChanged)[-1].status is Status.IDLE


def test_our_own_events_bare_and_recorded() -> None:
    started = ToolStarted(session=SessionId("s"), call=CallId("c"), tool="bash", args={"command": "ls"})
    asked = ToolAsked(request=RequestId("r"), call=CallId("d"), tool="bash")
    ours = UserSpoke(session=SessionId("s"), message=MessageId("u"), origin=Origin.LOOPGUARD)
    lines = [
        json.loads(encode(started)),
        {"t": 1.5, "event": json.loads(encode(asked))},
        json.loads(encode(ours)),
    ]
    events = read("ndjson", lines)
    assert events[1] == started
    assert [(e.session, e.call) for e in only(events, ToolStarted)] == [("s", "c"), ("stream", "d")]
    assert [e.origin for e in only(events, UserSpoke)] == [Origin.HOST]


def test_what_is_not_its_to_say() -> None:
    line = {"kind": "asked", "request": "r", "operation": "guard.mode", "arguments": {"mode": "off"}}
    settled = {"kind": "effect_settled", "effect": "e", "ok": True}
    events = read("ndjson", [line, settled])
    assert [type(e) for e in events] == [AgentConnected, Unparsed, Unparsed, AgentExited]


@pytest.mark.parametrize("kind", [*Format])
def test_unknown_things_are_counted(kind: str) -> None:
    events = read(kind, [{"type": "brand.new"}, {"type": 7}, {}])
    assert len(only(events, Unparsed)) == 3


@pytest.mark.parametrize("kind", [*Format])
def test_a_program_without_events(kind: str) -> None:
    agent = stream(kind)
    assert agent.printed(b"hello\nworld\n").events == ()
    assert [type(e) for e in agent.exited(0)] == [Unparsed, AgentExited]


def test_a_line_that_is_too_long() -> None:
    agent = stream("claude")
    events = agent.printed(b"{" + b" " * LINE_BYTES + b"}\n").events
    assert [type(e) for e in events] == [Unparsed]


@given(st.sampled_from([*Format]), st.binary(max_size=200), st.integers(1, 50))
def test_nothing_is_an_error_and_any_split_means_the_same(kind: str, noise: bytes, size: int) -> None:
    lines = {"claude": CLAUDE, "codex": CODEX}.get(kind, [{"kind": "status_changed", "status": "busy"}])
    data = noise + b"\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines) + noise
    whole, pieces = stream(kind), stream(kind)
    expected = [*whole.printed(data).events, *whole.exited(0)]
    found = [e for at in range(0, len(data), size) for e in pieces.printed(data[at : at + size]).events]
    assert [*found, *pieces.exited(0)] == expected


def test_what_ended_in_the_middle_is_over() -> None:
    events = read("claude", CLAUDE[:3], code=1)
    assert [e.aborted for e in only(events, ReplyFinished)] == [True]
    assert only(events, StatusChanged)[-1].status is Status.IDLE


def test_a_loop_is_interrupted() -> None:
    agent = stream("claude")
    answer = agent.carry_out(Abort(session=SessionId("s"), effect=EffectId("e")))
    assert answer.orders == (Interrupt(),)
    assert [type(e) for e in answer.events] == [EffectSettled]


def test_launch() -> None:
    plan = stream("codex").launch({}, BridgeAddress(token=""))
    assert (plan.streams, plan.form) == (Streams.TAPPED, Form.ONE_SHOT)
    with pytest.raises(UsageError, match="ndjson, claude, codex"):
        stream("xml")


# --- whole runs -----------------------------------------------------------------------------------

AGENT = """
import json, sys, time
calls = int(sys.argv[1])
for number in range(calls):
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "failed", "is_error": True}
    print(json.dumps({"type": "assistant", "session_id": "s", "message": {"id": "m", "content": [use]}}))
    print(json.dumps({"type": "user", "session_id": "s", "message": {"content": [result]}}), flush=True)
    if number >= 2:
        time.sleep(60)
sys.stdout.write("no end of line")
print(sys.stdin.read(), file=sys.stderr)
sys.exit(7)
"""


def run(folder: Path, *argv: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "loopguard_cli", "run", "--events", "claude", "--", *argv]
    return subprocess.run(
        command, cwd=folder, env=os.environ, capture_output=True, timeout=60, check=False, **more
    )


def test_a_run_is_as_without_us(tmp_path: Path) -> None:
    program = [sys.executable, "-c", AGENT, "2"]
    alone = subprocess.run(program, capture_output=True, input=b"given", check=False)
    guarded = run(tmp_path, *program, input=b"given")
    assert guarded.stdout == alone.stdout
    assert b"given\n" in guarded.stderr
    assert guarded.returncode == alone.returncode == 7


def test_a_loop_ends_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-c", AGENT, "9", stdin=subprocess.DEVNULL)
    assert done.returncode == 80
    assert done.stdout.count(b"tool_use_id") == 3
    assert b"Bash was called 3 times" in done.stderr


def test_a_reader_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "loopguard_cli", "run", "--events", "ndjson", "--", "yes"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        assert process.stdout.read(4) == b"y\ny\n"
        process.stdout.close()
        assert process.wait(30) == 141


@pytest.mark.timeout(60)
def test_a_program_that_closes_its_output_and_goes_on_is_told_of(tmp_path: Path) -> None:
    """Nothing can be known of it from there on; it is not stopped for that."""
    source = (
        "import json, os, sys\n"
        "print(json.dumps({'type': 'system', 'subtype': 'init', 'session_id': 's'}), flush=True)\n"
        "os.close(1)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-m", "loopguard_cli", "run", "--events", "claude", "--", sys.executable]
    with subprocess.Popen(
        [*command, "-c", source], cwd=tmp_path, stdin=-1, stdout=-1, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stderr
        told = next((line for line in process.stderr if b"NOT GUARDED" in line), b"")
        assert told
        process.stdin.close()
        assert process.wait(30) == 0
