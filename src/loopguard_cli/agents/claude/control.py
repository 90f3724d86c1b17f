"""The control messages of a driven Claude Code: requests of ours and of its, paired with their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopguard_cli.agents.base import CHILD, Order
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.toolserver import NAME
from loopguard_cli.agents.memory import Recent

WAITING = 1000


class Control:
    """Our side. ``about`` says what a request of ours was for."""

    def __init__(self) -> None:
        self._numbers = 0
        self._waiting: Recent[str, Any] = Recent(WAITING)

    def request(self, about: Any, **fields: Any) -> Order:
        self._numbers += 1
        request = f"loopguard.{self._numbers}"
        self._waiting[request] = about
        return _send({"type": "control_request", "request_id": request, "request": fields})

    def initialize(self, about: Any, hooks: Sequence[str]) -> Order:
        """Register for ``hooks`` and offer our tools."""
        wanted = {hook: [{"hookCallbackIds": [hook]}] for hook in hooks}
        return self.request(about, subtype="initialize", hooks=wanted, sdkMcpServers=[NAME])

    def answered(self, message: dict[str, Any]) -> tuple[Any, str]:
        """What the answered request was for (None: nothing of ours), and the error, if it is one."""
        about = self._waiting.pop(reading.text(message, "response", "request_id"))
        error = ""
        if reading.text(message, "response", "subtype") != "success":
            error = reading.text(message, "response", "error") or "refused"
        return about, error

    @staticmethod
    def answer(request: str, response: dict[str, Any]) -> Order:
        fields = {"subtype": "success", "request_id": request, "response": response}
        return _send({"type": "control_response", "response": fields})

    @staticmethod
    def refuse(request: str, error: str) -> Order:
        fields = {"subtype": "error", "request_id": request, "error": error}
        return _send({"type": "control_response", "response": fields})


def user(text: str, uuid: str, *, priority: str = "") -> Order:
    """A user message; Claude Code reports by ``uuid`` what becomes of it.

    ``priority``: what happens to it while a turn runs. ``now`` ends the running answer, ``next`` goes in
    beside the next result, ``later`` waits for the end of the turn.
    """
    message = {"role": "user", "content": text}
    given = {"type": "user", "message": message, "uuid": uuid}
    return _send({**given, "priority": priority} if priority else given)


def _send(message: dict[str, Any]) -> Order:
    return Order(peer=CHILD, message=message)
