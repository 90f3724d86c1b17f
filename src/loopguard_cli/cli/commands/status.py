"""``loopguard status``: runs, sessions, loops and goals of this folder."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = ("loopguard status", "loopguard status --watch", "loopguard status --json")


def command(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep the page up to date.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --watch one line whenever something changed.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Live runs of all folders, not only of this one.")
    ] = False,
) -> None:
    """Show runs, sessions, loops and goals of this folder.

    Of live runs as they are now; if there is none, of the last one. --watch also shows the current
    call, how near each rule is to its threshold, and what happened last; q or Ctrl-C ends it.
    """
    from loopguard_cli.cli import look
    from loopguard_cli.cli.render import page, status

    if watch:
        from loopguard_cli.cli.watch import watch as follow

        follow(lambda: look.look(everywhere=everywhere), look.newest_entries, as_json=as_json)
        return
    view = look.look(everywhere=everywhere)
    if as_json:
        page.show_json(view)
    else:
        page.show(status.page(view))
