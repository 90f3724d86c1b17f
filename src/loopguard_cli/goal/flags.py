"""The flags of goal commands: names, what they set, and how mistakes in them are reported.

All mistakes of a line are reported together, and a line with one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from loopguard_cli.goal import words
from loopguard_cli.goal.model import MAX_CRITERIA, MAX_OBJECTIVE, Check, Limits, Mode
from loopguard_cli.goal.numbers import money, positive_integer, token_budget


class Mistake(msgspec.Struct, frozen=True, array_like=True):
    """One thing wrong with a line. ``kind`` is stable."""

    kind: str
    flag: str
    text: str


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What flags change; None and empty leave a setting as it is."""

    limits: dict[str, float] = {}
    """Fields of `Limits` by name."""
    success: str | None = None
    constraints: str | None = None
    mode: Mode | None = None
    checks: tuple[Check, ...] = ()

    def apply(self, limits: Limits) -> Limits:
        return replace(limits, **self.limits)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line taken apart."""

    words: str = ""
    """All that is no flag: words without their quotes, joined by single blanks."""
    raw: str = ""
    """The same as it was typed, with line breaks and inner quotes."""
    options: Options = Options()
    mistakes: tuple[Mistake, ...] = ()


class Flag(msgspec.Struct, frozen=True):
    """One flag of the grammar."""

    names: tuple[str, ...]
    argument: str
    """Placeholder in help texts."""
    help: str
    read: Callable[[str], Any]
    """The value, or None when the text is none."""
    wrong: str
    """Kind of mistake for a text that is no value."""
    target: str
    scale: float = 1


def _text(value: str) -> str | None:
    return value.strip() or None


def _mode(value: str) -> Mode | None:
    name = value.strip().lower()
    return Mode.ORDERED if name == "sisyphus" else Mode(name) if name in tuple(Mode) else None


def _integer(name: str, text: str, target: str, scale: float = 1, *, argument: str = "N") -> Flag:
    return Flag((name,), argument, text, positive_integer, "invalid_positive_integer", target, scale)


def _tokens(name: str, text: str, target: str) -> Flag:
    return Flag((name,), "N[k|m]", text, token_budget, "invalid_token_budget", target)


def _words(names: tuple[str, ...], argument: str, text: str, target: str) -> Flag:
    return Flag(names, argument, text, _text, "missing_value", target)


FLAGS: tuple[Flag, ...] = (
    _integer("--max-turns", "Continuations at most.", "turns"),
    _integer("--max-minutes", "Minutes in force at most.", "seconds", 60),
    _integer("--max-duration-ms", "The same in milliseconds.", "seconds", 1e-3),
    _integer("--max-tokens", "Context tokens at most.", "context_tokens"),
    _tokens("--budget", "The same in short: 150k, 1.5m.", "context_tokens"),
    _tokens("--max-total-tokens", "Tokens of all requests together.", "total_tokens"),
    Flag(("--max-cost",), "USD", "Cost of all requests together.", money, "invalid_cost", "cost"),
    _integer("--cooldown-ms", "Least time between continuations.", "cooldown", 1e-3),
    _integer("--no-progress-threshold", "Fewer output tokens are a low turn.", "low_output"),
    _integer("--no-progress-turns", "Low turns in a row until it pauses.", "low_output_turns"),
    _integer("--no-tool-turns", "Turns without tools until it pauses.", "talk_turns"),
    _words(("--success", "--success-criteria"), "TEXT", "When it counts as done.", "success"),
    _words(("--constraints", "--non-goals"), "TEXT", "What must not be done.", "constraints"),
    Flag(("--mode",), "MODE", "normal, or ordered: one step after the other.", _mode, "invalid_mode", "mode"),
    _words(("--check",), "CMD", "Command that must succeed; may be repeated.", "check"),
    _integer("--check-timeout", "For all checks.", "timeout", argument="SECONDS"),
)

BY_NAME: dict[str, Flag] = {name: flag for flag in FLAGS for name in flag.names}
_LIMITS = frozenset(Limits.__struct_fields__)

_SAYS = {
    "unsupported_flag": "{flag} is not a flag of this command",
    "missing_value": "{flag} needs a value",
    "invalid_positive_integer": "{flag} needs a whole number from 1",
    "invalid_token_budget": "{flag} needs a number of tokens such as 150000, 150k or 1.5m",
    "invalid_cost": "{flag} needs an amount in US dollars such as 2.50",
    "invalid_mode": "{flag} is either normal or ordered",
    "objective_too_long": f"the objective is longer than {MAX_OBJECTIVE} characters",
    "success_too_long": f"the success criteria are longer than {MAX_CRITERIA} characters",
    "constraints_too_long": f"the constraints are longer than {MAX_CRITERIA} characters",
}

HELP = (
    "Flags: " + " ".join(f"{flag.names[0]} {flag.argument}" for flag in FLAGS) + ". "
    'Put values of several words in quotes: --success "tests pass".'
)


def mistake(kind: str, flag: str = "") -> Mistake:
    return Mistake(kind, flag, _SAYS[kind].format(flag=flag))


def parse(line: str) -> Line:
    """Take ``line`` apart into words and flags."""
    reader = _Reader(line)
    reader.run()
    return reader.result()


class _Reader:
    def __init__(self, line: str) -> None:
        self.line = line
        self.words = words.split(line)
        self.at = 0
        self.kept: list[words.Word] = []
        self.pieces: list[str] = []
        self.from_ = 0
        self.mistakes: list[Mistake] = []
        self.values: dict[str, Any] = {}
        self.commands: list[str] = []

    def run(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if not word.flag:
                self.kept.append(word)
                continue
            self.pieces.append(self.line[self.from_ : word.start].strip())
            self._flag(word)
            self.from_ = self.words[self.at - 1].end
        self.pieces.append(self.line[self.from_ :].strip())

    def _flag(self, word: words.Word) -> None:
        flag = BY_NAME.get(word.flag)
        value = word.value if word.value is not None else self._following()
        if flag is None:
            self.mistakes.append(mistake("unsupported_flag", word.flag))
        elif value is None:
            self.mistakes.append(mistake("missing_value", word.flag))
        elif (read := flag.read(value)) is None:
            self.mistakes.append(mistake(flag.wrong, word.flag))
        elif flag.target == "check":
            self.commands.append(read)
        else:
            self.values[flag.target] = read * flag.scale if flag.scale != 1 else read

    def _following(self) -> str | None:
        """The next word, taken as the value; a flag is never taken."""
        if self.at == len(self.words) or self.words[self.at].flag:
            return None
        self.at += 1
        return self.words[self.at - 1].text

    def result(self) -> Line:
        text = " ".join(word.text for word in self.kept).strip()
        for name, value, most in (
            ("objective", text, MAX_OBJECTIVE),
            ("success", self.values.get("success", ""), MAX_CRITERIA),
            ("constraints", self.values.get("constraints", ""), MAX_CRITERIA),
        ):
            if len(value) > most:
                self.mistakes.append(mistake(f"{name}_too_long"))
        timeout = float(self.values.get("timeout", Check(command="").timeout))
        return Line(
            words=text,
            raw=" ".join(piece for piece in self.pieces if piece),
            options=Options(
                limits={k: v for k, v in self.values.items() if k in _LIMITS},
                success=self.values.get("success"),
                constraints=self.values.get("constraints"),
                mode=self.values.get("mode"),
                checks=tuple(Check(command=c, timeout=timeout) for c in self.commands),
            ),
            mistakes=tuple(self.mistakes),
        )
