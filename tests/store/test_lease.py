from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.errors import StoreError
from loopguard_cli.store import processes
from loopguard_cli.store.lease import Leases, Refusal, Why, read_owner
from loopguard_cli.store.paths import session_name

SESSION = "ses_1"
DEAD = 2**22 + 7  # beyond what Linux hands out


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / ".loopguard"


@pytest.fixture
def leases(state: Path, clock: Clock) -> Leases:
    return Leases(state, run="mine", clock=clock)


def lease_file(state: Path) -> Path:
    return state / "leases" / f"{session_name(SESSION)}.json"


@pytest.fixture
def somebody(state: Path, clock: Clock) -> Callable[..., Path]:
    """Writes a lease as another process would have."""

    def write(*, age: float = 0.0, **changes: Any) -> Path:
        owner = {
            "protocol": 1, "token": "theirs", "pid": os.getpid(), "started": processes.started(os.getpid()),
            "host": processes.host(), "space": processes.space(), "run": "theirs",
            "since": clock.now - age, "beat": clock.now - age,
        } | changes  # fmt: skip
        place = lease_file(state)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(owner))
        os.utime(place, (clock.now - age, clock.now - age))
        return place

    return write


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with us."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def why(refusal: Refusal | None) -> Why | None:
    return refusal.why if refusal else None


def test_one_run_holds_a_lease_and_gives_it_up(state: Path, leases: Leases, clock: Clock) -> None:
    other = Leases(state, run="other", clock=clock)
    assert leases.acquire(SESSION) is None
    assert leases.acquire(SESSION) is None
    assert leases.holds(SESSION)
    refusal = other.acquire(SESSION)
    assert refusal is not None
    assert (refusal.why, refusal.run) == (Why.RUNNING, "mine")
    assert not other.holds(SESSION)
    leases.release(SESSION)
    assert other.acquire(SESSION) is None
    other.close()
    assert leases.acquire(SESSION) is None


def test_sessions_do_not_share_a_lease(state: Path, leases: Leases, clock: Clock) -> None:
    others = [Leases(state, run=f"r{n}", clock=clock) for n in range(3)]
    assert leases.acquire(SESSION) is None
    assert [other.acquire(f"ses_other_{n}") for n, other in enumerate(others)] == [None] * 3


def test_releasing_what_is_not_held_takes_nothing_away(state: Path, leases: Leases, clock: Clock) -> None:
    leases.acquire(SESSION)
    Leases(state, run="other", clock=clock).release(SESSION)
    Leases(state, run="other", clock=clock).close()
    assert leases.holds(SESSION)


def test_files_are_private(state: Path, leases: Leases) -> None:
    leases.acquire(SESSION)
    assert lease_file(state).stat().st_mode & 0o777 == 0o600
    assert lease_file(state).parent.stat().st_mode & 0o777 == 0o700
    assert SESSION not in "".join(p.name for p in state.rglob("*"))


# --- dead and living owners --------------------------------------------------------------------


def test_a_running_owner_blocks_however_old_its_heartbeat(leases: Leases, somebody: Any) -> None:
    somebody(age=86_400)
    assert why(leases.acquire(SESSION)) is Why.RUNNING
    assert why(leases.acquire(SESSION, take_over=True)) is Why.RUNNING


def test_a_dead_owner_is_succeeded_at_once(leases: Leases, somebody: Any) -> None:
    somebody(pid=DEAD, started="x")
    assert leases.acquire(SESSION) is None
    assert leases.holds(SESSION)


def test_a_number_in_use_again_does_not_block(
    leases: Leases, somebody: Any, bystander: subprocess.Popen[bytes]
) -> None:
    somebody(pid=bystander.pid, started="some other time")
    assert leases.acquire(SESSION) is None


def test_an_owner_that_only_waits_to_be_reaped_is_dead(
    leases: Leases, somebody: Any, bystander: subprocess.Popen[bytes]
) -> None:
    somebody(pid=bystander.pid, started=processes.started(bystander.pid))
    assert why(leases.acquire(SESSION)) is Why.RUNNING
    bystander.kill()
    os.waitid(os.P_PID, bystander.pid, os.WEXITED | os.WNOWAIT)
    assert leases.acquire(SESSION) is None


def test_another_container_of_this_host_is_judged_by_its_heartbeat(leases: Leases, somebody: Any) -> None:
    somebody(space="pid:[1]", age=10)
    assert why(leases.acquire(SESSION)) is Why.ELSEWHERE
    somebody(space="pid:[1]", age=61)
    assert leases.acquire(SESSION) is None


def test_another_host_is_never_succeeded_without_a_persons_word(leases: Leases, somebody: Any) -> None:
    somebody(host="elsewhere.example", pid=4242, age=86_400)
    assert why(leases.acquire(SESSION)) is Why.LOST_ELSEWHERE
    assert leases.acquire(SESSION, take_over=True) is None


def test_another_host_that_shows_life_is_not_succeeded_at_all(leases: Leases, somebody: Any) -> None:
    somebody(host="elsewhere.example", pid=4242, age=5)
    refusal = leases.acquire(SESSION, take_over=True)
    assert why(refusal) is Why.ELSEWHERE
    assert refusal is not None
    assert "elsewhere.example" in refusal.text


# --- heartbeat ---------------------------------------------------------------------------------


