"""The pi adapter: what is wanted of it, and what it makes of what the bridge says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from loopguard_cli.agents.base import BridgeAddress, Hello, Order, Setup
from loopguard_cli.agents.pi import make
from loopguard_cli.agents.pi.adapter import Pi
from loopguard_cli.core.effects import Abort, AnswerGate, Prompt, Purpose, ReadSession
from loopguard_cli.core.events import (
    AgentError,
    EffectSettled,
    Event,
    Origin,
    SessionRead,
    Status,
    StatusChanged,
    ToolAsked,
    ToolFinished,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, SessionId

SESSION = SessionId("s")
EFFECT = EffectId("e")


def open_session(*line: str) -> Pi:
    adapter = make(Setup(argv=line or ("pi",)))
    assert isinstance(adapter, Pi)
    adapter.launch({}, BridgeAddress(token="t", unix="/nonexistent"))
    adapter.greet(1, Hello(protocol=1, token="t", version="1.6.0"))
    say(adapter, "session", directory="/project")
    return adapter


def say(adapter: Pi, kind: str, **fields: Any) -> list[Event]:
    message = msgspec.convert({"type": kind, "session": SESSION, **fields}, adapter.messages)
    return list(adapter.receive(1, message))


def sent(orders: tuple[Any, ...]) -> dict[str, Any]:
    (order,) = orders
    assert isinstance(order, Order)
    return order.message


def prompt(purpose: Purpose = Purpose.CONTINUATION) -> Prompt:
    return Prompt(session=SESSION, effect=EFFECT, text="Go on.", purpose=purpose)


def test_a_one_shot_pi_is_kept_until_it_is_released() -> None:
    adapter = open_session("pi", "-p", "x")
    assert not adapter.holding
    say(adapter, "settled", id=7)
    assert adapter.holding
    assert sent(adapter.release(False).orders) == {"type": "answer", "id": 7, "end": False}
    assert not adapter.holding
    assert adapter.release(False).orders == ()


def test_a_kept_pi_goes_on_with_a_prompt_and_tells_when_it_took_it() -> None:
    adapter = open_session("pi", "-p", "x")
    say(adapter, "settled", id=7)
    answer = adapter.carry_out(prompt())
    assert sent(answer.orders) == {"type": "answer", "id": 7, "prompt": {"id": EFFECT, "text": "Go on."}}
    assert answer.events == ()
    assert not adapter.holding
    spoke, settled = say(adapter, "user", message="custom.1", effect=EFFECT, text="Go on.")
    assert isinstance(spoke, UserSpoke)
    assert (spoke.origin, spoke.effect) == (Origin.LOOPGUARD, EFFECT)
    assert settled == EffectSettled(session=SESSION, effect=EFFECT, ok=True)


def test_nobody_can_claim_to_be_us() -> None:
    adapter = open_session()
    (spoke,) = say(adapter, "user", message="custom.1", effect="made-up", text="Go on.")
    assert isinstance(spoke, UserSpoke)
    assert (spoke.origin, spoke.effect) == (Origin.HOST, "")


def test_an_abort_is_settled_when_the_turn_is_over() -> None:
    adapter = open_session()
    say(adapter, "busy")
    answer = adapter.carry_out(Abort(session=SESSION, effect=EFFECT))
    assert sent(answer.orders)["op"] == "abort"
    assert say(adapter, "done", id=EFFECT, ok=True) == []
    events = say(adapter, "settled", aborted=True)
    assert [type(event) for event in events] == [AgentError, EffectSettled, StatusChanged]
    assert say(adapter, "settled", aborted=False) == []


def test_an_abort_of_an_idle_pi_is_settled_at_once() -> None:
    adapter = open_session()
    adapter.carry_out(Abort(session=SESSION, effect=EFFECT))
    settled = say(adapter, "done", id=EFFECT, ok=True, data="idle")
    assert settled == [EffectSettled(session=SESSION, effect=EFFECT, ok=True)]


def test_what_is_owed_is_settled_when_pi_is_gone() -> None:
    adapter = open_session()
    adapter.carry_out(ReadSession(session=SESSION, effect=EffectId("r")))
    adapter.carry_out(prompt())
    events = adapter.exited(1)
    assert (
        SessionRead(session=SESSION, effect=EffectId("r"), ok=False, error="the agent has exited") in events
    )
    assert EffectSettled(session=SESSION, effect=EFFECT, ok=False, error="the agent has exited") in events


def test_a_session_is_read_as_pi_says_it_is() -> None:
    adapter = open_session()
    say(adapter, "user", message="user.1", text="do it")
    say(adapter, "reply", message="assistant.2", answers="user.1")
    adapter.carry_out(ReadSession(session=SESSION, effect=EFFECT))
    (read,) = say(adapter, "done", id=EFFECT, ok=True, data={"status": "busy"})
    assert isinstance(read, SessionRead)
    assert (read.status, read.newest_user, read.newest_assistant) == (Status.BUSY, "user.1", "assistant.2")


def test_a_refused_call_is_told_as_refused_and_not_as_cancelled() -> None:
    adapter = open_session()
    (asked,) = say(adapter, "gate", id=3, call="c", tool="bash", args={"command": "ls"})
    assert isinstance(asked, ToolAsked)
    answer = adapter.carry_out(AnswerGate(session=SESSION, request=asked.request, allow=False, text="no"))
    assert sent(answer.orders) == {"type": "answer", "id": 3, "allow": False, "text": "no"}
    (finished,) = say(adapter, "tool", call="c", tool="bash", ok=False, output="no", stopped=True)
    assert isinstance(finished, ToolFinished)
    assert (finished.refused, finished.cancelled) == (True, False)


@pytest.mark.parametrize(
    ("line", "idle"), [(("pi",), True), (("pi", "fix it"), False), (("pi", "-p"), False)]
)
def test_a_session_that_begins_with_work_is_not_idle(line: tuple[str, ...], idle: bool) -> None:
    adapter = make(Setup(argv=line))
    adapter.greet(1, Hello(protocol=1, token="t"))
    assert isinstance(adapter, Pi)
    events = say(adapter, "session")
    assert (StatusChanged(session=SESSION, status=Status.IDLE) in events) is idle


def test_an_error_is_told_only_if_nothing_follows_it() -> None:
    adapter = open_session()
    failed = {"message": "assistant.1", "reason": "error", "error": "overloaded"}
    say(adapter, "replied", **failed)
    say(adapter, "busy")
    assert not any(isinstance(event, AgentError) for event in say(adapter, "settled"))
    say(adapter, "replied", **failed)
    assert any(isinstance(event, AgentError) for event in say(adapter, "settled"))


def test_a_hint_is_sent_into_the_running_turn() -> None:
    adapter = open_session()
    say(adapter, "busy")
    assert sent(adapter.carry_out(prompt(Purpose.NUDGE)).orders)["hint"] is True


def test_after_a_lost_connection_nothing_is_held_and_what_was_owed_has_failed() -> None:
    adapter = open_session("pi", "-p", "x")
    adapter.carry_out(ReadSession(session=SESSION, effect=EFFECT))
    say(adapter, "settled", id=7)
    adapter.lost(1, "closed")
    assert not adapter.holding
    answer = adapter.greet(2, Hello(protocol=1, token="u", reconnected=True, missed=3))
    assert any(isinstance(e, SessionRead) and not e.ok for e in answer.events)
