"""Scenarios on the real ledger and the real leases, in a temporary folder.

The format describes a plugin that keeps a state file beside a ledger. Here the newest ledger file
is both state and log; so "state" stands for that file and "ledger" for its older generations, which
it can be rebuilt from. Losing only the last writes of a state file has no counterpart.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from loopguard_cli.core.effects import TakeLease
from loopguard_cli.core.events import LeaseSettled
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.errors import LoopguardError, StoreError
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.records import Kind, Payload, Stopped, pack
from loopguard_cli.store import migrate, processes
from loopguard_cli.store.goals import settle_lease, stored_goals
from loopguard_cli.store.lease import Leases
from loopguard_cli.store.ledger import Damage, Ledger
from loopguard_cli.store.paths import session_name
from loopguard_cli.store.reading import LEDGER, read_ledger
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION
from loopguard_cli.testing.scenarios.steps import Step
from loopguard_cli.testing.scenarios.storage import Failures

DEAD = 2**22 + 7
"""A process number that no process has (above the kernel's largest)."""


class Process:
    """What one process holds open."""

    def __init__(self, path: Path, run: str, engine: Engine, options: dict[str, int]) -> None:
        clock = lambda: engine.now  # noqa: E731
        self.goals: Goals | None = None
        self.leases = Leases(path, run=run, clock=clock)
        self.ledger = Ledger.open(path, run=run, clock=clock, **options)  # type: ignore[arg-type]


class Persistent:
    """Implements `storage.Storage`."""

    leases = True

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.project = Path(tempfile.mkdtemp(prefix="loopguard-scenario-"))
        self.path = self.project / ".loopguard"
        self.failures = Failures()
        self.process: Process | None = None
        self.unusable = ""
        self.second: Process | None = None
        self.outside = self.project / "outside"
        self.older_gone = False
        self.problems: list[str] = []
        """What steps that watch over something saw go wrong."""
        self._runs = 0

    # --- processes ---------------------------------------------------------------------------

    def start(self, process: int) -> Iterable[GoalRecord]:
        self.process, self.unusable = self._open()
        if self.process is None:
            return ()
        try:
            return stored_goals(self.path).records
        except StoreError as error:
            self.unusable = str(error)
            return ()

    def _open(self) -> tuple[Process | None, str]:
        self._runs += 1
        given = self.engine.given
        options = {
            ours: int(given[name])
            for name, ours in (("ledger_max_bytes", "max_bytes"), ("ledger_generations", "generations"))
            if name in given
        }
        try:
            return Process(self.path, f"run{self._runs}", self.engine, options), ""
        except LoopguardError as error:
            return None, str(error)

    def stop(self, *, orderly: bool) -> None:
        if self.process is None:
            return
        if orderly:
            self.process.leases.close()
        else:
            self._bury()
        self.process.ledger.close()
        self.process = None

    def _bury(self) -> None:
        """The owner of all leases is dead: to the system this process is still alive."""
        for file in (self.path / "leases").glob("*.json"):
            owner = json.loads(file.read_bytes())
            file.write_text(json.dumps({**owner, "pid": DEAD, "started": "before"}))

    def close(self) -> None:
        for process in (self.process, self.second):
            if process is not None:
                process.ledger.close()
        shutil.rmtree(self.project, ignore_errors=True)

    # --- what the engine asks ----------------------------------------------------------------

    def append(self, record: GoalRecord, *, sync: bool) -> str:
        if self.failures.hit(record):
            return "no space left on device"
        if self.process is None:
            return self.unusable
        try:
            self.process.ledger.append(record, sync=sync)
        except StoreError as error:
            return str(error)
        return ""

    def take_lease(self, effect: TakeLease) -> LeaseSettled:
        answer = LeaseSettled(session=effect.session, effect=effect.effect, ok=False)
        if self.process is None:
            return _with(answer, error=self.unusable, unsafe=True)
        return settle_lease(self.path, self.process.leases, effect, self.engine.now)

    def compare(self, engine: Engine, key: str, want: Any, session: str) -> str | None:
        if key == "quarantined":
            aside = [f.name for f in self.path.glob("*") if ".newer." in f.name or ".corrupt." in f.name]
            return "" if len(aside) == want else f"!expected {want}, got {aside}"
        if key == "file_modes":
            paths = {"state": self.path / LEDGER, "ledger": self.path / LEDGER, "directory": self.path}
            leases = self.path / "leases"
            paths |= {"lease": next(leases.glob("*.json"), leases), "lease_directory": leases}
            if (unknown := want.keys() - paths.keys()) != set():
                return f"!nothing knows {sorted(unknown)}"
            modes = {name: f"{stat.S_IMODE(paths[name].stat().st_mode):04o}" for name in want}
            return "" if modes == want else f"!expected {want}, got {modes}"
        return None

    # --- steps -------------------------------------------------------------------------------

    def step(self, engine: Engine, step: Step) -> bool:
        handler: Callable[[Step], None] | None = getattr(self, f"_do_{step['do']}", None)
        if handler is None:
            return False
        handler(step)
        return True

    def _do_storage(self, step: Step) -> None:
        self.failures.change(step)

    def _do_save_state(self, step: Step) -> None:
        """There is no second file that could lag behind."""

    _do_stale_state = _do_save_state

    def _do_corrupt_state(self, step: Step) -> None:
        current = self.path / LEDGER
        if not self.older_gone and current.exists():
            shutil.copy2(current, self.path / f"{LEDGER}.1")
        content = current.read_bytes() if current.exists() else b""
        current.unlink(missing_ok=True)
        match step["how"]:
            case "delete":
                return
            case "truncate":
                current.write_bytes(content[: min(len(content), 20)])
            case "future_version":
                current.write_bytes(b'{"v":99,"seq":1,"time":1.0,"run":"x","record":{},"crc":"00000000"}\n')
            case "oversize":
                with current.open("wb") as huge:
                    huge.truncate(65 << 20)
            case "symlink":
                self.outside.write_bytes(content)
                current.symlink_to(self.outside)
            case "bad_arrays":
                current.write_bytes(b'{"version":1,"goals":{},"results":{}}\n')
            case _:
                current.write_bytes(b"this is no ledger\n")
        if not current.is_symlink():
            current.chmod(0o600)

    def _do_damage_ledger(self, step: Step) -> None:
        if step["how"] == "delete":
            self.older_gone = True
            for file in self.path.glob(f"{LEDGER}.*"):
                file.unlink()
            return
        with (self.path / LEDGER).open("ab") as ledger:
            ledger.write(b"{broken\n")

    def _do_ledger_append(self, step: Step) -> None:
        session = SessionId(str(step.get("session", DEFAULT_SESSION)))
        goals = stored_goals(self.path).books()[session].goals
        goal = next(g for g in goals if g.objective == step["objective"])
        kind, detail = Kind(step["type"]), str(step.get("detail", ""))
        payload: Payload = Stopped(at=self.engine.now) if kind in (Kind.BLOCKED, Kind.PAUSED) else Payload()
        record = pack(session, goal.id, kind, payload, detail)
        with Ledger.open(self.path, run="other", clock=lambda: self.engine.now) as ledger:
            ledger.append(record, sync=True)

    def _do_write_state(self, step: Step) -> None:
        """State of the replaced plugin, and a person who asks for its import."""
        file = self.project / migrate.PLUGIN_STATE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(step.get("state", {"version": 1, "goals": [], "results": []})))
        migrate.write(self.path, migrate.find(self.project), run="import", now=self.engine.now)

    _do_write_legacy_state = _do_write_state

    def _do_write_lease(self, step: Step) -> None:
        session = str(step.get("session", DEFAULT_SESSION))
        file = self.path / "leases" / f"{session_name(session)}.json"
        self.path.mkdir(mode=0o700, exist_ok=True)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        at = self.engine.now - step.get("age_ms", 0) / 1000
        pid = step.get("pid", DEAD)
        owner = {
            "protocol": step.get("protocol", 1),
            "token": "f" * 32,
            "pid": pid,
            "started": processes.started(pid) or "before",
            "host": step.get("host", processes.host()),
            "space": processes.space(),
            "run": "elsewhere",
            "since": at,
            "beat": at,
        }
        file.write_text("{malformed" if step.get("malformed") else json.dumps(owner))
        file.chmod(0o600)
        os.utime(file, (at, at))

    def _do_make_symlink(self, step: Step) -> None:
        self.path.mkdir(mode=0o700, exist_ok=True)
        self.outside.write_text("outside\n")
        self.outside.chmod(0o640)
        place = {"state_directory": self.path, "lease": self.path / "leases"}
        target = place.get(step.get("what", "ledger"), self.path / LEDGER)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        target.symlink_to(self.outside)

    def _do_make_unwritable(self, step: Step) -> None:
        """Something that is no folder is in the place of the state folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.write_text("in the way\n")

    def _do_fill_ledger(self, step: Step) -> None:
        assert self.process is not None
        session, written, number = SessionId("filler"), 0, 0
        while written < step["bytes"]:
            number += 1
            record = pack(
                session,
                "gfiller",
                Kind.WARNING,
                Payload(at=self.engine.now),
                f"filler {number:06d} " + "x" * 80,
            )
            self.process.ledger.append(record)
            written += len(record.detail) + 100

    def _do_concurrent_reads(self, step: Step) -> None:
        """Another process reads all the time while steps are done."""
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                for item in read_ledger(self.path):
                    if isinstance(item, Damage):
                        self.problems.append(f"a reader saw {item.reason} in {item.file}")

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for inner in step["while_steps"]:
                self.engine.step(inner)
        finally:
            done.set()
            reader.join()
        self.problems += [f"left behind: {f.name}" for f in self.path.glob("*.new")]

    # --- several processes -------------------------------------------------------------------

    def _in(self, process: Process | None, steps: list[Step]) -> Process | None:
        """Do steps in another process that has the same storage."""
        engine = self.engine
        mine = (self.process, engine.goals, engine.disposed)
        self.process, engine.goals, engine.disposed = process, process.goals if process else None, False
        try:
            for inner in steps:
                engine.step(inner)
            if self.process is not None:
                self.process.goals = engine.goals
            return self.process
        finally:
            self.process, engine.goals, engine.disposed = mine

    def _do_second_process(self, step: Step) -> None:
        self.second = self._in(None, step["steps"])

    def _do_in_second_process(self, step: Step) -> None:
        self.second = self._in(self.second, step["steps"])

    def _do_race(self, step: Step) -> None:
        """Several processes do the same, one after the other; none has ended before the last began."""
        opened = []
        for number in range(int(step["processes"])):
            steps = [dict(inner) for inner in step["steps"]]
            if step.get("distinct_sessions"):
                steps = [{**inner, "session": f"{DEFAULT_SESSION}-{number}"} for inner in steps]
            opened.append(self._in(None, steps))
        for process in opened:
            if process is not None:
                process.leases.close()
                process.ledger.close()

    def _do_race_release_then_acquire(self, step: Step) -> None:
        self.engine.stop(orderly=True, again=True)
        self._do_race(step)

    def _do_kill_owner(self, step: Step) -> None:
        self.engine.stop(orderly=False, again=True)


def _with(answer: LeaseSettled, **changes: Any) -> LeaseSettled:
    return replace(answer, **changes)
