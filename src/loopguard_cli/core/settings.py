"""All settings of the guard, typed, with their ranges; `config` fills them from files and flags.

Names are ours; `config.importing` maps the names that the replaced plugins used.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

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


class RuleAction(StrEnum):
    """The strongest thing a rule may bring about; ``off`` switches it off."""

    OFF = "off"
    NOTE = "note"
    WARN = "warn"
    NUDGE = "nudge"
    BLOCK = "block"
    ABORT = "abort"
    STOP = "stop"


class CallSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about tool calls."""

    repeat_threshold: Count = 3
    """repeat-call: this many equal calls within the window; the last one is refused."""
    repeat_window_seconds: Seconds = 60.0
    """repeat-call: the window. Blocks that stand do not expire with it."""
    consecutive_threshold: Count = 3
    """consecutive-call: equal calls in a row."""
    tool_thresholds: dict[str, Count] = {}
    """Per tool, instead of ``consecutive_threshold`` and ``repeat_threshold``."""
    ignore_tools: tuple[str, ...] = ()
    """Tools whose calls no rule counts."""
    cycle_repeats: Count = 3
    """call-cycle: full cycles."""
    max_cycle_length: Annotated[int, Meta(ge=2, le=8)] = 8
    """call-cycle: the longest cycle looked for, in calls."""
    frequency_threshold: Count = 4
    """call-frequency: equal calls among the latest ``frequency_window`` calls."""
    frequency_window: Annotated[int, Meta(ge=2, le=1000)] = 10
    """call-frequency: how many of the latest calls are looked at."""
    error_threshold: Count = 3
    """repeat-error: equal normalised errors in a row; a success clears them."""
    fruitless_edit_cycles: Count = 8
    """Edit-and-rerun cycles with an unchanged outcome before they count as a loop after all."""
    blocked_retries: Annotated[int, Meta(ge=1, le=100)] = 3
    """How often one blocked call may be asked for again before the turn is aborted."""


class TextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about streamed text."""

    enabled: bool = True
    """Watch the assistant's text while it is streaming."""
    threshold: Annotated[int, Meta(ge=3, le=10)] = 3
    """prose-block: consecutive identical blocks; prose-irregular: two more of one sentence."""
    response_threshold: Count = 3
    """repeat-response: equal final texts in a row."""


class RecoverySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What follows on an aborted turn."""

    enabled: bool = True
    """Continue the task after a loop was cut off; false: stop there."""
    max_continuations: Annotated[int, Meta(ge=0, le=5)] = 2
    """Continuations per real user message."""
    idle_wait_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 10.0
    """How long to wait for the agent to be idle after an abort."""
    trim: bool = True
    """Cut the looped text out of the agent's history before it goes on."""


class PaceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Soft limits of a run: they warn and never stop anything. 0: none; the preset ``pi`` sets both."""

    turns: NonNegative = 0
    """Turns (model calls) before a warning."""
    seconds: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds before a warning."""


class CapSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hard caps of a run, which no approval resets. 0: none."""

    calls: NonNegative = 0
    """Tool calls."""
    turns: NonNegative = 0
    """Turns."""
    tokens: NonNegative = 0
    """Tokens, as the agent reports them."""
    cost: Annotated[float, Meta(ge=0)] = 0.0
    """Cost in the currency that the agent reports, usually US dollars."""
    minutes: Annotated[float, Meta(ge=0)] = 0.0
    """Minutes from the first event on."""


class GuardSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The loop guard."""

    mode: Mode = Mode.ON
    """``on`` acts, ``observe`` only reports, ``off`` does nothing."""
    preset: Preset = Preset.BALANCED
    """Which rules hold: ours, or those of one of the two replaced guards, to the letter."""
    locale: Locale = Locale.EN
    """The language of everything a person or the model reads from the guard."""
    hint: bool = True
    """A short text in the system prompt: do not repeat, report blockers."""
    fail_closed: bool = False
    """Refuse calls that loopguard cannot be asked about, where the agent can be told so; else they run."""
    rules: dict[str, RuleAction] = {}
    """Per rule, the strongest thing it may bring about (``call-frequency = "off"``)."""
    calls: CallSettings = CallSettings()
    text: TextSettings = TextSettings()
    recovery: RecoverySettings = RecoverySettings()
    pace: PaceSettings = PaceSettings()
    caps: CapSettings = CapSettings()


PRESET_VALUES: Mapping[Preset, Mapping[str, Any]] = {
    Preset.BALANCED: {},
    Preset.INFINITY: {"guard.calls.blocked_retries": 8},
    Preset.PI: {
        "guard.calls.max_cycle_length": 3,
        "guard.pace.turns": 12,
        "guard.pace.seconds": 180.0,
        "guard.recovery.enabled": False,
    },
}
"""What a preset sets unless the user does, by dotted key. Which rules a preset has is `detect`'s to say."""


class Permissions(StrEnum):
    """How an agent's own questions for permission are answered where they come to us."""

    ASK = "ask"
    """By the person at the terminal; refused where nobody is there."""
    ALLOW = "allow"
    DENY = "deny"


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an adapter can do with its agent; policy degrades by it and says so."""

    gate: bool = False
    text_deltas: bool = False
    reasoning: bool = False
    abort: bool = False
    prompt: bool = False
    """Can prompt a live session that is idle."""
    nudge: bool = False
    """Takes a prompt into a running turn."""
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
    closes: bool = False
    """Without us nothing runs: it refuses calls if told so (``guard.fail_closed``), or ends with us."""
    mixed: bool = False
    """Its text holds what its tools print as well, as a screen does: the two cannot be told apart."""
