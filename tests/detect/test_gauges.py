"""How near the rules are to their thresholds, for somebody who watches."""

from __future__ import annotations

import pytest

from loopguard_cli.core.events import Channel, SessionSeen, TextDelta, ToolAsked, ToolFinished
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.detect.panel import Panels
from tests.detect.sitting import S, Sitting, settings


def gauges(sitting: Sitting) -> dict[str, tuple[float, float, str]]:
    found = sitting.panel.gauges(sitting.now)
    return {gauge.rule: (gauge.used, gauge.limit, gauge.tool) for gauge in found}


@pytest.mark.parametrize("preset", ["balanced", "infinity", "pi"])
def test_a_fresh_session_is_near_nothing(preset: str) -> None:
    assert gauges(Sitting(preset, "pace.turns=0", "pace.seconds=0")) == {}


def test_equal_calls_count_towards_the_refusal() -> None:
    for preset, rule in (
        ("balanced", "repeat-call"),
        ("infinity", "repeat-call"),
        ("pi", "consecutive-call"),
    ):
        sitting = Sitting(preset)
        sitting.bash("make", "3 failed")
        assert gauges(sitting)[rule] == (1, 3, "bash")
        sitting.bash("make", "3 failed")
        assert gauges(sitting)[rule] == (2, 3, "bash")


def test_a_threshold_of_the_tools_own_is_shown() -> None:
    sitting = Sitting("infinity", "calls.tool_thresholds.bash=7")
    sitting.bash("make")
    assert gauges(sitting)["repeat-call"] == (1, 7, "bash")


def test_a_changed_outcome_and_an_edit_begin_anew() -> None:
    sitting = Sitting()
    sitting.bash("make", "3 failed")
    sitting.bash("make", "something else entirely went wrong here")
    assert gauges(sitting)["repeat-call"][0] == 1
    sitting.call("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"}, "ok")
    sitting.bash("make", "something else entirely went wrong here")
    assert gauges(sitting)["repeat-call"][0] == 1


def test_counts_of_the_window_expire() -> None:
    sitting = Sitting("infinity")
    sitting.bash("make")
    sitting.now += 61
    assert "repeat-call" not in gauges(sitting)


def test_errors_and_the_window_of_calls() -> None:
    sitting = Sitting("pi")
    for number in range(2):
        sitting.bash(f"cat {number}", "no such file or directory", ok=False)
    assert gauges(sitting)["repeat-error"] == (2, 3, "bash")
    assert gauges(sitting)["call-frequency"] == (1, 4, "bash")
    sitting.bash("ls", "fine")
    assert "repeat-error" not in gauges(sitting)


def test_repeated_sentences() -> None:
    sitting = Sitting("infinity")
    sitting.say("Let me look at the log of the build now. " * 2 + "And")
    assert gauges(sitting)["prose-block"] == (2, 3, "")
    assert gauges(sitting)["prose-irregular"] == (2, 18, "")


def test_rounds() -> None:
    for preset in ("balanced", "pi"):
        sitting = Sitting(preset)
        for _ in range(2):
            sitting.bash("make", "3 failed")
            assert "call-cycle" not in gauges(sitting)
            sitting.bash("ls", "a b")
        assert gauges(sitting)["call-cycle"] == (2, 3, "bash")
        sitting.bash("pwd", "elsewhere")
        assert "call-cycle" not in gauges(sitting)


def test_variations_with_one_outcome() -> None:
    sitting = Sitting()
    for number, name in enumerate("abcd", 1):
        sitting.call("grep", {"pattern": "open_stream", "path": f"src/{name}.py"}, "no matches anywhere")
        assert gauges(sitting).get("same-outcome", (1, 5, "grep")) == (number, 5, "grep")
    sitting.call("grep", {"pattern": "open_stream", "path": "src/e.py"}, "src/e.py: 3")
    sitting.bash("ls", "a b")
    assert "same-outcome" not in gauges(sitting)


def test_calls_that_grow() -> None:
    sitting = Sitting()
    for number in range(2, 4):
        sitting.bash(f"cat {'src/app/' * number}main.py", f"no such file {number}", ok=False)
    assert gauges(sitting)["growing-call"] == (2, 4, "bash")


def test_the_same_task_given_again() -> None:
    sitting = Sitting()
    for number in range(2):
        sitting.call("task", {"prompt": "Find the owner of the cache"}, f"nothing was found {number}")
    assert gauges(sitting)["repeated-delegation"] == (2, 3, "task")


def test_a_plan_that_is_written_again() -> None:
    sitting = Sitting()
    for number, words in enumerate(("Read it", "Look at it", "Study it"), 1):
        items = [{"content": words, "status": "pending"}, {"content": "Mend it", "status": "pending"}]
        sitting.call("todowrite", {"todos": items}, "ok")
        assert gauges(sitting).get("same-outcome", (1, 5, "todowrite")) == (number, 5, "todowrite")
    sitting.bash("make", "fine")
    assert "same-outcome" not in gauges(sitting)


