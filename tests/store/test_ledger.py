from __future__ import annotations

import errno
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.core.records import CallSeen, Generation, GoalRecord, Record, RecordsLost, UserTurn
from loopguard_cli.errors import StoreError
from loopguard_cli.goal.evolve import fold
from loopguard_cli.goal.records import Cleared, Kind, Set, pack
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.ledger import Damage, Entry, Ledger, read_ledger
from loopguard_cli.store.lines import encode
from loopguard_cli.store.reading import Follower, read_state

SESSION: Any = "ses_1"


def seen(number: int) -> CallSeen:
    return CallSeen(session=SESSION, tool="bash", key=f"key{number}", count=1, verdict="allow", event=number)


def goal(name: str, objective: str = "aim") -> GoalRecord:
    return pack(SESSION, name, Kind.SET, Set(at=1.0, objective=objective))


def cleared(name: str) -> GoalRecord:
    return pack(SESSION, name, Kind.CLEARED, Cleared(at=2.0))


class Store:
    """A state folder with a clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "ledger.jsonl"
        self.now = 1000.0

    def open(self, run: str = "r1", **options: Any) -> Ledger:
        return Ledger.open(self.path, run=run, clock=lambda: self.now, **options)

    def write(self, *records: Record, **options: Any) -> None:
        with self.open(**options) as ledger:
            for record in records:
                ledger.append(record)

    def read(self) -> list[Entry | Damage]:
        return list(read_ledger(self.path))

    def entries(self) -> list[Entry]:
        return [item for item in self.read() if isinstance(item, Entry) and not item.restated]

    def keys(self) -> list[str]:
        return [entry.record.key for entry in self.entries() if isinstance(entry.record, CallSeen)]

    def damage(self) -> list[tuple[str, int, str]]:
        return [(d.file, d.line, d.reason) for d in self.read() if isinstance(d, Damage)]

    def objectives(self) -> list[str]:
        return [g.objective for book in stored_goals(self.path).books().values() for g in book.goals]

    def names(self) -> list[str]:
        return sorted(p.name for p in self.path.iterdir())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".loopguard")


def test_what_is_appended_is_read_back_with_time_run_and_growing_numbers(store: Store) -> None:
    with store.open(run="r1") as ledger:
        first = ledger.append(seen(1))
        store.now = 1000.25
        second = ledger.append(seen(2), sync=True)
    one, two = store.entries()
    assert (one.record, one.time, one.run, one.seq) == (seen(1), 1000.0, "r1", first)
    assert (two.record, two.time, two.seq) == (seen(2), 1000.25, second)
    assert second == first + 1


def test_nothing_there_reads_as_nothing(store: Store) -> None:
    assert store.read() == []
    assert not store.path.exists()


def test_files_are_private_and_hidden_from_git(store: Store) -> None:
    store.write(seen(1))
    assert store.path.stat().st_mode & 0o777 == 0o700
    assert store.file.stat().st_mode & 0o777 == 0o600
    assert (store.path / ".gitignore").read_text() == "*\n"


def test_a_folder_with_other_things_in_it_is_not_hidden_from_git(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    Store(tmp_path).write(seen(1))
    assert not (tmp_path / ".gitignore").exists()


def test_each_record_is_one_write_of_one_whole_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    real = os.write

    def spy(fd: int, data: bytes) -> int:
        written.append(bytes(data))
        return real(fd, data)

    with store.open() as ledger:
        monkeypatch.setattr(os, "write", spy)
        ledger.append(seen(1))
        ledger.append(goal("g", "two\nlines"))
    assert len(written) == 2
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)


def test_sync_flushes_file_and_a_new_file_also_its_folder(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    real = os.fsync

    def spy(fd: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink()) if Path("/proc").exists() else str(fd))
        real(fd)

    monkeypatch.setattr(os, "fsync", spy)
    with store.open() as ledger:
        assert str(store.path) in flushed
        flushed.clear()
        ledger.append(seen(1))
        assert flushed == []
        ledger.append(seen(2), sync=True)
        assert len(flushed) == 1
        assert flushed[0].endswith("ledger.jsonl") or not Path("/proc").exists()


def test_an_undecodable_argument_does_not_stop_the_ledger(store: Store) -> None:
    store.write(goal("g", "fix \udcff it"))
    assert store.objectives() == ["fix ? it"]


def test_long_objectives_in_any_script_are_kept_whole(store: Store) -> None:
    objective = "目" * 4000
    store.write(goal("g", objective))
    assert store.objectives() == [objective]


# --- several processes -------------------------------------------------------------------------


def test_two_runs_share_one_file_and_one_numbering(store: Store) -> None:
    with store.open(run="r1") as one, store.open(run="r2") as two:
        for number in range(6):
            (one if number % 2 else two).append(seen(number))
    assert store.keys() == [f"key{n}" for n in range(6)]
    assert [e.run for e in store.entries()] == ["r2", "r1"] * 3
    numbers = [e.seq for e in store.entries()]
    assert numbers == list(range(numbers[0], numbers[0] + 6))


def test_rotation_by_one_run_is_followed_by_the_other(store: Store) -> None:
    with store.open(run="r1", max_bytes=2000) as one, store.open(run="r2", max_bytes=1 << 20) as two:
        for number in range(40):
            (one if number % 2 else two).append(seen(number))
    keys = store.keys()
    assert keys == [f"key{n}" for n in range(40 - len(keys), 40)]
    assert len(keys) > 20


# --- rotation ----------------------------------------------------------------------------------


def test_no_generation_exceeds_the_limit_and_only_so_many_are_kept(store: Store) -> None:
    store.write(goal("g"), *map(seen, range(100)), max_bytes=2000, generations=2)
    assert [n for n in store.names() if n.startswith("ledger.jsonl")] == [
        "ledger.jsonl",
        "ledger.jsonl.1",
        "ledger.jsonl.2",
    ]
    assert all(p.stat().st_size <= 2000 for p in store.path.glob("ledger.jsonl*"))
    assert store.keys() == [f"key{n}" for n in range(100 - len(store.keys()), 100)]
    numbers = [e.seq for e in store.read() if isinstance(e, Entry)]
    assert numbers == sorted(set(numbers))


def test_without_kept_generations_the_full_file_is_dropped(store: Store) -> None:
    store.write(goal("g"), *map(seen, range(100)), max_bytes=2000, generations=0)
    assert [n for n in store.names() if n.startswith("ledger.jsonl")] == ["ledger.jsonl"]
    assert store.file.stat().st_size <= 2000
    assert store.objectives() == ["aim"]


def test_rotation_loses_no_goal_and_brings_none_back(store: Store) -> None:
    store.write(
        goal("g1", "kept"), goal("g2", "cleared"), cleared("g2"), *map(seen, range(300)), max_bytes=4000
    )
    assert "ledger.jsonl.3" in store.names()
    assert store.objectives() == ["kept"]


def test_what_a_new_generation_restates_is_no_news(store: Store) -> None:
    store.write(goal("g"), *map(seen, range(30)), max_bytes=2500)
    sets = [e for e in store.entries() if isinstance(e.record, GoalRecord)]
    assert [e.record for e in sets] in ([goal("g")], [])
    assert any(isinstance(e, Entry) and e.restated for e in store.read())


def test_a_head_near_the_limit_does_not_rotate_with_every_line(store: Store) -> None:
    store.write(*(goal(f"g{n}", "x" * 400) for n in range(10)), *map(seen, range(20)), max_bytes=2000)
    newest = list(read_state(store.path))
    assert sum(isinstance(e, Entry) and isinstance(e.record, CallSeen) for e in newest) > 1
    assert len(store.objectives()) == 10


def test_state_is_read_from_the_former_generation_when_the_head_of_the_newest_is_damaged(
    store: Store,
) -> None:
    store.write(goal("g"), *map(seen, range(40)), max_bytes=4000)
    lines = store.file.read_bytes().splitlines(keepends=True)
    store.file.write_bytes(lines[0] + lines[1][:-20])
    assert store.objectives() == ["aim"]


def test_a_failing_fold_does_not_keep_lines_out(store: Store) -> None:
    calls = []

    def broken(entries: Any) -> list[Entry]:
        calls.append(entries)
        raise RuntimeError("bug")

    store.write()
    store.write(*map(seen, range(50)), max_bytes=2000, compact=broken)
    assert store.keys() == [f"key{n}" for n in range(50)]
    assert 1 <= len(calls) <= 25


@pytest.mark.parametrize("step", range(9))
def test_a_crash_at_any_step_of_a_rotation_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    class Killed(BaseException):
        pass

    store.write(goal("g", "kept"), *map(seen, range(60)), max_bytes=3000, generations=2)
    before = store.keys()
    count = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > step:
                raise Killed
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("rename", "unlink", "fsync"):
            patch.setattr(os, name, dying(getattr(os, name)))
        with store.open(max_bytes=store.file.stat().st_size, generations=2) as ledger:
            try:
                ledger.append(seen(60))
            except Killed:
                died = True
            else:
                died = False
    assert store.objectives() == ["kept"]
    after = store.keys()
    assert after[-1] in (before[-1], "key60")
    assert after == [*before, "key60"][len(before) + 1 - len(after) :] or after == before[-len(after) :]
    store.write(seen(61))
    assert store.objectives() == ["kept"]
    assert store.keys()[-1] == "key61"
    assert died or store.keys()[-2] == "key60"


# --- damage ------------------------------------------------------------------------------------


def test_damaged_lines_are_reported_with_their_place_and_skipped(store: Store) -> None:
    store.write(seen(1), seen(2), seen(3))
    head, one, two, three = store.file.read_bytes().splitlines(keepends=True)
    store.file.write_bytes(
        head + b"not ours\n" + one + two.replace(b"key2", b"key9") + b'{"a":1}\n' + b"\xff\xfe\n\n" + three
    )
    assert store.keys() == ["key1", "key3"]
    assert store.damage() == [
        ("ledger.jsonl", 2, "foreign"),
        ("ledger.jsonl", 4, "checksum"),
        ("ledger.jsonl", 5, "foreign"),
        ("ledger.jsonl", 6, "foreign"),
    ]


def test_a_line_of_a_newer_version_or_kind_is_told_from_damage(store: Store) -> None:
    store.write(seen(1))
    newer = encode(9, 0.0, "r", seen(9)).replace(b'{"v":1', b'{"v":2')
    unknown = encode(9, 0.0, "r", seen(9)).replace(b'"type":"call"', b'"type":"later"')
    with store.file.open("ab") as file:
        for line in (newer, unknown):
            body = line.rpartition(b',"crc"')[0]
            file.write(b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    assert store.keys() == ["key1"]
    assert [reason for _, _, reason in store.damage()] == ["newer", "unknown"]
    store.write(seen(2))
    assert store.keys() == ["key1", "key2"]


def test_cut_at_every_byte_it_recovers_to_a_prefix_and_goes_on(store: Store) -> None:
    store.write(goal("g1", "one"), seen(1), goal("g2", "zwei ü"), cleared("g1"), seen(2))
    whole = store.file.read_bytes()
    every = [entry.record for entry in store.entries()]
    lengths = set()
    for cut in range(len(whole) + 1):
        store.file.write_bytes(whole[:cut])
        prefix = [entry.record for entry in store.entries()]
        assert prefix == every[: len(prefix)]
        lengths.add(len(prefix))
        assert len(store.damage()) <= 1
        with store.open() as ledger:
            ledger.append(seen(99))
        assert [entry.record for entry in store.entries()] == [*prefix, seen(99)]
        for path in store.path.glob("ledger.jsonl?*"):
            path.unlink()
    assert lengths == set(range(len(every) + 1))


def test_an_unreadable_file_is_put_aside_whole(store: Store) -> None:
    store.write()
    store.file.write_bytes(b"\x00" * 100)
    with store.open() as ledger:
        assert [d.reason for d in ledger.found] == ["unreadable"]
        ledger.append(seen(1))
        aside = store.path / ledger.found[0].file
    assert aside.name == "ledger.jsonl.corrupt.1000"
    assert aside.read_bytes() == b"\x00" * 100
    assert store.keys() == ["key1"]


def test_a_file_of_a_newer_version_is_put_aside_whole(store: Store) -> None:
    store.write()
    content = b'{"v":7,"seq":1,"entry":{}}\n'
    store.file.write_bytes(content)
    with store.open() as ledger:
        assert [d.reason for d in ledger.found] == ["newer"]
    assert (store.path / "ledger.jsonl.newer.1000").read_bytes() == content


def test_goals_of_the_former_generation_survive_an_unreadable_newest_one(store: Store) -> None:
    store.write(goal("g"), *map(seen, range(40)), max_bytes=3000)
    store.file.write_bytes(b"garbage")
    store.write(seen(1))
    assert store.objectives() == ["aim"]


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_what_is_no_file_is_neither_written_through_nor_read(store: Store, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    target.write_bytes(encode(1, 0.0, "x", goal("evil", "smuggled in")))
    target.chmod(0o644)
    before = target.read_bytes()
    store.path.mkdir()
    match kind:
        case "link":
            store.file.symlink_to(target)
        case "dangling":
            store.file.symlink_to(tmp_path / "new")
        case "folder":
            store.file.mkdir()
        case _:
            os.mkfifo(store.file)
    assert store.objectives() == []
    assert store.damage() == [("ledger.jsonl", 0, "unreadable")]
    store.write(goal("g"))
    assert store.objectives() == ["aim"]
    assert target.read_bytes() == before
    assert target.stat().st_mode & 0o777 == 0o644
    assert not (tmp_path / "new").exists()


# --- trouble while writing ---------------------------------------------------------------------


class Disk:
    """Stands between the ledger and `os.write`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        """How many more bytes go in; None: any number."""
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, fd: int, data: bytes) -> int:
        if self.room is None:
            return self._write(fd, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self._write(fd, data[: self.room])
        self.room -= taken
        return taken


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.parametrize("room", [0, 1, 50])
def test_a_full_disk_is_reported_once_and_leaves_nothing_half_written(
    store: Store, disk: Disk, room: int
) -> None:
    with store.open() as ledger:
        ledger.append(seen(1))
        before = store.file.read_bytes()
        disk.room = room
        with pytest.raises(StoreError, match="no space left"):
            ledger.append(seen(2))
        assert store.file.read_bytes() == before
        disk.room = 0
        assert ledger.append(seen(3)) == -1
        disk.room = None
        ledger.append(seen(4))
    assert [e.record for e in store.entries()] == [seen(1), RecordsLost(count=2), seen(4)]


LIMITED = """
import resource, sys
from pathlib import Path
from loopguard_cli.core.records import UserTurn
from loopguard_cli.errors import StoreError
from loopguard_cli.store.ledger import Ledger

hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
with Ledger.open(Path(sys.argv[1]), run="r") as ledger:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    written = 0
    try:
        while True:
            ledger.append(UserTurn(session="s"))
            written += 1
    except StoreError as error:
        print(written, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    ledger.append(UserTurn(session="s"))
"""


def test_the_kernels_own_limit_leaves_whole_lines_only(store: Store) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(store.path)], capture_output=True, text=True, check=True
    )
    written, _, complaint = done.stdout.strip().partition(" ")
    assert complaint.startswith(f"cannot write to {store.path}")
    assert store.damage() == []
    kinds = [type(entry.record) for entry in store.entries()]
    assert kinds == [UserTurn] * int(written) + [RecordsLost, UserTurn]


