"""Errors that a person can do something about.

Each says what happened and, in ``hint``, what to do next. The command line turns one into a single
line and its exit status; anything else that escapes is a bug and gets a crash report.
"""

from __future__ import annotations

from loopguard_cli.exit_codes import ExitCode


class LoopguardError(Exception):
    """Base. ``slug`` is the stable name under which docs/errors.md explains it."""

    slug = "failed"
    exit_code: int = ExitCode.INTERNAL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(LoopguardError):
    """The command line asks for something impossible."""

    slug = "usage"
    exit_code = ExitCode.USAGE


class UnsupportedPlatform(LoopguardError):
    """This operating system is not supported."""

    slug = "unsupported-platform"
    exit_code = ExitCode.USAGE


class ConfigError(LoopguardError):
    """A configuration file, environment variable or flag has a bad value."""

    slug = "config"
    exit_code = ExitCode.USAGE


class InputError(LoopguardError):
    """A file the user named cannot be read as what it should be."""

    slug = "input"
    exit_code = ExitCode.USAGE


class StoreError(LoopguardError):
    """The state folder cannot be used safely."""

    slug = "store"
    exit_code = ExitCode.INTERNAL


class AgentNotExecutable(LoopguardError):
    """The agent's program exists but may not be executed."""

    slug = "agent-not-executable"
    exit_code = ExitCode.NOT_EXECUTABLE


class AgentNotFound(LoopguardError):
    """There is no such program as the agent named on the command line."""

    slug = "agent-not-found"
    exit_code = ExitCode.NOT_FOUND
