"""Honest work that repeats calls: waiting, testing, paging, checking."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.writer import Asked, Writer


def moving_poll(w: Writer) -> None:
    """Polls whose answer moves."""
    done, total = 0, w.rng.randint(60, 4000)
    form = w.rng.choice(
        ("{d} of {t} done", '{{"status": "running", "done": {d}, "total": {t}}}', "job: {p}%", "step {d}/{t}")
    )
    tool, args = _poll(w)
    while done < total:
        w.call(tool, args, form.format(d=done, t=total, p=100 * done // total))
        w.wait(w.rng.choice((5, 10, 30, 60)))
        done += w.rng.randint(1, 1 + total // 6)
    w.call(tool, args, "finished")


def stated_wait(w: Writer) -> None:
    """Polls that say how long they wait, with an unchanged answer."""
    command = w.rng.choice(
        (
            "sleep 120 && ./status.sh",
            "sleep 60; curl -s localhost:8080/jobs/4",
            "sleep 300; gh run view 991",
            "timeout 90 tail -f deploy.log",
        )
    )
    for _ in range(w.rng.randint(3, 8)):
        w.remark()
        w.shell(command, w.rng.choice(("in progress",)), seconds=w.rng.choice((60, 90, 120)))
    w.shell(command, "done", seconds=60)


def patient_poll(w: Writer) -> None:
    """The same status for a while, then another."""
    tool, args = _poll(w)
    for _ in range(w.rng.randint(3, 7)):
        w.call(tool, args, w.rng.choice(("running",)))
        w.wait(w.rng.uniform(12, 40))
    w.call(tool, args, "succeeded")


def wait_between(w: Writer) -> None:
    """Wait, look, wait, look."""
    tool, args = _poll(w)
    for _ in range(w.rng.randint(3, 6)):
        w.call("wait", {"seconds": 15}, "waited 15 s", seconds=15)
        w.call(tool, args, "state: deploying")
    w.call(tool, args, "state: live")


def file_awaited(w: Writer) -> None:
    """Looks for a file that a job of its own will write."""
    w.shell("nohup ./export.sh > export.log 2>&1 &", "[1] 4711")
    for _ in range(w.rng.randint(2, 4)):
        w.shell("sleep 20; ls out/", "", seconds=20)
    w.shell("sleep 20; ls out/", "rows.csv", seconds=20)


def edit_test(w: Writer) -> None:
    """Edit, test, edit, test; often the very same result."""
    command = _check(w)
    outcome = w.rng.choice(
        (("no problems found", True), ("3 errors", False), ("ok", True), ("1 failed, 8 passed", False))
    )
    moves = w.rng.random() < 0.5
    for n in range(w.rng.randint(4, 7)):
        w.remark()
        path = words.path(w.rng)
        w.edit(path, words.code(w.rng, 1)[0], words.code(w.rng, 1)[0] + f"  # {n}")
        text = f"{20 - n} errors" if moves and not outcome[1] else outcome[0]
        w.shell(command, text, ok=outcome[1])
    w.edit(words.path(w.rng), "x", "y")
    w.shell(command, "all good")


def edit_read_back(w: Writer) -> None:
    path, lines = words.path(w.rng), words.code(w.rng, 10)
    for n in range(w.rng.randint(4, 8)):
        w.edit(path, lines[n % 10], f"value_{n} = {n}")
        lines[n % 10] = f"value_{n} = {n}"
        w.read(path, lines)


def status_between(w: Writer) -> None:
    """Looks at the state of the work between edits; the answer is often the same."""
    command = w.rng.choice(("git status --short", "git diff --stat", "ls src", "git status"))
    for _ in range(w.rng.randint(4, 8)):
        w.edit("src/rows.py", words.code(w.rng, 1)[0] + words.symbol(w.rng), words.code(w.rng, 1)[0])
        w.remark()
        w.shell(command, " M src/rows.py" if "ls" not in command else "rows.py")


def commit_each(w: Writer) -> None:
    for n in range(w.rng.randint(4, 7)):
        w.edit(words.path(w.rng), words.code(w.rng, 1)[0], f"step({n})")
        w.shell("git add -A", "")
        w.shell(
            f'git commit -m "Step {n}: {words.symbol(w.rng)}"',
            f"[main {words.hexadecimal(w.rng, 7)}] 1 file changed",
        )


def flaky_retry(w: Writer) -> None:
    """A network error or a flaky test, tried again once, at times twice with a pause."""
    said = w.rng.choice(
        (
            "Error: connect ETIMEDOUT 10.0.0.7:443",
            "could not resolve host: git.example",
            "HTTP 503 Service Unavailable",
            "FAILED test_socket (timeout)",
        )
    )
    command = w.rng.choice(
        ("git push", "npm ci", "pytest tests/test_socket.py", "curl -fsS https://api.example/v1")
    )
    w.shell(command, said, ok=False)
    if w.rng.random() < 0.5:
        w.shell("sleep 30", "", seconds=30)
        w.shell(command, said, ok=False)
        w.shell("sleep 60", "", seconds=60)
    w.shell(command, "ok")


def flaky_proof(w: Writer) -> None:
    """Runs a test several times to see whether it is flaky; the results differ."""
    for n in range(w.rng.randint(4, 6)):
        failed = n in (1, 3)
        w.shell(
            "go test -run TestClock -count=1 ./...",
            f"FAIL TestClock 0.{w.rng.randrange(99):02}s" if failed else f"ok 0.{w.rng.randrange(99):02}s",
            ok=not failed,
        )


def paging(w: Writer) -> None:
    path, start, size = words.path(w.rng), 1, w.rng.choice((40, 100, 200))
    for _ in range(w.rng.randint(5, 12)):
        w.read(path, words.code(w.rng, 20), start, size)
        start += size


def next_page(w: Writer) -> None:
    """Equal arguments, another page each time."""
    tool, args = w.rng.choice(
        (
            ("browser_scroll", {"direction": "down"}),
            ("next_page", {}),
            ("browser_click", {"selector": "a.next"}),
            ("browser_press_key", {"key": "PageDown"}),
            ("computer", {"action": "scroll", "amount": 5}),
            ("scroll_down", {}),
            ("read_more", {"cursor": "next"}),
        )
    )
    for n in range(w.rng.randint(4, 12)):
        w.call(tool, args, f"page {n + 2}: " + "; ".join(words.code(w.rng, 3)))


def silent_moves(w: Writer) -> None:
    """Moves that only answer that they were made, with a look after each."""
    tool, args = w.rng.choice(
        (
            ("browser_scroll", {"direction": "down"}),
            ("browser_press_key", {"key": "Tab"}),
            ("mobile_swipe", {"direction": "up"}),
        )
    )
    for _ in range(w.rng.randint(4, 8)):
        w.call(tool, args, "ok")
        w.call("browser_snapshot", {}, "\n".join(words.code(w.rng, 6)))


def clicking(w: Writer) -> None:
    """A button pressed again and again on a page that moves on."""
    for n in range(w.rng.randint(4, 8)):
        w.call(
            "browser_click", {"element": "Next month", "ref": "e14"}, f"clicked; heading is now month {n + 2}"
        )


def log_tail(w: Writer) -> None:
    lines = words.code(w.rng, 4)
    for _ in range(w.rng.randint(4, 8)):
        lines += [
            f"12:{w.rng.randrange(10, 59)}:{w.rng.randrange(10, 59)} {line}" for line in words.code(w.rng, 2)
        ]
        w.shell("tail -n 20 server.log", "\n".join(lines[-20:]))
        if w.rng.random() < 0.5:
            w.shell(f"curl -s localhost:3000/{words.symbol(w.rng)}", "{}")


def restart_and_look(w: Writer) -> None:
    """Change, restart, ask; the same answer while the bug is not found, then another."""
    for n in range(w.rng.randint(3, 5)):
        w.edit("server/app.js", words.code(w.rng, 1)[0], f"handler{n}()")
        w.shell("pm2 restart app", "[PM2] restarted")
        w.shell("curl -s localhost:3000/health", "502 Bad Gateway")
    w.edit("server/app.js", "a", "b")
    w.shell("pm2 restart app", "[PM2] restarted")
    w.shell("curl -s localhost:3000/health", "ok")


def asked_again(w: Writer) -> None:
    """The person wants the same thing once more, several times."""
    asked = w.running(
        w.rng.choice(("npm test", "./deploy.sh --dry-run", "git pull")),
        w.rng.choice(("12 passed", "nothing to do", "Already up to date.")),
    )
    for _ in range(w.rng.randint(3, 5)):
        w.batch([w.running_again(asked)])
        w.say("Here is the result.")
        w.end_turn()
        w.user(w.rng.choice(("once more please", "run it again", "again")), after=30)
    w.batch([w.running_again(asked)])
    w.end_turn()


def stepwise(w: Writer) -> None:
    """A debugger's `next`, a REPL's `continue`: equal commands that get along."""
    for _ in range(w.rng.randint(4, 9)):
        w.call(
            "debugger",
            {"command": "next"},
            f"stopped at {words.path(w.rng)}:{w.rng.randrange(400)}\n{words.code(w.rng, 1)[0]}",
        )


def two_reads(w: Writer) -> None:
    """The same file twice, far apart; a third time after an edit."""
    path, lines = words.path(w.rng), words.code(w.rng, 12)
    w.read(path, lines)
    w.work(6)
    w.read(path, lines)
    w.work(4)
    w.edit(path, lines[0], "fresh()")
    w.read(path, ["fresh()", *lines[1:]])


def _poll(w: Writer) -> tuple[str, dict[str, object]]:
    tool, args, _, _ = w.rng.choice(_polls(w))
    return tool, args


def _polls(w: Writer) -> list[Asked]:
    return [
        ("get_job_status", {"job": 7}, "", True),
        ("CheckStatus", {}, "", True),
        ("BashOutput", {"bash_id": "b1"}, "", True),
        ("process", {"action": "poll", "sessionId": "calm-pine"}, "", True),
        ("task_list", {}, "", True),
        w.running("gh run view 812 --json status", ""),
        w.running("kubectl get pods -n web", ""),
        w.running("squeue -u me", ""),
        w.running("curl -s localhost:9000/status", ""),
        ("read_terminal", {"id": 3}, "", True),
        ("mcp__ci__get_build", {"build": 44}, "", True),
    ]


def _check(w: Writer) -> str:
    return w.rng.choice(
        ("npm run lint", "npx tsc --noEmit", "cargo check", "pytest -q", "go vet ./...", "make", "mypy src")
    )


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "moving_poll": ("poll", moving_poll),
    "stated_wait": ("poll", stated_wait),
    "patient_poll": ("poll", patient_poll),
    "wait_between": ("poll", wait_between),
    "file_awaited": ("poll", file_awaited),
    "edit_test": ("edit_test", edit_test),
    "edit_read_back": ("edit_test", edit_read_back),
    "status_between": ("edit_test", status_between),
    "commit_each": ("edit_test", commit_each),
    "flaky_retry": ("retry", flaky_retry),
    "flaky_proof": ("retry", flaky_proof),
    "paging": ("paging", paging),
    "next_page": ("paging", next_page),
    "silent_moves": ("ui", silent_moves),
    "clicking": ("ui", clicking),
    "log_tail": ("log_tail", log_tail),
    "restart_and_look": ("edit_test", restart_and_look),
    "asked_again": ("approved", asked_again),
    "stepwise": ("paging", stepwise),
    "two_reads": ("explore", two_reads),
}
"""By name: what makes it look repetitive, and who writes it."""
