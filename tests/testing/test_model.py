"""The model server, seen by a plain HTTP client."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from loopguard_cli.testing.conversation import Kind
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import (
    Call,
    Drop,
    Fail,
    Hold,
    Reply,
    Say,
    Think,
    Usage,
    Wait,
    reply,
    say,
    turn,
)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


class Client:
    def __init__(self, model: ScriptedModel) -> None:
        self.http = http.client.HTTPConnection(*model._server.server_address[:2], timeout=10)

    def ask(self, text: str = "task", *, stream: bool = True, **more: Any) -> http.client.HTTPResponse:
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream, **more}
        self.http.request("POST", "/v1/chat/completions", json.dumps(body), {"x-session-id": "ses_1"})
        return self.http.getresponse()

    def events(self, **more: Any) -> list[dict[str, Any]]:
        lines = self.ask(**more).read().decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


@pytest.fixture
def client(model: ScriptedModel) -> Iterator[Client]:
    client = Client(model)
    yield client
    client.http.close()


def ended(exchanges: list[Exchange]) -> Exchange | None:
    return next((e for e in exchanges if e.end is not End.OPEN), None)


def plays(model: ScriptedModel, *replies: Reply) -> None:
    model.behave([turn(*replies)])


def deltas(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events]


def test_streams_reasoning_prose_and_parallel_calls(model: ScriptedModel, client: Client) -> None:
    plays(
        model,
        reply(
            Think(text="hmm"),
            Say(text="abcd", chunk=2),
            Call(tool="bash", args={"command": "ls"}, id="one"),
            Call(tool="read", args={}),
            usage=Usage(input=7, cached=2, output=3, reasoning=1),
        ),
    )
    events = client.events()
    made = deltas(events)
    assert made[:4] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hmm"},
        {"content": "ab"},
        {"content": "cd"},
    ]
    calls = [call for delta in made for call in delta.get("tool_calls", [])]
    assert [(c["index"], c["function"]) for c in calls] == [
        (0, {"name": "bash", "arguments": '{"command":"ls"}'}),
        (1, {"name": "read", "arguments": "{}"}),
    ]
    assert calls[0]["id"] == "one"
    assert calls[1]["id"]
    assert events[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert events[-1]["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }


def test_answers_in_one_piece(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="ab", times=2), Call(tool="bash", args={"command": "ls"})))
    answer = json.loads(client.ask(stream=False).read())
    choice = answer["choices"][0]
    assert choice["message"]["content"] == "abab"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "bash"
    assert choice["finish_reason"] == "tool_calls"


def test_several_requests_on_one_connection(model: ScriptedModel, client: Client) -> None:
    plays(model, say("hello"))
    first, second = client.events(), client.events()
    assert deltas(first) == deltas(second)
    assert [e.number for e in model.wait_for(lambda seen: len(seen) == 2 and list(seen))] == [0, 1]


def test_journal_keeps_what_was_asked_and_when(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="abcdef", chunk=2)))
    client.events(text="fix it", tools=[{"type": "function", "function": {"name": "bash"}}])
    seen = model.wait_for(ended)
    assert (seen.request.user, seen.request.tools, seen.session) == ("fix it", ("bash",), "ses_1")
    assert seen.end is End.COMPLETED
    assert seen.first_byte_at is not None
    assert seen.ended_at is not None
    times = [seen.received_at, seen.first_byte_at, seen.sent_at(1), seen.sent_at(6), seen.ended_at]
    assert times == sorted(times)
    assert seen.sent_at(7) is None


def test_client_that_hangs_up_in_mid_stream(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="On and on. ", times=None, pace=3600)))
    response = client.ask()
    assert response.readline().startswith(b"data: ")
    response.close()
    client.http.close()
    assert model.wait_for(ended).end is End.CLIENT_CLOSED


def test_flooding_client_is_noticed_too(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="x" * 1000, times=None)))
    response = client.ask()
    response.read(10_000)
    response.close()
    client.http.close()
    assert model.wait_for(ended).end is End.CLIENT_CLOSED


def test_fails_with_status_and_headers(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Fail(status=429, message="slow down", headers={"retry-after": "1"})))
    response = client.ask()
    assert (response.status, response.headers["retry-after"]) == (429, "1")
    assert json.loads(response.read())["error"]["message"] == "slow down"
    assert model.wait_for(ended).end is End.FAILED


def test_fails_within_the_stream(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="so far"), Fail(status=500, message="broke")))
    response = client.ask()
    assert response.status == 200
    assert b'"message":"broke"' in response.read()


def test_drops_the_connection(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="so far"), Drop()))
    with pytest.raises(http.client.IncompleteRead):
        client.ask().read()
    assert model.wait_for(ended).end is End.DROPPED


def test_holds_until_released(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="before"), Hold(name="gate"), Say(text="after")))
    response = client.ask()
    model.wait_for(lambda seen: seen[0].text == "before")
    model.release("gate")
    assert b"after" in response.read()
    model.release("gate")


def test_waits(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Wait(seconds=0.01), Say(text="late")))
    client.ask().read()
    seen = model.wait_for(ended)
    assert seen.first_byte_at is not None
    assert seen.first_byte_at - seen.received_at >= 0.01


def test_closing_ends_open_answers() -> None:
    with ScriptedModel([turn(reply(Say(text="so far"), Hold()))]) as model:
        client = Client(model)
        response = client.ask()
        model.wait_for(lambda seen: seen and seen[0].text)
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    client.http.close()
    assert model.chats()[0].end is End.STOPPED


def test_side_requests_are_answered_and_kept_apart(model: ScriptedModel, client: Client) -> None:
    plays(model, say("task answer"))
    messages = [{"role": "system", "content": "You are a title generator."}, {"role": "user", "content": "x"}]
    assert "task answer" not in str(client.events(messages=messages))
    assert model.chats() == []
    assert [e.request.kind for e in model.journal(None)] == [Kind.TITLE]


def test_a_function_may_behave(model: ScriptedModel, client: Client) -> None:
    model.behave(lambda request: say(request.user.upper()))
    assert {"content": "TASK"} in deltas(client.events())


def test_waiting_in_vain_lists_what_was_asked(model: ScriptedModel, client: Client) -> None:
    plays(model, say("hello"))
    client.events(text="an odd task")
    with pytest.raises(TimeoutError, match="an odd task"):
        model.wait_for(lambda seen: len(seen) == 2, timeout=0.01)


@pytest.mark.parametrize("body", ["", "[]", '{"model":"m"}', '{"model":"m","messages":[{"role":1}]}'])
def test_bad_requests(model: ScriptedModel, client: Client, body: str) -> None:
    client.http.request("POST", "/v1/chat/completions", body)
    assert client.http.getresponse().status == 400
    assert model.journal(None) == []


def test_other_paths(client: Client) -> None:
    client.http.request("GET", "/v1/models")
    assert json.loads(client.http.getresponse().read())["object"] == "list"
    for method in ("GET", "POST"):
        client.http.request(method, "/v1/nothing")
        response = client.http.getresponse()
        assert (response.status, bool(response.read())) == (404, True)


def test_content_in_parts_and_calls_are_understood(model: ScriptedModel, client: Client) -> None:
    plays(model, say("ok"))
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    empty = {"id": "d", "type": "function", "function": {"name": "list", "arguments": ""}}
    client.events(
        messages=[
            {"role": "developer", "content": "rules"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": None, "tool_calls": [call, empty]},
            {"role": "tool", "tool_call_id": "c", "content": "out"},
        ]
    )
    request = model.chats()[0].request
    assert request.system == "rules"
    assert request.user == "a\nb"
    assert [(c.tool, c.args) for c in request.messages[2].calls] == [
        ("bash", {"command": "ls"}),
        ("list", {}),
    ]
    assert request.results == ("out",)
    assert request.mentions("rul")
    assert not request.mentions("nowhere")
