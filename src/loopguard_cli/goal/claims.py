"""The structured completion claim of the tool ``goal_complete``: validation and rendering.

The first violation wins, in the order summary, kinds of lists, numbers of items, criteria, checks,
files, limitations. The rendered evidence is deterministic, one fact a line; line breaks inside a
field are refused, because they could forge such lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from loopguard_cli.goal.markers import has_words
from loopguard_cli.goal.model import MAX_EVIDENCE

MAX_TEXT = 500
MAX_CRITERION = 300
MAX_ITEMS = {"criteria": 20, "checks": 20, "changedFiles": 100, "knownLimitations": 20}


class Fault(StrEnum):
    """What is wrong with a claim."""

    SUMMARY_REQUIRED = "summary_required"
    SUMMARY_TOO_LONG = "summary_too_long"
    LINE_BREAK = "line_break_in_text"
    NOT_A_LIST = "not_a_list"
    TOO_MANY_ITEMS = "too_many_items"
    BAD_CRITERION = "bad_criterion"
    CRITERION_TOO_LONG = "criterion_too_long"
    EVIDENCE_REQUIRED = "criterion_evidence_required"
    BAD_CHECK = "bad_check"
    BAD_CHECK_RESULT = "bad_check_result"
    BAD_EXIT_CODE = "bad_exit_code"
    CHECK_TOO_LONG = "check_too_long"
    CONTRADICTORY_CHECK = "contradictory_check"
    FAILED_CHECK = "failed_check"
    BAD_FILE = "bad_changedFiles_entry"
    BAD_LIMITATION = "bad_knownLimitations_entry"
    TOO_LONG = "too_long"


MEANING: dict[Fault, str] = {
    Fault.SUMMARY_REQUIRED: "summary must say in words what was achieved",
    Fault.SUMMARY_TOO_LONG: f"summary is longer than {MAX_TEXT} characters",
    Fault.LINE_BREAK: "texts must not contain line breaks",
    Fault.NOT_A_LIST: "criteria, checks, changedFiles and knownLimitations must be lists",
    Fault.TOO_MANY_ITEMS: "at most 20 criteria, 20 checks, 100 files and 20 limitations",
    Fault.BAD_CRITERION: "each criterion needs a text",
    Fault.CRITERION_TOO_LONG: f"a criterion has at most {MAX_CRITERION} characters, its evidence {MAX_TEXT}",
    Fault.EVIDENCE_REQUIRED: "each criterion needs at least one piece of evidence",
    Fault.BAD_CHECK: "each check needs a command or an explanation",
    Fault.BAD_CHECK_RESULT: "the result of a check is passed, failed or not-run",
    Fault.BAD_EXIT_CODE: "an exit code is a whole number from 0",
    Fault.CHECK_TOO_LONG: f"command and explanation have at most {MAX_TEXT} characters each",
    Fault.CONTRADICTORY_CHECK: "the result of a check contradicts its exit code",
    Fault.FAILED_CHECK: "a check failed; repair it before you claim completion",
    Fault.BAD_FILE: f"changedFiles holds names of at most {MAX_TEXT} characters",
    Fault.BAD_LIMITATION: f"knownLimitations holds texts of at most {MAX_TEXT} characters",
    Fault.TOO_LONG: f"the whole claim is longer than {MAX_EVIDENCE} characters",
}


class InvalidClaim(ValueError):
    def __init__(self, fault: Fault) -> None:
        super().__init__(MEANING[fault])
        self.fault = fault


def render(value: object) -> str:
    """The evidence text of a claim. Raises `InvalidClaim`."""
    claim: Mapping[str, Any] = value if isinstance(value, dict) else {}
    lines = [f"Summary: {_summary(claim.get('summary'))}"]
    lists = {name: _list(claim, name) for name in MAX_ITEMS}
    for name, most in MAX_ITEMS.items():
        if len(lists[name]) > most:
            raise InvalidClaim(Fault.TOO_MANY_ITEMS)
    lines += [_criterion(item) for item in lists["criteria"]]
    lines += [_check(item) for item in lists["checks"]]
    files = [_text(item, MAX_TEXT, Fault.BAD_FILE) for item in lists["changedFiles"]]
    limits = [_text(item, MAX_TEXT, Fault.BAD_LIMITATION) for item in lists["knownLimitations"]]
    if files:
        lines.append(f"Changed files: {', '.join(files)}")
    if limits:
        lines.append(f"Known limitations: {'; '.join(limits)}")
    evidence = "\n".join(lines)
    if len(evidence) > MAX_EVIDENCE:
        raise InvalidClaim(Fault.TOO_LONG)
    return evidence


def _summary(value: object) -> str:
    if not isinstance(value, str) or not has_words(value):
        raise InvalidClaim(Fault.SUMMARY_REQUIRED)
    return _text(value, MAX_TEXT, Fault.SUMMARY_TOO_LONG)


def _list(claim: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = claim.get(name, [])
    if not isinstance(value, list):
        raise InvalidClaim(Fault.NOT_A_LIST)
    return value


def _text(value: object, most: int, fault: Fault) -> str:
    """A non-blank text on one line, trimmed; ``fault`` when it is none or too long."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > most:
        raise InvalidClaim(fault)
    if len(text.splitlines()) > 1:
        raise InvalidClaim(Fault.LINE_BREAK)
    return text


def _criterion(item: object) -> str:
    if not isinstance(item, dict):
        raise InvalidClaim(Fault.BAD_CRITERION)
    name = item.get("criterion")
    if not isinstance(name, str) or not name.strip():
        raise InvalidClaim(Fault.BAD_CRITERION)
    name = _text(name, MAX_CRITERION, Fault.CRITERION_TOO_LONG)
    given = item.get("evidence")
    pieces = [e for e in given if isinstance(e, str) and e.strip()] if isinstance(given, list) else []
    if not pieces:
        raise InvalidClaim(Fault.EVIDENCE_REQUIRED)
    evidence = [_text(e, MAX_TEXT, Fault.CRITERION_TOO_LONG) for e in pieces]
    return f"Criterion: {name} | Evidence: {'; '.join(evidence)}"


def _check(item: object) -> str:
    if not isinstance(item, dict):
        raise InvalidClaim(Fault.BAD_CHECK)
    result = item.get("result")
    if result not in ("passed", "failed", "not-run"):
        raise InvalidClaim(Fault.BAD_CHECK_RESULT)
    code = _exit_code(item.get("exitCode"))
    command, explanation = (_optional(item.get(name)) for name in ("command", "explanation"))
    if not command and not explanation:
        raise InvalidClaim(Fault.BAD_CHECK)
    if result == "failed":
        raise InvalidClaim(Fault.FAILED_CHECK)
    if code is not None and (result == "not-run" or code != 0):
        raise InvalidClaim(Fault.CONTRADICTORY_CHECK)
    notes = [f"exit {code}"] if code is not None else []
    notes += [explanation] if explanation else []
    tail = f" | {'; '.join(notes)}" if notes else ""
    return f"Check: {command or 'manual check'} | {result}{tail}"


def _exit_code(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise InvalidClaim(Fault.BAD_EXIT_CODE)
    return int(value)


def _optional(value: object) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    if not isinstance(value, str):
        raise InvalidClaim(Fault.BAD_CHECK)
    return _text(value, MAX_TEXT, Fault.CHECK_TOO_LONG)
