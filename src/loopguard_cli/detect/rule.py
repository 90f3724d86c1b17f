"""What a rule about calls is, and what it gets to see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import CallId, CallKey, SessionId
from loopguard_cli.core.settings import CallSettings
from loopguard_cli.detect.base import MAX_EVIDENCE, evidence
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.journal import Journal
from loopguard_cli.detect.kin import Kin
from loopguard_cli.detect.standing import Standing

_NO_CALL = CallId("")


class Scene(msgspec.Struct):
    """What the rules of one session share."""

    session: SessionId
    settings: CallSettings
    journal: Journal
    standing: Standing
    kin: Kin
    going_round: Call | None = None
    """The call of which an exact round was just found; looser rules about rounds need not look."""
    licensed: int = 0
    """How often the latest message of a person asks for the same (`detect.asked`)."""

    def threshold(self, tool: str, default: int) -> int:
        """The threshold for one tool, where it has its own."""
        return self.settings.tool_thresholds.get(tool, default)

    def allows(self, limit: int) -> int:
        """``limit``, or the first repetition beyond what a person asked for."""
        return max(limit, self.licensed + 1) if self.licensed else limit

    def finding(
        self,
        rule: str,
        proposes: Action,
        call: Call,
        proof: Iterable[Call],
        now: float,
        *,
        identity: str = "",
        count: int = 0,
        limit: Action = Action.STOP,
        gate: bool = True,
        earlier: Iterable[int] = (),
        **facts: object,
    ) -> Finding:
        """A finding about ``call``, proved by ``proof`` (oldest first, ``call`` itself included) and
        by ``earlier`` events of other sessions."""
        calls = proof if isinstance(proof, list) else list(proof)
        first = calls[0] if calls else call
        shown = calls if len(calls) <= MAX_EVIDENCE else [*calls[:MAX_EVIDENCE], *calls[-MAX_EVIDENCE:]]
        return Finding(
            rule=rule,
            proposes=proposes,
            limit=limit,
            session=self.session,
            identity=identity or call.key,
            count=count or len(calls),
            events=evidence([*earlier, *[one.asked_seq for one in shown]]),
            facts=facts,
            cost=self.journal.cost(first, max(count, len(calls)), now),
            tool=call.tool,
            key=call.key,
            call=call.id if gate else _NO_CALL,
        )


class Rule(Protocol):
    """One rule about calls. It hears of each call twice: when it is asked for and when it ended."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]: ...

    def ended(self, call: Call, now: float) -> Iterable[Finding]: ...

    def forget(self, key: CallKey) -> None:
        """A decision granted this key a fresh cycle, or a change made its past irrelevant."""

    def settled(self) -> None:
        """The agent's run ended: it is idle."""

    def spoke(self) -> None:
        """A person said something: what follows may be what they asked for."""

    def refused(self, call: Call) -> None:
        """The call did not run."""

    def clear(self) -> None: ...

    def gauges(self, now: float) -> Iterable[Gauge]:
        """How near it is to its threshold, where that can be told in one number."""


class Plain:
    """The uneventful half of `Rule`."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        return ()

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        return ()

    def forget(self, key: CallKey) -> None:
        pass

    def settled(self) -> None:
        pass

    def spoke(self) -> None:
        pass

    def refused(self, call: Call) -> None:
        pass

    def clear(self) -> None:
        pass

    def gauges(self, now: float) -> Iterable[Gauge]:
        return ()


class Row(Plain):
    """A rule that counts calls in a row."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._row: list[Call] = []

    def _lengthen(self, call: Call, kept: int) -> None:
        """``call`` goes on with the row; of more than ``kept``, the first and the latest are kept."""
        self._row.append(call)
        if len(self._row) > kept:
            del self._row[1]

    def spoke(self) -> None:
        self._row.clear()

    def clear(self) -> None:
        self._row.clear()
