"""The catalogue of errors: every kind, and every place that raises one, says what, where and what next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from loopguard_cli import errors
from loopguard_cli.cli.app import COMMANDS
from loopguard_cli.cli.boundary import guarded
from loopguard_cli.cli.goals import GoalRefused
from loopguard_cli.cli.lazy import load
from loopguard_cli.cli.live import Refused
from loopguard_cli.exit_codes import ExitCode

SOURCES = Path(errors.__file__).parent


def kinds(kind: type[errors.LoopguardError] = errors.LoopguardError) -> list[type[errors.LoopguardError]]:
    for entry in COMMANDS:
        load(entry)  # errors are declared where they are raised
    return [kind, *(below for child in kind.__subclasses__() for below in kinds(child))]


def raised() -> Iterator[tuple[str, str]]:
    """Where one of our errors is made, and the literal beginning of its message."""
    names = {kind.__name__ for kind in kinds()}
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
                first = node.args[0]
                parts = first.values if isinstance(first, ast.JoinedStr) else [first]
                if parts and isinstance(parts[0], ast.Constant) and isinstance(parts[0].value, str):
                    yield f"{file.relative_to(SOURCES)}:{node.lineno}", parts[0].value


def test_every_kind_has_a_name_a_status_and_a_sentence() -> None:
    found = kinds()
    assert len({kind.slug for kind in found}) == len(found)
    for kind in found:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.slug), kind
        assert ExitCode(kind.exit_code) not in (ExitCode.OK, ExitCode.INTERRUPTED), kind
        assert (kind.__doc__ or "").rstrip().endswith("."), kind


def test_a_line_always_says_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    """In the words of whoever raised it, else in those of its kind."""
    for kind in kinds():
        with pytest.raises(SystemExit):
            guarded(partial(_fail, kind("f.toml:3: bad")))
        line = capsys.readouterr().err
        if kind in ANSWERS:
            assert line == "loopguard: f.toml:3: bad\n"
        else:
            assert re.fullmatch(r"loopguard: f\.toml:3: bad \([^()]{15,}\)\n", line), (kind, line)
        with pytest.raises(SystemExit):
            guarded(partial(_fail, kind("f.toml:3: bad", "do this")))
        assert capsys.readouterr().err == "loopguard: f.toml:3: bad (do this)\n"


ANSWERS = {GoalRefused, Refused}
"""Their message is the answer of somebody who says what to do."""


def _fail(error: errors.LoopguardError) -> None:
    raise error


def test_message_and_hint_become_one_line() -> None:
    for kind in kinds():
        assert str(kind("f.toml:3: bad", "do this")) == "f.toml:3: bad (do this)"
        assert str(kind("bad")) == "bad"


def test_no_message_is_a_sentence_of_its_own_or_shouts() -> None:
    """They stand behind "loopguard: " and before a hint in brackets."""
    found = list(raised())
    assert len(found) > 40
    for place, text in found:
        assert not text.endswith((".", "!", "\n")), place
        assert "\n" not in text, place
        word = text.split(" ")[0]
        assert word[:1].islower() or word[:1] in "-'\"" or not word[1:].islower() or word in NAMES, (
            place,
            text,
        )


NAMES = {"Windows", "OpenCode"}
"""Words that begin with a capital letter anywhere."""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("statsu",), 2, "no such command 'statsu' (did you mean 'status'?)"),
        (("frobnicate",), 2, "no such command 'frobnicate' (see 'loopguard --help')"),
        (("status", "--wach"), 2, "no such option: --wach (did you mean --watch?)"),
        (("config", "shwo"), 2, "no such command 'shwo' (did you mean 'show'?)"),
        (("config", "set", "guard.mod", "off"), 2, "guard.mod' (did you mean 'guard.mode'?)"),
        (("config", "set", "guard.mode", "of"), 2, "guard.mode: "),
        (("mode", "off"), 1, "no live run in "),
        (("history", "--since", "soon"), 2, "--since 'soon' is no time (say 90s, 10m, 2h, 3d or "),
        (("run", "--", "no-such-agent"), 127, "no-such-agent"),
        (("run",), 2, "no agent given (for example: loopguard run -- opencode)"),
        (("replay", "nowhere.jsonl"), 2, "nowhere.jsonl"),
    ],
)  # fmt: skip
def test_what_goes_wrong_often_is_one_line_that_helps(
    cli: Cli, words: tuple[str, ...], code: int, said: str
) -> None:
    done = cli(*words)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("loopguard: ")
    assert said.lower() in done.stderr.lower()
    assert done.stderr.count("\n") == 1
