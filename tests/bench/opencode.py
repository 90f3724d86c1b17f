"""What guarding costs the real OpenCode: ``python -m tests.bench.opencode [--json]``.

Wall time, each beside its budget: the gate's round trip as seen inside OpenCode; from the end of the
third sentence of a loop to the closing of the provider's connection; start-up; an idle supervisor.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from loopguard_cli.testing import opencode
from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Say, reply, say, turn
from tests.real.harness import LOOPGUARD, World, trace

CALLS = 200
LOOPS = 5
STARTS = 10
IDLE_SECONDS = 10.0

PACE_SECONDS = 0.05
"""For one sentence; a fast model takes twice as long."""

LOOP = "Let me check whether the containers started. "


def found() -> Path:
    """The OpenCode to measure. Raises SystemExit."""
    place = os.environ.get("LOOPGUARD_TEST_OPENCODE") or str(
        Path(__file__).parents[2] / ".agents/opencode/node_modules/.bin/opencode"
    )
    agent = opencode.find(place)
    if agent is None:
        raise SystemExit(f"no OpenCode at {place}: run 'make agents'")
    return agent


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def gate(agent: Path) -> list[tuple[float, float]]:
    """For each of `CALLS` calls, in milliseconds: how long it waited for its answer, and how long
    OpenCode's event loop was busy with other things at that time."""
    calls = [reply(Call(tool="probe", args={"n": n})) for n in range(CALLS)]
    with World(agent, [turn(*calls, say("Done."))]) as world:
        file = world.root / "probe"
        world.configure(plugin=[Path(__file__).with_name("probe.js").as_uri()])
        done = world.guard("opencode", "run", "probe", env={"PROBE_FILE": str(file)}).wait(300)
        times = [(float(a), float(b)) for a, b in map(str.split, file.read_text().splitlines())]
    if done.code or len(times) != CALLS:
        raise SystemExit(f"{len(times)} of {CALLS} calls measured, exit status {done.code}: {done.err}")
    return times


def cut(agent: Path) -> list[float]:
    """Milliseconds from the third sentence, sent whole, to the end of the connection.

    In the second answer of a run: while OpenCode starts, it reads its first one late and in one go.
    """
    times = []
    for _ in range(LOOPS):
        endless = reply(Say(text=LOOP, times=None, pace=PACE_SECONDS, chunk=len(LOOP)))
        with World(agent, [turn(reply(trace("first")), endless)]) as world:
            world.guard("opencode", "run", "go", options=["--set", "guard.recovery.enabled=false"]).wait()
            exchange = world.model.chats()[-1]
            third, ended = exchange.sent_at(3 * len(LOOP)), exchange.ended_at
        if exchange.end is not End.CLIENT_CLOSED or third is None or ended is None:
            raise SystemExit("the loop was not cut off")
        times.append((ended - third) * 1000)
    return times


def startup(agent: Path) -> list[float]:
    """Milliseconds that ``loopguard run -- true`` takes beyond ``true``."""
    times = []
    with World(agent) as world:
        for _ in range(STARTS):
            taken = []
            for command in (["true"], [*LOOPGUARD, "run", "--", "true"]):
                began = time.perf_counter()
                subprocess.run(
                    command, cwd=world.project, env=world.environment(), stderr=subprocess.DEVNULL, check=True
                )
                taken.append((time.perf_counter() - began) * 1000)
            times.append(taken[1] - taken[0])
    return times


def idle(agent: Path) -> float:
    """Share of a core, in percent, that a supervisor uses beside an OpenCode that waits for its person."""
    with World(agent) as world:
        tty = world.guard_screen("opencode")
        tty.wait_for("Ask anything")
        supervisor = world.supervisor()
        time.sleep(2.0)
        before = supervisor.cpu_times()
        time.sleep(IDLE_SECONDS)
        after = supervisor.cpu_times()
        tty.send("\x03")
        tty.wait()
    return (after.user + after.system - before.user - before.system) / IDLE_SECONDS * 100


def measure() -> list[dict[str, object]]:
    """One row per figure: what, value, unit, budget."""
    agent = found()
    gates, cuts, starts = gate(agent), cut(agent), startup(agent)
    waited = [total for total, _ in gates]
    added = [max(0.0, total - busy) for total, busy in gates]
    figures = (
        ("gate round trip inside OpenCode, p50", percentile(waited, 0.5), "ms", 1.0),
        ("gate round trip inside OpenCode, p99", percentile(waited, 0.99), "ms", 20.0),
        ("the same beyond OpenCode's own busy loop, p50", percentile(added, 0.5), "ms", 1.0),
        ("the same beyond OpenCode's own busy loop, p99", percentile(added, 0.99), "ms", 20.0),
        ("third sentence sent to connection closed, median", statistics.median(cuts), "ms", 100.0),
        ("third sentence sent to connection closed, worst", max(cuts), "ms", 100.0),
        ("loopguard run -- true over true, median", statistics.median(starts), "ms", 400.0),
        ("idle supervisor, of a core", idle(agent), "%", 0.5),
    )
    return [
        {"what": what, "value": round(value, 2), "unit": unit, "budget": budget}
        for what, value, unit, budget in figures
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    rows = measure()
    if as_json:
        json.dump({"rows": rows}, sys.stdout, indent=1)
        return
    for row in rows:
        sys.stdout.write(f"{row['what']:50} {row['value']:>8} {row['unit']:2} (budget {row['budget']})\n")


if __name__ == "__main__":
    main()
