"""Whether files may have changed while a completion was being proved.

Agents report changed files late (OpenCode at the end of a step, after the tool that claims), so tool
calls beside the claim count as well: whatever is not known to only read may have written.
"""

from __future__ import annotations

import re

from loopguard_cli.core.events import (
    AgentExited,
    Event,
    FilesChanged,
    Status,
    StatusChanged,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.ids import CallId
from loopguard_cli.goal.tools import TOOLS

_READING = frozenset(
    ("read", "view", "cat", "grep", "glob", "find", "search", "ls", "list", "listdirectory", "readfile",
     "readmanyfiles", "searchfilecontent", "webfetch", "websearch", "fetch", "lsp", "question", "skill",
     "askuserquestion", "todowrite", "todoread", "writetodos", "updateplan", "loopcheck", "loopdecide")
)  # fmt: skip
"""Tools of the agents we know that change no file."""


class Files:
    """The files of one session's work, as far as its events tell."""

    def __init__(self) -> None:
        self._changes = 0
        self._writing: set[CallId] = set()
        """Calls that run and may write."""

    def observe(self, event: Event) -> None:
        match event:
            case FilesChanged():
                self._changes += 1
            case ToolStarted() if not _only_reads(event.tool):
                self._writing.add(event.call)
            case ToolFinished() if not _only_reads(event.tool):
                self._writing.discard(event.call)
                self._changes += not event.refused
            case StatusChanged(status=Status.IDLE) | AgentExited():
                self._writing.clear()
            case _:
                pass

    @property
    def state(self) -> int:
        """Grows with every change."""
        return self._changes

    def same(self, state: int) -> bool:
        """Nothing was changed since ``state``, and nothing is about to."""
        return self._changes == state and not self._writing


def _only_reads(tool: str) -> bool:
    return re.sub(r"[^a-z]", "", tool.lower()) in _READING or tool.endswith(tuple(TOOLS))
