"""What whole turns came to, compared (preset ``balanced``): repeat-response, similar-response, announcements.

- *repeat-response*: the same final text in three turns in a row. It aborts when the prompts were the
  same as well and nothing was done in between (a hook, a "continue" or a "yes" that changes nothing);
  otherwise somebody may have asked for it, and it nudges (if all prompts differ, at the fourth). It also
  aborts when under one prompt, without a call, six texts are at most three, each of them repeated.
- *similar-response* (ours; nudges): turns without a tool call whose final texts have at least 70 % of
  their words in common with the latest: 3 of the last 4 under one prompt, if they are not one form with
  ever other items, and 4 of the last 6 otherwise. Under one prompt also: a text that was given before;
  the latest of three that share half of their words, or of five short ones, if it has no word that the
  ones before had not. Six of the former may be cut off. Under any prompts, four in a row with the same
  fenced code, whatever is said about it. Prompts that only push on ("ok", "go ahead") are one prompt; five
  short answers to them, made mostly of words that were said before, are a nudge, six may be cut off.
- *announcements* (ours; nudges): three turns in a row that end with a call which is written instead of
  made; five under one prompt may be cut off.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

import msgspec

from loopguard_cli.core.findings import Action, Gauge
from loopguard_cli.core.ids import MessageId
from loopguard_cli.detect.repetition import digest_text
from loopguard_cli.detect.substance import looks_like_code, substantial

REPEATED = "repeat-response"
SIMILAR = "similar-response"
ANNOUNCED = "announcements"

TURNS = 6
SIMILARITY = 0.7
SAME_PROMPT = (3, 4)
ANY_PROMPT = (4, TURNS)
MIN_SIMILAR_CHARS = 40
ONE_PROMPT_SIMILARITY, ONE_PROMPT_WORDS = 0.5, 12
"""Under one prompt, and for answers of so many different words."""
SAME_CODE, MIN_CODE_CHARS = 4, 20
WRITTEN_CALLS, WRITTEN_CALLS_HARD = 3, 5
PROMISES, KNOWN_SHARE = 5, 0.6
"""Short answers to one prompt, and the share of the words of the latest that were said before."""
POLITE = 16
"""Characters of an answer that is more than a polite word."""
STEM = 5
"""Letters after which forms of one word may differ."""
ITEM = 2
"""Words by which answers differ that are one form with another item."""
MIN_WORKING_CHARS = 80
"""A shorter answer may honestly be the same after different work ("All tests pass.")."""

SHORT = 200
"""Characters of an announcement."""
LATEST = 3
"""Of short answers, those that must say hardly anything new."""
COMPARED = 4_000
"""Characters whose words are compared."""
PUSHED, PUSHED_SHARE, PUSHED_SURE = 5, 0.5, 0.65
"""Short answers to a mere "go on", and the shares of their words, on average, that were said before."""

GO_ON = "go on"
"""What any prompt comes to that says no more than that."""
_ASSENT = frozenset(
    re.findall(
        r"\w+",
        "yes yep yeah y ok okay k sure fine right please pls just now then go on ahead continue "
        "proceed keep going carry do it that so and well agreed approved confirmed confirm done "
        "great good perfect thanks you can ja bitte mach weiter los gut oui vas si dale adelante "
        "sim da hai ",
    )
)
"""Words that push on, or agree, and ask for nothing of their own ("next" and "more" do)."""
_MOST_ASSENT = 40
"""Characters of a prompt that may be no more than assent."""

_WORD = re.compile(r"[^\W_]+")
_WRITTEN_CALL = re.compile(
    r"(?:</?(?:tool_call|tool_use|function_calls?|invoke|function)\b[^<>]*>|<\|tool_call[\w|]*>|\[/?TOOL_CALLS?\]"
    r"|<\uff5ctool\u2581call[^<>]*>|\{\s*\"(?:name|tool|function)\"\s*:\s*\"[\w.:-]+\"\s*,\s*\"(?:arguments|args|parameters"
    r"|input)\"\s*:\s*\{[^`]{0,400}\}\s*\})\s*(?:`{3,})?\s*\Z"
)
"""A call as some model's template has it, at the end of what was written."""
FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)


class Turn(msgspec.Struct, gc=False):
    """What one turn came to."""

    prompt: str
    text: str = ""
    """Its final text, until it is over."""
    answer: str = ""
    acted: bool = False
    coded: bool = False
    """It looks like code or data, not like something said."""
    code: str = ""
    """Digest of its fenced code; empty if there is hardly any."""
    told: bool = False
    """Beside its code, it says something."""
    call: bool = False
    """It ends with a tool call in writing."""
    seq: int = -1
    message: MessageId = MessageId("")

    def tell(self, text: str, seq: int, message: MessageId) -> None:
        """``text`` is its final text, for the present."""
        self.text, self.seq, self.message = text, seq, message

    def read(self) -> None:
        """It is over: see what its final text is made of."""
        text, self.text = self.text, ""
        self.answer = folded(text)
        self.coded = looks_like_code(self.answer)
        self.code, self.call = _code_in(text), _WRITTEN_CALL.search(text[-COMPARED:]) is not None
        self.told = bool(self.code) and substantial(folded(FENCED.sub("", text)))

    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.answer[:COMPARED]))

    def stems(self) -> frozenset[str]:
        return frozenset(word[:STEM] for word in self.words())


