from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loopguard_cli.errors import StoreError
from loopguard_cli.store import processes
from loopguard_cli.store.paths import runtime_path
from loopguard_cli.store.runs import LiveRun, live_runs, new_run_id, register, this_run, unregister


def run(name: str, **changes: Any) -> LiveRun:
    live = this_run(
        run=name, agent="opencode", project=Path("/p"), state=Path("/p/.loopguard"),
        socket=str(runtime_path() / f"{name}.sock"), since=1.0,
    )  # fmt: skip
    return msgspec.structs.replace(live, **changes)


def files() -> list[str]:
    return sorted(p.name for p in (runtime_path() / "runs").iterdir())


def test_a_run_is_listed_until_it_is_taken_out() -> None:
    register(run("one"))
    register(run("two", since=0.5, state="/q/.loopguard"))
    assert [live.run for live in live_runs()] == ["two", "one"]
    assert [live.run for live in live_runs(state=Path("/p/.loopguard"))] == ["one"]
    unregister("one")
    unregister("one")
    assert [live.run for live in live_runs()] == ["two"]


def test_nothing_registered_is_no_error() -> None:
    assert live_runs() == []
    assert not runtime_path().exists()
    unregister("one")


def test_the_register_is_private() -> None:
    register(run("one"))
    assert runtime_path().stat().st_mode & 0o777 == 0o700
    assert (runtime_path() / "runs" / "one.json").stat().st_mode & 0o777 == 0o600


def test_what_a_killed_run_left_is_cleared_away() -> None:
    child = subprocess.Popen(["sleep", "600"])
    register(run("alive"))
    register(run("killed", pid=child.pid, started=processes.started(child.pid)))
    register(run("reused", started="some other time"))
    socket = runtime_path() / "killed.sock"
    socket.touch()
    assert {live.run for live in live_runs()} == {"alive", "killed"}
    child.kill()
    child.wait()
    assert [live.run for live in live_runs()] == ["alive"]
    assert files() == ["alive.json"]
    assert not socket.exists()


def test_only_sockets_of_the_runtime_folder_are_cleared_away(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.touch()
    register(run("gone", started="x", socket=str(precious)))
    assert live_runs() == []
    assert precious.exists()


def test_a_run_in_another_container_is_neither_listed_nor_touched() -> None:
    register(run("apart", space="pid:[1]", pid=1))
    assert live_runs() == []
    assert files() == ["apart.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"{}" * 20000])
def test_damaged_entries_are_passed_over(content: bytes) -> None:
    register(run("one"))
    (runtime_path() / "runs" / "bad.json").write_bytes(content)
    assert [live.run for live in live_runs()] == ["one"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x" * 65, ".hidden"])
def test_a_run_id_is_no_path(name: str) -> None:
    with pytest.raises(StoreError):
        register(run("one", run=name))


def test_a_linked_runtime_folder_is_refused(tmp_path: Path) -> None:
    runtime_path().symlink_to(tmp_path)
    with pytest.raises(StoreError):
        register(run("one"))
    with pytest.raises(StoreError):
        live_runs()


def test_run_ids_differ_and_are_easy_to_type() -> None:
    ids = {new_run_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(name) == 8 and name.isalnum() for name in ids)


def test_a_process_is_known_by_its_beginning() -> None:
    mine = processes.started(os.getpid())
    assert mine
    assert processes.alive(os.getpid(), mine)
    assert not processes.alive(os.getpid(), mine + "0")
    assert processes.started(0) is None
    assert processes.started(-1) is None


def test_without_proc_the_beginning_is_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PROC", Path("/nowhere"))
    child = subprocess.Popen(["sleep", "600"])
    begun = processes.started(child.pid)
    assert begun
    assert processes.alive(child.pid, begun)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.started(child.pid) is None
    child.wait()
    assert processes.started(child.pid) is None
