"""Making foreign text harmless inside our prompts.

Goal text, assistant text and command output are data. What could close one of our frames or pass
for a role is broken by a zero-width joiner behind the bracket; other text, tags included, stays.
A second line of defence, not a boundary.
"""

from __future__ import annotations

import re

FRAMES = (
    "goal_continuation", "goal_objective", "goal_context", "goal_summary", "goal_handoff", "goal_audit",
    "success_criteria", "constraints", "checks", "check_output", "budget", "completion_format",
    "correction", "evidence", "evidence_required", "blocker", "final_message",
)  # fmt: skip
"""Tags of our own prompts."""

ROLES = (
    "system", "instructions", "instruction", "human", "user", "assistant", "anthropic", "claude",
    "context", "prompt", "developer", "tool",
)  # fmt: skip

_BREAK = "<\u2060"
_OPENERS = re.compile(rf"<(?=/|\s*(?:{'|'.join([*FRAMES, *ROLES])})(?![\w.:-]))", re.IGNORECASE)


def escape(text: str) -> str:
    """``text`` with every ``</`` and every opening of a frame or role tag broken."""
    return _OPENERS.sub(_BREAK, text)