def test_a_record_that_must_be_on_disk_always_says_when_it_is_not(store: Store, disk: Disk) -> None:
    with store.open() as ledger:
        disk.room = 0
        for _ in range(3):
            with pytest.raises(StoreError):
                ledger.append(goal("g"), sync=True)
    assert store.objectives() == []


def test_a_failed_flush_takes_the_record_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with store.open() as ledger:
        ledger.append(goal("g"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuse)
            with pytest.raises(StoreError, match="input/output"):
                ledger.append(cleared("g"), sync=True)
        assert store.objectives() == ["aim"]


def test_a_line_torn_by_a_crash_does_not_swallow_the_next(store: Store) -> None:
    store.write(seen(1))
    with store.file.open("ab") as file:
        file.write(b'{"v":1,"seq":9')
    store.write(seen(2))
    assert store.keys() == ["key1", "key2"]
    assert [reason for _, _, reason in store.damage()] == ["torn"]


def test_a_folder_deleted_under_a_run_is_made_anew_with_what_the_run_holds(store: Store) -> None:
    with store.open(live=lambda: (goal("g", "held in memory"),)) as ledger:
        ledger.append(seen(1))
        for path in store.path.iterdir():
            path.unlink()
        store.path.rmdir()
        ledger.append(seen(2))
    assert store.keys() == ["key2"]
    assert store.objectives() == ["held in memory"]
    assert (store.path / ".gitignore").exists()


def test_a_file_deleted_under_a_run_is_made_anew(store: Store) -> None:
    with store.open(live=lambda: (goal("g", "held in memory"),)) as ledger:
        first = ledger.append(seen(1))
        store.file.unlink()
        assert ledger.append(seen(2)) > first
    assert store.objectives() == ["held in memory"]


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_a_clear_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store.write(seen(1))
    real = os.open

    def refuse(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(code, os.strerror(code))
        return real(path, flags, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(StoreError, match=f"cannot write to .*: {os.strerror(code).lower()}"):
            store.open()
        assert store.keys() == ["key1"]
    assert store.names() == [".gitignore", "ledger.jsonl", "ledger.lock"]


# --- following ---------------------------------------------------------------------------------


def test_following_gives_what_comes_and_not_what_was(store: Store) -> None:
    with store.open() as ledger:
        ledger.append(seen(1))
        follower = Follower(store.path)
        assert follower.poll() == []
        ledger.append(seen(2))
        ledger.append(seen(3))
        assert [e.record for e in follower.poll()] == [seen(2), seen(3)]
        assert follower.poll() == []
        follower.close()


def test_following_goes_on_over_rotations_without_repeating(store: Store) -> None:
    found: list[Entry] = []
    with store.open(max_bytes=1500) as ledger:
        ledger.append(goal("g"))
        follower = Follower(store.path)
        for number in range(60):
            ledger.append(seen(number))
            found += follower.poll()
        follower.close()
    assert [e.record for e in found] == [seen(n) for n in range(60)]


def test_following_may_begin_before_there_is_anything(store: Store) -> None:
    follower = Follower(store.path)
    assert follower.poll() == []
    store.write(seen(1))
    assert [e.record for e in follower.poll()] == [seen(1)]
    follower.close()


def test_following_waits_for_the_end_of_a_line(store: Store) -> None:
    store.write()
    follower = Follower(store.path)
    line = encode(5, 0.0, "r", seen(1))
    with store.file.open("ab", buffering=0) as file:
        file.write(line[:20])
        assert follower.poll() == []
        file.write(line[20:])
    assert [e.record for e in follower.poll()] == [seen(1)]
    follower.close()


def test_the_header_says_what_it_is(store: Store) -> None:
    store.write(seen(1))
    first = store.read()[0]
    assert isinstance(first, Entry)
    assert isinstance(first.record, Generation)
    assert fold({}, [])[0] == {}
