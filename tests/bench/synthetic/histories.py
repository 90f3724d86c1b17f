"""Histories as the five agents leave them, any number of bytes, in the shapes of tests/history/fixtures.

Sizes are those of real work: most outputs are short, a few are as long as the agents allow, and an
agent writes much beside what was said and done (Claude Code each result twice, Codex each item as
an event once more). One conversation in `EVERY` loops: one call, five times with the same outcome.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from tests.bench.synthetic import words

SHARES = {"claude": 0.4, "codex": 0.25, "opencode": 0.2, "pi": 0.1, "gemini": 0.05}
"""Of all bytes."""

EVERY = 20
LONGEST = 30_000
"""Characters of an output."""

_POOL_LINES = 100_000
_BEGUN = 1_790_000_000
_TOKENS = {"input": 4_000, "output": 300, "cached": 20_000}


class Step(NamedTuple):
    """One reply of the model: what it says, and the call it makes, if any."""

    time: float
    said: str
    reasoned: str
    tool: str = ""
    args: Mapping[str, Any] = MappingProxyType({})
    output: str = ""
    file: str = ""
    """What an edited file held before."""


class Conversation(NamedTuple):
    name: str
    """32 hexadecimal digits."""
    started: float
    task: str
    steps: list[Step]


class Author:
    """Thinks conversations up."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(seed)
        self._pool = words.code(Random(f"{seed}:pool"), _POOL_LINES)
        self._made = 0
        self.loops = 0

    def conversation(self) -> Conversation:
        rng = self._rng
        self._made += 1
        started = _BEGUN + 3_000.0 * self._made
        steps = [self._step(started + 20 * at) for at in range(1, rng.randint(20, 200))]
        if self._made % EVERY == 0:
            self.loops += 1
            call = self._step(0)
            steps += [call._replace(time=steps[-1].time + 5 * at, said="") for at in range(1, 6)]
        end = Step(steps[-1].time + 5, "That is all of it. " + rng.choice(words.REMARKS), "")
        return Conversation(f"{rng.getrandbits(128):032x}", started, rng.choice(words.TASKS), [*steps, end])

    def _step(self, time: float) -> Step:
        rng, path = self._rng, words.path(self._rng)
        said = " ".join(self._remark() for _ in range(rng.randint(1, 4))) if rng.random() < 0.5 else ""
        reasoned = " ".join(self._remark() for _ in range(rng.randint(2, 12))) if rng.random() < 0.3 else ""
        output = self._text(min(LONGEST, int(rng.lognormvariate(7.2, 1.2))))
        kind = rng.random()
        if kind < 0.4:
            return Step(time, said, reasoned, "read", {"file": path, "start": rng.randrange(4000)}, output)
        if kind < 0.6:
            args = {"file": path, "old": self._text(rng.randint(40, 900)), "new": self._text(800)}
            before = self._text(min(LONGEST, int(rng.lognormvariate(8.5, 1.0))))
            return Step(time, said, reasoned, "edit", args, f"edited {path}", before)
        command = f"grep -rn {words.symbol(rng)} {path.rpartition('/')[0]} | head -{rng.randrange(900)}"
        return Step(time, said, reasoned, "bash", {"command": command}, output)

    def _remark(self) -> str:
        rng = self._rng
        return f"{rng.choice(words.REMARKS)[:-1]} in {words.symbol(rng)} at {rng.randrange(10_000)}."

    def _text(self, size: int) -> str:
        """Some ``size`` characters of code, hardly ever the same twice."""
        at = self._rng.randrange(_POOL_LINES)
        lines = self._pool[at : at + size // 20 + 1]
        return f"{self._rng.getrandbits(40):x}\n" + "\n".join(lines)[:size]


def stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _uuid(name: str) -> str:
    return f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:32]}"


