"""Names for the identifiers that travel through the core, and how ours are made."""

from __future__ import annotations

from typing import NewType

SessionId = NewType("SessionId", str)
"""One conversation inside an agent. Empty for things that concern the whole run."""

MessageId = NewType("MessageId", str)
PartId = NewType("PartId", str)
CallId = NewType("CallId", str)
EffectId = NewType("EffectId", str)
"""Names one effect, so that its result (`EffectSettled` and relatives) can be matched to it."""

RequestId = NewType("RequestId", str)
"""Names one question put to us (gate, command, tool), so that the answer finds its way back."""

CallKey = NewType("CallKey", str)
"""Digest that says when two tool calls are "the same" (`detect.keys`)."""

NO_SESSION = SessionId("")


class Mint:
    """Makes effect ids that cannot be guessed from outside and never repeat.

    The core may not draw random numbers, so the shell hands in a random ``salt`` once per run;
    with an equal salt a replay makes equal ids.
    """

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self._made = 0

    def effect(self) -> EffectId:
        self._made += 1
        return EffectId(f"lg_{self._salt}_{self._made}")
