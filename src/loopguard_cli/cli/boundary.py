"""The one place where an exception becomes a line on standard error and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from loopguard_cli.errors import LoopguardError
from loopguard_cli.exit_codes import ExitCode


def guarded(main: Callable[[], Any]) -> NoReturn:
    """Call ``main`` and exit: with the int it returns, else 0, or as its exception says.

    ``LOOPGUARD_DEBUG=1`` shows the traceback of an unexpected exception as well.
    """
    try:
        result = main()
        if sys.stdout is not None:  # it is None where standard output was closed from the start
            sys.stdout.flush()
    except LoopguardError as error:
        _say(_with_advice(error))
        sys.exit(int(error.exit_code))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        _output_closed()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer makes its own status of it
            _output_closed()
        raise
    except Exception as error:
        if _is_typers(error):
            _say(_usage_line(error))
            sys.exit(ExitCode.USAGE)
        sys.exit(_bug(error))
    sys.exit(result if isinstance(result, int) else ExitCode.OK)


def _with_advice(error: LoopguardError) -> str:
    """What to do next ends every line, even where whoever raised it knew nothing in particular."""
    return str(error) if error.hint or not error.advice else f"{error} ({error.advice})"


def _output_closed() -> NoReturn:
    """Whoever read our output has seen enough (``| head``): nothing may be flushed on the way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(ExitCode.OUTPUT_CLOSED)


def _is_typers(error: Exception) -> bool:
    # Typer's usage errors have no common public class over the versions we allow; this duck they share.
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _usage_line(error: Any) -> str:
    context = getattr(error, "ctx", None)
    hint = f"see '{context.command_path if context is not None else 'loopguard'} --help'"
    message = getattr(error, "message", "") or error.format_message()
    if near := getattr(error, "possibilities", None):
        hint = f"did you mean {next(iter(near))}?"
    else:
        message, asks, near = error.format_message().partition(" Did you mean ")
        hint = f"did you mean {near}" if asks else hint
    message = " ".join(message.split()).rstrip(".") or "no command given"
    return f"{message[0].lower()}{message[1:]} ({hint})"


def _bug(error: Exception) -> ExitCode:
    from loopguard_cli.cli.crash import write_report

    if os.environ.get("LOOPGUARD_DEBUG"):
        import traceback

        traceback.print_exception(error)
    where = write_report(error)
    hint = (
        f"this is a bug in loopguard; details for a report: {where}"
        if where
        else "LOOPGUARD_DEBUG=1 shows more"
    )
    _say(f"unexpected {type(error).__name__} ({hint})")
    return ExitCode.INTERNAL


def _say(line: str) -> None:
    with suppress(OSError):  # Nobody may read standard error any more; the exit status still tells.
        typer.echo(f"loopguard: {_one_line(line)}", err=True)


def _one_line(text: str) -> str:
    """Names from files may hold line ends or terminal controls; neither belongs into a message."""
    return "".join(char if char.isprintable() else " " for char in text)