def claude(made: Conversation) -> Iterator[dict[str, Any]]:
    session = _uuid(made.name)
    place = {
        "userType": "external", "entrypoint": "cli", "cwd": "/home/dev/shop", "sessionId": session,
        "version": "2.1.332", "gitBranch": "master",
    }  # fmt: skip
    usage = {
        "input_tokens": 100, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 20_000,
        "output_tokens": 300, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard", "cache_creation": {"ephemeral_1h_input_tokens": 0},
    }  # fmt: skip

    def line(kind: str, at: int, time: float, **more: Any) -> dict[str, Any]:
        uuid = f"{made.name[:8]}-0000-4000-8000-{at:012d}"
        head = {"parentUuid": uuid, "isSidechain": False, "type": kind, "uuid": uuid}
        return head | {"timestamp": stamp(time)} | more | place

    yield line("user", 0, made.started, message={"role": "user", "content": made.task})
    for at, step in enumerate(made.steps, 1):
        blocks: list[dict[str, Any]] = []
        if step.reasoned:
            blocks.append({"type": "thinking", "thinking": step.reasoned, "signature": "Ab1/" * 300})
        if step.said:
            blocks.append({"type": "text", "text": step.said})
        call = f"toolu_{made.name[:8]}{at:08d}"
        if step.tool:
            name = {"read": "Read", "edit": "Edit", "bash": "Bash"}[step.tool]
            blocks.append({"type": "tool_use", "id": call, "name": name, "input": step.args})
        for block in blocks:
            message = {
                "id": f"msg_{made.name[:12]}{at}", "type": "message", "role": "assistant",
                "model": "model-1", "content": [block], "stop_reason": "tool_use", "usage": usage,
            }  # fmt: skip
            yield line("assistant", at, step.time, message=message, requestId=f"req_{at}")
        if step.tool:
            result = {
                "tool_use_id": call,
                "type": "tool_result",
                "content": step.output,
                "is_error": False,
            }
            twice: dict[str, Any] = {"stdout": step.output, "stderr": "", "interrupted": False}
            if step.tool == "edit":
                twice = {"filePath": step.args["file"], "originalFile": step.file, **step.args}
            message = {"role": "user", "content": [result]}
            yield line("user", at, step.time + 2, message=message, toolUseResult=twice)
    yield {"type": "last-prompt", "lastPrompt": made.task, "sessionId": session}


def codex(made: Conversation) -> Iterator[dict[str, Any]]:
    ordinal = 0
    thread = _uuid(made.name)

    def line(time: float, kind: str, inner: str = "", **more: Any) -> dict[str, Any]:
        nonlocal ordinal
        ordinal += 1
        payload = {"type": inner, **more} if inner else more
        return {"timestamp": stamp(time), "ordinal": ordinal, "type": kind, "payload": payload}

    yield line(
        made.started, "session_meta", id=thread, cwd="/home/dev/shop", cli_version="0.171.0", source="cli",
        base_instructions={"text": "Be of use. " * 1_500},
    )  # fmt: skip
    yield line(made.started, "turn_context", cwd="/home/dev/shop", model="model-1")
    asked = [{"type": "input_text", "text": made.task}]
    yield line(made.started, "response_item", "message", role="user", content=asked)
    figures = {
        "input_tokens": 24_000,
        "cached_input_tokens": 20_000,
        "output_tokens": 300,
        "total_tokens": 24_300,
    }
    for at, step in enumerate(made.steps, 1):
        time, call = step.time, f"call_{at:012d}"
        summary = [{"type": "summary_text", "text": step.reasoned}] if step.reasoned else []
        yield line(
            time, "response_item", "reasoning", id=f"rs_{at}", summary=summary,
            encrypted_content="gAAAA" * 300,
        )  # fmt: skip
        if step.reasoned:
            yield line(time, "event_msg", "agent_reasoning", text=step.reasoned)
        if step.said:
            said = [{"type": "output_text", "text": step.said}]
            yield line(time, "response_item", "message", role="assistant", content=said)
            yield line(time, "event_msg", "agent_message", message=step.said)
        if step.tool:
            given = msgspec.json.encode(step.args).decode()
            yield line(
                time, "response_item", "function_call", id=f"fc_{at}", name=step.tool, arguments=given,
                call_id=call,
            )  # fmt: skip
        yield line(time, "token_usage_record", thread_id=thread, turn_id=thread, usage=figures)
        yield line(time, "event_msg", "token_count", info={"last_token_usage": figures})
        if step.tool:
            item = {
                "type": "CommandExecution", "id": call, "command": ["/bin/bash", "-lc", given],
                "status": "completed", "aggregated_output": step.output, "exit_code": 0,
            }  # fmt: skip
            yield line(time + 2, "event_msg", "item_completed", item=item)
            head = f"Chunk ID: {at:06x}\nWall time: 0.0{at} seconds\nProcess exited with code 0\nOutput:\n"
            yield line(
                time + 2, "response_item", "function_call_output", call_id=call, output=head + step.output
            )
    yield line(made.steps[-1].time, "event_msg", "task_complete")


