"""repeat-response and its relatives: the same answer again, instead of work.

Preset ``pi`` (source: pi-loop-guard): finalised assistant texts are compared as they are; the third
identical one in a row aborts; the count begins anew when the run settles.

Preset ``balanced`` looks at whole turns, since there each answer meets a new prompt, and asks what the
prompts and the turns were like (`detect.turns`). And:

- *announcements* (ours; nudges): of the last 12 texts without a tool call at least 9 are repeated ones
  and at most 7 are distinct: calls are announced and never made.
- *repeat-reasoning* (after Qwen Code; nudges): the same reasoning in three messages in a row.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from loopguard_cli.core.events import (
    Channel,
    Event,
    Gap,
    Origin,
    ReplyFinished,
    ReplyStarted,
    SessionGone,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolStarted,
    UserSpoke,
)
from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import MessageId, SessionId
from loopguard_cli.core.settings import GuardSettings, Preset
from loopguard_cli.detect.base import Quiet, evidence
from loopguard_cli.detect.messages import Message
from loopguard_cli.detect.repetition import digest_text
from loopguard_cli.detect.turns import (
    ANNOUNCED,
    FENCED,
    Said,
    Turn,
    Turns,
    folded,
    prompt_of,
)

REPEATED = "repeat-response"
REASONED = "repeat-reasoning"

TEXTS = 12
MIN_REPEATED = 9
MAX_DISTINCT = 7
MAX_ANNOUNCEMENT = 200

THOUGHTS = 3
MIN_REASONING = 60

REMEMBERED = 256
"""Loops that were nudged about and are not told again."""
_FEW = 4
"""Characters of a text for each folded one, from which on it is mostly white space."""

_NO_MESSAGE = MessageId("")


def responses(session: SessionId, settings: GuardSettings) -> Responses | None:
    """The family, unless the preset or the settings leave it out."""
    if settings.preset is Preset.INFINITY or not settings.text.enabled:
        return None
    return Responses(session, settings)


class Responses(Quiet):
    """Compares the answers of one session."""

    HEARS: frozenset[type[Event]] = frozenset({
        TextDelta, TextSnapshot, ReplyStarted, ReplyFinished, ToolAsked, ToolStarted, StatusChanged,
        UserSpoke, Gap, SessionGone
    })  # fmt: skip

    def __init__(self, session: SessionId, settings: GuardSettings) -> None:
        self._session = session
        self._threshold = settings.text.response_threshold
        self._whole_turns = settings.preset is Preset.BALANCED
        self.reset()

    def reset(self) -> None:
        self._message: Message | None = None
        self._finished = MessageId("")
        self._turn = Turn("")
        self._settled = True
        self._turns = Turns(self._threshold)
        self._told: dict[tuple[str, str], None] = {}
        """Soft findings are made once per loop; hard ones each time."""
        self._unacted: deque[tuple[str, int]] = deque(maxlen=TEXTS)
        """Text parts since the last tool call."""
        self._answers: deque[tuple[str, int]] = deque(maxlen=self._threshold)
        self._thoughts: deque[tuple[str, int]] = deque(maxlen=THOUGHTS)

    def observe(self, event: Event, seq: int, now: float) -> Iterable[Finding]:
        match event:
            case TextDelta() | TextSnapshot():
                return self._written(event, seq)
            case ReplyStarted():
                return self._complete(seq) if self._message and event.message != self._message.id else ()
            case ReplyFinished():
                if event.aborted or event.error:
                    self._message, self._finished = None, event.message
                    return ()
                return self._complete(seq)
            case ToolAsked() | ToolStarted():
                self._turn.acted, self._settled = True, False
                self._unacted.clear()
            case StatusChanged(status=Status.IDLE):
                return self._settle(seq)
            case UserSpoke():
                return self._prompted(event, seq)
            case Gap() | SessionGone():
                self.reset()
            case _:
                pass
        return ()

    # --- messages ----------------------------------------------------------------------------

    def _written(self, event: TextDelta | TextSnapshot, seq: int) -> Sequence[Finding]:
        found: Sequence[Finding] = ()
        message = self._message
        if message is None or message.id != event.message:
            if event.message == self._finished:
                return ()
            found = self._complete(seq)
            message = self._message = Message(event.message)
            self._settled = False
        if isinstance(event, TextDelta):
            message.delta(event)
        elif not event.synthetic:
            message.snapshot(event)
        return found

    def _complete(self, seq: int) -> Sequence[Finding]:
        """The present message is complete."""
        message, self._message = self._message, None
        if message is None:
            return ()
        self._finished = message.id
        text = message.text(Channel.TEXT)
        found: list[Finding] = []
        if text and not self._whole_turns:
            found += self._same_text(text, message.id, seq)
        if text and self._whole_turns:
            self._turn.tell(text, seq, message.id)
            for part in message.parts(Channel.TEXT):
                found += self._announced(part, seq)
        if self._whole_turns:
            found += self._reasoned(folded(message.text(Channel.REASONING)), seq)
        return found

    def _same_text(self, text: str, message: MessageId, seq: int) -> Iterator[Finding]:
        digest = digest_text(text)
        self._answers.append((digest, seq))
        if len(self._answers) == self._threshold and all(one == digest for one, _ in self._answers):
            proof = [at for _, at in self._answers]
            yield self._finding(REPEATED, Action.ABORT, digest, proof, message=message)

    def _announced(self, text: str, seq: int) -> Iterator[Finding]:
        said = _beginning(text, MAX_ANNOUNCEMENT)
        if not said:
            return
        self._unacted.append((said, seq))
        counts = Counter(one for one, _ in self._unacted)
        repeated = sum(count for count in counts.values() if count > 1)
        if len(self._unacted) < TEXTS or repeated < MIN_REPEATED or len(counts) > MAX_DISTINCT:
            return
        identity = digest_text("\n".join(sorted(one for one, count in counts.items() if count > 1)))
        yield from self._soft(ANNOUNCED, identity, [at for _, at in self._unacted], distinct=len(counts))
        self._unacted.clear()

    def _reasoned(self, thought: str, seq: int) -> Iterator[Finding]:
        if len(thought) < MIN_REASONING:
            return
        digest = digest_text(thought)
        self._thoughts.append((digest, seq))
        if len(self._thoughts) == THOUGHTS and all(one == digest for one, _ in self._thoughts):
            yield from self._soft(REASONED, digest, [at for _, at in self._thoughts])

    # --- turns -------------------------------------------------------------------------------

    def _prompted(self, event: UserSpoke, seq: int) -> Sequence[Finding]:
        if event.origin is Origin.LOOPGUARD and not self._settled:
            return ()  # a hint into the running turn begins none
        found = self._settle(seq)
        self._turn = Turn(prompt_of(event.text))
        return found

    def _settle(self, seq: int) -> Sequence[Finding]:
        """The turn is over: compare what it came to with the turns before."""
        found = list(self._complete(seq))
        self._settled = True
        self._answers.clear()
        turn, self._turn = self._turn, Turn(self._turn.prompt)
        turn.read()
        if turn.answer:
            for said in self._turns.compare(turn):
                if made := list(self._about(turn, said)):
                    return found + made
        return found

    def _about(self, turn: Turn, said: Said) -> Iterator[Finding]:
        if said.once:
            yield from self._soft(said.rule, said.identity, said.proof, **said.facts)
        else:
            message, facts = turn.message, said.facts
            yield self._finding(
                said.rule, said.proposes, said.identity, said.proof, message=message, facts=facts
            )

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Equal answers in a row, answers like the latest, announcements, equal reasoning."""
        answers = self._turns.answers() if self._whole_turns else [a for a, _ in self._answers]
        used = sum(1 for _ in takewhile(lambda answer: answer == answers[-1], reversed(answers)))
        if used > 1:
            yield Gauge(rule=REPEATED, used=used, limit=self._threshold)
        if self._whole_turns:
            yield from self._turns.gauges()
        counts = Counter(said for said, _ in self._unacted)
        if repeated := sum(count for count in counts.values() if count > 1):
            yield Gauge(rule=ANNOUNCED, used=repeated, limit=MIN_REPEATED)
        thoughts = [thought for thought, _ in reversed(self._thoughts)]
        if (used := sum(1 for _ in takewhile(lambda one: one == thoughts[0], thoughts))) > 1:
            yield Gauge(rule=REASONED, used=used, limit=THOUGHTS)

    # --- findings ----------------------------------------------------------------------------

    def _soft(self, rule: str, identity: str, proof: list[int], **facts: int) -> Iterator[Finding]:
        if (rule, identity) not in self._told:
            self._told[rule, identity] = None
            if len(self._told) > REMEMBERED:
                del self._told[next(iter(self._told))]
            yield self._finding(rule, Action.NUDGE, identity, proof, limit=Action.NUDGE, facts=facts)

    def _finding(
        self,
        rule: str,
        proposes: Action,
        identity: str,
        proof: list[int],
        *,
        message: MessageId = _NO_MESSAGE,
        limit: Action = Action.STOP,
        facts: Mapping[str, int] = {},
    ) -> Finding:
        return Finding(
            rule=rule,
            proposes=proposes,
            limit=limit,
            session=self._session,
            identity=identity,
            count=len(proof),
            events=evidence(proof),
            facts={"threshold": self._threshold, **facts},
            message=message,
        )


def _beginning(text: str, chars: int) -> str:
    """The first ``chars`` characters of the folded text without fenced code, mostly of its beginning only."""
    if len(text) > _FEW * chars and not _fenced(beginning := text[: _FEW * chars]):
        said = folded(beginning).rpartition(" ")[0]  # the last word may be cut
        if len(said) >= chars:
            return said[:chars]
    return folded(FENCED.sub("", text) if _fenced(text) else text)[:chars]


def _fenced(text: str) -> bool:
    return "```" in text or "~~~" in text
