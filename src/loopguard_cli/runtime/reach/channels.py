"""Everything that leads to the agent: where what an adapter answers goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    Follow,
    HookReply,
    Interrupt,
    Keys,
    Order,
    Outgoing,
    Question,
    Shown,
    ToClient,
    Withdrawn,
)
from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Event

Post = Callable[[Iterable[Event]], None]


class Bridges(Protocol):
    def send(self, orders: Iterable[Order]) -> None: ...


class Hooks(Protocol):
    def reply(self, reply: HookReply) -> None: ...


class Pipes(Protocol):
    def write(self, message: dict[str, object]) -> None: ...


class Screen(Protocol):
    def type(self, keys: Keys) -> None: ...


class Tap(Protocol):
    def interrupt(self) -> None: ...


class Relay(Protocol):
    def send(self, order: ToClient) -> None: ...


class Files(Protocol):
    def follow(self, path: str) -> None: ...
    def look(self) -> None: ...
    def close(self) -> None: ...


class Console(Protocol):
    def show(self, shown: Shown) -> None: ...
    def ask(self, question: Question) -> None: ...
    def withdraw(self, question: str) -> None: ...
    def say(self, text: str) -> None: ...
    def reply(self, effect: Respond) -> bool: ...


class Channels:
    """The ways that are open in this run; each is put in when it exists."""

    def __init__(self, bridges: Bridges, post: Post) -> None:
        self.bridges = bridges
        self.hooks: Hooks | None = None
        self.pipes: Pipes | None = None
        self.relay: Relay | None = None
        self.screen: Screen | None = None
        self.tap: Tap | None = None
        self.console: Console | None = None
        self.files: Files | None = None
        self._post = post

    def take(self, answer: Answer) -> None:
        """Send what an adapter answered, and pass on what it knows."""
        self.send(answer.orders)
        self._post(answer.events)

    def send(self, orders: Iterable[Outgoing]) -> None:
        for order in orders:
            self._send(order)

    def _send(self, order: Outgoing) -> None:
        match order:
            case Order(peer=peer):
                if peer != CHILD:
                    self.bridges.send((order,))
                elif self.pipes is not None:
                    self.pipes.write(order.message)
            case HookReply():
                if self.hooks is not None:
                    self.hooks.reply(order)
            case Keys():
                if self.screen is not None:
                    self.screen.type(order)
            case Interrupt():
                if self.tap is not None:
                    self.tap.interrupt()
            case Shown():
                if self.console is not None:
                    self.console.show(order)
            case Question():
                if self.console is not None:
                    self.console.ask(order)
            case Follow():
                if self.files is not None:
                    self.files.follow(order.path)
            case ToClient():
                if self.relay is not None:
                    self.relay.send(order)
            case Withdrawn():
                if self.console is not None:
                    self.console.withdraw(order.id)