def pi(made: Conversation) -> Iterator[dict[str, Any]]:
    def line(kind: str, time: float, at: int, **more: Any) -> dict[str, Any]:
        return {"type": kind, "id": f"{at:08x}", "parentId": f"{at - 1:08x}", "timestamp": stamp(time)} | more

    yield {
        "type": "session",
        "version": 3,
        "id": _uuid(made.name),
        "timestamp": stamp(made.started),
        "cwd": "/home/dev/shop",
    }
    asked = {"role": "user", "content": [{"type": "text", "text": made.task}]}
    yield line("message", made.started, 1, message=asked)
    usage = {
        "input": 4_000, "output": 300, "cacheRead": 20_000, "cacheWrite": 0, "totalTokens": 24_300,
        "cost": {"input": 0.01, "output": 0.01, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.02},
    }  # fmt: skip
    for at, step in enumerate(made.steps, 1):
        content: list[dict[str, Any]] = []
        if step.reasoned:
            content.append({"type": "thinking", "thinking": step.reasoned, "thinkingSignature": "Ab1/" * 100})
        if step.said:
            content.append({"type": "text", "text": step.said})
        if step.tool:
            content.append({"type": "toolCall", "id": f"c{at}", "name": step.tool, "arguments": step.args})
        message = {
            "role": "assistant", "content": content, "api": "openai-completions", "provider": "p",
            "model": "model-1", "usage": usage, "stopReason": "toolUse" if step.tool else "stop",
        }  # fmt: skip
        yield line("message", step.time, 2 * at, message=message)
        if step.tool:
            back = {
                "role": "toolResult", "toolCallId": f"c{at}", "toolName": step.tool,
                "content": [{"type": "text", "text": step.output}], "isError": False,
            }  # fmt: skip
            yield line("message", step.time + 2, 2 * at + 1, message=back)


def gemini(made: Conversation) -> Iterator[dict[str, Any]]:
    yield {
        "sessionId": _uuid(made.name), "projectHash": 2 * made.name, "startTime": stamp(made.started),
        "lastUpdated": stamp(made.started), "kind": "main",
    }  # fmt: skip
    yield {"id": "u", "timestamp": stamp(made.started), "type": "user", "content": [{"text": made.task}]}
    tokens = {"input": 24_000, "output": 300, "cached": 20_000, "thoughts": 0, "tool": 0, "total": 24_300}
    for at, step in enumerate(made.steps, 1):
        thoughts = [{"subject": "Next", "description": step.reasoned}] if step.reasoned else []
        message: dict[str, Any] = {
            "id": f"{made.name[:24]}-{at}", "timestamp": stamp(step.time), "type": "gemini",
            "content": step.said, "thoughts": thoughts, "tokens": tokens, "model": "model-1",
        }  # fmt: skip
        yield message
        if step.tool:
            response = {
                "functionResponse": {"id": f"c{at}", "name": step.tool, "response": {"output": step.output}}
            }
            call = {
                "id": f"c{at}", "name": step.tool, "args": step.args, "result": [response],
                "status": "success", "timestamp": stamp(step.time + 2), "resultDisplay": step.output,
            }  # fmt: skip
            yield message | {"toolCalls": [call]}
            yield {"id": f"r{at}", "timestamp": stamp(step.time + 2), "type": "user", "content": [response]}
        yield {"$set": {"lastUpdated": stamp(step.time)}}


