"""The bridge's socket, with a real hub behind it: who gets in, what nonsense does, and coming back."""

import asyncio
import json
import random
from typing import Any

import pytest
from tests.runtime.wired import Peer, Wired, played

from loopguard_cli.core import events as ev
from loopguard_cli.runtime.reach import bridges

LOOPED = {"command": "make test"}


# --- who gets in -----------------------------------------------------------------------------


@pytest.mark.parametrize("loopback", [False, True])
def test_the_third_identical_call_is_refused(loopback: bool) -> None:
    async def test(wired: Wired) -> list[bool]:
        peer = await wired.bridge(version="1.18.33")
        answers = []
        for call in ("c1", "c2", "c3"):
            answers.append(await peer.gate(call, **LOOPED))
            peer.finished(call)
        answers.append(await peer.gate("c4", command="ls"))
        assert answers[2]["text"].startswith("[ANTI-LOOP]")
        assert wired.of(ev.AgentConnected) == [ev.AgentConnected(agent="opencode", version="1.18.33")]
        return [answer["allow"] for answer in answers]

    assert played(test, loopback=loopback) == [True, True, False, True]


def test_a_sub_agent_has_counters_of_its_own() -> None:
    async def test(wired: Wired) -> list[bool]:
        peer = await wired.bridge()
        peer.native("session.created", info={"id": "ses_1"})
        peer.native("session.created", info={"id": "ses_2", "parentID": "ses_1"})
        return [
            (await peer.gate(f"c{n}", session=session, **LOOPED))["allow"]
            for n, session in enumerate(("ses_1", "ses_2", "ses_1", "ses_2", "ses_2", "ses_1"))
        ]

    assert played(test) == [True, True, True, True, False, False]


@pytest.mark.parametrize(
    "hello",
    [
        {"type": "hello", "protocol": 1, "token": "guessed"},
        {"type": "hello", "protocol": 1, "token": ""},
        {"type": "hello", "protocol": 2, "token": "RIGHT"},
        {"type": "gate", "id": 1, "session": "s", "call": "c", "tool": "bash"},
        {"token": "RIGHT"},
        [],
    ],
)
def test_nobody_gets_in_without_the_word(hello: Any) -> None:
    async def test(wired: Wired) -> None:
        if isinstance(hello, dict) and hello.get("token") == "RIGHT":
            hello["token"] = wired.address.token
        peer = await wired.stranger()
        peer.send(hello)
        assert await peer.gone()
        assert wired.events == []

    played(test)


def test_the_word_in_the_environment_is_worthless_while_the_bridge_is_connected() -> None:
    """The agent's own shell could find it; this test's process is no other than the bridge's."""

    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        second = await wired.stranger()
        second.send({"type": "hello", "protocol": 1, "token": wired.address.token})
        assert await second.gone()
        assert (await first.gate("c1"))["allow"]

    played(test)


def test_the_word_for_coming_back_works_once() -> None:
    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        word = wired.welcome["token"]
        hello = {"type": "hello", "protocol": 1, "token": word, "reconnected": True}
        second = await wired.stranger()
        second.send(hello)
        assert (await second.until("welcome"))["token"] != word
        assert (await second.gate("c1"))["allow"]
        third = await wired.stranger()
        third.send(hello)
        assert await third.gone()
        first.close()

    played(test)


def test_a_welcome_that_is_lost_with_its_connection_locks_nobody_out() -> None:
    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        hello = {"type": "hello", "protocol": 1, "token": wired.welcome["token"], "reconnected": True}
        first.close()
        second = await wired.stranger()
        second.send(hello)
        second.close()
        third = await wired.stranger()
        third.send(hello)
        await third.until("welcome")
        assert (await third.gate("c1"))["allow"]

    played(test)


def test_a_former_launch_is_not_invited_any_more() -> None:
    async def test(wired: Wired) -> None:
        former = wired.address
        wired.address = wired.bridges.invite()
        peer = await wired.stranger()
        peer.send({"type": "hello", "protocol": 1, "token": former.token})
        assert await peer.gone()
        assert (await (await wired.bridge()).gate("c1"))["allow"]

    played(test)


def test_only_so_many_strangers_and_none_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "HELLO_SECONDS", 0.05)

    async def test(wired: Wired) -> None:
        strangers = [await wired.stranger() for _ in range(bridges.STRANGERS + 5)]
        for stranger in strangers:
            assert await stranger.gone()
        assert (await (await wired.bridge()).gate("c1"))["allow"]

    played(test)


