"""How each call key stands with the guard: attempted, blocked, granted another cycle.

Source: the infinity guard. A block does not expire with any window; it ends by an explicit
decision (`detect.decisions`), by a reset, or, in outcome-aware rules, because something changed.
"""

from __future__ import annotations

from collections import OrderedDict

from loopguard_cli.core.ids import CallKey

BLOCKS = 512
ATTEMPTS = 4_096


class Standing:
    """Blocks and grants of one session. The oldest entries go when there are too many."""

    def __init__(self) -> None:
        self._blocked: OrderedDict[CallKey, int] = OrderedDict()
        self._granted: OrderedDict[CallKey, int] = OrderedDict()
        self._attempted: OrderedDict[CallKey, int] = OrderedDict()
        self.last_blocked: CallKey | None = None

    def attempt(self, key: CallKey) -> bool:
        """Note an attempt. True if a granted fresh cycle begins with it (the grant is used up)."""
        _note(self._attempted, key, ATTEMPTS)
        if key not in self._granted:
            return False
        del self._granted[key]
        self._blocked.pop(key, None)
        return True

    def attempted(self, key: CallKey) -> bool:
        return key in self._attempted

    def block(self, key: CallKey, mark: int = 0) -> None:
        """Refuse the key from now on. ``mark`` is the rule's own note about the moment."""
        _note(self._blocked, key, BLOCKS, mark)
        self.last_blocked = key

    def mark(self, key: CallKey) -> int | None:
        """The note left with the block; None if there is no block."""
        return self._blocked.get(key)

    def blocked(self, key: CallKey) -> bool:
        return key in self._blocked

    def lift(self, key: CallKey) -> None:
        self._blocked.pop(key, None)

    def grant(self, key: CallKey) -> None:
        _note(self._granted, key, BLOCKS)

    def granted(self, key: CallKey) -> bool:
        return key in self._granted

    def revoke(self, key: CallKey) -> bool:
        """Take an unused grant back. True if there was one."""
        if key not in self._granted:
            return False
        del self._granted[key]
        return True

    def clear(self) -> None:
        self._blocked.clear()
        self._granted.clear()
        self._attempted.clear()
        self.last_blocked = None


def _note(table: OrderedDict[CallKey, int], key: CallKey, limit: int, value: int = 0) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > limit:
        table.popitem(last=False)
