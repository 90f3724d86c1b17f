"""What is wanted of an agent that is asked by hooks, as far as it does not matter how it is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from loopguard_cli.agents.base import Answer, Outgoing, answer
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.settling import settled
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    Effect,
    Prompt,
    ReadSession,
    Respond,
    SetContext,
    Trim,
)
from loopguard_cli.core.events import Event, SessionRead

Part = Outgoing | Event


class Conversation(Protocol):
    """The turns of one run."""

    def abort(self, effect: Abort) -> Iterator[Part]: ...
    def read(self, effect: ReadSession) -> SessionRead: ...
    def prompt(self, effect: Prompt) -> Iterator[Part]: ...


T = TypeVar("T", bound=Conversation)


class Steered(Unbridged, Generic[T]):
    """An heir adds what only its way of reaching the agent needs."""

    _gate: Gate
    _turns: T

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._carry_out(effect))

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case AnswerGate():
                yield from self._gate.answer(effect)
            case SetContext():
                self._gate.set_context(effect)
            case Respond():
                yield from self._respond(effect)
            case Abort():
                yield from self._turns.abort(effect)
            case ReadSession():
                yield self._turns.read(effect)
            case Prompt():
                yield from self._turns.prompt(effect)
            case Trim():
                yield settled(effect, "the history of this agent cannot be changed")
            case _:
                pass

    def _respond(self, effect: Respond) -> Iterator[Part]:
        """The answer to a tool or a command of ours."""
        raise NotImplementedError
