"""What the person is to see, shown by the next hook that is answered."""

from __future__ import annotations

from typing import Any

NOTICES = 5
"""Kept; the oldest goes."""


class Aside:
    """The notices that wait. ``prefix``: in front of them, where the agent does not say whose they are."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        self._waiting = [*self._waiting, text][-NOTICES:]

    def beside(self, body: dict[str, Any] | None) -> dict[str, Any] | None:
        """The answer of a hook, with what waits to be shown."""
        if not self._waiting:
            return body
        shown, self._waiting = self._prefix + "\n".join(self._waiting), []
        return {**(body or {}), "systemMessage": shown}
