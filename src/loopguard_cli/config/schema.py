"""What can be configured: the sections put together, and each setting as a dotted key with its type.

A section is a frozen msgspec struct that lives with what it configures; it becomes configurable by
being a field of `Settings`. Everything else (files, environment, flags, schema, documentation)
follows from the structs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
import msgspec.inspect

from loopguard_cli.core.noticing import NotifySettings
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.core.telemetry import OtelSettings
from loopguard_cli.core.terminal import TerminalSettings
from loopguard_cli.core.watchdog import WatchdogSettings
from loopguard_cli.goal.settings import GoalSettings

_ANY_NUMBER = 1e9


class Layer(StrEnum):
    """Where a value comes from; later ones win."""

    DEFAULT = "default"
    PRESET = "preset"
    USER = "user file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    FLAG = "flag"
    LIVE = "live command"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of ``loopguard.toml``."""

    guard: GuardSettings = GuardSettings()
    goal: GoalSettings = GoalSettings()
    notify: NotifySettings = NotifySettings()
    otel: OtelSettings = OtelSettings()
    terminal: TerminalSettings = TerminalSettings()
    watchdog: WatchdogSettings = WatchdogSettings()


PERSONAL = frozenset({"goal.audit_command", "notify.command", "notify.webhook", "otel.endpoint"})
"""Settings that run a program or send something away. A project file may come with a cloned repository,
or be written by the agent, so there they are not honoured."""


class Leaf(NamedTuple):
    """One setting."""

    key: str
    """Dotted, as ``--set`` takes it."""
    type: Any
    default: Any

    @property
    def is_table(self) -> bool:
        """A table with keys of the user's choice (tool names, say)."""
        return get_origin(_bare(self.type)) is dict


@cache
def leaves() -> Mapping[str, Leaf]:
    """Every setting by its key, in the order of the structs."""
    return {leaf.key: leaf for leaf in _walk(Settings, "")}


@cache
def sections() -> frozenset[str]:
    """The keys of all tables on the way to a setting; the root is the empty one."""
    return frozenset(key[:end] for key in leaves() for end in _dots(key)) | {""}


def find(path: tuple[str, ...]) -> tuple[Leaf, str] | None:
    """The setting at a path, and for tables the user's own key inside it (may have dots)."""
    for end in range(len(path), 0, -1):
        leaf = leaves().get(".".join(path[:end]))
        if leaf is not None:
            rest = ".".join(path[end:])
            return (leaf, rest) if not rest or leaf.is_table else None
    return None


def value_of(section: msgspec.Struct, key: str) -> Any:
    """The value of a setting in ``Settings``, or in the section that its key begins with."""
    names = key.split(".")
    value: Any = section
    for name in names if isinstance(section, Settings) else names[1:]:
        value = getattr(value, name)
    return value


def near(word: str, known: Iterable[str]) -> str:
    """The known word nearest to a mistyped one; empty if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1)), "")


def convert(kind: Any, value: Any, *, from_text: bool = False) -> Any:
    """A value as its setting wants it; `ValueError` says what was expected instead.

    ``from_text``: the value comes from the environment or a flag, so lists are ``a,b`` and tables
    ``key=value,key=value``.
    """
    if from_text and isinstance(value, str):
        value = _from_text(kind, value)
    try:
        made = msgspec.convert(value, kind, strict=not from_text)
    except msgspec.ValidationError:
        made = None
    if made is None or (isinstance(made, float) and not math.isfinite(made)):
        raise ValueError(f"expected {expected(kind)}, got {_shown(value)}")
    return made


def expected(kind: Any) -> str:
    """A type in words: ``a whole number from 2 to 1000``."""
    return _one(msgspec.inspect.type_info(kind))


def _one(info: Any) -> str:
    match info:
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.EnumType(cls=cls):
            return "one of " + ", ".join(member.value for member in cls)
        case msgspec.inspect.IntType():
            return f"a whole number{_range(info)}"
        case msgspec.inspect.FloatType():
            return f"a number{_range(info)}"
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item):
            return (
                "a list of texts"
                if isinstance(item, msgspec.inspect.StrType)
                else f"a list, each {_one(item)}"
            )
        case msgspec.inspect.DictType(value_type=item):
            return f"a table, each value {_one(item)}"
    return "a text"


def _range(info: Any) -> str:
    """The bounds of a number in words; an upper one beyond any sensible value is left out."""
    upper = info.le if info.le is not None and info.le < _ANY_NUMBER else None
    if info.ge is not None and upper is not None:
        return f" from {info.ge:g} to {upper:g}"
    if info.gt is not None and info.lt is not None:
        return f" between {info.gt:g} and {info.lt:g}"
    bounds = ((" of at least", info.ge), (" above", info.gt), (" of at most", upper), (" below", info.lt))
    return " and".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)


def _from_text(kind: Any, text: str) -> Any:
    origin = get_origin(_bare(kind))
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if origin in (tuple, list):
        return parts
    if origin is dict:
        pairs = [part.rpartition("=") for part in parts]
        if not all(equals for _, equals, _ in pairs):
            return text
        return {key.strip(): value.strip() for key, _, value in pairs}
    return text.strip()


def _bare(kind: Any) -> Any:
    """Without ``Annotated``."""
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list" if len(repr(value)) > 40 else repr(value)
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 42 else f"{text[:40]}…"


def _walk(struct: type[msgspec.Struct], prefix: str) -> Iterator[Leaf]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        kind = hints[field.name]
        key = f"{prefix}{field.name}"
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _walk(kind, f"{key}.")
        else:
            default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            yield Leaf(key, kind, default)


def _dots(key: str) -> list[int]:
    return [index for index, char in enumerate(key) if char == "."]