def test_errors_that_only_echo_what_they_were_given() -> None:
    sitting = Sitting()
    for number, name in enumerate(("header", "footer", "sidebar"), 1):
        sitting.call("click", {"selector": name}, f"no element matches the selector {name}", ok=False)
        assert gauges(sitting).get("repeat-error", (1, 6, "click"))[0] == number
    assert gauges(sitting)["repeat-error"] == (3, 6, "click")


def test_different_programs_at_one_wall() -> None:
    sitting = Sitting()
    for number, command in enumerate(("cp a /srv/site", "mv b /srv/site", "touch /srv/site/c"), 1):
        program = command.split()[0]
        sitting.bash(command, f"{program}: cannot write {number} to /srv/site: Permission denied", ok=False)
    assert gauges(sitting)["repeat-error"] == (3, 6, "bash")


def test_siblings_that_failed_alike() -> None:
    family = Panels()
    guard = settings()
    panels = {}
    for name in ("a", "b", "c"):
        session = SessionId(name)
        panels[name] = panel = family(session, guard)
        panel.observe(SessionSeen(session=session, parent=SessionId("p")), 0, 0.0)
        call, args = CallId(name), {"command": "make"}
        asked = ToolAsked(session=session, request=RequestId(name), call=call, tool="bash", args=args)
        panel.observe(asked, 1, 1.0)
        failed = "no rule to make it"
        panel.observe(
            ToolFinished(session=session, call=call, tool="bash", args=args, ok=False, output=failed), 2, 2.0
        )
    found = {gauge.rule: (gauge.used, gauge.limit) for gauge in panels["c"].gauges(3.0)}
    assert found["sibling-error"] == (2, 3)


def test_waiting_for_what_does_not_change() -> None:
    sitting = Sitting()
    for _ in range(4):
        sitting.call("wait", {"seconds": 5}, "still running")
        sitting.now += 6
    assert gauges(sitting)["poll-unchanged"] == (4, 10, "wait")


def test_changes_that_help_nothing() -> None:
    sitting = Sitting()
    for number in range(3):
        sitting.call("edit", {"filePath": "a.py", "oldString": f"a{number}", "newString": f"b{number}"}, "ok")
        sitting.bash("make", "3 failed", ok=False)
    assert gauges(sitting)["fruitless-edits"] == (3, 8, "bash")
    sitting.bash("make", "all good")
    assert "fruitless-edits" not in gauges(sitting)


def test_calls_that_bring_nothing_new() -> None:
    sitting = Sitting("balanced", "mode=observe")
    for number in range(13):
        sitting.call("read", {"filePath": f"{number % 3}.py"}, f"the same text {number % 3}")
    # The second new thing of the window may count as its one.
    found = [one for one in sitting.panel.gauges(sitting.now) if one.rule == "no-novelty"]
    assert [(one.used, one.limit) for one in found] == [(12, 30), (10, 8)]


def test_characters_of_a_cycle() -> None:
    sitting = Sitting()
    sitting.say("    total += row.size  # next\n" * 8)
    used, limit, _ = gauges(sitting)["char-cycle"]
    assert (180 <= used <= 240, limit) == (True, 300), "hinted at; at ten copies the turn is cut off"
    sitting.bash("ls", "a b")
    assert "char-cycle" not in gauges(sitting)


def test_answers_announcements_and_thoughts() -> None:
    sitting = Sitting()
    for number in range(2):
        sitting.person("what is it?")
        sitting.step()
        sitting.say(f"I have looked at the whole project and there is nothing left to do here {number}.")
        sitting.idle()
    assert gauges(sitting)["similar-response"] == (2, 3, "")
    sitting = Sitting()
    for number in range(6):
        sitting.step()
        sitting.say(("Now I will edit the file.", "Let me edit the file now.")[number % 2])
    assert gauges(sitting)["announcements"][1:] == (9, "")
    assert gauges(sitting)["announcements"][0] >= 4
    sitting.bash("ls", "a b")
    assert "announcements" not in gauges(sitting)


def test_pace() -> None:
    sitting = Sitting("balanced", "pace.turns=5", "pace.seconds=100")
    sitting.person("go")
    sitting.step()
    sitting.now += 30
    assert gauges(sitting) == {"pace-turns": (1, 5, ""), "pace-time": (30, 100, "")}


@pytest.mark.parametrize("preset", ["balanced", "infinity", "pi"])
def test_looking_changes_nothing(preset: str) -> None:
    watched, alone = Sitting(preset), Sitting(preset)
    for sitting in (watched, alone):
        for number in range(12):
            sitting.bash(["make", "ls", "make"][number % 3], "3 failed" if number % 4 else "ok")
            if sitting is watched:
                assert gauges(sitting) == gauges(sitting)
            sitting.say("Let me look at the log of the build now. ")
    assert watched.findings == alone.findings
    assert watched.findings


