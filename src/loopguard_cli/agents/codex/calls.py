"""Tool calls: what an item or a hook says of one, in the words that the model used."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from loopguard_cli.agents.codex.protocol import Asking, Item, RawItem, plain, text_of
from loopguard_cli.core.events import ToolFinished, ToolStarted
from loopguard_cli.core.ids import CallId, MessageId, SessionId

COMMAND = "exec_command"
PATCH = "apply_patch"
_CALLS = {
    "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "imageView",
    "collabAgentToolCall", "imageGeneration", "sleep",
}  # fmt: skip
_OTHERS = {
    "agentMessage", "contextCompaction", "enteredReviewMode", "exitedReviewMode", "functionCallOutput",
    "hookPrompt", "plan", "reasoning", "subAgentActivity", "userMessage",
}  # fmt: skip


_REFUSALS = ("unsupported call: ", "failed to parse function arguments: ")


class Call(NamedTuple):
    tool: str
    args: dict[str, Any]


def is_call(item: Item) -> bool:
    """Whether the model made it; a command of the person's own is none."""
    return item.type in _CALLS and item.source != "userShell"


def is_known(item: Item) -> bool:
    """Whether we know what it tells, be it something that we need or not."""
    return item.type in _CALLS or item.type in _OTHERS


def asked(gate: Asking, directory: str) -> Call:
    """What a hook asks about. Hooks name the shell as other agents do; the model knows `COMMAND`."""
    args = gate.tool_input if isinstance(gate.tool_input, dict) else {"input": gate.tool_input}
    if gate.tool_name == "Bash" and isinstance(args.get("command"), str):
        return _command(args["command"], gate.cwd, directory)
    return Call(gate.tool_name or "tool", args)


def told(item: Item, directory: str) -> Call:
    """What an item tells of a call that no hook asked about."""
    args = item.arguments if isinstance(item.arguments, dict) else {}
    match item.type:
        case "commandExecution":
            return _command(unwrapped(item.command or ""), item.cwd or "", directory)
        case "fileChange":
            return Call(PATCH, {"changes": item.changes})
        case "mcpToolCall":
            return Call(f"mcp__{item.server or ''}__{item.tool or ''}", args)
        case "dynamicToolCall":
            return Call(item.tool or "tool", args)
        case "webSearch":
            return Call("web_search", {"query": item.query or ""})
        case "imageView":
            return Call("view_image", {"path": item.path or ""})
        case "collabAgentToolCall":
            return Call(item.tool or "agent", {"prompt": item.prompt or "", "call": item.id})
        case _:
            return Call(item.type, {"call": item.id})


def started(session: SessionId, item: Item, call: Call, message: MessageId) -> ToolStarted:
    return ToolStarted(session=session, call=item.id, tool=call.tool, args=call.args, message=message)


def finished(session: SessionId, item: Item, call: Call, message: MessageId) -> ToolFinished:
    return ToolFinished(
        session=session,
        call=item.id,
        tool=call.tool,
        args=call.args,
        ok=item.status != "declined" and (item.status != "failed" or item.exit_code is not None),
        output=output_of(item),
        exit_code=item.exit_code,
        cancelled=item.status == "declined",
        message=message,
    )


def failed(
    session: SessionId, item: RawItem, call: Call, message: MessageId
) -> Iterator[ToolStarted | ToolFinished]:
    """A call that came to nothing, all of it."""
    tool, args, output = call.tool, call.args, plain(item.output)
    yield ToolStarted(session=session, call=item.call_id, tool=tool, args=args, message=message)
    yield ToolFinished(
        session=session, call=item.call_id, tool=tool, args=args, ok=False, output=output, message=message
    )


def cut_off(session: SessionId, call_id: CallId, call: Call) -> ToolFinished:
    """It ran when its turn was interrupted."""
    return ToolFinished(
        session=session, call=call_id, tool=call.tool, args=call.args, ok=False, cancelled=True
    )


def refused(session: SessionId, call_id: CallId, call: Call, reason: str) -> ToolFinished:
    """Our gate refused it; the agent makes no item of it."""
    return ToolFinished(
        session=session, call=call_id, tool=call.tool, args=call.args, ok=False, output=reason, refused=True
    )


def came_to_nothing(item: RawItem) -> bool:
    """The agent itself has refused the call: it has no such tool, or cannot read the arguments. No hook
    is asked then, and there is no item of it."""
    return item.type == "function_call_output" and plain(item.output).startswith(_REFUSALS)


def wanted(item: RawItem) -> Call:
    """A call as the model wrote it."""
    try:
        args = msgspec.json.decode(item.arguments)
    except msgspec.DecodeError:
        args = None
    return Call(item.name, args if isinstance(args, dict) else {"input": item.arguments})


def output_of(item: Item) -> str:
    """What the call returned, as text."""
    if item.aggregated_output is not None:
        return item.aggregated_output
    if isinstance(item.error, dict):
        return plain(item.error.get("message", item.error))
    if item.content_items is not None:
        return text_of(item.content_items)
    result = item.result.get("content") if isinstance(item.result, dict) else item.result
    return text_of(result) or (plain(item.result) if item.result is not None else "")


def changed(item: Item) -> tuple[str, ...]:
    """The files that a completed change has changed."""
    changes = item.changes if isinstance(item.changes, list) else []
    paths = [change.get("path") for change in changes if isinstance(change, dict)]
    return tuple(path for path in paths if isinstance(path, str))


def _command(command: str, cwd: str, directory: str) -> Call:
    beside = {"workdir": cwd} if cwd and cwd != directory else {}
    return Call(COMMAND, {"cmd": command, **beside})


def unwrapped(command: str) -> str:
    """The command without the shell that it is given to."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[1] in ("-lc", "-c"):
        return words[2]
    return command
