"""Errors that a person can do something about.

Each says what happened and, in ``hint``, what to do next. The command line turns one into a single
line and its exit status; anything else that escapes is a bug and gets a crash report.
"""

from __future__ import annotations

from loopguard_cli.exit_codes import ExitCode


class LoopguardError(Exception):
    """Base. ``slug`` is the stable name under which docs/errors.md explains it."""

    slug = "failed"
    advice = "'loopguard doctor' looks for the cause"
    """What to do next where the error itself has no ``hint``; empty where its message says so."""
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
    advice = "'loopguard --help' shows what is possible"
    exit_code = ExitCode.USAGE


class UnsupportedPlatform(LoopguardError):
    """This operating system is not supported."""

    slug = "unsupported-platform"
    exit_code = ExitCode.USAGE


class ConfigError(LoopguardError):
    """A configuration file, environment variable or flag has a bad value."""

    slug = "config"
    advice = "put it right; 'loopguard config show' lists the settings"
    exit_code = ExitCode.USAGE


class InputError(LoopguardError):
    """A file the user named cannot be read as what it should be."""

    slug = "input"
    advice = "put it right, or name another one"
    exit_code = ExitCode.USAGE


class StoreError(LoopguardError):
    """The state folder cannot be used safely."""

    slug = "store"
    advice = "'loopguard doctor' looks at the state folder"
    exit_code = ExitCode.INTERNAL


class AgentNotExecutable(LoopguardError):
    """The agent's program exists but may not be executed."""

    slug = "agent-not-executable"
    advice = "put its permissions right, or name another program"
    exit_code = ExitCode.NOT_EXECUTABLE


class AgentNotFound(LoopguardError):
    """There is no such program as the agent named on the command line."""

    slug = "agent-not-found"
    advice = "install it, or name it with its path"
    exit_code = ExitCode.NOT_FOUND
