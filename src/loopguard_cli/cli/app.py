"""The ``loopguard`` command: its table of commands, and the way in.

A new command is one module in `cli.commands` and one line in `COMMANDS`; then run ``make generate``
for its man page.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
import typer.main

from loopguard_cli import __version__
from loopguard_cli.cli.boundary import guarded
from loopguard_cli.cli.lazy import Entry, LazyGroup, epilog
from loopguard_cli.errors import UnsupportedPlatform

_SUPERVISE, _LOOK, _STEER, _ANALYSE, _SET_UP = "Supervise", "Look", "Steer a live run", "Analyse", "Set up"


def _entry(name: str, summary: str, section: str) -> Entry:
    return Entry(name, f"loopguard_cli.cli.commands.{name.replace('-', '_')}", summary, section)


COMMANDS = (
    _entry("run", "Launch a coding agent under supervision.", _SUPERVISE),
    _entry("goal", "Set a goal that is pursued until it is proven done.", _SUPERVISE),
    _entry("demo", "Watch a looping agent being stopped and set to work again.", _SUPERVISE),
    _entry("status", "Show runs, sessions, loops and goals of this folder.", _LOOK),
    _entry("history", "Show what happened, oldest first.", _LOOK),
    _entry("inspect", "Show recent tool calls with counts and blocks.", _LOOK),
    _entry("mode", "Switch the guard: on, observe or off.", _STEER),
    _entry("reset", "Forget the counters and blocks of the guard.", _STEER),
    _entry("mute", "Let the guard only take notes.", _STEER),
    _entry("check", "Ask how often one tool call was made already.", _STEER),
    _entry("decide", "Justify a blocked call, change the approach, or give up.", _STEER),
    _entry("scan", "Find loops in the past sessions on this machine.", _ANALYSE),
    _entry("report", "Show one session as a page for the browser.", _ANALYSE),
    _entry("replay", "Feed a recorded trace through the guard.", _ANALYSE),
    _entry("eval", "Measure the guard on a folder of labelled traces.", _ANALYSE),
    _entry("config", "Show, change and import settings.", _SET_UP),
    _entry("agents", "Show which agents can be guarded, and how far.", _SET_UP),
    _entry("doctor", "Say what works here, what does not, and what to do.", _SET_UP),
    _entry("mcp", "Serve the agent's tools over the Model Context Protocol.", _SET_UP),
    _entry("install-skill", "Write advice about repetition into the agent's folder.", _SET_UP),
    _entry("uninstall-hooks", "Take out what was written into the agent's folders.", _SET_UP),
)

EXAMPLES = (
    "loopguard run -- opencode",
    'loopguard run -- opencode run "fix the build"',
    'loopguard goal set "make the tests pass" --check "make test"',
    "loopguard status",
)


class _Commands(LazyGroup):
    entries = COMMANDS


root = typer.Typer(
    name="loopguard",
    cls=_Commands,
    epilog=epilog(EXAMPLES),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loopguard {__version__}")
        raise typer.Exit


@root.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Supervise a coding agent: stop its loops, resume its work, drive a goal to a proven end."""
    if sys.platform == "win32":
        raise UnsupportedPlatform("Windows is not supported yet", "run loopguard and the agent inside WSL")


def command_tree() -> Any:
    """Typer's command object of the whole program, for the generators of completions and man pages."""
    return typer.main.get_command(root)


COMPLETION_VARIABLE = "_LOOPGUARD_COMPLETE"
"""What typer's completion scripts set when they ask for words."""


def _complete_without_rich() -> None:
    """Typer loads rich to take its markup out of help texts before a shell shows them.

    Ours have no markup, brackets in them are meant, and the shell waits.
    """
    from typer import _completion_classes

    vars(_completion_classes)["_sanitize_help_text"] = str


def run() -> None:
    """Run the command line; exits the process."""
    if COMPLETION_VARIABLE in os.environ:
        _complete_without_rich()
    guarded(lambda: command_tree().main(prog_name="loopguard", standalone_mode=False))
