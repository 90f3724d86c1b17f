from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
import typer

from loopguard_cli.cli import crash
from loopguard_cli.cli.boundary import guarded
from loopguard_cli.errors import AgentNotFound, ConfigError, LoopguardError, StoreError
from loopguard_cli.exit_codes import ExitCode


def end_of(main: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status and standard error of a main function."""
    with pytest.raises(SystemExit) as caught:
        guarded(main)  # type: ignore[arg-type]
    return int(caught.value.code or 0), capsys.readouterr().err


def raising(error: BaseException) -> object:
    def main() -> None:
        raise error

    return main


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (83, 83), (ExitCode.LOOP, 80), ("text", 0)])
def test_the_status_is_what_the_command_returns(
    result: object, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end_of(lambda: result, capsys) == (code, "")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("f.toml:3: bad", "do this"), 2, "loopguard: f.toml:3: bad (do this)\n"),
        (StoreError("disk full"), 125, f"loopguard: disk full ({StoreError.advice})\n"),
        (AgentNotFound("no such program: x", "do this"), 127, "loopguard: no such program: x (do this)\n"),
        (KeyboardInterrupt(), 130, ""),
        (typer.Abort(), 130, ""),
    ],
)
def test_an_expected_error_is_one_line_and_its_status(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end_of(raising(error), capsys) == (code, line)


def test_control_characters_of_a_message_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = ConfigError("unknown setting 'a\x1b[31m\nb'", "do this")
    assert end_of(raising(error), capsys) == (2, "loopguard: unknown setting 'a [31m b' (do this)\n")


def test_a_bug_is_one_line_with_a_report_that_holds_no_content(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["loopguard", "mode", "my-secret-argument"])
    code, line = end_of(raising(RuntimeError("secret output of the agent")), capsys)
    assert code == ExitCode.INTERNAL
    assert line.count("\n") == 1
    path = Path(re.search(r"report: (\S+)\)", line)[1])  # type: ignore[index]
    report = path.read_text()
    assert "builtins.RuntimeError" in report
    assert "command mode" in report
    assert "loopguard_cli/cli/boundary.py" in report
    assert "typer " in report
    assert "secret" not in line + report
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_debugging_shows_the_traceback_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPGUARD_DEBUG", "1")
    _, said = end_of(raising(RuntimeError("why")), capsys)
    assert "RuntimeError: why" in said


def test_a_report_has_the_causes_and_no_folder_of_the_user() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        report = crash.render(error)
    assert report.index("builtins.ValueError") < report.index("builtins.KeyError")
    assert str(Path(__file__).parent) not in report


def test_where_no_report_can_be_written_the_line_says_how_to_see_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    code, line = end_of(raising(RuntimeError()), capsys)
    assert (code, "LOOPGUARD_DEBUG=1" in line) == (125, True)


def _subclasses(kind: type[LoopguardError]) -> list[type[LoopguardError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _subclasses(child))]


def test_every_error_has_a_status_of_ours_and_a_slug_of_its_own() -> None:
    kinds = _subclasses(LoopguardError)
    assert all(kind.exit_code in set(ExitCode) for kind in kinds)
    assert len({kind.slug for kind in kinds}) == len(kinds)
