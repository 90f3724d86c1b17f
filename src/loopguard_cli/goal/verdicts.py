"""What an auditor's answer means."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from loopguard_cli.core.events import AuditFinished
from loopguard_cli.goal.markers import lines_of
from loopguard_cli.goal.model import shorten
from loopguard_cli.goal.settings import OnFailure

MAX_REASON = 200

_VERDICT = re.compile(r"\s*\[audit:(approved|rejected)\]\s*", re.IGNORECASE)


class Answer(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    MALFORMED = "malformed"
    FAILED = "failed"
    """The auditor could not work."""


class Verdict(msgspec.Struct, frozen=True):
    approved: bool
    answer: Answer
    reason: str = ""


def parse(reply: str) -> Verdict:
    """The verdict in an auditor's text.

    Exactly one line may consist of a verdict and nothing else, and it must be the last one that is
    not blank. Everything else is malformed and rejects. The reason is the nearest line above it.
    """
    lines = [line for line in lines_of(reply) if line.strip()]
    verdicts = [match for line in lines if (match := _VERDICT.fullmatch(line))]
    if len(verdicts) != 1 or not _VERDICT.fullmatch(lines[-1]):
        return Verdict(False, Answer.MALFORMED, "the auditor gave no clear verdict")
    approved = verdicts[0][1].lower() == "approved"
    reason = shorten(lines[-2], MAX_REASON) if len(lines) > 1 else ""
    if approved:
        return Verdict(True, Answer.APPROVED, reason)
    return Verdict(False, Answer.REJECTED, reason or "the auditor gave no reason")


def judge(event: AuditFinished, on_failure: OnFailure) -> Verdict:
    """The verdict of a finished audit. Only operational failures are subject to ``on_failure``."""
    if event.error:
        reason = shorten(f"the audit failed: {event.error}", MAX_REASON)
        return Verdict(on_failure is OnFailure.APPROVE, Answer.FAILED, reason)
    if event.approved is not None:
        answer = Answer.APPROVED if event.approved else Answer.REJECTED
        reason = shorten(event.reason, MAX_REASON)
        return Verdict(event.approved, answer, reason if event.approved else reason or "no reason given")
    return parse(event.reply)
