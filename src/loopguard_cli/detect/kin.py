"""What the sessions of one run know of each other: parents, and what their children failed with."""

from __future__ import annotations

from collections import OrderedDict

from loopguard_cli.core.ids import NO_SESSION, CallKey, SessionId
from loopguard_cli.detect.call import Call

SESSIONS = 512
FAMILIES = 64
FAILURES = 256
"""Failing calls that are remembered of one family."""


class _Failure:
    """One call, failing in one way, in several sub-agents."""

    __slots__ = ("outcome", "seqs")

    def __init__(self, outcome: str) -> None:
        self.outcome = outcome
        self.seqs: dict[SessionId, int] = {}
        """The event of its latest failure, by sub-agent."""


class Kin:
    """Who is whose child, and what the children of one parent failed with. Bounded."""

    def __init__(self) -> None:
        self._parents: OrderedDict[SessionId, SessionId] = OrderedDict()
        self._families: OrderedDict[SessionId, OrderedDict[CallKey, _Failure]] = OrderedDict()

    def born(self, session: SessionId, parent: SessionId) -> None:
        if parent in (NO_SESSION, session):
            return
        self._parents[session] = parent
        while len(self._parents) > SESSIONS:
            self._parents.popitem(last=False)

    def failed(self, session: SessionId, call: Call) -> None:
        family = self._family(session)
        if family is None:
            return
        failure = family.get(call.key)
        if failure is None or failure.outcome != call.alike():
            failure = family[call.key] = _Failure(call.alike())
        failure.seqs[session] = call.asked_seq
        family.move_to_end(call.key)
        while len(family) > FAILURES:
            family.popitem(last=False)

    def changed(self, session: SessionId) -> None:
        """Something was done by a member of a family that may help the others."""
        for parent in (self._parents.get(session), session):
            if parent is not None:
                self._families.pop(parent, None)

    def worked(self, session: SessionId, key: CallKey) -> None:
        family = self._family(session)
        if family is not None:
            family.pop(key, None)

    def failures(self, session: SessionId, key: CallKey) -> list[int]:
        """The events with which siblings of ``session`` failed at this call, one per sibling."""
        parent = self._parents.get(session)
        failure = self._families.get(parent, OrderedDict()).get(key) if parent is not None else None
        if failure is None:
            return []
        return sorted(seq for sibling, seq in failure.seqs.items() if sibling != session)

    def _family(self, session: SessionId) -> OrderedDict[CallKey, _Failure] | None:
        parent = self._parents.get(session)
        if parent is None:
            return None
        family = self._families.setdefault(parent, OrderedDict())
        self._families.move_to_end(parent)
        while len(self._families) > FAMILIES:
            self._families.popitem(last=False)
        return family