def test_a_bridge_that_reads_no_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "UNSENT_BYTES", 1 << 16)

    async def test(wired: Wired) -> None:
        deaf = await wired.bridge()
        for number in range(200_000):
            deaf.send({"type": "gate", "id": number, "session": "s", "call": f"c{number}", "tool": "bash"})
            if number % 100 == 0:
                try:
                    await deaf.writer.drain()
                except ConnectionError:
                    break
                if not wired.bridges.connected:
                    break
        assert not wired.bridges.connected
        assert (await (await wired.bridge()).gate("c1"))["allow"]

    played(test)


# --- coming back -----------------------------------------------------------------------------


def test_what_was_missed_is_said_and_statuses_are_told_anew() -> None:
    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        first.native("session.created", info={"id": "ses_1", "directory": "/project"})
        first.native("session.status", sessionID="ses_1", status={"type": "busy"})
        await first.gate("c1")
        first.close()
        second = await wired.stranger()
        token = wired.welcome["token"]
        second.send(
            {"type": "hello", "protocol": 1, "token": token, "reconnected": True, "missed": 7},
            {"type": "resync", "busy": {}},
        )
        assert (await second.until("welcome"))["resync"] is True
        await second.gate("c2")
        (gap,) = wired.of(ev.Gap)
        assert gap.session == "ses_1"
        assert "7" in gap.reason
        assert [event.status for event in wired.of(ev.StatusChanged)] == [ev.Status.BUSY, ev.Status.IDLE]

    played(test)


def test_counts_survive_a_lost_connection() -> None:
    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        for call in ("c1", "c2"):
            assert (await first.gate(call, **LOOPED))["allow"]
        first.close()
        second = await wired.stranger()
        second.send({"type": "hello", "protocol": 1, "token": wired.welcome["token"], "reconnected": True})
        await second.until("welcome")
        assert not (await second.gate("c3", **LOOPED))["allow"]

    played(test)


def test_an_order_under_way_is_settled_when_the_connection_breaks() -> None:
    async def test(wired: Wired) -> None:
        first = await wired.bridge()
        first.native("session.status", sessionID="ses_1", status={"type": "busy"})
        sentence = "Let me check whether the containers started. The file is valid; I will check it now. "
        for number in range(40):
            properties = {"messageID": "m", "partID": "p", "field": "text", "delta": sentence}
            first.native("message.part.delta", sessionID="ses_1", **properties)
            if number == 0:
                first.native("message.part.updated", sessionID="ses_1",
                             part={"id": "p", "messageID": "m", "type": "text", "text": ""})  # fmt: skip
        order = await first.until("order")
        while order["op"] != "abort":
            order = await first.until("order")
        first.close()
        second = await wired.stranger()
        second.send({"type": "hello", "protocol": 1, "token": wired.welcome["token"], "reconnected": True})
        await second.until("welcome")
        await second.gate("c1", session="ses_2")
        assert order["id"] in {event.effect for event in wired.of(ev.EffectSettled) if not event.ok}

    played(test)


def test_a_bridge_can_wait_until_all_it_said_was_dealt_with() -> None:
    async def test(wired: Wired) -> None:
        peer = await wired.bridge()
        for number in range(3):
            question = {"type": "gate", "id": number, "session": "s", "call": f"c{number}", "tool": "bash"}
            peer.send(question)
        peer.send({"type": "sync", "id": 99})
        answers = [(await peer.until("answer"))["id"] for _ in range(4)]
        assert answers == [0, 1, 2, 99]

    played(test)


# --- nonsense --------------------------------------------------------------------------------

STREAMS = 10_000

SAMPLES: tuple[dict[str, Any], ...] = (
    {"type": "gate", "id": 1, "session": "s", "call": "c", "tool": "bash", "args": {"command": "ls"}},
    {"type": "event", "event": {"type": "message.part.delta", "properties": {
        "sessionID": "s", "messageID": "m", "partID": "p", "field": "text", "delta": "some text. "}}},
    {"type": "event", "event": {"type": "message.part.updated", "properties": {"sessionID": "s", "part": {
        "id": "p", "messageID": "m", "type": "tool", "tool": "bash", "callID": "c",
        "state": {"status": "completed", "input": {"a": 1}, "output": "x", "metadata": {"exit": 1}}}}}},
    {"type": "event", "event": {"type": "message.updated", "properties": {"sessionID": "s", "info": {
        "id": "m", "role": "assistant", "parentID": "u", "tokens": {"input": 3, "cache": {"read": 1}},
        "time": {"completed": 5}, "error": {"name": "APIError", "data": {"message": "no"}}}}}},
    {"type": "event", "event": {"type": "session.created", "properties": {
        "info": {"id": "s", "parentID": "t", "directory": "/", "version": "1"}}}},
    {"type": "event", "event": {"type": "session.status", "properties": {
        "sessionID": "s", "status": {"type": "busy"}}}},
    {"type": "event", "event": {"type": "session.error", "properties": {
        "sessionID": "s", "error": {"name": "MessageAbortedError"}}}},
    {"type": "event", "event": {"type": "permission.asked", "properties": {
        "id": "per", "sessionID": "s", "permission": "doom_loop", "tool": {"callID": "c"}}}},
    {"type": "message", "session": "s", "message": "u", "text": "do it", "agent": "build",
     "model": {"providerID": "p", "modelID": "m"}},
    {"type": "ask", "id": 4, "session": "s", "operation": "loop_check", "arguments": {"toolName": "bash"}},
    {"type": "ask", "id": 5, "session": "s", "operation": "goal", "arguments": {"text": "set x"},
     "surface": "slash"},
    {"type": "done", "id": "e1", "ok": True, "data": {"status": "idle"}},
    {"type": "cancelled", "session": "s", "call": "c"},
    {"type": "compacting", "session": "s"},
    {"type": "sync", "id": 6},
    {"type": "resync", "busy": {"s": {"type": "retry"}}},
)  # fmt: skip

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1e308, "", "\0", "\ud800", "x" * 5000, [], [[]], {}, {"type": "text"},
    [None] * 50,
)  # fmt: skip


