"""Reading the command line of an agent: where its name stands, and which words are options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import PurePath

_RUNNERS = {"npx", "npm", "pnpm", "pnpx", "bunx", "bun", "yarn", "node", "env", "nice", "timeout", "exec"}

_SEARCHED = 8
"""How many words behind a runner are looked at for the name of what it runs."""


def named(names: Collection[str], packages: Collection[str] = ()) -> Callable[[str], bool]:
    """A test for one word: a program of one of these names, with any path, or a package, with any version."""

    def test(word: str) -> bool:
        at = word.rfind("@")
        return PurePath(word).name in names or word in packages or (at > 0 and word[:at] in packages)

    return test


def position(argv: Sequence[str], is_agent: Callable[[str], bool]) -> int:
    """The index of the word that names the agent: the first, or what a runner starts; -1 if none does."""
    if not argv:
        return -1
    if is_agent(argv[0]):
        return 0
    if PurePath(argv[0]).name not in _RUNNERS:
        return -1
    return next((i for i, word in enumerate(argv[:_SEARCHED]) if is_agent(word)), -1)


def split(argv: Sequence[str], is_agent: Callable[[str], bool]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Program (with the runner in front of it) and its arguments. Unnamed: the first word is a wrapper."""
    at = max(0, position(argv, is_agent))
    program, options = tuple(argv[: at + 1]), tuple(argv[at + 1 :])
    if at and options[:1] == ("--",):  # npm exec PACKAGE -- ARGUMENTS
        program, options = (*program, "--"), options[1:]
    return program, options


def words(options: Sequence[str], valued: Collection[str]) -> list[str]:
    """Options and positionals up to ``--``, without the values of options. ``--a=b`` becomes ``--a``."""
    found: list[str] = []
    skip = False
    for word in options:
        if word == "--":
            break
        if skip:
            skip = False
            continue
        found.append(word.partition("=")[0] if word.startswith("--") else word)
        skip = word in valued
    return found
