"""One tool call and its outcome, as the rules see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopguard_cli.core.events import ToolAsked, ToolFinished, ToolStarted
from loopguard_cli.core.ids import CallId, CallKey
from loopguard_cli.detect import masking, outcomes, shapes
from loopguard_cli.detect.agreement import ALIKE, DIFFERENT, EQUAL, STEADY, Sameness, agreement
from loopguard_cli.detect.keys import call_form, digest
from loopguard_cli.detect.tools import ACT, EDIT, NOTE, WAIT, Kind, is_shell, kind_of, pauses, writes

SLACK = 64
"""Characters by which outputs that are equal but for masked parts may differ in length."""


ECHOED, NEAR = 400, 6
"""Characters of an outcome that may be a sentence about its arguments, and with which two such begin
or end."""


class Call:
    """One tool call. Rules read it; only the journal writes it."""

    __slots__ = (
        "_agreed",
        "_alike",
        "_arguments",
        "_complaint",
        "_gist",
        "_question",
        "_rest",
        "_shape",
        "asked_at",
        "asked_seq",
        "batch",
        "cancelled",
        "changes",
        "complete",
        "ended_at",
        "ended_seq",
        "epoch",
        "failed",
        "fresh",
        "id",
        "key",
        "kind",
        "left",
        "ok",
        "output",
        "pauses",
        "pending",
        "proves",
        "raw",
        "reported",
        "round",
        "said",
        "size",
        "token",
        "tokens",
        "tool",
        "turn",
        "waits",
        "width",
        "writes",
    )

    def __init__(self, event: ToolAsked | ToolStarted | ToolFinished, seq: int, now: float) -> None:
        self.id: CallId = event.call
        self.tool: str = event.tool
        form = call_form(event.tool, event.args)
        self.key: CallKey = CallKey(digest(form))
        self.width = len(form)
        """Bytes of the call in its canonical form."""
        self.kind: Kind = kind_of(event.tool, event.args)
        self.writes: bool = writes(event.tool, event.args, self.kind)
        self.pauses: bool = pauses(event.tool, event.args, self.kind)
        self.waits = 0
        """Calls that let time pass before it, in the whole session."""
        self.asked_seq = self.ended_seq = seq
        self.asked_at = self.ended_at = now
        self.round = 0
        """Calls of one round were asked for while others of it were open."""
        self.batch = 0
        """As `round`, but calls sent off within a breath of each other count as one batch too."""
        self.said = ""
        """Digest of what the assistant wrote just before; empty if nothing."""
        self.token = ""
        """Key and outcome as one comparable value, once it is complete; empty before."""
        self.turn = 0
        """Which of the person's messages it came after."""
        self.epoch = 0
        """How much had changed when it was asked for (`Journal.epoch`)."""
        self.left = 0
        """The same when it had ended; higher if it changed something itself."""
        self.tokens = 0
        self.fresh = True
        """Nothing with this key was seen before."""
        self.complete = False
        """It ended by itself, with an outcome."""
        self.cancelled = False
        self.ok = True
        self.reported = False
        """The agent says that it failed."""
        self.failed = False
        """So it does, or what came back says so itself."""
        self.raw = ""
        self.output: str | None = None
        """What came back, while it is kept and was not cut by the agent's report; else None."""
        self.size = 0
        """Characters of the whole output."""
        self._arguments: dict[str, Any] | None = event.args
        self._shape: shapes.Shape | None = None
        self.pending = False
        """Its answer says that something is still under way."""
        self.proves = self.kind is not WAIT
        """It may be part of a loop's round: no waiting, not cancelled, not pending."""
        self._question = ""
        self._alike = ""
        self._complaint = ""
        self._gist: str | None = None
        self._rest: tuple[str, ...] | None = None
        self._agreed: tuple[Call, Sameness, Sameness] | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it was given, while it is among the latest."""
        return self._arguments or {}

    @property
    def shape(self) -> shapes.Shape:
        """Its arguments without numbers, order and spacing (`detect.shapes`)."""
        if self._shape is None:
            self._shape = shapes.shape_of(self.tool, self._arguments or {})
        return self._shape

    @property
    def question(self) -> str:
        """What it asks, whenever and from where to where (`detect.shapes`)."""
        if not self._question:
            given = self._arguments
            self._question = self.key if given is None else shapes.question_of(self.tool, given)
        return self._question

    @property
    def named(self) -> frozenset[str]:
        """The numbers among what it asks, apart from those that say when or from where to where."""
        given = self._arguments
        return shapes.named_of(self.tool, given) if given else frozenset()

    def end(self, event: ToolFinished, seq: int, now: float) -> None:
        self.ended_seq, self.ended_at = seq, now
        self.cancelled = outcomes.is_cancelled(event)
        self.ok = event.ok
        self.reported = not event.ok or bool(event.exit_code)
        self.failed = self.reported or self._complains(event)
        self.raw = outcomes.raw_digest(event)
        self.size = event.output_chars if event.output_chars >= 0 else len(event.output)
        self.output = event.output[: outcomes.KEPT]
        self.complete = not self.cancelled
        if self.kind not in (NOTE, EDIT):
            self.pending = outcomes.says_pending(self.output)
        if self.cancelled or self.pending:
            self.proves = False

    def slim(self) -> None:
        """Keep only what is needed to tell it from others: it is no longer among the latest."""
        self.output = self._arguments = self._agreed = None

    def alike(self) -> str:
        """Its error without what varies (`masking.mask_error`)."""
        if not self._alike and self.output is not None:
            self._alike = f"{self.ok}{masking.mask_error(self.output)}"
        return self._alike

    def complaint(self) -> str:
        """`alike`, whatever the tool is called: an error that names it says the same of the next one."""
        if not self._complaint and self.output is not None:
            names = self.tool in self.output
            self._complaint = (
                f"{self.ok}{masking.mask_error(self.output, self.tool)}" if names else self.alike()
            )
        return self._complaint

    def gist(self) -> str:
        """Its outcome without numbers and without what only echoes its arguments."""
        if self._gist is None:
            if self.output is None:
                return ""
            echoed = self.shape.said
            self._gist = " ".join(word for word in masking.words(self.alike()) if word not in echoed)
        return self._gist

    def rest(self) -> tuple[str, ...]:
        """What a short outcome says beside the words and numbers of its arguments."""
        if self._rest is None:
            if self.output is None or self.size > ECHOED:
                return ()
            told, shape = shapes.tokens(masking.mask_volatile(self.output)), self.shape
            self._rest = tuple(one for one in told if one not in shape.said and one not in shape.numbers)
        return self._rest

    def echoes_as(self, other: Call) -> bool:
        """Two short outcomes differ in nothing but what echoes the arguments."""
        one, another = self.output, other.output
        if one is None or another is None or self.ok is not other.ok:
            return False
        if self.size > ECHOED or other.size > ECHOED:
            return False
        # Cheap, and so for most that differ: an echo stands within a sentence.
        if one[:NEAR] != another[:NEAR] and one[-NEAR:] != another[-NEAR:]:
            return False
        return self.rest() == other.rest() != ()

    def sameness(self, other: Call, least: Sameness = ALIKE) -> Sameness:
        """How far the outcomes of two complete calls agree; less than ``least`` may be told as DIFFERENT."""
        if self.raw == other.raw:
            return EQUAL
        # Rules ask for the same pair (a call and the one before it) several times over.
        agreed = self._agreed
        if agreed is not None and agreed[0] is other and (agreed[1] <= least or agreed[2] >= least):
            return agreed[2]
        degree = self._agreement(other, least)
        self._agreed = (other, least, degree)
        return degree

    def fails_as(self, other: Call) -> bool:
        """Their errors agree but for volatile parts. Of one key the journal knows already."""
        if self.raw == other.raw or self.token == other.token:
            return True
        if self.key == other.key:
            return False
        return self.sameness(other, STEADY) >= STEADY

    def is_steady(self, other: Call) -> bool:
        """Their outcomes agree but for volatile parts; for calls of which nobody will ask again."""
        return self.raw == other.raw or self._agreement(other, STEADY) >= STEADY

    def _complains(self, event: ToolFinished) -> bool:
        if event.exit_code == 0:
            return False
        changes = self.kind in (EDIT, ACT)
        return outcomes.reads_as_failure(event.output, shell=is_shell(self.tool), changes=changes)

    def _agreement(self, other: Call, least: Sameness) -> Sameness:
        if self.ok is not other.ok or self.output is None or other.output is None:
            return DIFFERENT
        if abs(self.size - other.size) > SLACK:
            return DIFFERENT
        whole = self.size == len(self.output) and other.size == len(other.output)
        if not whole and least > ALIKE:
            # Of what was cut, nobody knows whether the rest agrees.
            return DIFFERENT
        degree = agreement(self.output, other.output, least)
        return degree if whole else min(degree, ALIKE)
