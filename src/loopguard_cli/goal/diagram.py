"""The states of a goal, what leads from one to another, and the same as pictures for the docs."""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.goal.model import STOPS, State, exit_code
from loopguard_cli.goal.records import Kind

PROMOTED = "promoted"
"""No record of its own: it comes with the ``completed`` of the predecessor."""

_N, _A, _P, _B, _D = State.NONE, State.ACTIVE, State.PAUSED, State.BLOCKED, State.ACHIEVED

MOVES: dict[tuple[State, str, State], str] = {
    (_N, Kind.SET, _A): "set, add, first of a sequence",
    (_N, Kind.SET, _P): "queued behind others",
    (_A, Kind.COMPLETED, _D): "proved",
    (_A, Kind.BLOCKED, _B): "obstacle stated",
    (_A, Kind.LIMIT, _P): "limit reached",
    (_A, Kind.WRAPUP, _P): "context nearly full",
    (_A, Kind.AUDIT_REJECTED, _P): "auditor refused",
    (_A, Kind.PAUSED, _P): "person, trouble or stall",
    (_A, Kind.BACKGROUNDED, _P): "another goal has the focus",
    (_A, Kind.RECOVERED, _P): "loopguard restarted",
    (_P, Kind.RESUMED, _A): "resume",
    (_P, Kind.EDITED, _A): "edit",
    (_P, Kind.FOCUSED, _A): "focus",
    (_P, PROMOTED, _A): "next in the sequence",
    (_P, Kind.COMPLETED, _D): "proved in the answer to the handoff, or declared by a person",
    (_P, Kind.BLOCKED, _B): "obstacle in the answer to the handoff",
    (_B, Kind.RESUMED, _A): "resume",
    (_B, Kind.EDITED, _A): "edit",
    (_B, PROMOTED, _A): "next in the sequence",
    (_B, Kind.BACKGROUNDED, _P): "another goal has the focus",
    (_B, Kind.COMPLETED, _D): "declared by a person",
    (_A, Kind.CLEARED, _N): "clear",
    (_A, Kind.REPLACED, _N): "another set, or a sequence",
    (_P, Kind.CLEARED, _N): "clear",
    (_P, Kind.REPLACED, _N): "another set, or a sequence",
    (_B, Kind.CLEARED, _N): "clear",
    (_B, Kind.REPLACED, _N): "another set, or a sequence",
    (_D, Kind.CLEARED, _N): "cleared while its end was being stored",
    (_D, Kind.REPLACED, _N): "replaced while its end was being stored",
}
"""State before, record, state after; with the words for the diagram."""


def mermaid() -> str:
    """The diagram in Mermaid's language."""
    lines = ["stateDiagram-v2"]
    arrows: dict[tuple[State, State], list[str]] = {}
    for (before, _, after), label in MOVES.items():
        if before is not State.ACHIEVED:
            arrows.setdefault((before, after), []).append(label)
    for (before, after), labels in arrows.items():
        lines.append(f"    {_node(before)} --> {_node(after)}: {' / '.join(dict.fromkeys(labels))}")
    return "\n".join([*lines, f"    {State.ACHIEVED.value} --> [*]"]) + "\n"


def stop_table() -> Iterator[tuple[str, ...]]:
    """Rows of the table of stop reasons, the heading first."""
    yield ("stop reason", "shown as", "because", "what to do", "exit status")
    for reason, stop in STOPS.items():
        yield (f"`{reason.value}`", stop.title, stop.cause, stop.action, str(exit_code(reason)))


def _node(state: State) -> str:
    return "[*]" if state is State.NONE else state.value
