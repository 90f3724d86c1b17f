"""Copilot CLI's command line: which form was asked for, and what of it a continuation takes over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form

PACKAGE = "@github/copilot"

is_copilot = commandline.named({"copilot", "copilot.exe"}, {PACKAGE})
"""Whether a word of a command line names Copilot CLI, as a program or as a package."""

_ONE = {
    "--add-dir", "--add-github-mcp-tool", "--add-github-mcp-toolset", "--additional-mcp-config", "--agent",
    "--attachment", "--auto-tier", "--context", "--disable-mcp-server", "--dynamic-retrieval",
    "--enable-mcp-server", "--environment-compute-id", "--environment-host", "--extension-sdk-path",
    "--interactive", "--log-dir", "--log-level", "--max-ai-credits", "--max-autopilot-continues",
    "--mcp-github-auth", "--mode", "--model", "--name", "--output-format", "--plugin-dir", "--prefer-version",
    "--prompt", "--reasoning-effort", "--session-id", "--stream", "--usage-output-file", "-C",
}  # fmt: skip
"""Options with one value."""
_MANY = {
    "--allow-tool", "--allow-url", "--available-tools", "--deny-tool", "--deny-url", "--excluded-tools",
    "--secret-env-vars",
}  # fmt: skip
"""Options whose values go on until the next option."""
_MAYBE = {"--bash-env", "--connect", "--mouse", "--resume", "--share", "--worktree"}
"""Options that take the next word if it is none."""
_LONG = {
    "-i": "--interactive", "-n": "--name", "-p": "--prompt", "-r": "--resume", "-s": "--silent",
    "-v": "--version", "-w": "--worktree", "-h": "--help",
}  # fmt: skip

_PLAIN = {
    "app", "completion", "config", "help", "init", "instruction", "login", "lsp", "mcp", "memories", "plugin",
    "sandbox", "sessions", "skill", "update", "version", "workflow",
}  # fmt: skip
_INFORMS = {"--help", "--version"}
_SERVES = {"--headless", "--server", "--ui-server", "--environment-host"}
_ELSEWHERE = {"--connect", "--cloud"}
_FIRST = {
    "--attachment", "--continue", "--fleet", "--name", "--plan", "--prompt", "--resume", "--session-id",
    "--share", "--share-gist", "--worktree",
}  # fmt: skip
"""What belongs to the first prompt, or says which session it is for."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that starts Copilot CLI."""

    program: tuple[str, ...]
    """Up to and including its own name (``npx -y @github/copilot``)."""
    options: tuple[str, ...]
    """Everything behind ``program``, as typed."""
    form: Form
    prompted: bool = False
    """The command line holds a prompt."""
    acp: bool = False
    json: bool = False
    """``--output-format json``"""
    lasting: tuple[str, ...] = ()
    """Of ``options``: what holds for the whole session."""

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.program, *self.options)

    def again(self, session: str, prompt: str) -> tuple[str, ...]:
        """The command line that goes on in a session, without what stands behind ``program``."""
        return (*self.lasting, f"--resume={session}", "--prompt", prompt)


class _Option(msgspec.Struct, frozen=True):
    """An option with the words that belong to it, or a bare word (``name`` is empty)."""

    name: str
    value: str
    words: tuple[str, ...]


def parse(argv: Sequence[str], *, interactive: bool) -> Invocation:
    """Take a command line apart. ``interactive``: standard input and output are a terminal."""
    program, options = commandline.split(argv, is_copilot)
    taken = list(_take(options))
    values = {option.name: option.value for option in taken if option.name}
    bare = [option.words[0] for option in taken if not option.name]
    prompted = "--prompt" in values
    if values.keys() & _INFORMS or (bare and bare[0] in _PLAIN):
        form = Form.PLAIN
    elif values.keys() & _ELSEWHERE:
        form = Form.REMOTE
    elif values.keys() & _SERVES:
        form = Form.SERVER
    else:
        screen = not prompted and ("--interactive" in values or interactive)
        form = Form.SCREEN if screen else Form.ONE_SHOT
    return Invocation(
        program=program,
        options=options,
        form=form,
        prompted=prompted,
        acp="--acp" in values,
        json=values.get("--output-format", "") == "json",
        lasting=tuple(word for o in taken if o.name and o.name not in _FIRST for word in o.words),
    )


def _take(options: Sequence[str]) -> Iterator[_Option]:
    rest = list(options)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            yield _Option("", "", (word,))
            continue
        name, attached, value = word.partition("=")
        name = _LONG.get(name, name)
        if not attached and len(word) > 2 and word[:2] in _LONG and word[1] != "-":
            name, attached, value = _LONG[word[:2]], "=", word[2:]  # -pTEXT
        own = [] if attached else _values(name, rest)
        del rest[: len(own)]
        yield _Option(name, value or next(iter(own), ""), (word, *own))


def _values(name: str, rest: Sequence[str]) -> list[str]:
    """The words behind an option that are its values."""
    if name in _ONE:
        return list(rest[:1])
    dashed = [word.startswith("-") for word in rest]
    until = dashed.index(True) if True in dashed else len(rest)
    if name in _MANY:
        return list(rest[:until])
    return list(rest[: min(1, until)]) if name in _MAYBE else []
