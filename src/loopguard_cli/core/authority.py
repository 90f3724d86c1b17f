"""Who may ask for what.

Nothing inside the agent may weaken its own guard: a command that the agent types into its own
shell reaches us over the control socket, but from within its process tree, and is not a person's
word. Such attempts are refused and recorded.
"""

from __future__ import annotations

from loopguard_cli.core.events import Surface

READING = frozenset({"guard.status", "guard.inspect", "guard.check"})
"""Open to everybody."""

AGENT_TOOLS = frozenset({"guard.check", "guard.decide"})
"""What the model may do, by the agreed tools only."""


def may(surface: Surface, operation: str) -> bool:
    """Whether ``operation`` (``guard.*``) may be done from ``surface``."""
    if operation in READING:
        return True
    match surface:
        case Surface.CLI | Surface.SLASH:
            return True
        case Surface.FILE:
            return operation == "guard.settings"
        case Surface.TOOL:
            return operation in AGENT_TOOLS
        case Surface.INSIDE:
            return False
