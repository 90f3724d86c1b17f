"""The exit statuses, for command modules."""

from __future__ import annotations

from loopguard_cli.exit_codes import ExitCode

__all__ = ["ExitCode"]
