"""``loop_check`` and ``loop_decide``: an agent looks at a planned call, or justifies a retry.

Source: the infinity guard's table of decisions. Every field of a decision is checked for presence
and length; whether the reasoning is true nobody can check here.

- ``continue`` authorises one fresh counting cycle for exactly the named call, which begins (and
  uses the authorisation up) with the call's next execution. Nothing else changes.
- ``change`` records a new approach; it must be a call that was neither attempted nor blocked.
- ``stop`` records that the last blocked call is given up and takes back an unused authorisation
  for it; the block stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from loopguard_cli.core.ids import CallKey
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording.decisions import say
from loopguard_cli.detect.keys import call_key
from loopguard_cli.detect.standing import Standing

EXPLANATIONS = ("observedResult", "rationale", "expectedInformation")
MINIMUM = 20
"""Characters of each explanation, surrounding space not counted."""

EXEMPT = ("loop_check", "loop_decide")


def is_exempt(tool: str) -> bool:
    """The guard's own two tools are never counted, also under the prefix of an MCP server."""
    return tool.endswith(EXEMPT) and (
        tool in EXEMPT or tool.rpartition("loop_")[0][-1:] in ("_", "-", ".", "/")
    )


class Counter(Protocol):
    """Who counts the calls."""

    def count(self, key: CallKey, now: float) -> int: ...

    def threshold_of(self, tool: str) -> int: ...


class Refusal(Exception):
    """The fields are not acceptable; the code says why."""

    def __init__(self, code: str, **facts: Any) -> None:
        super().__init__(code)
        self.code = code
        self.facts = facts


class Decisions:
    """Answers both tools for one session."""

    def __init__(self, standing: Standing, counter: Counter, locale: Locale) -> None:
        self._standing = standing
        self._counter = counter
        self.locale = locale

    def check(self, fields: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Facts about one planned call."""
        try:
            tool, key = _call_in(fields, "toolName")
        except Refusal as refusal:
            return self._answer(False, refusal.code, refusal.facts)
        count, threshold = self._counter.count(key, now), self._counter.threshold_of(tool)
        blocked, granted = self._standing.blocked(key), self._standing.granted(key)
        code = "granted" if granted else "blocked" if blocked else "clear"
        facts = {"tool": tool, "count": count, "threshold": threshold}
        answer = self._answer(True, code, facts, key=key)
        return answer | {"count": count, "threshold": threshold, "blocked": blocked, "granted": granted}

    def decide(self, fields: Mapping[str, Any], now: float) -> dict[str, Any]:
        """Record one decision."""
        decision = fields.get("decision")
        try:
            if decision not in ("continue", "change", "stop"):
                raise Refusal("bad_decision")
            _explained(fields)
            if decision == "stop":
                return self._stop()
            tool, key = _call_in(fields, "nextTool")
            if decision == "change" and (self._standing.attempted(key) or self._standing.blocked(key)):
                raise Refusal("not_new", tool=tool)
        except Refusal as refusal:
            return self._answer(False, refusal.code, refusal.facts, decision=str(decision or ""))
        if decision == "continue":
            self._standing.grant(key)
        return self._answer(True, decision, {"tool": tool}, key=key, decision=decision)

    def _stop(self) -> dict[str, Any]:
        key = self._standing.last_blocked
        if key is None:
            return self._answer(True, "nothing_blocked", {}, decision="stop")
        self._standing.revoke(key)
        return self._answer(True, "stop", {}, key=key, decision="stop")

    def _answer(
        self, ok: bool, code: str, facts: dict[str, Any], *, key: str = "", decision: str = ""
    ) -> dict[str, Any]:
        text = say(self.locale, code, facts)
        return {"ok": ok, "code": code, "text": text, "key": key, "decision": decision}


def _explained(fields: Mapping[str, Any]) -> None:
    for name in EXPLANATIONS:
        value = fields.get(name)
        if not isinstance(value, str) or len(value.strip()) < MINIMUM:
            raise Refusal("too_short", field=name, minimum=MINIMUM)


def _call_in(fields: Mapping[str, Any], name: str) -> tuple[str, CallKey]:
    tool = fields.get(name)
    if not isinstance(tool, str) or not tool.strip():
        raise Refusal("no_tool")
    text = fields.get("argsJson")
    try:
        args = msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        args = None
    if not isinstance(args, dict):
        raise Refusal("bad_args")
    return tool, call_key(tool, args)
