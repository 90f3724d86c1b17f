from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.store.paths import project_folder, runtime_path, session_name, state_path


@pytest.mark.parametrize(
    ("option", "environment", "expected"),
    [
        ("", None, "/p/.loopguard"),
        ("  ", "  ", "/p/.loopguard"),
        ("", "/somewhere/else", "/somewhere/else"),
        ("", "sub/state", "/p/sub/state"),
        ("sub/state", "/somewhere/else", "/p/sub/state"),
        ("/o/state", None, "/o/state"),
    ],
)
def test_option_beats_environment_beats_default(option: str, environment: str | None, expected: str) -> None:
    environ = {} if environment is None else {"LOOPGUARD_STATE_DIR": environment}
    assert state_path(Path("/p"), option=option, environ=environ) == Path(expected)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    path = state_path(Path("/p"), environ={"LOOPGUARD_STATE_DIR": "~/state"})
    assert path == Path("/home/somebody/state")


def test_relative_paths_do_not_depend_on_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_path(Path("/p"), environ={"LOOPGUARD_STATE_DIR": "s"}) == Path("/p/s")


@pytest.mark.parametrize("mark", [".loopguard", ".git"])
def test_the_project_is_found_from_a_folder_inside(tmp_path: Path, mark: str) -> None:
    inside = tmp_path / "project" / "a" / "b"
    inside.mkdir(parents=True)
    (tmp_path / "project" / mark).mkdir()
    assert project_folder(inside) == tmp_path / "project"


def test_without_any_mark_the_project_is_where_one_starts(tmp_path: Path) -> None:
    assert project_folder(tmp_path) == tmp_path


def test_state_in_the_home_folder_does_not_adopt_the_projects_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".loopguard").mkdir()
    (tmp_path / "project").mkdir()
    assert project_folder(tmp_path / "project") == tmp_path / "project"
    assert project_folder(tmp_path) == tmp_path


def test_runtime_folder_is_below_xdg_runtime_dir_or_personal(tmp_path: Path) -> None:
    assert runtime_path({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "loopguard"
    without = runtime_path({"XDG_RUNTIME_DIR": str(tmp_path / "missing")})
    assert without.name.startswith("loopguard-")
    assert without == runtime_path({}) == runtime_path({"XDG_RUNTIME_DIR": "relative"})


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "ses_1", "a" * 5000, "\udc80\x00/"])
def test_nothing_of_a_session_id_gets_into_a_file_name(session: str) -> None:
    assert session_name(session).isalnum()
    assert len(session_name(session)) == 32


def test_different_sessions_have_different_names() -> None:
    assert len({session_name(name) for name in ("", "a", "b", "A", "a/")}) == 5


def test_a_folder_that_others_may_write_to_adopts_no_project(tmp_path: Path) -> None:
    shared, project = tmp_path / "shared", tmp_path / "shared" / "mine"
    project.mkdir(parents=True)
    (shared / ".loopguard").mkdir()
    assert project_folder(project) == shared
    shared.chmod(0o1777)
    assert project_folder(project) == project
    assert project_folder(shared) == shared