def test_a_heartbeat_renews_and_keeps_the_beginning(state: Path, leases: Leases, clock: Clock) -> None:
    leases.acquire(SESSION)
    clock.now += 10
    assert leases.beat() == []
    owner = read_owner(state, SESSION)
    assert owner is not None
    assert (owner.since, owner.beat) == (1000.0, 1010.0)


def test_a_heartbeat_finds_out_that_the_lease_was_taken(state: Path, leases: Leases, somebody: Any) -> None:
    leases.acquire(SESSION)
    leases.acquire("ses_2")
    somebody()
    assert not leases.holds(SESSION)
    assert leases.beat() == [SESSION]
    assert leases.beat() == []
    assert leases.holds("ses_2")
    owner = read_owner(state, SESSION)
    assert owner is not None
    assert owner.token == "theirs"


def test_a_deleted_lease_is_written_again(state: Path, leases: Leases) -> None:
    leases.acquire(SESSION)
    lease_file(state).unlink()
    assert leases.beat() == []
    assert leases.holds(SESSION)


# --- files that are not right ------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"protocol":1}', '{"protocol":"x"}', "\x00" * 5000, '{"protocol":1,"pid":"7"}'],
)
def test_a_damaged_lease_blocks_for_half_a_minute(
    leases: Leases, clock: Clock, somebody: Any, content: str
) -> None:
    place = somebody()
    place.write_text(content)
    os.utime(place, (clock.now - 1, clock.now - 1))
    assert why(leases.acquire(SESSION)) is Why.MALFORMED
    assert place.read_text() == content
    clock.now += 30
    assert leases.acquire(SESSION) is None


def test_a_damaged_lease_with_a_time_far_ahead_does_not_block_for_ever(
    leases: Leases, clock: Clock, somebody: Any
) -> None:
    place = somebody()
    place.write_text("?")
    os.utime(place, (clock.now + 1e6, clock.now + 1e6))
    assert leases.acquire(SESSION) is None


def test_a_newer_protocol_blocks_and_stays_untouched(leases: Leases, somebody: Any) -> None:
    place = somebody(protocol=99, pid=DEAD, age=86_400)
    before = (place.read_bytes(), place.stat().st_mtime_ns)
    assert why(leases.acquire(SESSION, take_over=True)) is Why.NEWER
    assert (place.read_bytes(), place.stat().st_mtime_ns) == before


def test_what_is_shown_of_an_owner_cannot_inject_anything(state: Path, leases: Leases, somebody: Any) -> None:
    somebody(host="evil\nhost\x1b[31m" + "x" * 200, token="secret-token", run="\x1b[2J")
    refusal = leases.acquire(SESSION)
    assert refusal is not None
    assert refusal.text.isprintable()
    assert not any(part in refusal.text for part in ("evil", "secret-token", str(state)))


@pytest.mark.parametrize("kind", ["lease", "folder", "lock"])
def test_links_in_the_way_are_errors_and_no_contention(
    state: Path, tmp_path: Path, leases: Leases, kind: str
) -> None:
    leases.acquire("ses_2")
    target = tmp_path / "target"
    match kind:
        case "lease":
            target.write_text("kept")
            lease_file(state).symlink_to(target)
        case "folder":
            (state / "leases").rename(target)
            (state / "leases").symlink_to(target)
        case _:
            target.write_text("kept")
            (state / "leases" / "lock").unlink()
            (state / "leases" / "lock").symlink_to(target)
    with pytest.raises(StoreError):
        leases.acquire(SESSION)
    assert kind == "folder" or target.read_text() == "kept"


def test_a_folder_that_cannot_be_written_is_an_error_and_no_contention(
    leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(30, "Read-only file system")

    leases.acquire("ses_2")
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreError, match="read-only"):
        leases.acquire(SESSION)
    assert not leases.holds(SESSION)
    with pytest.raises(StoreError):
        leases.beat()
    assert leases.holds("ses_2")


def test_reading_the_owner_waits_for_nobody(state: Path, leases: Leases) -> None:
    import fcntl

    leases.acquire(SESSION)
    with (state / "leases" / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        owner = read_owner(state, SESSION)
    assert owner is not None
    assert owner.run == "mine"


# --- races -------------------------------------------------------------------------------------

RACERS = """
import os, sys
from loopguard_cli.store.lease import Leases
from pathlib import Path

trials, racers = int(sys.argv[2]), int(sys.argv[3])
for trial in range(trials):
    state = Path(sys.argv[1]) / str(trial)
    if trial % 2:
        # Half of the races are for what a dead process left behind.
        if (pid := os.fork()) == 0:
            Leases(state, run="dead").acquire("s")
            os._exit(0)
        os.waitpid(pid, 0)
    go, ready = os.pipe()
    done, tell = os.pipe()
    end, over = os.pipe()
    pids = []
    for racer in range(racers):
        pid = os.fork()
        if pid == 0:
            os.close(ready), os.close(over)
            os.read(go, 1)
            won = Leases(state, run=str(racer)).acquire("s") is None
            os.write(tell, b"1" if won else b"0")
            os.read(end, 1)
            os._exit(0)
        pids.append(pid)
    os.close(ready)
    answers = b""
    while len(answers) < racers:
        answers += os.read(done, racers)
    print(answers.count(b"1"))
    os.close(over)
    for pid in pids:
        os.waitpid(pid, 0)
    for fd in (go, done, tell, end):
        os.close(fd)
"""


def test_of_racing_processes_exactly_one_drives(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RACERS, str(tmp_path), "200", "4"],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["1"] * 200
