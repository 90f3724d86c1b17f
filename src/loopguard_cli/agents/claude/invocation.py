"""Claude Code's command line: which form was asked for, and what of it is ours to replace."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form

PACKAGE = "@anthropic-ai/claude-code"

is_claude = commandline.named({"claude", "claude.exe", "claude-code"}, {PACKAGE})
"""Whether a word of a command line names Claude Code, as a program or as a package."""


class Format(StrEnum):
    """What print mode writes to standard output."""

    TEXT = "text"
    JSON = "json"
    STREAM = "stream-json"


_ONE = {
    "--agent", "--agents", "--append-system-prompt", "--append-system-prompt-file", "--autocompact",
    "--debug-file", "--effort", "--environment", "--fallback-model", "--input-format", "--json-schema",
    "--max-budget-usd", "--max-thinking-tokens", "--max-turns", "--model", "--name", "--output-format",
    "--permission-mode", "--permission-prompt-tool", "--permission-prompts", "--plugin-dir", "--plugin-url",
    "--remote-control-session-name-prefix", "--session-id", "--setting-sources", "--settings",
    "--system-prompt", "--system-prompt-file", "--system-prompt-snapshot", "-n",
}  # fmt: skip
"""Options with one value."""
_MANY = {
    "--add-dir", "--allowed-tools", "--allowedTools", "--betas", "--disallowed-tools", "--disallowedTools",
    "--file", "--mcp-config", "--tools",
}  # fmt: skip
"""Options whose values go on until the next option."""
_MAYBE = {
    "--cloud", "--debug", "--from-pr", "--prompt-suggestions", "--remote-control", "--resume", "--teleport",
    "--worktree", "-d", "-r", "-w",
}  # fmt: skip
"""Options that take the next word if it is none."""
_BARE = {
    "--allow-dangerously-skip-permissions", "--ax-screen-reader", "--brief", "--chrome", "--continue",
    "--dangerously-skip-permissions", "--disable-slash-commands", "--exclude-dynamic-system-prompt-sections",
    "--fork-session", "--forward-subagent-text", "--ide", "--include-hook-events", "--mcp-debug",
    "--no-chrome", "--no-session-persistence", "--replay-user-messages", "--restricted",
    "--strict-mcp-config", "--tmux", "-c",
}  # fmt: skip
"""Options without a value."""

_PRINT = {"-p", "--print"}
_OURS = {"--include-partial-messages", "--input-format", "--output-format", "--verbose", *_PRINT}
"""What a driven process gets from us instead."""
_INFORMS = {"-h", "--help", "-v", "--version"}
_ELSEWHERE = {"--background", "--bg", "--cloud", "--desktop", "--environment", "--teleport"}
"""The session then runs in another process than this one."""
_HOOKLESS = {"--bare", "--safe-mode"}
_KNOWN = _ONE | _MANY | _MAYBE | _BARE | _PRINT | _OURS | _INFORMS | _ELSEWHERE | _HOOKLESS
_PLAIN = {
    "agents", "auth", "auto-mode", "config", "doctor", "gateway", "import", "install", "kill", "logs", "mcp",
    "migrate-installer", "plugin", "plugins", "purge", "rm", "setup-token", "stop", "ultrareview", "update",
    "upgrade",
}  # fmt: skip
_REMOTE = {"attach", "respawn"}


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that starts Claude Code."""

    program: tuple[str, ...]
    """Up to and including its own name (``npx -y @anthropic-ai/claude-code``)."""
    options: tuple[str, ...]
    """Everything behind ``program``, as typed."""
    form: Form
    prompt: str = ""
    """What is to be done, as far as the command line says it."""
    kept: tuple[str, ...] = ()
    """Of ``options``: without the prompt and without those that are ours when we drive it."""
    format: Format = Format.TEXT
    partial: bool = False
    """``--include-partial-messages``"""
    verbose: bool = False
    streams_in: bool = False
    """``--input-format stream-json``: another program talks to it."""
    understood: bool = True
    """No option is unknown to us: what is a value and what is the prompt is certain."""
    max_turns: str = ""
    bare: bool = False
    """``--bare``: no hook is ever called."""
    safe: bool = False
    """``--safe-mode``: no hook of any settings or plugin is called; those of a driver are."""
    model: tuple[str, ...] = ()
    """The option that chooses the model."""

    @property
    def printable(self) -> bool:
        """Claude Code itself prints a stream only in whole; what it says otherwise is its own to say."""
        return self.format is not Format.STREAM or self.verbose

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.program, *self.options)


class _Option(msgspec.Struct, frozen=True):
    """An option with the words that belong to it, or a bare word (``name`` is empty)."""

    name: str
    words: tuple[str, ...]

    @property
    def value(self) -> str:
        """The first value; empty without one."""
        first, _, attached = self.words[0].partition("=")
        if attached and first == self.name:
            return attached
        return self.words[1] if len(self.words) > 1 else ""


def parse(argv: Sequence[str], *, interactive: bool) -> Invocation:
    """Take a command line apart. ``interactive``: standard input and output are a terminal."""
    program, options = commandline.split(argv, is_claude)
    taken = _take(options)
    names = {option.name for option in taken}
    words = [option.words[0] for option in taken if not option.name]
    values = {option.name: option.value for option in taken if option.name}
    return Invocation(
        program=program,
        options=options,
        form=_form(names, words, interactive=interactive),
        prompt=next(iter(words), ""),
        kept=tuple(word for o in taken if o.name and o.name not in _OURS for word in o.words),
        format=_format(values.get("--output-format", "")),
        partial="--include-partial-messages" in names,
        verbose="--verbose" in names,
        streams_in=values.get("--input-format", "") == Format.STREAM,
        understood=names <= _KNOWN | {""},
        max_turns=values.get("--max-turns", ""),
        bare="--bare" in names,
        safe="--safe-mode" in names,
        model=("--model", values["--model"]) if values.get("--model") else (),
    )


def _form(names: set[str], words: Sequence[str], *, interactive: bool) -> Form:
    first = next(iter(words), "")
    if names & _INFORMS or first in _PLAIN:
        return Form.PLAIN
    if names & _ELSEWHERE or first in _REMOTE:
        return Form.REMOTE
    return Form.ONE_SHOT if names & _PRINT or not interactive else Form.SCREEN


def _format(value: str) -> Format:
    return Format(value) if value in list(Format) else Format.TEXT


def _take(options: Sequence[str]) -> list[_Option]:
    """The command line as Claude Code's own parser groups it."""
    taken: list[_Option] = []
    rest = list(options)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*taken, *(_Option("", (other,)) for other in rest)]
        if not word.startswith("-") or word == "-":
            taken.append(_Option("", (word,)))
            continue
        name, attached, _ = word.partition("=")
        values: list[str] = []
        if not attached:
            values = _values(name, rest)
            del rest[: len(values)]
        taken.append(_Option(name, (word, *values)))
    return taken


def _values(name: str, rest: Sequence[str]) -> list[str]:
    bare = [word.startswith("-") and word != "-" for word in rest]
    until = bare.index(True) if True in bare else len(rest)
    if name in _MANY:
        return list(rest[:until])
    if name in _ONE:
        return list(rest[:1])
    return list(rest[: min(1, until)]) if name in _MAYBE else []
