"""Man pages from the command tree: what a command says about itself, in roff."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from loopguard_cli import __version__
from loopguard_cli.cli.app import COMMANDS, command_tree
from loopguard_cli.cli.environment import FILES, SETTING_PATTERN, VARIABLES
from loopguard_cli.cli.lazy import load
from loopguard_cli.config.describe import descriptions
from loopguard_cli.config.schema import expected, leaves
from loopguard_cli.config.sources import SHORT_VARIABLES
from loopguard_cli.exit_codes import ExitCode
from scripts.reference import toml

_OWN_STATUSES = {"run": tuple(ExitCode), "goal": tuple(ExitCode)}
_COMMON_STATUSES = (ExitCode.OK, ExitCode.FAILED, ExitCode.USAGE, ExitCode.INTERNAL)


def pages() -> dict[str, str]:
    """File name to text, for the program and each of its commands."""
    made = {"loopguard.1": _program()}
    for entry in COMMANDS:
        made[f"loopguard-{entry.name}.1"] = _command(entry.name, entry.summary, load(entry))
    return made


def _program() -> str:
    tree = command_tree()
    context = _root_context()
    lines = [
        *_head(
            "loopguard", "supervise coding agents: stop loops, resume the work, drive goals to a proven end"
        ),
        *_synopsis(tree, context),
        ".SH DESCRIPTION",
        *_text(tree.help),
        *_parameters(tree, context),
    ]
    for section in dict.fromkeys(entry.section for entry in COMMANDS):
        lines.append(f".SH {_escape(section.upper())}")
        for entry in COMMANDS:
            if entry.section == section:
                lines += [".TP", f".BR loopguard\\-{_escape(entry.name)} (1)", _line(entry.summary)]
    lines += [*_statuses(tuple(ExitCode)), *_environment(), *_files(), *_examples(tree.epilog)]
    lines += _see_also(f"loopguard-{entry.name}" for entry in COMMANDS)
    return _page(lines)


def _command(name: str, summary: str, command: Any) -> str:
    context = typer.Context(command, info_name=name, parent=_root_context())
    lines = [*_head(f"loopguard-{name}", summary.rstrip(".")), *_synopsis(command, context)]
    lines += [".SH DESCRIPTION", *_text(command.help), *_parameters(command, context)]
    subcommands = getattr(command, "commands", {})
    if subcommands:
        lines.append(".SH COMMANDS")
    for subname, subcommand in subcommands.items():
        if subcommand.hidden:
            continue
        inner = typer.Context(subcommand, info_name=subname, parent=context)
        usage = " ".join(subcommand.collect_usage_pieces(inner))
        lines += [f".SS {_escape(f'{subname} {usage}')}", *_text(subcommand.help)]
        lines += _parameters(subcommand, inner, heading="")
    if name == "config":
        lines += _settings()
    lines += _statuses(_OWN_STATUSES.get(name, _COMMON_STATUSES))
    epilogs = [command.epilog, *(sub.epilog for sub in subcommands.values() if not sub.hidden)]
    lines += [*_environment(), *_files(), *_examples(*epilogs), *_see_also(["loopguard"])]
    return _page(lines)


def _root_context() -> Any:
    return command_tree().make_context("loopguard", [], resilient_parsing=True)


# --- sections ------------------------------------------------------------------------------------


def _head(name: str, summary: str) -> list[str]:
    title = _escape(name.upper())
    summary = summary[:1].lower() + summary[1:]
    return [
        f'.TH "{title}" 1 "" "loopguard {__version__}" "loopguard manual"',
        ".SH NAME",
        f"{_escape(name)} \\- {_line(summary)}",
    ]


def _synopsis(command: Any, context: Any) -> list[str]:
    pieces = " ".join(command.collect_usage_pieces(context))
    return [".SH SYNOPSIS", f".B {_escape(context.command_path)}", _line(pieces)]


def _parameters(command: Any, context: Any, heading: str = ".SH OPTIONS") -> Iterator[str]:
    records = [(parameter.get_help_record(context), parameter) for parameter in command.get_params(context)]
    shown = [(record, parameter) for record, parameter in records if record]
    if shown and heading:
        yield heading
    for (name, text), parameter in shown:
        if not heading and name.endswith("--help"):
            continue  # Said once, for the command itself.
        is_argument = parameter.param_type_name == "argument"
        yield from (".TP", f".{'I' if is_argument else 'B'} {_escape(name)}", _line(text) or "\\&")


def _settings() -> Iterator[str]:
    texts = descriptions()
    yield ".SH SETTINGS"
    for leaf in leaves().values():
        default = f" Default: {toml(leaf.default)}." if leaf.default not in ((), {}) else ""
        allowed = expected(leaf.type)
        yield from (".TP", f".B {_escape(leaf.key)}")
        yield _line(f"{texts[leaf.key]} {allowed[:1].upper()}{allowed[1:]}.{default}")


def _statuses(codes: Sequence[ExitCode]) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code in codes:
        yield from (".TP", f".B {int(code)}", _line(code.meaning))
    if ExitCode.LOOP in codes:
        yield from (".TP", ".I other", "The agent's own exit status; 128+N if signal N ended it.")


def _environment() -> Iterator[str]:
    yield ".SH ENVIRONMENT"
    short = ", ".join(SHORT_VARIABLES)
    yield from (".TP", f".B {_escape(SETTING_PATTERN)}")
    yield _line(
        f"Any setting: its dotted name in capitals, with underscores for the dots. Short forms: {short}."
    )
    for name, meaning in VARIABLES.items():
        yield from (".TP", f".B {_escape(name)}", _line(meaning))


def _files() -> Iterator[str]:
    yield ".SH FILES"
    for name, meaning in FILES.items():
        yield from (".TP", f".I {_escape(name)}", _line(meaning))


def _examples(*epilogs: str | None) -> Iterator[str]:
    """All examples once, those of the command itself first."""
    lines: list[str] = []
    for told in ((epilog or "").splitlines() for epilog in epilogs):
        lines += told[told.index("\b") + 1 :] if "\b" in told else []
    if lines:
        yield from (".SH EXAMPLES", ".nf")
        yield from (_line(line.removeprefix("  ")) for line in dict.fromkeys(lines))
        yield ".fi"


def _see_also(names: Any) -> Iterator[str]:
    yield ".SH SEE ALSO"
    *others, last = names
    yield from (f".BR {_escape(name)} (1)," for name in others)
    yield f".BR {_escape(last)} (1)"


# --- roff ----------------------------------------------------------------------------------------


def _text(text: str | None) -> Iterator[str]:
    """Paragraphs as typer knows them: a line with a backspace keeps the following lines as they are."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(text or ""))):
        if number:
            yield ".PP"
        lines = [line for line in paragraph.splitlines() if line.strip()]
        if lines and lines[0].strip() == "\b":
            yield from (".nf", *(_line(line) for line in lines[1:]), ".fi")
        else:
            yield _line(" ".join(line.strip() for line in lines))


def _escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"``(.+?)``", r"\\fB\1\\fR", text)


def _line(text: str) -> str:
    escaped = _escape(" ".join(text.split()) if not text.startswith(" ") else text.rstrip())
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _page(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
