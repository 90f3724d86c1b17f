"""Sub-agents of one parent that try the same in vain, one after the other."""

from __future__ import annotations

from itertools import count

import pytest

from loopguard_cli.core.events import Event, Origin, SessionSeen, ToolAsked, ToolFinished, UserSpoke
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.ids import CallId, MessageId, RequestId, SessionId
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.detect.panel import DetectorPanel, Panels

PARENT = SessionId("parent")


class Family:
    """A parent and its sub-agents."""

    def __init__(self) -> None:
        self._make = Panels()
        self._panels: dict[SessionId, DetectorPanel] = {}
        self._numbers = count()

    def feed(self, event: Event) -> list[Finding]:
        panel = self._panels.get(event.session)
        if panel is None:
            panel = self._panels[event.session] = self._make(event.session, GuardSettings())
        number = next(self._numbers)
        return list(panel.observe(event, number, float(number)))

    def child(self, name: str, parent: SessionId = PARENT) -> SessionId:
        self.feed(SessionSeen(session=SessionId(name), parent=parent))
        return SessionId(name)

    def call(
        self, session: SessionId, command: str, output: str = "no such host", *, ok: bool = False
    ) -> list[Finding]:
        name, args = CallId(f"c{next(self._numbers)}"), {"command": command}
        asked = ToolAsked(session=session, request=RequestId(name), call=name, tool="bash", args=args)
        ended = ToolFinished(session=session, call=name, tool="bash", args=args, ok=ok, output=output)
        return self.feed(asked) + self.feed(ended)


@pytest.fixture
def family() -> Family:
    return Family()


def proposals(findings: list[Finding]) -> list[str]:
    return [finding.proposes.name for finding in findings if finding.rule == "sibling-error"]


def test_what_three_failed_with_is_a_nudge_and_after_five_refused(family: Family) -> None:
    said = [proposals(family.call(family.child(f"k{n}"), "curl api")) for n in range(6)]
    assert said == [[], [], [], ["NUDGE"], ["NUDGE"], ["BLOCK"]]


def test_the_proof_names_the_siblings_calls(family: Family) -> None:
    for n in range(3):
        family.call(family.child(f"k{n}"), "curl api")
    (finding,) = family.call(family.child("last"), "curl api")
    assert len(finding.events) == 4
    assert finding.count == 3


def test_one_child_that_fails_alone_is_no_matter_of_its_siblings(family: Family) -> None:
    for _ in range(3):
        family.call(family.child("k"), "curl api")
    assert proposals(family.call(family.child("other"), "curl api")) == []


@pytest.mark.parametrize("outputs", [("a", "b", "c", "d"), ("no such host",) * 4])
def test_other_failures_and_other_parents_do_not_count(family: Family, outputs: tuple[str, ...]) -> None:
    strangers = len(set(outputs)) == 1
    for n, output in enumerate(outputs):
        parent = SessionId(f"parent{n}") if strangers else PARENT
        assert proposals(family.call(family.child(f"k{n}", parent), "curl api", output)) == []


def test_a_change_in_the_family_makes_it_worth_trying(family: Family) -> None:
    for n in range(3):
        family.call(family.child(f"k{n}"), "curl api")
    family.call(PARENT, "echo 1.2.3.4 api >> /etc/hosts", "", ok=True)
    assert proposals(family.call(family.child("last"), "curl api")) == []


def test_so_does_a_success_and_a_persons_message(family: Family) -> None:
    for n in range(3):
        family.call(family.child(f"k{n}"), "curl api")
    family.call(family.child("lucky"), "curl api", "ok", ok=True)
    assert proposals(family.call(family.child("next"), "curl api")) == []
    for n in range(3):
        family.call(family.child(f"l{n}"), "curl web")
    family.feed(UserSpoke(session=PARENT, message=MessageId("m"), origin=Origin.PERSON))
    assert proposals(family.call(family.child("last"), "curl web")) == []


def test_what_is_remembered_of_families_is_bounded(family: Family) -> None:
    for n in range(3_000):
        family.call(family.child(f"k{n}", SessionId(f"parent{n % 200}")), f"try {n}")
    kin = family._make._kin
    assert len(kin._families) <= 64
    assert len(kin._parents) <= 512
    assert all(len(failures) <= 256 for failures in kin._families.values())