class Said(msgspec.Struct, frozen=True):
    """What the comparison of turns says."""

    rule: str
    proposes: Action
    identity: str
    proof: list[int]
    facts: Mapping[str, int] = {}
    once: bool = False
    """A guess from wording: it is said once per loop, and is never more than a nudge."""


class Turns:
    """The latest turns of one session."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._turns: deque[Turn] = deque(maxlen=max(TURNS, threshold + 1))

    def answers(self) -> list[str]:
        return [turn.answer for turn in self._turns]

    def gauges(self) -> Iterator[Gauge]:
        """Answers that are alike; calls in writing, equal code, and short answers to "go on", in a row."""
        if not self._turns or (newest := self._turns[-1]).acted:
            return
        alike, needed = self.alike(newest)
        idle = list(takewhile(lambda one: not one.acted, reversed(self._turns)))
        written = list(takewhile(lambda one: one.call, idle))
        coded = list(takewhile(lambda one: one.code == newest.code != "", idle))
        pushed = self._idle(newest) if newest.prompt == GO_ON else []
        pushed = [] if any(len(one.answer) > SHORT or one.coded for one in pushed) else pushed
        rows = (SIMILAR, alike, needed), (ANNOUNCED, written, WRITTEN_CALLS)
        for rule, row, limit in (*rows, (SIMILAR, coded, SAME_CODE), (SIMILAR, pushed, PUSHED)):
            if len(row) > 1:
                yield Gauge(rule=rule, used=len(row), limit=limit)

    def compare(self, turn: Turn) -> Iterator[Said]:
        """Take a turn in that is over; what there is to say about it, the strongest first."""
        self._turns.append(turn)
        for look in (
            self._same_answer,
            self._rotating,
            self._written_call,
            self._same_code,
            self._nothing_new,
            self._pushed,
            self._similar_answer,
        ):
            yield from look(turn)

    def _same_answer(self, turn: Turn) -> list[Said]:
        latest = list(self._turns)[-self._threshold :]
        if len(latest) < self._threshold or any(one.answer != turn.answer for one in latest):
            return []
        if not _says_something(turn):
            return []
        digest, proof = digest_text(turn.answer), [one.seq for one in latest]
        # The first of them may end honest work; what counts is what came of asking again.
        again = latest[1:]
        acted = any(one.acted for one in again)
        if not acted and all(one.prompt == turn.prompt for one in again):
            return [Said(REPEATED, Action.ABORT, digest, proof)]
        if turn.coded or (acted and len(turn.answer) < MIN_WORKING_CHARS):
            return []
        if not acted and len({one.prompt for one in latest}) == len(latest):
            # Somebody asks again in other words, and may want just this.
            before = list(self._turns)[-self._threshold - 1 : -self._threshold]
            if not before or before[0].answer != turn.answer:
                return []
        return [Said(REPEATED, Action.NUDGE, digest, proof)]

    def _idle(self, turn: Turn) -> list[Turn]:
        """The latest turns without a call, as far as their prompt is that of ``turn``."""
        same = takewhile(lambda one: not one.acted and one.prompt == turn.prompt, reversed(self._turns))
        return list(same)[::-1]

    def _rotating(self, turn: Turn) -> list[Said]:
        """A few answers to one prompt that take turns."""
        if not _says_something(turn) or len(turn.answer) < MIN_SIMILAR_CHARS:
            return []
        idle = self._idle(turn)
        if len(idle) < self._threshold or sum(one.answer == turn.answer for one in self._turns) < 2:
            return []
        counts = Counter(one.answer for one in idle)
        proof = [one.seq for one in idle]
        if len(idle) >= TURNS and min(counts.values()) > 1:
            digest = digest_text("\n".join(sorted(counts)))
            return [Said(REPEATED, Action.ABORT, digest, proof)]
        return self._similar(turn, idle)

    def _written_call(self, turn: Turn) -> list[Said]:
        """Calls are written out, as text, and nothing is called."""
        latest = list(self._turns)[-WRITTEN_CALLS:]
        if len(latest) < WRITTEN_CALLS or not all(one.call and not one.acted for one in latest):
            return []
        identity, facts = digest_text("written"), {"distinct": len({one.answer for one in latest})}
        written = [one for one in self._idle(turn) if one.call]
        if len(written) >= WRITTEN_CALLS_HARD:
            return [Said(ANNOUNCED, Action.ABORT, identity, [one.seq for one in written], facts)]
        return [Said(ANNOUNCED, Action.NUDGE, identity, [one.seq for one in latest], facts, once=True)]

    def _same_code(self, turn: Turn) -> list[Said]:
        """The same code is given again with other words around it."""
        latest = list(self._turns)[-SAME_CODE:]
        if not turn.code or len(latest) < SAME_CODE:
            return []
        if any(one.acted or one.code != turn.code for one in latest):
            return []
        return [Said(SIMILAR, Action.NUDGE, turn.code, [one.seq for one in latest], once=True)]

    def _similar_answer(self, turn: Turn) -> list[Said]:
        if turn.acted or turn.coded or len(turn.answer) < MIN_SIMILAR_CHARS:
            return []
        alike, needed = self.alike(turn)
        if len(alike) >= needed and not (_one_prompt(alike) and _items(alike)):
            return self._similar(turn, alike)
        return []

    def alike(self, turn: Turn) -> tuple[list[Turn], int]:
        """The turns without work whose answers are nearly that of ``turn``, itself included, and how many
        it takes."""
        words = turn.words()
        idle = [one for one in self._turns if not one.acted and not one.coded]
        alike = [one for one in idle if _overlap(words, one.words()) >= SIMILARITY]
        needed, window = SAME_PROMPT if _one_prompt(alike) else ANY_PROMPT
        return [one for one in alike if one in idle[-window:]], needed

    def _nothing_new(self, turn: Turn) -> list[Said]:
        """The latest answer to one prompt is made of the words of those before."""
        under_one = [one for one in self._idle(turn) if not one.coded][-TURNS:]
        if len(under_one) < SAME_PROMPT[0] or turn.acted or turn.coded or not _says_something(turn):
            return []
        stems = [one.stems() for one in under_one]
        known = frozenset[str]().union(*stems[:-1])
        if stems[-1] - known:
            return []
        words = turn.words()
        alike = [one for one in under_one if _overlap(words, one.words()) >= ONE_PROMPT_SIMILARITY]
        if len(words) >= ONE_PROMPT_WORDS and len(alike) >= TURNS:
            proof, identity = [one.seq for one in alike], digest_text(f"{turn.prompt}\n{SIMILAR}")
            return [Said(SIMILAR, Action.ABORT, identity, proof)]
        if len(words) >= ONE_PROMPT_WORDS and len(alike) >= SAME_PROMPT[0]:
            return self._similar(turn, under_one)
        if len(under_one) < PROMISES or any(len(one.answer) > SHORT for one in under_one):
            return []
        shares = [len(own & known) / len(own) for own, known in _with_known(stems)]
        return self._similar(turn, under_one) if min(shares[-LATEST:]) >= KNOWN_SHARE else []

    def _pushed(self, turn: Turn) -> list[Said]:
        """A person says nothing but "go on", and gets short answers made of words that were there before."""
        if turn.prompt != GO_ON or turn.acted:
            return []
        idle = self._idle(turn)[-TURNS:]
        if len(idle) < PUSHED or any(one.coded or len(one.answer) > SHORT for one in idle):
            return []
        stems = [one.stems() for one in idle]
        shares = [len(own & known) / max(1, len(own)) for own, known in _with_known(stems)]
        share = sum(shares[2:]) / len(shares[2:])
        if share < PUSHED_SHARE or not any(map(_says_something, idle)):
            return []
        if len(idle) >= TURNS and share >= PUSHED_SURE:
            identity = digest_text(f"{turn.prompt}\n{SIMILAR}")
            return [Said(SIMILAR, Action.ABORT, identity, [one.seq for one in idle])]
        return self._similar(turn, idle)

    def _similar(self, turn: Turn, alike: Sequence[Turn]) -> list[Said]:
        identity = digest_text(f"{turn.prompt}\n{min(one.answer for one in alike)}")
        return [Said(SIMILAR, Action.NUDGE, identity, [one.seq for one in alike], once=True)]


def _with_known(stems: Sequence[frozenset[str]]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Those of each answer, and all of the answers before it."""
    known: frozenset[str] = frozenset()
    for own in stems:
        yield own, known
        known |= own


