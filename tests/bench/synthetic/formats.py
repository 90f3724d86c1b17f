"""The files that the five agents make of one conversation, in the shapes of tests/history/fixtures.

An agent writes much beside what was said and done. What that is was seen in files of the very versions,
made by the real agents for a read, an edit and a command: each result stands there twice (Claude Code, Codex,
OpenCode), an edit brings its difference once more or twice (pi, OpenCode), or the whole file (Claude Code,
Gemini CLI), and Claude Code keeps what it asks the model. Check of the whole: the two public sessions among
pi's own test material (2,022 lines, of versions that wrote less) have 3.6 KB per reply; here it is 4.5 KB.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.bench.synthetic.conversations import Conversation, Step


def _difference(step: Step) -> str:
    """What an edit changed, with four lines around it."""
    around = [f" {line}" for line in step.file.split("\n")[:8]]
    gone = [f"-{line}" for line in step.args["old"].split("\n")]
    come = [f"+{line}" for line in step.args["new"].split("\n")]
    return "\n".join([*around[:4], *gone, *come, *around[4:]])


def _told(size: int) -> str:
    """Instructions for a model."""
    line = '- Use the tool `name` for this, "as it is described"; ask where nothing is said.\n'
    return line * (size // len(line))


def stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def uuid(name: str) -> str:
    return f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:32]}"


def claude(made: Conversation) -> Iterator[dict[str, Any]]:
    session = uuid(made.name)
    place = {
        "userType": "external", "entrypoint": "cli", "cwd": "/home/dev/shop", "sessionId": session,
        "version": "2.1.332", "gitBranch": "master",
    }  # fmt: skip
    usage = {
        "input_tokens": 100, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 20_000,
        "output_tokens": 300, "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "", "iterations": [], "speed": "standard", "fallback_credit": None,
    }  # fmt: skip
    asked = {
        "version": "2.1.332", "querySource": "sdk", "shapeHash": 2 * made.name,
        "params": {
            "model": "model-1", "betas": [f"some-header-2026-07-{day:02d}" for day in range(9)],
            "max_tokens": 128_000, "thinking": {"type": "adaptive", "display": "omitted"},
        },
        "thread": {"type": "none"}, "echoWireToolInputs": False, "base": session, "keep": 4,
        "tail": [2 * made.name, 2 * made.name],
        "cacheControl": [{"path": ["system", at], "value": {"type": "ephemeral"}} for at in range(3)],
        "requestDigest": 2 * made.name,
    }  # fmt: skip

    def line(kind: str, at: int, time: float, **more: Any) -> dict[str, Any]:
        own = f"{made.name[:8]}-0000-4000-8000-{at:012d}"
        head = {"parentUuid": own, "isSidechain": False, "type": kind, "uuid": own}
        return head | {"timestamp": stamp(time)} | more | place

    yield line("user", 0, made.started, message={"role": "user", "content": made.task})
    for kind, size in (("prompt_snapshot", 7_000), ("prompt_snapshot", 57_000), ("skill_listing", 13_000)):
        yield line("attachment", 0, made.started, attachment={"type": kind, "content": _told(size)})
    yield {"type": "api-request-shape", "sessionId": session, "shape": {"system": _told(38_000)}}
    for at, step in enumerate(made.steps, 1):
        yield {"type": "api-request", "sessionId": session, "timestamp": stamp(step.time), **asked}
        yield {"type": "tools-used", "tools": ["Read", "Edit", "Bash"], "sessionId": session}
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
                "model": "model-1", "content": [block], "stop_reason": "tool_use", "stop_sequence": None,
                "usage": usage, "stop_details": None,
            }  # fmt: skip
            yield line(
                "assistant", at, step.time, message=message, toolInputStreamMs=1, apiBlockIndex=0,
                requestRef=session, requestedModel="model-1", promptCacheRequested="5m", effort="medium",
                perTurnEffort="medium", madeBy="model",
            )  # fmt: skip
        if step.tool:
            result = {"tool_use_id": call, "type": "tool_result", "content": step.output, "is_error": False}
            twice: dict[str, Any] = {"stdout": step.output, "stderr": "", "interrupted": False}
            if step.tool == "edit":
                twice = {
                    "filePath": step.args["file"], "oldString": step.args["old"],
                    "newString": step.args["new"], "originalFile": step.file,
                    "structuredPatch": [{"oldStart": at, "lines": _difference(step).split("\n")}],
                    "userModified": False, "replaceAll": False,
                }  # fmt: skip
            message = {"role": "user", "content": [result]}
            yield line(
                "user", at, step.time + 2, promptId=session, message=message, toolUseResult=twice,
                sourceToolAssistantUUID=session,
                permissionDecision={"decision": "accept", "source": "user_permanent", "reasonType": "rule"},
            )  # fmt: skip
    yield {"type": "last-prompt", "lastPrompt": made.task, "sessionId": session}


def codex(made: Conversation) -> Iterator[dict[str, Any]]:
    ordinal = 0
    thread = uuid(made.name)

    def line(time: float, kind: str, inner: str = "", **more: Any) -> dict[str, Any]:
        nonlocal ordinal
        ordinal += 1
        payload = {"type": inner, **more} if inner else more
        return {"timestamp": stamp(time), "ordinal": ordinal, "type": kind, "payload": payload}

    yield line(
        made.started, "session_meta", id=thread, cwd="/home/dev/shop", cli_version="0.171.0", source="cli",
        base_instructions={"text": _told(20_000)},
    )  # fmt: skip
    yield line(made.started, "world_state", full=True, state={"skills": _told(3_000)})
    yield line(made.started, "turn_context", cwd="/home/dev/shop", model="model-1")
    asked = [{"type": "input_text", "text": made.task}]
    yield line(made.started, "response_item", "message", role="user", content=asked)
    figures = {
        "input_tokens": 24_000, "cached_input_tokens": 20_000, "cache_write_input_tokens": 0,
        "output_tokens": 300, "reasoning_output_tokens": 0, "total_tokens": 24_300,
    }  # fmt: skip
    ids = {"thread_id": thread, "turn_id": thread}
    limits = dict.fromkeys(
        ["limit_name", "primary", "secondary", "credits", "plan_type", "spend_control_reached"]
    )
    turn = {"turn_id": thread}
    about = {
        "history_sequence": 3, "sampled_through_sequence": 3, "client_authored": False,
        "model_search_state": "unused",
    }  # fmt: skip
    passed = {"internal_chat_message_metadata_passthrough": turn, "metadata": about}
    for at, step in enumerate(made.steps, 1):
        time, call = step.time, f"call_{at:012d}"
        summary = [{"type": "summary_text", "text": step.reasoned}] if step.reasoned else []
        yield line(
            time, "response_item", "reasoning", id=f"rs_{at}", summary=summary,
            encrypted_content="gAAAA" * 300, **passed,
        )  # fmt: skip
        if step.reasoned:
            yield line(time, "event_msg", "agent_reasoning", text=step.reasoned)
        if step.said:
            said = [{"type": "output_text", "text": step.said}]
            yield line(time, "response_item", "message", role="assistant", content=said, **passed)
            item: dict[str, Any] = {"type": "AgentMessage", "id": f"mes_{at}", "content": said}
            yield line(time, "event_msg", "item_completed", **ids, item=item)
        if step.tool:
            given = msgspec.json.encode(step.args).decode()
            yield line(
                time, "response_item", "function_call", id=f"fc_{at}", name=step.tool, arguments=given,
                call_id=call, **passed,
            )  # fmt: skip
        yield line(
            time, "token_usage_record", **ids, session_id=thread, root_turn_id=thread,
            response_id=f"resp_{at}", usage=figures, turn_token_usage=figures, thread_token_usage=figures,
        )  # fmt: skip
        info = {"total_token_usage": figures, "last_token_usage": figures, "model_context_window": 258_400}
        yield line(time, "event_msg", "token_count", info=info, rate_limits=limits)
        if step.tool:
            item = {
                "type": "CommandExecution", "id": call, "command": ["/bin/bash", "-lc", given],
                "cwd": "file:///home/dev/shop", "source": "unified_exec_startup", "status": "completed",
                "parsed_cmd": [{"type": "unknown", "cmd": given}], "aggregated_output": step.output,
                "exit_code": 0, "duration": {"secs": 0, "nanos": 33_950},
            }  # fmt: skip
            yield line(time + 2, "event_msg", "item_completed", **ids, item=item)
            head = f"Chunk ID: {at:06x}\nWall time: 0.0{at} seconds\nProcess exited with code 0\nOutput:\n"
            yield line(
                time + 2, "response_item", "function_call_output", id=f"fco_{at}", call_id=call,
                output=head + step.output, **passed,
            )  # fmt: skip
    yield line(made.steps[-1].time, "event_msg", "task_complete")


def pi(made: Conversation) -> Iterator[dict[str, Any]]:
    def line(kind: str, time: float, at: int, **more: Any) -> dict[str, Any]:
        return {"type": kind, "id": f"{at:08x}", "parentId": f"{at - 1:08x}", "timestamp": stamp(time)} | more

    yield {
        "type": "session",
        "version": 3,
        "id": uuid(made.name),
        "timestamp": stamp(made.started),
        "cwd": "/home/dev/shop",
    }
    asked = {"role": "user", "content": [{"type": "text", "text": made.task}]}
    yield line("message", made.started, 1, message=asked)
    usage = {
        "input": 4_000, "output": 300, "cacheRead": 20_000, "cacheWrite": 0, "reasoning": 0,
        "totalTokens": 24_300,
        "cost": {
            "input": 8.999999999999999e-05, "output": 0.0024000000000000002, "cacheRead": 0.0256939,
            "cacheWrite": 0.0, "total": 0.0281839, "totalFromProvider": False,
        },
    }  # fmt: skip
    for at, step in enumerate(made.steps, 1):
        begun = int(step.time * 1000)
        content: list[dict[str, Any]] = []
        if step.reasoned:
            content.append({"type": "thinking", "thinking": step.reasoned, "thinkingSignature": "Ab1/" * 100})
        if step.said:
            content.append({"type": "text", "text": step.said})
        if step.tool:
            call = f"call_{made.name[:20]}{at:04d}"
            content.append({"type": "toolCall", "id": call, "name": step.tool, "arguments": step.args})
        message = {
            "role": "assistant", "content": content, "api": "openai-completions", "provider": "provider",
            "model": "model-1", "usage": usage, "stopReason": "toolUse" if step.tool else "stop",
            "timestamp": begun, "responseId": f"chatcmpl-{made.name[:16]}", "rawStopReason": "tool_calls",
            "durationMs": 1_800, "thinkingLevel": "medium",
        }  # fmt: skip
        yield line("message", step.time, 2 * at, message=message)
        if step.tool:
            back = {
                "role": "toolResult", "toolCallId": call, "toolName": step.tool,
                "content": [{"type": "text", "text": step.output}], "isError": False,
                "durationMs": 1_800, "timestamp": begun + 2_000,
            }  # fmt: skip
            if step.tool == "edit":
                numbered = "\n".join(
                    f"{line[:1]}{at:4d} {line[1:]}" for line in _difference(step).split("\n")
                )
                back["details"] = {"diff": numbered, "patch": _difference(step), "firstChangedLine": at}
            yield line("message", step.time + 2, 2 * at + 1, message=back)


def gemini(made: Conversation) -> Iterator[dict[str, Any]]:
    yield {
        "sessionId": uuid(made.name), "projectHash": 2 * made.name, "startTime": stamp(made.started),
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
            display: Any = "" if step.tool == "read" else step.output
            if step.tool == "edit":
                display = {
                    "fileDiff": _difference(step), "filePath": step.args["file"],
                    "originalContent": step.file, "newContent": step.file.replace("e", "a", 1),
                    "diffStat": {"model_added_lines": 1, "model_removed_lines": 1}, "isNewFile": False,
                }  # fmt: skip
            call = {
                "id": f"c{at}", "name": step.tool, "args": step.args, "result": [response],
                "status": "success", "timestamp": stamp(step.time + 2), "resultDisplay": display,
                "description": str(step.args)[:40], "displayName": step.tool, "renderOutputAsMarkdown": True,
            }  # fmt: skip
            yield message | {"toolCalls": [call]}
            yield {"id": f"r{at}", "timestamp": stamp(step.time + 2), "type": "user", "content": [response]}
        yield {"$set": {"lastUpdated": stamp(step.time)}}


def opencode(made: Conversation, database: sqlite3.Connection) -> int:
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
            if step.tool == "read":
                shown = {"text": step.output, "lineStart": 1, "lineEnd": 99, "totalLines": 99}
                metadata = {"preview": step.output[:500], "display": shown, "truncated": False}
            if step.tool == "edit":
                patch = _difference(step)
                filediff = {"file": step.args["file"], "patch": patch, "additions": 9, "deletions": 9}
                metadata = {"diagnostics": {}, "diff": patch, "filediff": filediff, "truncated": False}
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
