"""Gemini CLI's command line: which form was asked for, and whether our extension can be loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form

is_gemini = commandline.named({"gemini", "gemini.js"}, {"@google/gemini-cli"})
"""Whether a word of a command line names Gemini CLI, as a program or as a package."""

_VALUED = {
    "--admin-policy", "--allowed-mcp-server-names", "--allowed-tools", "--approval-mode", "--delete-session",
    "--extensions", "--include-directories", "--model", "--output-format", "--policy", "--prompt",
    "--prompt-interactive", "--resume", "--session-file", "--session-id", "-e", "-i", "-m", "-o", "-p", "-r",
}  # fmt: skip
_PLAIN = {"extension", "extensions", "gemma", "hook", "hooks", "mcp", "skill", "skills"}
_INFORMS = {
    "--delete-session",
    "--help",
    "--list-extensions",
    "--list-sessions",
    "--version",
    "-h",
    "-l",
    "-v",
}
_PRINT = {"--prompt", "-p"}
_FIRST = {
    "--prompt", "--prompt-interactive", "--resume", "--session-file", "--session-id", "-i", "-p", "-r",
}  # fmt: skip
"""What belongs to the first prompt, or says which session it is for."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that starts Gemini CLI."""

    program: tuple[str, ...]
    """Up to and including its own name (``npx -y @google/gemini-cli``)."""
    options: tuple[str, ...]
    """Everything behind ``program``, as typed."""
    form: Form
    prompted: bool = False
    """The command line holds a prompt."""
    acp: bool = False
    sandboxed: bool = False
    """It runs in a container, where our hooks do not reach us."""
    chooses: bool = False
    """It names the extensions to load."""

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.program, *self.options)

    def again(self, session: str, prompt: str) -> tuple[str, ...]:
        """The command line that goes on in a session, without what stands behind ``program``."""
        return (*_lasting(self.options), "--resume", session, "--prompt", prompt)


def parse(argv: Sequence[str], *, interactive: bool) -> Invocation:
    """Take a command line apart. ``interactive``: standard input and output are a terminal."""
    program, options = commandline.split(argv, is_gemini)
    words = commandline.words(options, _VALUED)
    names = {word for word in words if word.startswith("-")}
    bare = [word for word in words if not word.startswith("-")]
    if names & _INFORMS or (bare and bare[0] in _PLAIN):
        form = Form.PLAIN
    else:
        form = Form.ONE_SHOT if names & _PRINT or not interactive else Form.SCREEN
    return Invocation(
        program=program,
        options=options,
        form=form,
        prompted=bool(bare or "--" in options or names & {"--prompt-interactive", "-i", *_PRINT}),
        acp=bool(names & {"--acp", "--experimental-acp"}),
        sandboxed=bool(names & {"--sandbox", "-s"}),
        chooses=bool(names & {"--extensions", "-e"}),
    )


def _lasting(options: Sequence[str]) -> Iterator[str]:
    """What holds for the whole session."""
    rest = iter(options)
    for word in rest:
        name, attached, _ = word.partition("=")
        if word == "--":
            return
        own = [next(rest, "")] if name in _VALUED and not attached else []
        if word.startswith("-") and name not in _FIRST:
            yield word
            yield from own