def _one_prompt(turns: Sequence[Turn]) -> bool:
    return all(one.prompt == turns[0].prompt for one in turns)


def _items(turns: Sequence[Turn]) -> bool:
    """Each answer is the one before with another item in its place, which is new."""
    known: set[str] = set(turns[0].words())
    for before, later in pairwise(turns):
        added, gone = later.words() - before.words(), before.words() - later.words()
        fresh = [word for word in added if word not in known and not word.isdigit()]
        if not fresh or len(added) > ITEM or len(gone) > ITEM:
            return False
        known |= added
    return True


def _says_something(turn: Turn) -> bool:
    """It is more than a word that a monitor expects, and more than code that somebody wants again."""
    said = len(turn.answer) >= POLITE and not turn.coded and substantial(turn.answer)
    return turn.call or turn.told or said


def _code_in(text: str) -> str:
    if "```" not in text and "~~~" not in text:
        return ""
    blocks = "\n".join(folded(match[0]) for match in FENCED.finditer(text))
    return digest_text(blocks) if len(blocks) >= MIN_CODE_CHARS else ""


def prompt_of(text: str) -> str:
    """What a prompt asks, to be compared: all that only push on are one."""
    prompt = folded(text[: 4 * COMPARED])[:COMPARED]
    if len(prompt) <= _MOST_ASSENT and all(word in _ASSENT for word in _WORD.findall(prompt)):
        return GO_ON
    return prompt


def folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
