"""From events to the report: what is counted, marked, shown and kept to itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.history.stories import START, Story

from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Event,
    Origin,
    TextDelta,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, MessageId, PartId, SessionId
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.errors import InputError
from loopguard_cli.goal.model import Goal
from loopguard_cli.goal.prompts import continuation
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.report import Kind, Report, render
from loopguard_cli.store.redaction import Redactor
from loopguard_cli.study import retelling
from loopguard_cli.study.histories import find
from loopguard_cli.study.replay import Found
from loopguard_cli.study.retelling import Retelling
from loopguard_cli.study.sources import named, newest_of, report_of

SESSION = SessionId("s")
SETTINGS = GuardSettings()


def spoke(origin: Origin = Origin.PERSON, text: str = "") -> UserSpoke:
    return UserSpoke(session=SESSION, message=MessageId("u"), origin=origin, text=text)


def calls(number: int, **end: object) -> list[Event]:
    call = CallId(f"c{number}")
    started = ToolStarted(session=SESSION, call=call, tool="bash", args={"command": "ls"})
    ended = ToolFinished(session=SESSION, call=call, tool="bash", args={"command": "ls"}, **end)  # type: ignore[arg-type]
    return [started, ended]


def retold(*events: Event, content: Redactor | None = None, **found: Found) -> Report:
    """One event a second; ``found`` by ``at_N``."""
    telling = Retelling(Report(title="t"), content=content)
    for index, event in enumerate(events):
        one = found.get(f"at_{index}")
        telling.take(index, START + index, event, [one] if one else ())
    return telling.report()


def a_finding(event: int, **more: object) -> Found:
    fields: dict[str, object] = {"rule": "repeat-call", "action": "block", "key": "k", "explanation": "again"}
    return Found(event=event, count=3, time=0.0, **{"events": (0, event), **fields, **more})  # type: ignore[arg-type]


def test_turns_begin_with_messages_and_calls_know_how_they_ended() -> None:
    report = retold(spoke(), *calls(1), *calls(2, ok=False), spoke(Origin.LOOPGUARD), *calls(3, exit_code=2))
    first, second = report.turns
    assert [turn.who for turn in report.turns] == ["person", "loopguard"]
    assert [(item.ok, item.seconds) for item in first.items] == [(True, 1.0), (False, 1.0)]
    assert second.items[0].kind is Kind.CONTINUATION
    assert second.items[1].ok is False
    assert "exit status 2" in second.items[1].detail
    assert "3rd time" in second.items[1].detail
    assert (report.calls, report.continued, report.pursued) == (3, 1, 0)
    assert (report.started, report.ended) == (START, START + 7)


def test_a_prompt_that_drives_a_goal_is_no_recovery() -> None:
    goal = Goal(id="g", run=1, objective="tests pass")
    prompt = continuation(goal, GoalSettings(), 0.0)
    report = retold(spoke(), spoke(Origin.LOOPGUARD, prompt), *calls(1), spoke(Origin.LOOPGUARD, "Go on."))
    assert (report.continued, report.pursued) == (1, 1)
    told = [item.title for turn in report.turns for item in turn.items if item.kind is Kind.CONTINUATION]
    assert told == ["told to go on with the goal", "told to go on after a loop"]


def test_what_our_gate_refused_is_a_block() -> None:
    report = retold(spoke(), *calls(1, refused=True, ok=False))
    assert [item.kind for item in report.turns[0].items] == [Kind.CALL, Kind.BLOCK]
    assert report.blocked == 1


def test_a_finding_marks_its_evidence_and_is_told_once_however_often_it_is_raised() -> None:
    report = retold(spoke(), *calls(1), *calls(2), at_3=a_finding(3, events=(1, 3)), at_4=a_finding(4))
    (alarm,) = report.alarms
    assert (alarm.repeats, alarm.evidence) == (2, (1, 3))
    items = report.turns[0].items
    assert [item.alarm for item in items if item.kind is Kind.CALL] == [1, 1]
    assert len([item for item in items if item.kind is Kind.ALARM]) == 2


def test_pieces_of_a_text_are_one_item_and_evidence_leads_to_its_beginning() -> None:
    def delta(text: str) -> TextDelta:
        return TextDelta(session=SESSION, message=MessageId("m"), part=PartId("p"), delta=text)

    found = a_finding(3, events=(2, 3), rule="prose-block", action="abort")
    trimmed = TextSnapshot(session=SESSION, message=MessageId("m"), part=PartId("p"), text="aa [cut]")
    report = retold(spoke(), delta("aaaa "), delta("bbbb "), delta("cccc "), trimmed, at_3=found)
    (text,) = [item for item in report.turns[0].items if item.kind is Kind.TEXT]
    assert text.title == "wrote 15 characters"
    assert report.alarms[0].evidence == (1,)
    assert text.alarm == 1
    assert report.aborted == 1


def test_thoughts_and_errors_have_kinds_of_their_own() -> None:
    thought = TextSnapshot(
        session=SESSION, message=MessageId("m"), part=PartId("p"), channel=Channel.REASONING, text="hm"
    )
    cut = AgentError(session=SESSION, aborted=True)
    report = retold(spoke(), thought, cut, AgentError(session=SESSION, name="APIError"))
    assert [item.kind for item in report.turns[0].items] == [Kind.REASONING, Kind.ABORT, Kind.ERROR]


def test_tokens_and_cost_rise_with_what_was_reported() -> None:
    def used(message: str, total: int, cost: float) -> UsageReported:
        return UsageReported(session=SESSION, message=MessageId(message), total=total, cost=cost)

    report = retold(spoke(), used("a", 100, 0.1), used("a", 150, 0.2), used("b", 50, 0.1))
    tokens, cost = report.curves
    assert [value for _, value in tokens.points] == [100, 150, 200]
    assert (report.tokens, report.cost) == (200, pytest.approx(0.3))
    assert cost.points[-1][1] == pytest.approx(0.3)
    assert retold(spoke()).cost is None


def test_nothing_that_was_said_is_in_it_unless_asked_for() -> None:
    said = [
        spoke(text="secretly asked"),
        *calls(1, output="secretly returned"),
        TextSnapshot(session=SESSION, message=MessageId("m"), part=PartId("p"), text="secretly written"),
    ]
    assert b"secretly" not in msgspec.json.encode(retold(*said))
    page = render(retold(*said, content=Redactor()))
    for words in ("secretly asked", "secretly returned", "secretly written", "&quot;ls&quot;"):
        assert words in page


def test_content_is_redacted_before_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retelling, "MAX_CONTENT", 30)
    key = "ghp_" + "a" * 36
    report = retold(spoke(text=f"use the key {key} please, {'x' * 5_000}"), content=Redactor())
    assert "aaaa" not in report.turns[0].text
    assert "more characters" in report.turns[0].text
    assert report.redacted == 1


def test_marks_are_never_left_out_of_a_long_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retelling, "MAX_ITEMS", 3)
    many = [event for number in range(5) for event in calls(number)]
    report = retold(spoke(), *many, at_10=a_finding(10))
    kinds = [item.kind for item in report.turns[0].items]
    assert kinds.count(Kind.CALL) == 3
    assert Kind.ALARM in kinds
    assert report.left_out == 2
    assert report.calls == 5


# --- where it comes from ---------------------------------------------------------------------


def looped(path: Path, **where: object) -> Path:
    story = Story(path, **where).person("do it")  # type: ignore[arg-type]
    for _ in range(4):
        story.calls("bash", "same", command="ls")
    return story.says("done").write()


def test_an_agents_session_is_judged_in_hindsight(tmp_path: Path) -> None:
    (conversation,) = find(looped(tmp_path / "s.jsonl"))
    report = report_of(conversation, SETTINGS)
    assert report.hypothetical
    assert report.title == "pi session in shop"
    assert [(alarm.rule, alarm.repeats) for alarm in report.alarms] == [("repeat-call", 2)]
    assert report.blocked == 2
    evidence = {item.event for turn in report.turns for item in turn.items if item.alarm == 1}
    assert set(report.alarms[0].evidence) <= evidence


def test_a_trace_of_ours_is_no_what_if(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    started = '{"kind":"tool_started","session":"s","call":"c","tool":"bash"}'
    path.write_text(
        '{"format":"loopguard-record","version":1,"started":1800000000}\n'
        f'{{"t":1.5,"event":{started}}}\n{{"t":2,"event":{{"kind":"nonsense"}}}}\n'
    )
    (conversation,) = find(path)
    report = report_of(conversation, SETTINGS)
    assert not report.hypothetical
    assert report.started == START + 1.5
    assert "1 damaged" in report.notes[0]


def test_an_empty_or_missing_source_is_an_error_that_names_it(tmp_path: Path) -> None:
    empty = Story(tmp_path / "s.jsonl").write()
    (conversation,) = find(empty)
    with pytest.raises(InputError, match=r"s\.jsonl"):
        report_of(conversation, SETTINGS)
    empty.unlink()
    with pytest.raises(InputError, match="no such file"):
        report_of(conversation, SETTINGS)


def test_sessions_are_named_by_file_or_beginning_of_the_id(tmp_path: Path) -> None:
    place = tmp_path / ".pi" / "agent" / "sessions" / "-p"
    path = looped(place / "2026_abcdef.jsonl")
    looped(place / "2026_123456.jsonl")
    assert (found := named(str(path), tmp_path, {})) is not None
    assert found.path == path
    assert (found := named("abcd", tmp_path, {})) is not None
    assert found.path == path
    assert named("nobody", tmp_path, {}) is None


def test_the_newest_session_of_a_folder(tmp_path: Path) -> None:
    place = tmp_path / ".pi" / "agent" / "sessions"
    looped(place / "a" / "a.jsonl", folder="/home/dev/shop")
    looped(place / "b" / "b.jsonl", folder="/home/dev/other")
    assert (found := newest_of(Path("/home/dev/shop"), tmp_path, {})) is not None
    assert found.path.stem == "a"
    assert newest_of(Path("/home/dev/nowhere"), tmp_path, {}) is None
