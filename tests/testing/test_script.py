import msgspec
import pytest

from loopguard_cli.testing.conversation import Kind, Message, Request, kind_of
from loopguard_cli.testing.script import DONE, Call, Say, Turn, load, reply, say, script, turn


def request(*messages: tuple[str, str]) -> Request:
    return Request(model="m", messages=tuple(Message(role=role, text=text) for role, text in messages))


def test_replies_follow_the_number_of_assistant_messages_since_the_user_message() -> None:
    behave = script(turn(say("one"), say("two")))
    opening = [("system", "s"), ("user", "old"), ("assistant", "x"), ("user", "task")]
    assert behave(request(*opening)) == say("one")
    assert behave(request(*opening, ("assistant", "one"), ("tool", "r"))) == say("two")
    assert behave(request(*opening, ("assistant", "one"), ("tool", "r"), ("assistant", "two"))) == DONE


def test_the_newest_matching_user_message_decides() -> None:
    behave = script(
        turn(say("again"), match=r"^\[ANTI-LOOP"), turn(say("first"), say("second"), match="task")
    )
    task = [("user", "the task"), ("assistant", "first")]
    assert behave(request(*task)) == say("second")
    assert behave(request(*task, ("user", "[ANTI-LOOP STREAM] go on"))) == say("again")
    assert behave(request(*task, ("user", "a hint nobody scripted"))) == say("second")


def test_nothing_matches() -> None:
    assert script(turn(say("x"), match="other"))(request(("user", "task"))) == DONE
    assert script()(request()) == DONE


def test_a_turn_may_go_on_with_one_reply() -> None:
    again = reply(Call(tool="bash", args={"command": "ls"}))
    behave = script(turn(say("one"), beyond=again))
    assert behave(request(("user", "task"), *[("assistant", "one")] * 9)) == again


@pytest.mark.parametrize(
    ("step", "pieces"),
    [
        (Say(text="abcdefg", chunk=3), ["abc", "def", "g"]),
        (Say(text="ab", times=2), ["ab", "ab"]),
        (Say(text="", chunk=3), []),
    ],
)
def test_prose_is_cut_into_chunks(step: Say, pieces: list[str]) -> None:
    assert list(step.chunks()) == pieces


def test_prose_without_an_end() -> None:
    chunks = Say(text="on", times=None).chunks()
    assert [next(chunks) for _ in range(1000)] == ["on"] * 1000


def test_a_script_survives_json() -> None:
    behave = script(turn(reply(Say(text="hi", pace=0.1), Call(tool="read", args={"a": [1]})), match="x"))
    assert load(msgspec.json.encode(behave)) == behave


def test_a_bad_script_says_where() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"turns\[0\].replies\[0\].steps\[0\]"):
        load('{"turns":[{"replies":[{"steps":[{"step":"sing"}]}]}]}')


def test_results_of_the_newest_reply_only() -> None:
    asked = request(
        ("user", "task"), ("assistant", ""), ("tool", "old"), ("assistant", ""), ("tool", "a"), ("tool", "b")
    )
    assert asked.results == ("a", "b")
    assert request(("user", "task"), ("assistant", ""), ("tool", "a"), ("user", "hint")).results == ("a",)
    assert request(("user", "task"), ("assistant", ""), ("tool", "a"), ("assistant", "")).results == ()


def test_side_requests_are_told_from_steps() -> None:
    assert kind_of("You are a title generator. You output", ()) is Kind.TITLE
    assert kind_of("You are an anchored context summarization assistant", ()) is Kind.SUMMARY
    assert kind_of("You are a title generator", ("bash",)) is Kind.CHAT
    assert kind_of("You are a coding agent", ()) is Kind.CHAT


def test_turns_are_plain_data() -> None:
    assert Turn(replies=(say("x"),)) == turn(say("x"))
