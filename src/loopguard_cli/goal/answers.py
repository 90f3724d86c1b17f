"""What commands are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from loopguard_cli.core.measures import counted
from loopguard_cli.goal.model import Limits


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is answered."""

    ok: bool = True
    reply: str = ""
    """Stable kind of answer, ``error:<code>`` for refusals."""
    text: str = ""
    data: Mapping[str, Any] = {}
    work: bool = False
    """A goal came into force or was changed: there is work to be done now."""

    @property
    def code(self) -> str:
        return "" if self.ok else self.reply.removeprefix("error:")


def refuse(code: str, text: str, **data: Any) -> Answer:
    return Answer(ok=False, reply=f"error:{code}", text=text, data=data)


def budget(limits: Limits) -> str:
    parts = [
        counted(limits.turns, "continuation"),
        f"{limits.seconds / 60:g} min",
        counted(limits.context_tokens, "context token"),
    ]
    parts += [f"{counted(limits.total_tokens, 'token')} in total"] if limits.total_tokens else []
    parts += [f"${limits.cost:.2f}"] if limits.cost else []
    return ", ".join(parts)
