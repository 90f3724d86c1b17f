"""What a rule about text states, and how repeated units are named."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from loopguard_cli.core.findings import Action
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.sentences import Sentence


class Repetition(msgspec.Struct, frozen=True, kw_only=True):
    """One rule's statement about one part of a message; the detector makes a finding of it."""

    rule: str
    proposes: Action
    limit: Action = Action.STOP
    identity: str
    count: int
    events: tuple[int, ...] = ()
    part: str
    keep: int = -1
    """Where in ``part`` the first copy ends; -1: there is nothing to keep or cut."""
    facts: dict[str, int]


def digest_text(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))


def digest_cycle(units: Sequence[str]) -> str:
    """The same for one cycle wherever it is entered."""
    turns = [[*units[at:], *units[:at]] for at in range(len(units))]
    return digest_text("\n".join(min(turns)))


def of_sentences(rule: str, what: str, proof: Sequence[Sentence], facts: dict[str, int]) -> Repetition:
    return Repetition(
        rule=rule,
        proposes=Action.NUDGE,
        limit=Action.NUDGE,
        identity=digest_text(what),
        count=len(proof),
        events=tuple(one.event for one in proof),
        part=proof[0].part,
        keep=proof[0].end,
        facts=facts,
    )