def nested(chance: random.Random) -> Any:
    value: Any = chance.choice(ODD)
    for _ in range(chance.choice((1, 3, 300))):
        value = {"in": value} if chance.random() < 0.5 else [value]
    return value


def mutated(value: Any, chance: random.Random) -> Any:
    """``value`` with something in it replaced, removed or added."""
    if chance.random() < 0.15:
        return nested(chance) if chance.random() < 0.1 else chance.choice(ODD)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        changed = {**value, key: mutated(value[key], chance)}
        if chance.random() < 0.1:
            del changed[key]
        if chance.random() < 0.1:
            changed[chance.choice(("type", "id", "extra", "sessionID"))] = chance.choice(ODD)
        return changed
    return value


def a_stream(chance: random.Random) -> bytes:
    match chance.randrange(6):
        case 5 if chance.random() < 0.2:
            return b'{"type":"gate","id":1,"args":' + b'[{"a":' * chance.choice((50, 5000)) + b"\n"
        case 0:
            return chance.randbytes(chance.randrange(1, 400))
        case 1:
            return chance.randbytes(chance.randrange(1, 60)) + b"\n"
        case 2:
            line = json.dumps(chance.choice(SAMPLES)).encode()
            at = chance.randrange(len(line))
            return (
                line[:at] + chance.randbytes(chance.randrange(4)) + line[at + chance.randrange(3) :] + b"\n"
            )
        case _:
            return json.dumps(mutated(chance.choice(SAMPLES), chance)).encode() + b"\n"


@pytest.mark.timeout(300)
def test_ten_thousand_streams_of_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes: no crash, no limit exceeded, and whoever asks properly is answered meanwhile."""
    monkeypatch.setattr(bridges, "LINE_BYTES", 1 << 20)
    chance = random.Random(20_261_130)

    async def test(wired: Wired) -> None:
        honest = await wired.bridge()
        word = wired.welcome["token"]
        noisy: Peer | None = None
        for number in range(STREAMS):
            if number % 10 == 0:
                stranger = await wired.stranger()
                stranger.writer.write(a_stream(chance))
                stranger.close()
            else:
                if noisy is None or noisy.writer.is_closing():
                    noisy = await wired.stranger()
                    noisy.send({"type": "hello", "protocol": 1, "token": word, "reconnected": True})
                    word = (await noisy.until("welcome"))["token"]
                noisy.writer.write(a_stream(chance))
                if number % 1000 == 1:
                    noisy.writer.write(b"x" * (3 << 20) + b"\n")
                await noisy.writer.drain()
            if number % 100 == 0:
                answer = await honest.gate(f"h{number}", session="ses_honest", command=f"step {number}")
                assert answer["allow"] in (True, False)
        await wired.bridges.drained(0.01)
        assert wired.supervisor.failed == ""
        assert len(wired.of(ev.Unparsed)) > STREAMS / 10
        assert len(wired.supervisor.hub.sessions) <= 100  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        assert not [effect for effect in wired.effects if "fault" in str(getattr(effect, "topic", ""))]

    played(test)


def test_a_message_may_come_in_any_pieces() -> None:
    async def test(wired: Wired) -> None:
        peer = await wired.bridge()
        question = {
            "type": "gate",
            "id": 7,
            "session": "s",
            "call": "c",
            "tool": "bash",
            "args": {"t": "äöü"},
        }
        for byte in json.dumps(question, ensure_ascii=False).encode() + b"\n":
            peer.writer.write(bytes([byte]))
            await peer.writer.drain()
        assert (await peer.until("answer"))["id"] == 7

    played(test)
