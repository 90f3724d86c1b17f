"""All settings of the guard, typed, with their ranges; `config` fills them from files and flags.

Names are ours; `config.importing` maps the names that the replaced plugins used.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=2, le=1000)]
NonNegative = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class Mode(StrEnum):
    ON = "on"
    OBSERVE = "observe"
    """Report loops, never block or abort."""
    OFF = "off"
    """Nothing, not even the hint in the system prompt."""


class Preset(StrEnum):
    BALANCED = "balanced"
    INFINITY = "infinity"
    PI = "pi"


class Locale(StrEnum):
    EN = "en"
    KO = "ko"


class CallSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about tool calls."""

    repeat_threshold: Count = 3
    """repeat-call: this many equal calls within the window; the last is refused."""
    repeat_window_seconds: Seconds = 60.0
    consecutive_threshold: Count = 3
    """consecutive-call: equal calls in a row."""
    tool_thresholds: dict[str, Count] = {}
    """Per tool, instead of ``consecutive_threshold`` and ``repeat_threshold``."""
    ignore_tools: tuple[str, ...] = ()
    cycle_repeats: Count = 3
    max_cycle_length: Annotated[int, Meta(ge=2, le=8)] = 8
    frequency_threshold: Count = 4
    frequency_window: Annotated[int, Meta(ge=2, le=1000)] = 10
    error_threshold: Count = 3
    fruitless_edit_cycles: Count = 8
    """Edit-and-rerun cycles with an unchanged outcome before they count as a loop after all."""
    blocked_retries: Annotated[int, Meta(ge=1, le=100)] = 3
    """How often one blocked call may be asked for again before the turn is aborted."""


class TextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about streamed text."""

    enabled: bool = True
    threshold: Annotated[int, Meta(ge=3, le=10)] = 3
    """prose-block: consecutive identical blocks."""
    response_threshold: Count = 3
    """repeat-response: equal final texts in a row."""


class RecoverySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    enabled: bool = True
    max_continuations: Annotated[int, Meta(ge=0, le=5)] = 2
    """Per real user message."""
    idle_wait_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 10.0
    trim: bool = True
    """Cut the looped text out of the agent's history before it goes on."""


class PaceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Soft limits: they warn and never stop anything. 0 turns one off."""

    turns: NonNegative = 12
    seconds: Annotated[float, Meta(ge=0)] = 180.0


class CapSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hard caps per run, which no approval resets. 0 = none."""

    calls: NonNegative = 0
    turns: NonNegative = 0
    tokens: NonNegative = 0
    cost: Annotated[float, Meta(ge=0)] = 0.0
    minutes: Annotated[float, Meta(ge=0)] = 0.0


class GuardSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[guard]`` table."""

    mode: Mode = Mode.ON
    preset: Preset = Preset.BALANCED
    locale: Locale = Locale.EN
    hint: bool = True
    """A short text in the system prompt: do not repeat, report blockers."""
    calls: CallSettings = CallSettings()
    text: TextSettings = TextSettings()
    recovery: RecoverySettings = RecoverySettings()
    pace: PaceSettings = PaceSettings()
    caps: CapSettings = CapSettings()


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an adapter can do with its agent; policy degrades by it and says so."""

    gate: bool = False
    text_deltas: bool = False
    reasoning: bool = False
    abort: bool = False
    prompt: bool = False
    """Can prompt a live session."""
    respawn: bool = False
    """Goes on by a new invocation of the same session (one-shot agents)."""
    trim: bool = False
    read_session: bool = False
    usage: bool = False
    child_sessions: bool = False
    tools: bool = False
    context: bool = False
    """System and compaction text."""
    screen: bool = False
    """A person watches; toasts are seen."""
