"""The model server as an Anthropic client sees it."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from loopguard_cli.testing.conversation import Kind
from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, Fail, Reply, Say, Think, Usage, reply, say, turn

PATH = "/v1/messages?beta=true"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


class Client:
    def __init__(self, model: ScriptedModel) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", model._server.server_port, timeout=10)

    def ask(self, *messages: Any, stream: bool = True, **more: Any) -> http.client.HTTPResponse:
        given = messages or ({"role": "user", "content": "task"},)
        body = {"model": "m", "max_tokens": 100, "messages": list(given), "stream": stream, **more}
        self.http.request("POST", PATH, json.dumps(body))
        return self.http.getresponse()

    def events(self, *messages: Any, **more: Any) -> list[dict[str, Any]]:
        frames = self.ask(*messages, **more).read().decode().split("\n\n")
        assert frames.pop() == ""
        events = []
        for frame in frames:
            name, data = frame.split("\n")
            events.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {events[-1]['type']}"
        return events


@pytest.fixture
def client(model: ScriptedModel) -> Iterator[Client]:
    client = Client(model)
    yield client
    client.http.close()


def plays(model: ScriptedModel, *replies: Reply) -> None:
    model.behave([turn(*replies)])


def test_streams_blocks_in_order(model: ScriptedModel, client: Client) -> None:
    calls = (Call(tool="Bash", args={"command": "ls"}, id="one"), Call(tool="Read"))
    usage = Usage(input=10, cached=4, output=3)
    plays(model, reply(Think(text="hmm"), Say(text="abcd", chunk=2), *calls, usage=usage))
    events = client.events()
    assert [event["type"] for event in events[:1] + events[-2:]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    blocks = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert blocks[2]["id"] == "toolu_one"
    deltas = [(e["index"], e["delta"]) for e in events if e["type"] == "content_block_delta"]
    assert [delta["text"] for index, delta in deltas if index == 1] == ["ab", "cd"]
    assert json.loads(deltas[-2][1]["partial_json"]) == {"command": "ls"}
    stops = [e["index"] for e in events if e["type"] == "content_block_stop"]
    assert stops == [0, 1, 2, 3]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {
        "input_tokens": 6,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 0,
        "output_tokens": 3,
    }


def test_answers_in_one_piece(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Say(text="ab", chunk=1), Call(tool="Bash", args={"command": "ls"}, id="one")))
    message = json.loads(client.ask(stream=False).read())
    assert message["content"] == [
        {"type": "text", "text": "ab"},
        {"type": "tool_use", "id": "toolu_one", "name": "Bash", "input": {"command": "ls"}},
    ]
    assert message["stop_reason"] == "tool_use"


def test_reads_the_conversation(model: ScriptedModel, client: Client) -> None:
    plays(model, say("first"), say("second"))
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "out"}]}
    reminder = {"type": "text", "text": "<system-reminder>\nmind this\n</system-reminder>"}
    client.events(
        {"role": "user", "content": [reminder, {"type": "text", "text": "task"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "first"}, call]},
        {"role": "user", "content": [result, reminder]},
        system=[{"type": "text", "text": "be good"}],
        tools=[{"name": "Bash"}],
    )
    (exchange,) = model.chats()
    request = exchange.request
    assert exchange.text == "second"
    assert request.user == "task"
    assert request.results == ("out",)
    assert request.mentions("mind this")
    assert request.system.startswith("be good")
    assert request.tools == ("Bash",)
    assert [c.args for m in request.messages for c in m.calls] == [{"command": "ls"}]


def test_a_notification_begins_a_turn_like_a_message(model: ScriptedModel, client: Client) -> None:
    model.behave([turn(say("pushed"), match="go on"), turn(say("first"), say("second"), match="task")])
    pushed = (
        "<system-reminder>\nno user input\n<task-notification>\ngo on</task-notification></system-reminder>"
    )
    client.events(
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": [{"type": "text", "text": pushed}]},
    )
    assert model.chats()[0].text == "pushed"


def test_fails_with_a_status_or_within_the_stream(model: ScriptedModel, client: Client) -> None:
    plays(model, reply(Fail(status=529, message="busy")))
    response = client.ask()
    assert response.status == 529
    assert json.loads(response.read())["error"] == {"type": "overloaded_error", "message": "busy"}
    client.http.close()
    plays(model, reply(Say(text="so "), Fail(status=500, message="broke")))
    assert client.events()[-1]["error"]["message"] == "broke"
    model.wait_for(lambda seen: [exchange.end for exchange in seen] == [End.FAILED, End.FAILED])


def test_names_of_sessions_are_no_step_of_the_task(model: ScriptedModel, client: Client) -> None:
    client.events(system="You are naming a coding session so that it can be found.")
    assert [e.request.kind for e in model.journal(None)] == [Kind.TITLE]


def test_what_is_no_request_is_refused(client: Client) -> None:
    client.http.request("POST", PATH, "{}")
    response = client.http.getresponse()
    assert response.status == 400
    assert json.loads(response.read())["type"] == "error"
