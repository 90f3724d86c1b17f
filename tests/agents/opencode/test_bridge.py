"""``bridge.js`` itself, in Node, between a played OpenCode and a played supervisor."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents.opencode.playing import Desk, Host, Line, Message

TOOL = {
    "name": "loop_check",
    "description": "Tells.",
    "args": {"toolName": {"type": "string"}},
    "patience_ms": 15_000,
}
COMMAND = {"name": "goal", "description": "Goals."}


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk() as desk:
        yield desk


@pytest.fixture
def host(desk: Desk) -> Iterator[Host]:
    with Host(desk.address, tools=[TOOL], commands=[COMMAND]) as host:
        yield host


@pytest.fixture
def line(desk: Desk, host: Host) -> Line:
    assert host.loaded
    line = desk.accept()
    line.welcome()
    return line


def kind(name: str) -> Any:
    return lambda message: message["type"] == name


def gated(line: Line) -> Message:
    return line.until(kind("gate"))


def answer(line: Line, question: Message, **fields: Any) -> None:
    line.send({"type": "answer", "id": question["id"], **fields})


def test_it_says_that_it_answers_and_does(line: Line) -> None:
    line.send({"type": "ping"})
    line.until(kind("pong"))


# --- the gate --------------------------------------------------------------------------------


def test_a_call_runs_once_it_is_allowed(host: Host, line: Line) -> None:
    waiting = host.gate(command="make")
    question = gated(line)
    assert (question["session"], question["call"], question["tool"]) == ("ses_1", "c1", "bash")
    assert question["args"] == {"command": "make"}
    answer(line, question, allow=True)
    assert host.result(waiting)["result"] == {"args": {"command": "make"}}


def test_a_refused_call_tells_the_model_why(host: Host, line: Line) -> None:
    waiting = host.gate()
    answer(line, gated(line), allow=False, text="[ANTI-LOOP] no")
    assert host.result(waiting)["error"] == "[ANTI-LOOP] no"


def test_answers_find_their_questions_in_any_order(host: Host, line: Line) -> None:
    waiting = [host.gate(call) for call in ("c1", "c2", "c3")]
    questions = {q["call"]: q for q in (gated(line) for _ in waiting)}
    answer(line, questions["c3"], allow=False, text="third")
    answer(line, questions["c1"], allow=False, text="first")
    answer(line, questions["c2"], allow=True)
    results = [host.result(number) for number in waiting]
    assert [result.get("error") for result in results] == ["first", None, "third"]


@pytest.mark.parametrize(
    "ending",
    [
        ("session.idle", {"sessionID": "ses_1"}),
        ("session.error", {"sessionID": "ses_1", "error": {"name": "MessageAbortedError"}}),
    ],
)
def test_a_call_does_not_run_once_its_turn_is_over(
    host: Host, line: Line, ending: tuple[str, dict[str, Any]]
) -> None:
    waiting = host.gate()
    question = gated(line)
    host.event(ending[0], **ending[1])
    answer(line, question, allow=True)
    assert "before this call ran" in host.result(waiting)["error"]
    assert line.until(kind("cancelled"))["call"] == "c1"


def test_another_session_that_ends_stops_nothing(host: Host, line: Line) -> None:
    waiting = host.gate()
    question = gated(line)
    host.event("session.idle", sessionID="ses_2")
    answer(line, question, allow=True)
    assert "result" in host.result(waiting)


def test_a_supervisor_that_dies_opens_the_gate(desk: Desk, host: Host, line: Line) -> None:
    waiting = host.gate()
    gated(line)
    desk.die()
    assert "result" in host.result(waiting)
    assert "result" in host.result(host.gate("c2")), "and nobody waits for the next one"


def test_a_supervisor_that_does_not_answer_holds_nobody_for_ever(desk: Desk) -> None:
    with Host(desk.address, gate_timeout_ms=50) as host:
        line = desk.accept()
        line.welcome()
        assert "result" in host.result(host.gate())


def test_what_is_said_before_the_welcome_waits_for_it(desk: Desk) -> None:
    """The supervisor is there: a call that comes while the bridge greets it must not run unasked."""
    with Host(desk.address) as host:
        line = desk.accept()
        assert line.read()["type"] == "hello"
        host.event("session.created", info={"id": "ses_1"})
        waiting = host.gate()
        line.send({"type": "welcome", "token": "next"})
        assert line.read()["event"]["type"] == "session.created"
        answer(line, line.read(), allow=False, text="no")
        assert host.result(waiting)["error"] == "no"


def test_however_much_is_said_before_the_welcome_a_call_is_asked_for(desk: Desk) -> None:
    with Host(desk.address) as host:
        line = desk.accept()
        line.read()
        for number in range(1_100):
            host.event("session.created", info={"id": f"ses_{number}"})
        waiting = host.gate()
        line.send({"type": "welcome", "token": "next"})
        answer(line, gated(line), allow=False, text="no")
        assert host.result(waiting)["error"] == "no"
        line.close()
        assert desk.accept().welcome()["missed"] >= 100, "what was dropped is told at the next greeting"


def test_a_greeting_that_comes_to_nothing_holds_nobody(desk: Desk) -> None:
    with Host(desk.address) as host:
        line = desk.accept()
        line.read()
        waiting = host.gate()
        line.close()
        assert "result" in host.result(waiting)
        assert desk.accept().welcome()["missed"] >= 1


def test_overlong_arguments_travel_as_head_length_and_digest(host: Host, line: Line) -> None:
    waiting = host.gate(text="x" * 300_000, deep=nested(40))
    question = gated(line)
    cut = question["args"]["text"]
    assert (len(cut["$cut"]), cut["chars"], len(cut["digest"])) == (4096, 300_000, 64)
    answer(line, question, allow=True)
    host.result(waiting)


def nested(depth: int) -> Any:
    return {"in": nested(depth - 1)} if depth else "bottom"


# --- the connection --------------------------------------------------------------------------


def test_nothing_of_the_invitation_stays_in_the_environment(desk: Desk) -> None:
    before = {"npm_config_fetch_retries": "0", "KEPT": "yes"}
    with Host(desk.address, before, restore={"npm_config_fetch_retries": None, "KEPT": "as it was"}) as host:
        desk.accept().welcome()
        environment = host.loaded["env"]
    assert "LOOPGUARD_BRIDGE" not in environment
    assert "npm_config_fetch_retries" not in environment
    assert environment["KEPT"] == "as it was"
    assert not any(value == "first" for value in environment.values())


@pytest.mark.parametrize(
    ("answer", "version"),
    [({"data": {"version": "1.2.3"}}, "1.2.3"), ({"error": {"message": "no"}}, ""), ({"wait": True}, "")],
)
def test_the_greeting_tells_the_agents_version_if_that_is_known(
    desk: Desk, answer: dict[str, Any], version: str
) -> None:
    with Host(desk.address, {"HOST_ANSWERS": json.dumps({"http.get": answer})}):
        assert desk.accept().welcome()["version"] == version


def test_where_there_are_no_unix_sockets() -> None:
    with Desk(loopback=True) as desk, Host(desk.address) as host:
        line = desk.accept()
        assert line.welcome()["token"] == "first"
        waiting = host.gate()
        answer(line, gated(line), allow=False, text="no")
        assert host.result(waiting)["error"] == "no"


def test_it_comes_back_with_the_word_it_was_given_and_says_what_runs(
    desk: Desk, host: Host, line: Line
) -> None:
    host.result(host.begin("answer", name="session.status", answer={"data": {"ses_1": {"type": "busy"}}}))
    line.close()
    host.result(host.gate())
    host.event("session.created", info={"id": "ses_9"})
    again = desk.accept()
    hello = again.welcome("third", resync=True)
    assert (hello["token"], hello["reconnected"]) == ("next", True)
    assert hello["missed"] >= 1
    assert again.until(kind("resync"))["busy"] == {"ses_1": {"type": "busy"}}
    waiting = host.gate()
    answer(again, gated(again), allow=False, text="guarded again")
    assert host.result(waiting)["error"] == "guarded again"


def test_nonsense_from_the_supervisor_is_dropped(host: Host, line: Line) -> None:
    line.send({"type": "answer", "id": 99})
    line.order("no such order", id="e1")
    assert line.until(kind("done")) == {
        "type": "done", "id": "e1", "ok": False, "error": "unknown order no such order",
    }  # fmt: skip
    line._connection.sendall(b"not json\n[]\n{}\n\n")
    waiting = host.gate()
    answer(line, gated(line), allow=True)
    assert "result" in host.result(waiting)


def test_text_is_joined_while_the_supervisor_does_not_read(host: Host, line: Line) -> None:
    """Nothing is lost and nothing overtakes."""
    pieces = [f"piece {n} " + "x" * 500 for n in range(4000)]
    for piece in pieces:
        host.begin(
            "event",
            event={
                "type": "message.part.delta",
                "properties": {
                    "sessionID": "ses_1", "messageID": "m", "partID": "p", "field": "text", "delta": piece,
                },
            },
        )  # fmt: skip
    done = host.begin("event", event={"type": "session.idle", "properties": {"sessionID": "ses_1"}})
    host.result(done)
    deltas: list[str] = []
    while (message := line.read())["event"]["type"] != "session.idle":
        deltas.append(message["event"]["properties"]["delta"])
    assert "".join(deltas) == "".join(pieces)
    assert len(deltas) < len(pieces)


# --- events ----------------------------------------------------------------------------------


def test_events_are_reduced_to_what_is_read(host: Host, line: Line) -> None:
    host.event("plugin.added", id="noise")
    state = {"status": "running", "input": {"command": "ls"}, "metadata": {"output": "x" * 99}}
    part = {
        "type": "tool",
        "id": "p1",
        "messageID": "m1",
        "sessionID": "ses_1",
        "callID": "c1",
        "tool": "bash",
    }
    for _ in range(3):
        host.event("message.part.updated", part={**part, "state": state})
    host.event(
        "message.part.updated", part={**part, "state": {**state, "status": "completed", "output": "ok"}}
    )
    first, second = (line.read()["event"]["properties"]["part"]["state"] for _ in range(2))
    assert [first["status"], second["status"]] == ["running", "completed"]
    assert "output" not in first["metadata"]
    assert second["output"] == "ok"


def test_a_user_message_is_announced_before_it_is_stored(host: Host, line: Line) -> None:
    message = {
        "id": "msg_1",
        "sessionID": "ses_1",
        "agent": "build",
        "model": {"providerID": "p", "modelID": "m"},
    }
    parts = [{"type": "text", "text": "do it"}, {"type": "text", "text": "a file", "synthetic": True}]
    host.result(
        host.begin("call", hook="chat.message", input={}, output={"message": message, "parts": parts})
    )
    said = line.until(kind("message"))
    assert (said["text"], said["real"], said["agent"], said["effect"]) == ("do it", True, "build", "")


def test_a_message_that_ends_our_turn_waits_until_it_has_ended(host: Host, line: Line) -> None:
    """OpenCode drops a message that it gets while it aborts."""
    ours = {"message": {"id": "msg_0", "sessionID": "ses_1"}, "parts": []}
    line.order("prompt", id="e1", session="ses_1", text="go on", agent="", model=None, variant="")
    ours["message"]["id"] = host.api("session.promptAsync")["body"]["messageID"]  # type: ignore[index]
    host.result(host.begin("call", hook="chat.message", input={}, output=ours))
    host.result(host.begin("answer", name="session.abort", answer={"wait": True}))
    parts = [{"type": "text", "text": "rather this"}]
    message = {"id": "msg_1", "sessionID": "ses_1"}
    waiting = host.begin("call", hook="chat.message", input={}, output={"message": message, "parts": parts})
    line.until(lambda said: said.get("text") == "rather this")
    sync = line.until(kind("sync"))
    line.order("abort", id="e2", session="ses_1")
    answer(line, sync)
    assert host.api("session.abort") == {"path": {"id": "ses_1"}}
    host.event("session.idle", sessionID="ses_1")
    assert not host.over(waiting)
    host.result(host.begin("release", name="session.abort"))
    assert "result" in host.result(waiting)


# --- orders ----------------------------------------------------------------------------------


def test_our_prompt_is_known_as_ours_and_keeps_the_agent(host: Host, line: Line) -> None:
    line.order("prompt", id="e1", session="ses_1", text="go on", agent="careful", model=None, variant="")
    given = host.api("session.promptAsync")
    assert given["path"] == {"id": "ses_1"}
    assert given["body"]["agent"] == "careful"
    (part,) = given["body"]["parts"]
    assert (part["text"], part["synthetic"]) == ("go on", True)
    assert line.until(kind("done"))["ok"] is True
    message = {"id": given["body"]["messageID"], "sessionID": "ses_1"}
    host.result(
        host.begin("call", hook="chat.message", input={}, output={"message": message, "parts": [part]})
    )
    assert line.until(kind("message"))["effect"] == "e1"


def test_an_abort_is_confirmed_and_stops_what_waits_at_the_gate(host: Host, line: Line) -> None:
    waiting = host.gate()
    question = gated(line)
    line.order("abort", id="e1", session="ses_1")
    assert host.api("session.abort") == {"path": {"id": "ses_1"}}
    assert line.until(kind("done"))["ok"] is True
    answer(line, question, allow=True)
    assert "before this call ran" in host.result(waiting)["error"]


def test_an_order_that_fails_says_why(host: Host, line: Line) -> None:
    host.result(
        host.begin("answer", name="session.abort", answer={"error": {"data": {"message": "is broken"}}})
    )
    line.order("abort", id="e1", session="ses_1")
    assert line.until(kind("done")) == {"type": "done", "id": "e1", "ok": False, "error": "is broken"}


def test_an_agent_on_its_way_out_runs_nothing(host: Host, line: Line) -> None:
    host.result(host.begin("call", hook="dispose"))
    line.order("abort", id="e1", session="ses_1")
    assert line.until(kind("done"))["ok"] is True
    line.order("read", id="e2", session="ses_1")
    assert line.until(kind("done"))["data"] == {"status": "idle"}


def test_looped_text_is_cut_by_characters_not_by_halves_of_them(host: Host, line: Line) -> None:
    part = {"id": "p1", "type": "text", "text": "ab\N{GRINNING FACE}cd"}
    host.result(host.begin("answer", name="http.get", answer={"data": {"parts": [part]}}))
    line.order("trim", id="e1", session="ses_1", message="m1", part="p1", keep=3, note="... cut")
    assert host.api("http.patch")["body"]["text"] == "ab\N{GRINNING FACE}... cut"
    assert line.until(kind("done"))["ok"] is True


def test_an_audit_is_a_session_below_of_which_nothing_stays(host: Host, line: Line) -> None:
    rules = [{"permission": "*", "pattern": "*", "action": "deny"}]
    host.result(host.begin("answer", name="session.create", answer={"data": {"id": "ses_child"}}))
    said = {
        "info": {},
        "parts": [{"type": "text", "text": "Looked."}, {"type": "text", "text": "[audit:approved]"}],
    }
    host.result(host.begin("answer", name="session.prompt", answer={"data": said}))
    line.order("audit", id="e1", session="ses_1", prompt="verify", rules=rules, timeout_ms=10_000)
    created = host.api("session.create")["body"]
    assert (created["parentID"], created["permission"]) == ("ses_1", rules)
    assert line.until(kind("done"))["data"] == {"text": "Looked.\n[audit:approved]"}
    assert host.api("session.delete") == {"path": {"id": "ses_child"}}


def test_an_audit_ends_in_time(host: Host, line: Line) -> None:
    host.result(host.begin("answer", name="session.create", answer={"data": {"id": "ses_child"}}))
    host.result(
        host.begin("answer", name="session.prompt", answer={"wait": True, "data": {"info": {}, "parts": []}})
    )
    line.order("audit", id="e1", session="ses_1", prompt="verify", rules=[], timeout_ms=20)
    assert host.api("session.abort") == {"path": {"id": "ses_child"}}
    host.result(host.begin("release", name="session.prompt"))
    done = line.until(kind("done"))
    assert (done["ok"], done["error"]) == (False, "timed out after 0.02 s")


# --- what the model and the person get -------------------------------------------------------


def test_a_tool_of_ours_asks_us(host: Host, line: Line) -> None:
    context = {"sessionID": "ses_1", "callID": "c1"}
    waiting = host.begin("tool", name="loop_check", args={"toolName": "bash"}, context=context)
    question = line.until(kind("ask"))
    assert (question["operation"], question["surface"]) == ("loop_check", "tool")
    answer(line, question, ok=True, text="never")
    assert host.result(waiting)["result"] == "never"


def test_a_tool_of_ours_without_us(host: Host, line: Line) -> None:
    line.close()
    context = {"sessionID": "ses_1", "callID": "c1"}
    result = host.result(host.begin("tool", name="loop_check", args={}, context=context))["result"]
    assert "not connected" in result


def test_a_slash_command_is_answered_and_never_sent_to_the_model(host: Host, line: Line) -> None:
    given = {"command": "goal", "sessionID": "ses_1", "arguments": "status"}
    waiting = host.begin("call", hook="command.execute.before", input=given)
    question = line.until(kind("ask"))
    assert (question["operation"], question["arguments"]) == ("goal", {"text": "status"})
    answer(line, question, ok=True, text="No goal.")
    assert host.result(waiting)["error"] == "No goal."
    assert host.api("tui.showToast")["body"]["message"] == "No goal."


@pytest.mark.usefixtures("line")
def test_the_commands_of_others_are_theirs(host: Host) -> None:
    given = {"command": "review", "sessionID": "ses_1", "arguments": ""}
    assert "result" in host.result(host.begin("call", hook="command.execute.before", input=given))


@pytest.mark.usefixtures("line")
@pytest.mark.parametrize(
    ("config", "permission"),
    [
        ({}, {"doom_loop": "allow"}),
        ({"permission": "ask"}, {"*": "ask", "doom_loop": "allow"}),
        ({"permission": {"doom_loop": "deny"}}, {"doom_loop": "deny"}),
    ],
)
def test_the_agents_own_question_about_loops_stalls_nobody(
    host: Host, config: dict[str, Any], permission: dict[str, Any]
) -> None:
    shown = host.result(host.begin("configured", config=config))["result"]
    assert shown["permission"] == permission
    assert "goal" in shown["command"]


def test_standing_text_is_in_every_request_but_the_title(host: Host, line: Line) -> None:
    line.order(
        "context",
        session="ses_1",
        system="remember the goal",
        compaction="keep the goal",
        host_continues=False,
    )
    waiting = host.gate()
    answer(line, gated(line), allow=True)
    host.result(waiting)

    def asked(hook: str, output: dict[str, Any], session: str = "ses_1") -> dict[str, Any]:
        found: dict[str, Any] = host.result(
            host.begin("call", hook=hook, input={"sessionID": session}, output=output)
        )["result"]
        return found

    transform = "experimental.chat.system.transform"
    assert asked(transform, {"system": ["You code."]})["system"] == ["You code.", "remember the goal"]
    assert asked(transform, {"system": ["You code."]}, "ses_2")["system"] == ["You code."]
    assert asked(transform, {"system": ["You are a title generator."]})["system"] == [
        "You are a title generator."
    ]
    assert asked("experimental.session.compacting", {"context": []})["context"] == ["keep the goal"]
    assert asked("experimental.compaction.autocontinue", {"enabled": True})["enabled"] is False


def test_an_agent_inside_a_guarded_agent_is_left_alone() -> None:
    with Host({}, invited=False) as host:
        assert host.loaded["loaded"] == []
