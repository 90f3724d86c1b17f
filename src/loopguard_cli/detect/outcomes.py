"""Outcomes: what a call returned, and what the answer says of itself.

How far two outcomes agree is `detect.agreement`'s to say; it is only asked where the raw forms
differ, because looking at parts costs more than hashing.
"""

from __future__ import annotations

import re

from loopguard_cli.core.events import ToolFinished
from loopguard_cli.detect.keys import digest

WHOLE = 65_536
"""Outputs up to this many characters are hashed whole, longer ones by head, tail and length."""

KEPT = 4_096
"""Characters of an output that are kept for masking (its head)."""


ANSWER = 200
"""Characters of a plain answer about how something is getting on; what is longer is content."""

_CANCELLED = re.compile(
    r"sibling tool call errored|user doesn't want to proceed|user rejected|tool use was rejected"
    r"|request interrupted|tool execution (?:was )?aborted|operation (?:was )?(?:cancell?ed|aborted)\b"
    r"|^\W*(?:aborted|cancell?ed)\W*$",
    re.IGNORECASE,
)

_PENDING = re.compile(
    r"\b(?:still (?:running|working|pending|in progress)|running|in[_ -]progress|pending|queued|waiting"
    r"|not (?:yet )?ready|starting|doing|rolling out|no new output|in flight|building|deploying"
    r"|processing)\b",
    re.IGNORECASE,
)


_EXIT = re.compile(
    r"(?:^|\n)\W*(?:command |process )?(?:exited|exit|failed|returned)(?: with)?(?: exit)?"
    r"[ _-]?(?:code|status)?\W{1,3}[1-9]\d{0,2}\W*(?:\n|$)",
    re.IGNORECASE,
)
"""A line that tells the status with which a command ended, as agents add it to what it printed."""

_STATUS = re.compile(r"(?:exit|failed|returned)(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status)?\W{1,3}[1-9]")
"""What each of these has, in small letters; it is found faster."""

_ERROR_HEAD = re.compile(
    r"\W*(?:tool_use_error\W+)?(?:error|fatal|failed|failure|exception|invalid|unknown|cannot"
    r"|could not|unable|no such (?:file|directory|tool)|file (?:not found|does not exist)"
    r"|(?:permission|access) denied)\b",
    re.IGNORECASE,
)

_COMPLAINT = re.compile(
    r"\b(?:not found|does(?: not|n't) (?:match|exist|apply|appear)|did(?: not|n't) (?:match|apply|appear)"
    r"|no match|occurs? \d+ times|unavailable|not available|no such|is required|not allowed|denied)\b",
    re.IGNORECASE,
)


_DEAD = re.compile(
    r"\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|Evicted|crashed|stalled|stuck|hung|dead|defunct|exited|killed"
    r"|terminated|stopped|no such|not found|can(?:not|'t) find|does not exist|no longer"
    r"|not running|inactive)\b",
    re.IGNORECASE,
)


def says_dead(text: str) -> bool:
    """The answer says that what is asked about is not there, or does nothing any more."""
    return len(text) <= 2 * ANSWER and _DEAD.search(text) is not None


def reads_as_failure(text: str, *, shell: bool, changes: bool) -> bool:
    """The answer says of itself that the call failed, though the agent did not mark it so.

    What a command prints may be about errors; only its exit status counts. A short answer of a tool
    that was to change something (``changes``) fails with any complaint, others with their first word.
    """
    if shell:
        return _tells_status(text[:ANSWER]) or (len(text) > ANSWER and _tells_status(text[-ANSWER:]))
    if len(text) > 2 * ANSWER:
        return False
    return _ERROR_HEAD.match(text) is not None or (changes and _COMPLAINT.search(text) is not None)


def _tells_status(text: str) -> bool:
    if text.isascii():  # in others, ever more letters pass for an "i"
        plain = text.lower()
        if "exit" not in plain and "failed" not in plain and "returned" not in plain:
            return False
        if _STATUS.search(plain) is None:
            return False
    return _EXIT.search(text) is not None


def raw_digest(event: ToolFinished) -> str:
    """Identity of the whole outcome: success or failure, and what came back."""
    mark = "ok" if event.ok else "no"
    if event.output_digest:
        return f"{mark}:{event.output_digest}"
    text = event.output
    if len(text) > WHOLE:
        text = f"{len(text)}:{text[: WHOLE // 2]}{text[-WHOLE // 2 :]}"
    return f"{mark}:{digest(text.encode('utf-8', 'surrogatepass'))}"


def is_cancelled(event: ToolFinished) -> bool:
    """The call was ended by somebody or something else and says nothing about itself."""
    if event.cancelled:
        return True
    return not event.ok and len(event.output) < 600 and _CANCELLED.search(event.output) is not None


def says_pending(text: str) -> bool:
    """The answer itself says that something is still under way."""
    return len(text) <= ANSWER and _PENDING.search(text) is not None