def test_results_that_bring_no_line_that_was_new() -> None:
    sitting = Sitting("balanced", "mode=observe")
    reports = ("the cache has no owner", "the lock has no owner")
    words = ("find owner", "search owner", "find search", "owner search")
    for number in range(8):
        sitting.call("look_up", {"query": words[number % 4]}, reports[number % 2])
    found = [one for one in sitting.panel.gauges(sitting.now) if one.rule == "no-novelty"]
    assert [(one.used, one.limit, one.tool) for one in found if one.tool] == [(6, 8, "look_up")]
    sitting.call("look_up", {"query": "find owner"}, "the owner of the cache is the store")
    assert "no-novelty" not in gauges(sitting)


def spoken(texts: list[str], channel: Channel = Channel.TEXT) -> dict[str, tuple[float, float]]:
    """How near one message comes to the rules with these lines or paragraphs."""
    sitting = Sitting()
    for text in texts:
        sitting.feed(
            TextDelta(session=S, message=MessageId("m"), part=PartId("p"), channel=channel, delta=text)
        )
    return {gauge.rule: (gauge.used, gauge.limit) for gauge in sitting.panel.gauges(0.0)}


LINES = [f"Now I read the {n}th line of the log of the build.\n" for n in range(20)]


def test_lines_that_are_one_but_for_their_numbers() -> None:
    assert spoken(LINES)["templated-text"] == (20, 32)
    assert "templated-text" not in spoken(LINES[:15]), "not half of what it takes"
    assert spoken([*LINES, *LINES])["templated-text"] == (40, 160), "hinted at; then the turn is cut off"


def test_lines_of_few_words() -> None:
    words = ["now", "let", "me", "read", "the", "log", "and", "check", "it", "again"]
    lines = [" ".join(words[(n * k) % 10] for k in range(1, 9)) + ".\n" for n in range(32)]
    used, limit = spoken(lines)["few-words"]
    assert (used > limit, limit) == (True, 7)
    assert "few-words" not in spoken(lines[:31])
    assert "few-words" not in spoken([f"{n} {line}" for n, line in enumerate(PARAGRAPHS)])


PARAGRAPHS = [
    "The cache keeps an entry for every user until the session of that user has been closed for good.\n\n",
    "Whoever asks for a page gets the old one as long as nobody has written a newer version to disk.\n\n",
    "A request that fails is put back into the queue, behind all others, and tried again after a minute.\n\n",
]


def test_paragraphs_that_are_nearly_one() -> None:
    text = "So the reason must be that the lock of the cache is never given back by whoever took it first"
    alike = [f"{text}, {word}.\n\n" for word in ("maybe", "it seems", "I think", "perhaps")]
    # The last paragraph may go on.
    assert spoken([*PARAGRAPHS, *alike])["near-duplicate"] == (3, 5)
    assert "near-duplicate" not in spoken(PARAGRAPHS)


def test_reasoning_that_says_nothing_new() -> None:
    half = [part.strip() for one in PARAGRAPHS for part in one.split(",")]
    turned = [f"{half[n % len(half)]} and {half[(n * 2 + 1) % len(half)]}.\n\n" for n in range(8)]
    found = spoken([*PARAGRAPHS, *turned], Channel.REASONING)
    assert found["stale-reasoning"] == (7, 10)
    assert "stale-reasoning" not in spoken([*PARAGRAPHS, *turned]), "of reasoning only"


def answered(answers: list[str], prompt: str) -> dict[str, tuple[float, float, str]]:
    sitting = Sitting()
    for answer in answers:
        sitting.person(prompt)
        sitting.step()
        sitting.say(answer)
        sitting.idle()
    return gauges(sitting)


def test_calls_that_are_written_out() -> None:
    calls = [f'Let me see {word}. <tool_call name="read">' for word in ("the first file", "another one")]
    assert answered(calls, "what is it?")["announcements"] == (2, 3, "")
    assert "announcements" not in answered([*calls, "It is a cache."], "what is it?")


def test_the_same_code_with_other_words() -> None:
    code = "```python\ndef total(rows):\n    return sum(row.size for row in rows)\n```\n"
    answers = [f"{said}\n{code}" for said in ("Here it is.", "This is the sum, then.", "Try it like that.")]
    assert answered(answers, "how do I add them?")["similar-response"] == (3, 4, "")


def test_answers_to_a_mere_go_on() -> None:
    answers = [
        "I will begin with the parser now.",
        "Next I will look at the lexer.",
        "Then the tests follow.",
    ]
    assert answered(answers, "ok")["similar-response"] == (3, 5, "")
    assert "similar-response" not in answered(answers, "what comes next?")
