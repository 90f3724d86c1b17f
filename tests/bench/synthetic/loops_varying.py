"""Loops that never repeat exactly: counters, ids, reworded or growing calls, empty turns, text."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.writer import Writer

Maker = Callable[[Writer, int], None]


def varied(w: Writer, times: int, make: Maker, known_at: int = 4) -> None:
    for turn in range(times):
        w.remark()
        make(w, turn)
        if turn == known_at:
            w.mark()


def counting_argument(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(7, 14),
        lambda w, n: w.call("check_state", {"attempt": n + 1, "target": "web"}, "state unchanged"),
    )


def fresh_ids(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(7, 14),
        lambda w, _: w.call(
            "find_reports", {"requestId": words.uuid(w.rng), "filter": "failed"}, "no reports"
        ),
    )


def time_in_command(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(7, 14),
        lambda w, n: w.shell(f"./report --at 2026-03-0{1 + n % 9}T10:{10 + n}:00Z", "0 rows"),
    )


def shuffled_command(w: Writer) -> None:
    def make(w: Writer, _: int) -> None:
        flags = ["--all", "--json", "--strict", "--out=/dev/null"]
        w.rng.shuffle(flags)
        w.shell(f"./verify {' '.join(flags)}", "verdict: unclear")

    varied(w, w.rng.randint(8, 14), make)


def past_the_end(w: Writer) -> None:
    path, size = words.path(w.rng), w.rng.randint(40, 200)
    empty = w.rng.choice(("", "<empty>", f"offset is beyond the end of the file ({size} lines)"))
    offsets = [size + n for n in range(4)]
    varied(
        w,
        w.rng.randint(8, 16),
        lambda w, _: w.call(w.host.read, w.host.read_args(path, w.rng.choice(offsets)), empty),
    )


def ignored_range(w: Writer) -> None:
    """Whatever range is asked for, the answer is the beginning of the file."""
    path, lines = words.path(w.rng), words.code(w.rng, 30)
    shown = words.numbered(lines, 1, "arrow")
    varied(
        w,
        w.rng.randint(7, 12),
        lambda w, _: w.call(
            w.host.read, w.host.read_args(path, w.rng.randrange(1, 900), w.rng.randrange(20, 200)), shown
        ),
    )


def raised_limit(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(7, 10),
        lambda w, n: w.shell(f"head -n {50 * (n + 1)} run.log", "run started\nrun failed"),
    )


def reworded_query(w: Writer) -> None:
    """The same question in other words, the same useless answer."""
    parts = (
        ("tool", "function", "action"),
        ("send mail", "mail a user", "email someone"),
        ("how to", "find", "available"),
    )

    def make(w: Writer, _: int) -> None:
        chosen = [w.rng.choice(part) for part in parts]
        w.rng.shuffle(chosen)
        w.call("search_tools", {"query": " ".join(chosen)}, "No tools matched your query.")

    varied(w, w.rng.randint(9, 14), make, known_at=5)


def idle_commands(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(7, 12),
        lambda w, _: w.shell(w.rng.choice(("true", 'echo ""', ":", "pwd", "cat /dev/null", "echo")), ""),
    )


def announced_echo(w: Writer) -> None:
    """Commands that only say what will be done."""
    verbs = ("starting", "now", "going to", "about to", "ready to")
    varied(
        w,
        w.rng.randint(8, 14),
        lambda w, n: w.shell(f'echo "{w.rng.choice(verbs)} write the parser, step {n}"', f"{n}"),
        known_at=5,
    )


def misspelt_tool(w: Writer) -> None:
    names = ("web_serach", "websearch_tool", "search.web", "search_the_web", "internet_search")

    def make(w: Writer, _: int) -> None:
        name = w.rng.choice(names)
        w.call(name, {"q": words.symbol(w.rng)}, f"Error: there is no tool named '{name}'.", ok=False)

    varied(w, w.rng.randint(7, 10), make)


def unknown_tool(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(6, 10),
        lambda w, n: w.call(
            "invalid",
            {"path": words.path(w.rng), "n": n},
            "Model tried to call unavailable tool 'invalid'.",
            ok=False,
        ),
    )


def varied_failing_edit(w: Writer) -> None:
    path = words.path(w.rng)
    said = w.rng.choice(
        (
            "String to replace not found in file.",
            "Search text does not match the file contents.",
            "error: patch does not apply",
        )
    )
    varied(
        w,
        w.rng.randint(6, 10),
        lambda w, n: w.edit(
            path, f"{words.code(w.rng, 1)[0]}\n{words.symbol(w.rng)}", f"value = {n}", said, ok=False
        ),
    )


def invented_name(w: Writer) -> None:
    """A class that does not exist, in one attempt after the other; the error names it with its place."""

    def make(w: Writer, n: int) -> None:
        w.shell(
            f"php -r 'new App\\\\Mail\\\\Sender({n}, \"{words.symbol(w.rng)}\");'",
            'PHP Fatal error:  Class "App\\Mail\\Sender" not found in Command line code:1',
            ok=False,
        )

    varied(w, w.rng.randint(7, 11), make)


def denied(w: Writer) -> None:
    commands = (
        "docker ps",
        "docker info",
        "docker images",
        "docker compose ls",
        "docker version",
        "docker network ls",
        "docker volume ls",
        "docker stats",
    )
    varied(
        w,
        w.rng.randint(6, 8),
        lambda w, n: w.shell(
            commands[n],
            "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
            ok=False,
        ),
    )


def counting_output(w: Writer) -> None:
    path, lines = words.path(w.rng), words.code(w.rng, 3)
    varied(
        w,
        w.rng.randint(5, 9),
        lambda w, n: w.call(
            w.host.read, w.host.read_args(path), "\n".join(lines) + f"\n(seen {n + 1} times in this session)"
        ),
        known_at=3,
    )


def fresh_process(w: Writer) -> None:
    def make(w: Writer, _: int) -> None:
        w.shell(
            "./start_worker.sh",
            f"started in the background, session {w.rng.choice(words.SYMBOLS)}-{words.hexadecimal(w.rng)}, "
            f"pid {w.rng.randrange(900, 99000)}",
        )

    varied(w, w.rng.randint(5, 9), make, known_at=3)


def timed_output(w: Writer) -> None:
    """A test run whose output differs in its duration only."""
    varied(
        w,
        w.rng.randint(5, 9),
        lambda w, _: w.shell(
            "pytest -q tests/test_rows.py", f"1 failed, 41 passed in {w.rng.uniform(1, 3):.2f}s", ok=False
        ),
        known_at=3,
    )


def stamped_output(w: Writer) -> None:
    varied(
        w,
        w.rng.randint(5, 9),
        lambda w, n: w.shell(
            "node check.js",
            f"[2026-04-02T11:{20 + n}:{w.rng.randrange(10, 59)}.{w.rng.randrange(100, 999)}Z] config ok\n"
            "nothing to do",
        ),
        known_at=3,
    )


def growing_file(w: Writer) -> None:
    """The same line is added again and again."""
    row = words.code(w.rng, 1)[0]
    varied(
        w,
        w.rng.randint(5, 9),
        lambda w, n: w.shell(f"echo '{row}' >> notes.txt && cat notes.txt", "\n".join([row] * (n + 1))),
        known_at=3,
    )


def glued_command(w: Writer) -> None:
    part = 'python3 -c "import rows; print(rows.check())"'
    varied(
        w,
        w.rng.randint(6, 9),
        lambda w, n: w.shell("; ".join([part] * (n + 1)), "\n".join(["False"] * (n + 1))),
        known_at=3,
    )


def nested_path(w: Writer) -> None:
    folder = w.rng.choice(words.NAMES)
    varied(
        w,
        w.rng.randint(6, 9),
        lambda w, n: w.listing("/repo/" + "/".join([folder] * (n + 1)), "Error: no such directory"),
        known_at=4,
    )


def hurried_poll(w: Writer) -> None:
    w.shell("./train.sh &", "[1] started")
    for turn in range(w.rng.randint(25, 60)):
        w.call("process", {"action": "log", "id": "job-1"}, "(no new output)")
        w.wait(w.rng.uniform(0.5, 3))
        if turn == 19:
            w.mark()


def aimless(w: Writer) -> None:
    """A handful of looks, again and again in no order."""
    calls = [
        (w.host.read, w.host.read_args(words.path(w.rng)), "\n".join(words.code(w.rng, 6)), True)
        for _ in range(w.rng.randint(3, 6))
    ]
    for turn in range(w.rng.randint(40, 55)):
        w.remark()
        w.batch([w.rng.choice(calls)])
        if turn == 30:
            w.mark()


def reworded_delegation(w: Writer) -> None:
    name = words.symbol(w.rng)
    varied(
        w,
        w.rng.randint(5, 8),
        lambda w, n: w.call(
            w.host.task,
            {w.host.prompt: f"Attempt {n + 1}: find why {name} fails and report back."},
            f"Nothing found; {words.code(w.rng, 1)[0]}",
            seconds=30,
        ),
    )


def fruitless(w: Writer) -> None:
    """Edit, test, edit, test, and always the very same failure."""

    def make(w: Writer, n: int) -> None:
        w.edit("src/rows.py", f"limit = {n}", f"limit = {n + 1}")
        w.shell(
            "pytest -q", "FAILED tests/test_rows.py::test_limit - AssertionError: 3 != 4\n1 failed", ok=False
        )

    varied(w, w.rng.randint(12, 18), make, known_at=8)


def waiting_turns(w: Writer) -> None:
    """A driver wakes an agent that has nothing to do."""
    said = f"Waiting for the answer about {words.symbol(w.rng)}; there is nothing to do until then."
    for turn in range(w.rng.randint(5, 9)):
        w.say(said)
        if turn == 2:
            w.mark()
        w.end_turn()
        w.user("The goal is not reached yet. Go on.", after=2.0)
    w.say(said)
    w.end_turn()


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "counting_argument": ("jittered_args", counting_argument),
    "fresh_ids": ("jittered_args", fresh_ids),
    "time_in_command": ("jittered_args", time_in_command),
    "shuffled_command": ("jittered_args", shuffled_command),
    "past_the_end": ("jittered_args", past_the_end),
    "ignored_range": ("jittered_args", ignored_range),
    "raised_limit": ("jittered_args", raised_limit),
    "reworded_query": ("paraphrase", reworded_query),
    "idle_commands": ("jittered_args", idle_commands),
    "announced_echo": ("paraphrase", announced_echo),
    "misspelt_tool": ("repeated_error_varied_args", misspelt_tool),
    "unknown_tool": ("repeated_error_varied_args", unknown_tool),
    "varied_failing_edit": ("repeated_error_varied_args", varied_failing_edit),
    "invented_name": ("repeated_error_varied_args", invented_name),
    "denied": ("repeated_error_varied_args", denied),
    "counting_output": ("jittered_output", counting_output),
    "fresh_process": ("jittered_output", fresh_process),
    "timed_output": ("jittered_output", timed_output),
    "stamped_output": ("jittered_output", stamped_output),
    "growing_file": ("jittered_output", growing_file),
    "glued_command": ("growing_args", glued_command),
    "nested_path": ("growing_args", nested_path),
    "hurried_poll": ("poll_no_progress", hurried_poll),
    "aimless": ("no_novelty", aimless),
    "reworded_delegation": ("subagent", reworded_delegation),
    "fruitless": ("fruitless", fruitless),
    "waiting_turns": ("repeated_message", waiting_turns),
}
"""By name: the kind as labelled traces call it, and who writes it."""
