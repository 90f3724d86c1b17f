"""The OpenAI responses format, seen by a plain HTTP client."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from loopguard_cli.testing.conversation import Kind
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, Fail, Say, Think, Usage, reply, say, turn


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def post(model: ScriptedModel, given: Any, **more: Any) -> tuple[int, bytes]:
    client = http.client.HTTPConnection(*model._server.server_address[:2], timeout=10)
    body = {"model": "m", "instructions": "Be brief.", "input": given, "stream": True, **more}
    client.request("POST", "/v1/responses", json.dumps(body))
    response = client.getresponse()
    status, data = response.status, response.read()
    client.close()
    return status, data


def events(model: ScriptedModel, given: Any = "task", **more: Any) -> list[dict[str, Any]]:
    status, data = post(model, given, **more)
    assert status == 200
    frames = [frame.split("\n") for frame in data.decode().strip().split("\n\n")]
    found = [json.loads(lines[1].removeprefix("data: ")) for lines in frames]
    assert [lines[0].removeprefix("event: ") for lines in frames] == [event["type"] for event in found]
    return found


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def test_text_and_reasoning_are_items_that_end_whole(model: ScriptedModel) -> None:
    model.behave([turn(reply(Think(text="hm"), Say(text="hello", chunk=2), usage=Usage(input=9, cached=4)))])
    told = events(model)
    deltas = [event["delta"] for event in told if event["type"] == "response.output_text.delta"]
    assert deltas == ["he", "ll", "o"]
    final = told[-1]["response"]
    assert [item["type"] for item in final["output"]] == ["reasoning", "message"]
    assert final["output"][1]["content"][0]["text"] == "hello"
    assert final["output"] == [e["item"] for e in told if e["type"] == "response.output_item.done"]
    assert final["usage"]["input_tokens_details"] == {"cached_tokens": 4}


def test_calls_may_have_a_namespace(model: ScriptedModel) -> None:
    model.behave([turn(reply(Call(tool="a", args={"x": 1}), Call(tool="space/b")))])
    first, second = events(model)[-1]["response"]["output"]
    assert (first["name"], json.loads(first["arguments"])) == ("a", {"x": 1})
    assert (second["namespace"], second["name"]) == ("space", "b")
    assert first["call_id"] != second["call_id"]


def test_the_conversation_is_read_reply_by_reply(model: ScriptedModel) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "t", "arguments": '{"x": 1}'}
    conversation = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        user("task"),
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I call."}]},
        call,
        {**call, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "text", "text": "two"}]},
        user("hint"),
    ]
    model.behave([turn(say("first"), say("second"), match="^task$")])
    assert events(model, conversation)[-1]["response"]["output"][0]["content"][0]["text"] == "second"
    (exchange,) = model.chats()
    request = exchange.request
    assert [message.role for message in request.messages] == [
        "system", "system", "user", "assistant", "tool", "tool", "user",
    ]  # fmt: skip
    assert request.user == "hint"
    assert request.messages[3].calls[0].args == {"x": 1}
    assert [m.text for m in request.messages if m.role == "tool"] == ["one", "two"]


def test_a_request_for_a_title_is_no_step_of_the_task(model: ScriptedModel) -> None:
    events(model, [user("Generate a concise, single-line task title of at most 36 characters.")])
    assert not model.chats()
    assert model.journal(Kind.TITLE)


def test_in_one_piece(model: ScriptedModel) -> None:
    model.behave([turn(reply(Think(text="h"), Think(text="m"), Say(text="hello"), Call(tool="t")))])
    status, data = post(model, "task", stream=False)
    output = json.loads(data)["output"]
    assert status == 200
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call"]
    assert output[0]["summary"][0]["text"] == "hm"


def test_failures_before_and_in_an_answer(model: ScriptedModel) -> None:
    model.behave([turn(reply(Fail(status=429, message="slow down")))])
    assert post(model, "task")[0] == 429
    model.behave([turn(reply(Say(text="so "), Fail(status=500, message="broken")))])
    assert events(model)[-1]["type"] == "response.failed"


@pytest.mark.parametrize("given", [{"x": 1}, [{"type": "message", "content": 3}]])
def test_another_shape_is_refused(model: ScriptedModel, given: Any) -> None:
    assert post(model, given)[0] == 400
