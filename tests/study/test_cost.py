"""What would have been found, and what it would have saved."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.history.places import CLAUDE, CODEX, GEMINI, PI, conversations, database
from tests.history.stories import START, Story

from loopguard_cli import history
from loopguard_cli.core.settings import GuardSettings, Preset
from loopguard_cli.history import Conversation
from loopguard_cli.study.cost import Study, study
from loopguard_cli.study.histories import TRACE, find

SETTINGS = GuardSettings()


def judged(path: Path, **wanted: object) -> Study:
    (conversation,) = find(path)
    return study(conversation, SETTINGS, **wanted)  # type: ignore[arg-type]


def recorded(agent: str, tmp_path: Path) -> Conversation:
    if agent == "opencode":
        return conversations(agent, database(tmp_path / "opencode.db"))[0]
    places = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "pi": PI}
    return next(one for one in conversations(agent, places[agent]) if "subagents" not in one.path.parts)


@pytest.mark.parametrize("agent", list(history.READERS))
def test_the_planted_call_loop_of_real_agents_is_found_from_its_third_call_on(
    agent: str, tmp_path: Path
) -> None:
    found = study(recorded(agent, tmp_path), SETTINGS)
    (loop,) = [one for one in found.loops if one.rule == "repeat-call"]
    assert (loop.rule, loop.action, loop.suspect) == ("repeat-call", "block", "")
    repeats = {"opencode": 4, "claude": 5, "codex": 5, "gemini": 4, "pi": 4}[agent]
    assert loop.calls == repeats - 2
    assert (found.agent, found.project) == (agent, "/home/dev/shop")


@pytest.mark.parametrize("agent", list(history.READERS))
def test_nothing_else_is_found(agent: str, tmp_path: Path) -> None:
    """But for the sentence that was said four times."""
    loops = study(recorded(agent, tmp_path), SETTINGS).loops
    assert {one.rule for one in loops} <= {"repeat-call", "prose-block"}


def test_savings_count_each_step_from_the_alarm_on(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for _ in range(5):
        story.calls("bash", "same", command="ls")
    story.says("done")
    found = judged(story.write())
    (loop,) = found.loops
    assert (found.calls, found.tokens) == (5, 600)
    # The third to the fifth call would not have run; a step lasts from the former result to its own.
    assert (loop.calls, loop.tokens, loop.seconds) == (3, 300, 6.0)
    assert loop.cost == pytest.approx(0.3)
    assert loop.time == START + 6.0


def test_one_loop_seen_by_several_rules_is_one_loop(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for _ in range(12):
        story.calls("bash", "one", command="ls a").calls("bash", "two", command="ls b")
    found = judged(story.write())
    assert len(found.loops) == 1
    assert found.loops[0].alarms > 1


def test_the_same_loop_again_much_later_is_no_second_one(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for _ in range(4):
        story.calls("bash", "same", command="ls")
    for number in range(10):
        story.calls("read", f"text {number}", path=f"file{number}")
    for _ in range(4):
        story.calls("bash", "same", command="ls")
    assert len(judged(story.write()).loops) == 1


def test_a_session_at_work_raises_nothing(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for number in range(6):
        story.calls("edit", "ok", path="a.py", old=str(number), new=str(number + 1))
        story.calls("bash", f"{6 - number} failed", command="pytest")
    story.says("All tests pass now.")
    assert judged(story.write()).loops == []


def test_a_refusal_that_would_have_cost_something_new_is_doubtful(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    story.calls("bash", "a", command="next").calls("bash", "a", command="next")
    story.calls("bash", "a whole new answer", command="next").says("done")
    (loop,) = judged(story.write()).loops
    assert "something new" in loop.suspect


def test_volatile_parts_are_nothing_new(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for second in range(4):
        story.calls("bash", f"at 2026-01-01T10:00:0{second}Z: no", command="probe it")
    loops = judged(story.write()).loops
    assert [loop.suspect for loop in loops] == [""]


def test_a_text_counts_from_where_it_began_to_repeat_itself(tmp_path: Path) -> None:
    useful = " ".join(
        f"Sentence {number} says something of its own about part {number}." for number in range(60)
    )
    looped = "I will now carefully check the build output once more. " * 120
    path = Story(tmp_path / "s.jsonl").person("do it").says(useful + " " + looped, tokens=10_000).write()
    (loop,) = judged(path).loops
    assert loop.rule.startswith("prose")
    share = len(looped) / len(useful + " " + looped)
    assert 0.6 * share < loop.tokens / 10_000 < share
    assert loop.suspect == ""


def test_settings_are_a_what_if(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for _ in range(3):
        story.calls("bash", "same", command="ls")
    (conversation,) = find(story.write())
    calls = msgspec.structs.replace(SETTINGS.calls, repeat_threshold=4, consecutive_threshold=4)
    assert len(study(conversation, SETTINGS).loops) == 1
    assert study(conversation, msgspec.structs.replace(SETTINGS, calls=calls)).loops == []
    assert study(conversation, msgspec.structs.replace(SETTINGS, preset=Preset.PI)).loops


def test_nothing_raw_leaves_the_study_unless_asked_for(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl", folder="/p").person("the secret task")
    for _ in range(4):
        story.calls("bash", "the secret answer", command="the secret command")
    story.says("the secret thought")
    path = story.write()
    assert b"secret" not in msgspec.json.encode(judged(path))
    assert "the secret command" in judged(path, show=True).loops[0].shown


def test_other_projects_are_left_out(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl", folder="/home/dev/shop/sub").person("do it")
    for _ in range(4):
        story.calls("bash", "same", command="ls")
    path = story.write()
    assert judged(path, project="/home/dev/shop").loops
    for other in ("/home/dev/sho", "/home/dev/shop/sub/deeper"):
        left_out = judged(path, project=other)
        assert left_out.left_out
        assert not left_out.loops


def test_only_loops_after_a_time(tmp_path: Path) -> None:
    story = Story(tmp_path / "s.jsonl").person("do it")
    for _ in range(4):
        story.calls("bash", "same", command="ls")
    path = story.write()
    assert judged(path, since=START + 6.0).loops
    assert not judged(path, since=START + 6.5).loops


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    gone = Conversation(agent="pi", path=tmp_path / "gone.jsonl")
    found = study(gone, SETTINGS)
    assert found.unreadable == "no such file or directory"
    assert not found.sessions


def test_our_own_traces_are_judged_too(tmp_path: Path) -> None:
    lines = ['{"trace":"t"}']
    for number in range(4):
        call = {"t": number, "kind": "tool_call", "tool": "ls", "args": {}, "id": str(number)}
        lines += [json.dumps(call), json.dumps({**call, "kind": "tool_result", "ok": True, "output": "x"})]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([*lines, "{damaged"]))
    found = judged(path)
    assert (found.agent, found.calls, found.tally.damaged) == (TRACE, 4, 1)
    assert [loop.rule for loop in found.loops] == ["repeat-call"]
