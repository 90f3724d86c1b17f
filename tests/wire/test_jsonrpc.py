"""JSON-RPC: requests are numbered and paired, everything else is told apart."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.wire import jsonrpc
from loopguard_cli.wire.jsonrpc import Failure, Message, Notification, Peer, Request, Returned, Stray


def test_an_answer_comes_back_with_what_it_is_about() -> None:
    peer: Peer[str] = Peer()
    first = peer.request("a", {}, "first")
    second = peer.request("b", {"x": 1}, "second")
    assert (first["id"], second["method"], second["params"]) == (1, "b", {"x": 1})
    assert peer.read(Message(id=2, result=5)) == Returned("second", 5, None)
    failure = Failure(code=-1, message="no")
    assert peer.read(Message(id=1, error=failure)) == Returned("first", None, failure)
    assert peer.waiting == []


def test_an_answer_is_taken_once() -> None:
    peer: Peer[str] = Peer()
    peer.request("a", {}, "about")
    peer.read(Message(id=1))
    assert isinstance(peer.read(Message(id=1)), Stray)


@pytest.mark.parametrize(
    ("message", "read"),
    [
        (Message(method="m", id=7, params={"a": 1}), Request(7, "m", {"a": 1})),
        (Message(method="m", id="seven"), Request("seven", "m", {})),
        (Message(method="m", params=[1]), Notification("m", {})),
        (Message(method="m", id=0), Request(0, "m", {})),
    ],
)
def test_what_the_other_end_says(message: Message, read: Any) -> None:
    assert Peer[str]().read(message) == read


@pytest.mark.parametrize("message", [Message(), Message(id=3), Message(id="x"), Message(method="m", id=1.5)])
def test_nonsense_is_named_and_never_raised(message: Message) -> None:
    assert isinstance(Peer[str]().read(message), Stray)


def test_what_is_never_answered_is_bounded_and_handed_back() -> None:
    peer: Peer[int] = Peer()
    for number in range(jsonrpc.WAITING + 5):
        peer.request("m", {}, number)
    assert peer.waiting[0] == 5
    assert len(peer.abandon()) == jsonrpc.WAITING
    assert peer.waiting == []
