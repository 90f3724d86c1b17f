"""The grammar of goal commands: one text in, one typed command or one refusal out.

The same grammar serves the command line, the slash command and the control socket. A word of
command followed by text it does not take is refused with a hint: it never becomes an objective
that would replace the running goal.
"""

from __future__ import annotations

import re

import msgspec

from loopguard_cli.goal import words
from loopguard_cli.goal.flags import HELP, Line, Mistake, Options, parse
from loopguard_cli.goal.model import MAX_ARGUMENTS, MAX_LIVE_GOALS, MAX_OBJECTIVE


class Command(msgspec.Struct, frozen=True):
    """Base of all commands."""


class Show(Command, frozen=True):
    """``status``, ``history`` or ``list``."""

    what: str


class Pause(Command, frozen=True):
    pass


class Resume(Command, frozen=True):
    options: Options = Options()


class Clear(Command, frozen=True):
    pass


class Create(Command, frozen=True):
    objective: str
    options: Options = Options()
    add: bool = False
    """Keep the present goal in the background instead of replacing it."""


class Edit(Command, frozen=True):
    objective: str = ""
    options: Options = Options()


class Focus(Command, frozen=True):
    reference: str = ""


class Sequence(Command, frozen=True):
    objectives: tuple[str, ...]
    options: Options = Options()


class Refused(Command, frozen=True):
    """No command. ``code`` is stable."""

    code: str
    text: str
    mistakes: tuple[Mistake, ...] = ()


CLEAR_WORDS = ("clear", "stop", "off", "reset", "none", "cancel")
BARE_WORDS = ("status", "history", "list", "pause", "resume", *CLEAR_WORDS)
"""Commands that take no text."""
TEXT_WORDS = ("edit", "add", "focus", "sequence")
_OLD_WORDS = {"sisyphus": "sequence"}

_WORD = re.compile(r"(\S+)\s*")
_ITEM_END = re.compile(r";|\r\n|\n|\r")

TOO_LONG = f"an objective has at most {MAX_OBJECTIVE} characters"


def read(text: object, verb: str = "") -> Command:
    """The command in ``text``; with ``verb`` (``set``, ``add`` …) the text is only its argument."""
    if not isinstance(text, str):
        return Refused("arguments_not_text", "the arguments of a goal command must be text")
    if len(text) > MAX_ARGUMENTS:
        return Refused("arguments_too_long", f"a goal command has at most {MAX_ARGUMENTS} characters")
    text = text.strip()
    if not verb:
        verb, text = _verb(text)
    if verb in BARE_WORDS:
        return _bare(verb, text)
    match verb:
        case "edit":
            return _edit(text)
        case "focus":
            return Focus(words.unquote(text))
        case "sequence":
            return _sequence(text)
        case _:
            return _create(text, add=verb == "add")


def _verb(text: str) -> tuple[str, str]:
    """The word of command (``set`` for a plain objective) and what follows it."""
    if not text:
        return "status", ""
    first = _WORD.match(text)
    word = first[1].lower() if first else ""
    word = _OLD_WORDS.get(word, word)
    if first is not None and (word in BARE_WORDS or word in TEXT_WORDS):
        return word, text[first.end() :]
    return "set", text


def _bare(verb: str, rest: str) -> Command:
    line = parse(rest)
    if line.words or (rest and verb != "resume"):
        return Refused(
            "reserved_word",
            f"'{verb}' is a command and takes no text; nothing was changed. "
            "To set an objective that begins with this word, put it in quotes.",
        )
    if verb == "resume":
        return _wrong(line) or Resume(line.options)
    if verb == "pause":
        return Pause()
    return Clear() if verb in CLEAR_WORDS else Show(verb)


def _create(text: str, *, add: bool) -> Command:
    line = parse(text)
    if (refused := _wrong(line)) is not None:
        return refused
    if not line.words:
        return Refused("no_objective", "no objective given: say what is to be achieved")
    return Create(line.words, line.options, add)


def _edit(text: str) -> Command:
    line = parse(text)
    return _wrong(line, length=False) or Edit(words.unquote(line.raw), line.options)


def _sequence(text: str) -> Command:
    line = parse(text)
    items = tuple(item for item in (words.unquote(part) for part in _ITEM_END.split(line.raw)) if item)
    if any(len(item) > MAX_OBJECTIVE for item in items):
        return Refused("objective_too_long", TOO_LONG)
    if (refused := _wrong(line, length=False)) is not None:
        return refused
    if not items:
        return Refused("no_objectives", "no objectives given: separate them by ';' or line breaks")
    if len(items) > MAX_LIVE_GOALS:
        return Refused("too_many_goals", f"a sequence has at most {MAX_LIVE_GOALS} goals")
    return Sequence(items, line.options)


def _wrong(line: Line, *, length: bool = True) -> Refused | None:
    mistakes = tuple(m for m in line.mistakes if length or m.kind != "objective_too_long")
    if not mistakes:
        return None
    return Refused("flags", "\n".join([*(m.text for m in mistakes), HELP]), mistakes)