def _opencode(made: Conversation, database: sqlite3.Connection) -> int:
    """Put a conversation into the tables; returns its bytes."""
    session, written = f"ses_{made.name[:24]}", 0

    def row(message: str, time: float, data: dict[str, Any], *parts: dict[str, Any]) -> None:
        nonlocal written
        at, encoded = int(time * 1000), msgspec.json.encode(data).decode()
        written += len(encoded)
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message, session, at, at, encoded))
        for number, part in enumerate(parts):
            encoded = msgspec.json.encode(part).decode()
            written += len(encoded)
            database.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)",
                (f"prt{message[3:]}_{number}", message, session, at, at, encoded),
            )

    ended = int(made.steps[-1].time * 1000)
    database.execute(
        "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
        " VALUES (?, 'global', 'a-b', '/home/dev/shop', 'Title', '1.18.33', ?, ?)",
        (session, int(made.started * 1000), ended),
    )
    head = f"msg_{made.name[:16]}"
    asked = {"role": "user", "time": {"created": made.started * 1000}, "agent": "build"}
    row(f"{head}00000", made.started, asked, {"type": "text", "text": made.task})
    tokens = {
        "total": 24_300,
        "input": 4_000,
        "output": 300,
        "reasoning": 0,
        "cache": {"read": 20_000, "write": 0},
    }
    for at, step in enumerate(made.steps, 1):
        begun, ended = int(step.time * 1000), int(step.time * 1000) + 2_000
        parts: list[dict[str, Any]] = [{"type": "step-start"}]
        span = {"start": begun, "end": begun + 900}
        if step.reasoned:
            parts.append({"type": "reasoning", "text": step.reasoned, "time": span})
        if step.said:
            parts.append({"type": "text", "text": step.said, "time": span})
        if step.tool:
            metadata: dict[str, Any] = {"output": step.output, "exit": 0}
            if step.tool == "edit":
                after = step.file.replace(step.file[:40], step.args["new"])
                metadata = {"diff": step.args["new"], "filediff": {"before": step.file, "after": after}}
            state = {
                "status": "completed", "input": step.args, "output": step.output, "title": step.tool,
                "metadata": metadata, "time": {"start": begun + 900, "end": ended},
            }  # fmt: skip
            parts.append({"type": "tool", "tool": step.tool, "callID": f"call_{at}", "state": state})
        parts.append({"type": "step-finish", "reason": "tool-calls", "tokens": tokens, "cost": 0.02})
        message = {
            "role": "assistant", "agent": "build", "modelID": "m", "providerID": "p", "cost": 0.02,
            "tokens": tokens, "time": {"created": begun, "completed": ended},
            "finish": "tool-calls" if step.tool else "stop",
        }  # fmt: skip
        row(f"{head}{at:05d}", step.time, message, *parts)
    return written


_FILES: dict[str, tuple[Callable[[Conversation], Iterator[dict[str, Any]]], str]] = {
    "claude": (claude, ".claude/projects/-home-dev-shop/{uuid}.jsonl"),
    "codex": (codex, ".codex/sessions/2026/11/30/rollout-2026-11-30T15-31-50-{uuid}.jsonl"),
    "pi": (pi, ".pi/agent/sessions/--home-dev-shop--/2026-11-30T15-32-15-950Z_{uuid}.jsonl"),
    "gemini": (gemini, ".gemini/tmp/shop/chats/session-2026-11-30T15-32-{name}.jsonl"),
}
_TABLES = Path(__file__).parents[2] / "history" / "fixtures" / "opencode" / "1.18.33" / "opencode.sql"


class Written(NamedTuple):
    bytes: dict[str, int]
    """By agent, what a reader reads."""
    conversations: int
    loops: int


def write(home: Path, size: int, seed: str = "histories") -> Written:
    """Fill the agents' folders below ``home`` with some ``size`` bytes."""
    author, count, written = Author(seed), 0, dict.fromkeys(SHARES, 0)
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        schema = [line for line in _TABLES.read_text("utf-8").splitlines() if not line.startswith("INSERT")]
        database.execute("PRAGMA synchronous = OFF")
        database.executescript("\n".join(schema))
        for agent, share in SHARES.items():
            while written[agent] < share * size:
                count += 1
                made = author.conversation()
                if agent == "opencode":
                    written[agent] += _opencode(made, database)
                else:
                    written[agent] += _file(agent, made, home)
        database.commit()
    return Written(written, count, author.loops)


def _file(agent: str, made: Conversation, home: Path) -> int:
    lines, place = _FILES[agent]
    path = home / place.format(uuid=_uuid(made.name), name=made.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b"\n".join(msgspec.json.encode(line) for line in lines(made)) + b"\n"
    path.write_bytes(content)
    return len(content)
