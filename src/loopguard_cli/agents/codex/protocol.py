"""The messages of ``codex app-server`` that we read, as far as we read them.

Missing fields have defaults and unknown ones are ignored. What may come in several shapes is left
open (``Any``).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from loopguard_cli.core.ids import CallId, SessionId

T = TypeVar("T")


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: fields are written in camel case."""


class Initialized(Struct, frozen=True, kw_only=True):
    user_agent: str = ""

    @property
    def version(self) -> str:
        """``NAME/VERSION (...)``."""
        return self.user_agent.partition(" ")[0].rpartition("/")[2]


class Hook(Struct, frozen=True, kw_only=True):
    key: str = ""
    enabled: bool = True
    is_managed: bool = False
    trust_status: str = ""


class HooksOf(Struct, frozen=True, kw_only=True):
    hooks: tuple[Hook, ...] = ()


class Hooks(Struct, frozen=True, kw_only=True):
    """The answer to ``hooks/list``."""

    data: tuple[HooksOf, ...] = ()

    def untrusted(self) -> tuple[str, ...]:
        """Keys of the hooks that the agent would not run by itself."""
        return tuple(
            hook.key
            for of in self.data
            for hook in of.hooks
            if hook.key and hook.enabled and not hook.is_managed and hook.trust_status != "trusted"
        )


class Thread(Struct, frozen=True, kw_only=True):
    id: SessionId
    cwd: str = ""
    parent_thread_id: SessionId | None = None
    ephemeral: bool = False
    """A side conversation, for example one that finds a title."""


class ThreadOf(Struct, frozen=True, kw_only=True):
    """``thread/started``, and the answers to ``thread/start``, ``resume`` and ``fork``."""

    thread: Thread
    model: str = ""
    model_provider: str = ""
    approval_policy: Any = None
    sandbox: Any = None
    reasoning_effort: str | None = None


class ThreadId(Struct, frozen=True, kw_only=True):
    """A notification that only names a thread."""

    thread_id: SessionId


class Threads(Struct, frozen=True, kw_only=True):
    """The answer to ``thread/list``."""

    data: tuple[Thread, ...] = ()


class Fault(Struct, frozen=True, kw_only=True):
    message: str = ""


class Turn(Struct, frozen=True, kw_only=True):
    id: str
    status: str = ""
    error: Fault | None = None


class TurnOf(Struct, frozen=True, kw_only=True):
    """``turn/started``, ``turn/completed``, and the answer to ``turn/start``."""

    turn: Turn
    thread_id: SessionId = SessionId("")


class Item(Struct, frozen=True, kw_only=True):
    """One entry of a thread; which fields are set depends on ``type``."""

    type: str
    id: CallId
    status: str | None = None
    text: str | None = None
    client_id: str | None = None
    content: Any = None
    summary: Any = None
    command: str | None = None
    source: str | None = None
    process_id: str | None = None
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    changes: Any = None
    server: str | None = None
    tool: str | None = None
    namespace: str | None = None
    arguments: Any = None
    result: Any = None
    error: Any = None
    content_items: Any = None
    success: bool | None = None
    query: str | None = None
    path: str | None = None
    prompt: str | None = None


RAW = {"experimentalRawEvents": True}
"""For ``thread/start``: what the model and the agent say to each other is told as well, as `RAW_ITEM`."""
RAW_ITEM = "rawResponseItem/completed"


class RawItem(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the conversation with the model; which fields are set depends on ``type``."""

    type: str = ""
    call_id: CallId = CallId("")
    name: str = ""
    arguments: str = ""
    output: Any = None


class RawItemOf(Struct, frozen=True, kw_only=True):
    """``rawResponseItem/completed``."""

    item: RawItem
    thread_id: SessionId


class ItemOf(Struct, frozen=True, kw_only=True):
    """``item/started`` and ``item/completed``."""

    thread_id: SessionId
    turn_id: str = ""
    item: Item


class Delta(Struct, frozen=True, kw_only=True):
    thread_id: SessionId
    turn_id: str = ""
    item_id: str = ""
    delta: str = ""


class Figures(Struct, frozen=True, kw_only=True):
    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class Usage(Struct, frozen=True, kw_only=True):
    total: Figures = Figures()
    last: Figures = Figures()


class UsageOf(Struct, frozen=True, kw_only=True):
    """``thread/tokenUsage/updated``: after each model call."""

    thread_id: SessionId
    token_usage: Usage = Usage()


class Trouble(Struct, frozen=True, kw_only=True):
    """``error``."""

    thread_id: SessionId = SessionId("")
    error: Fault = Fault()
    will_retry: bool = False


class ToolCall(Struct, frozen=True, kw_only=True):
    """``item/tool/call``: the model calls a tool of ours."""

    thread_id: SessionId
    call_id: CallId = CallId("")
    tool: str = ""
    arguments: Any = None


class Goal(Struct, frozen=True, kw_only=True):
    objective: str = ""
    status: str = ""


class GoalOf(Struct, frozen=True, kw_only=True):
    """``thread/goal/updated``: the agent's own goals, not ours."""

    thread_id: SessionId
    goal: Goal = Goal()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    mcp_servers: dict[str, Any] | None = None


class ConfigOf(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``config/read``."""

    config: Config = Config()


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """What a PreToolUse hook is told."""

    session_id: SessionId = SessionId("")
    cwd: str = ""
    tool_name: str = ""
    tool_input: Any = None
    tool_use_id: CallId = CallId("")


def read(value: Any, kind: type[T]) -> T | None:
    """``value`` as a ``kind``; None where it is none."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return None


def text_of(content: Any) -> str:
    """The text in a list of content parts."""
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def strings(value: Any) -> str:
    """A list of strings, joined; else nothing."""
    return "\n".join(item for item in value if isinstance(item, str)) if isinstance(value, list) else ""


def plain(value: Any) -> str:
    """Any JSON value as text for a person."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
