"""A command group whose commands import their module only when they run or explain themselves.

``loopguard --help``, ``--version`` and the completion of a command's name read nothing but the
table in `cli.app`, so the start-up time of one command never depends on the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
import typer.core
import typer.main

from loopguard_cli.errors import UsageError


class Entry(NamedTuple):
    """One line of the command table."""

    name: str
    module: str
    """Has ``command``, a function with typer annotations, or ``app``, a `typer.Typer` with
    subcommands; ``EXAMPLES``, lines for its help and man page; optionally ``CONTEXT``, typer context
    settings for ``command``."""
    summary: str
    section: str


class LazyGroup(typer.core.TyperGroup):
    """Looks its commands up in ``entries``; the contexts are typer's own and pass through."""

    entries: Sequence[Entry] = ()
    _summaries_suffice = False

    def list_commands(self, ctx: Any) -> list[str]:
        return [entry.name for entry in self.entries]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for entry in self.entries:
            if entry.name == cmd_name:
                return _placeholder(entry) if self._summaries_suffice else load(entry)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not ctx.resilient_parsing:
            raise UsageError(f"no such command {name!r}", nearest(name, names) or "see 'loopguard --help'")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self._summaries_suffice = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._summaries_suffice = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(len(entry.name) for entry in self.entries)
        for section in dict.fromkeys(entry.section for entry in self.entries):
            with formatter.section(section):
                formatter.write_dl(
                    [(e.name.ljust(width), e.summary) for e in self.entries if e.section == section]
                )


def load(entry: Entry) -> Any:
    """Import the command's module and make typer's command object of it."""
    module = importlib.import_module(entry.module)
    app = getattr(module, "app", None) or _typer_of(entry, module.command, getattr(module, "CONTEXT", None))
    command = typer.main.get_command(app)
    command.name = entry.name
    command.short_help = entry.summary
    command.epilog = epilog(getattr(module, "EXAMPLES", ()))
    _without_braces(command)
    return command


def _without_braces(command: Any) -> None:
    """``TOOL``, where typer would write ``{TOOL}``: braces are for a choice, ``{on|off}``."""
    pieces = command.collect_usage_pieces
    command.collect_usage_pieces = lambda context: [
        piece[1:-1] if piece.startswith("{") and "|" not in piece else piece for piece in pieces(context)
    ]
    for below in getattr(command, "commands", {}).values():
        _without_braces(below)


def epilog(examples: Sequence[str]) -> str:
    """Examples as typer shows them below its help; the mark keeps it from wrapping the lines."""
    return "\n".join(["Examples:", "", "\b", *(f"  {example}" for example in examples)]) if examples else ""


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint naming the known word nearest to a mistyped one; empty if none is near."""
    from difflib import get_close_matches

    matches = get_close_matches(word, known, n=1)
    return f"did you mean {matches[0]!r}?" if matches else ""


def _placeholder(entry: Entry) -> Any:
    return typer.main.get_command(_typer_of(entry, lambda: None, None))


def _typer_of(entry: Entry, function: Any, context: dict[str, Any] | None) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(entry.name, short_help=entry.summary, context_settings=context)(function)
    return app
