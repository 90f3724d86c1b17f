"""A person's stop against a whole run: supervisor, ledger, leases and bridge, two hundred times."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.runtime.test_run import LOOPGUARD

STANDIN = Path(__file__).with_name("stopping.py")
TRIALS = int(os.environ.get("TRIALS", "200"))


def stopped(folder: Path, sessions: int, *options: str) -> dict[str, dict[str, int]]:
    quick = [f"--set=goal.{setting}" for setting in ("cooldown_seconds=0.005", "max_turns=1000", *options)]
    agent = [sys.executable, str(STANDIN), str(sessions), "1"]
    done = subprocess.run(
        [*LOOPGUARD, "run", "--agent", "opencode", *quick, "--", *agent], cwd=folder, capture_output=True,
        text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def test_no_prompt_follows_a_stop_that_is_known(tmp_path: Path) -> None:
    found = stopped(tmp_path, TRIALS)
    assert set(found["after"].values()) == {0}, found
    assert min(found["before"].values()) >= TRIALS // 10, "there was something to stop"


def test_a_message_that_only_steers_is_followed_by_prompts(tmp_path: Path) -> None:
    found = stopped(tmp_path, 25, "pause_on_message=false")
    assert found["after"].pop("message") > 0, "what the other test looks for can be seen"
    assert set(found["after"].values()) == {0}, found
