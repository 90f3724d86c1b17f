"""One question for permission: its options, and what each of them means."""

from __future__ import annotations

from typing import NamedTuple

from loopguard_cli.agents.acp.protocol import Option
from loopguard_cli.agents.base import Choice
from loopguard_cli.core.ids import CallId

_KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "never"}


class Asked(NamedTuple):
    """One question that the agent waits with."""

    request: int | str
    """Of the JSON-RPC request."""
    call: CallId
    options: tuple[Option, ...]

    def pick(self, *, allow: bool) -> Option | None:
        """The option that decides this one call; None: the agent offers none."""
        wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
        found = (option for kind in wanted for option in self.options if option.kind == kind)
        return next(found, None)

    def choices(self) -> tuple[Choice, ...]:
        """For the person, with keys to press."""
        made: list[Choice] = []
        taken: set[str] = set()
        for number, option in enumerate(self.options, 1):
            key = _KEYS.get(option.kind, "")
            if not key or key in taken:
                key = str(number)
            taken.add(key)
            made.append(Choice(key=key, label=option.name or option.kind))
        return tuple(made)

    def chosen(self, key: str) -> Option | None:
        keys = [choice.key for choice in self.choices()]
        return self.options[keys.index(key)] if key in keys else None


def outcome(option: Option | None) -> dict[str, object]:
    """The answer to the agent; without an option: cancelled."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def allows(option: Option | None) -> bool:
    return option is not None and option.kind.startswith("allow")
