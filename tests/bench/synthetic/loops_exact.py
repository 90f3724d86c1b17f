"""Loops that repeat calls, cycles, errors or batches exactly."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.writer import Asked, Writer


def again(
    w: Writer, asked: Asked, times: int, *, between: Callable[[], None] | None = None, known_at: int = 2
) -> None:
    """The same call ``times`` times; a loop from its third answer on."""
    for turn in range(times):
        w.remark()
        w.batch([w.running_again(asked)])
        if turn == known_at:
            w.mark()
        if between is not None:
            between()


def same_read(w: Writer) -> None:
    path = words.path(w.rng)
    again(w, w.reading(path, words.code(w.rng, w.rng.randint(2, 50))), w.rng.randint(5, 12))


def same_command(w: Writer) -> None:
    command = w.rng.choice(
        ("node tools/report.js --last", "make stats", "php artisan about", "./bin/summary", "ls -la build")
    )
    again(w, w.running(command, w.rng.choice(("total 0", "ok", "", "rows: 88\nok"))), w.rng.randint(5, 12))


def empty_search(w: Writer) -> None:
    again(
        w,
        (
            w.host.search,
            {w.host.pattern: words.symbol(w.rng)},
            w.rng.choice(("No matches found", "[]", "", "0 results")),
            True,
        ),
        w.rng.randint(4, 12),
    )


def noop_edit(w: Writer) -> None:
    path, line = words.path(w.rng), words.code(w.rng, 1)[0]
    again(
        w,
        (w.host.edit, w.host.edit_args(path, line, line), w.host.edited.format(path=path), True),
        w.rng.randint(4, 8),
    )


def rewritten_file(w: Writer) -> None:
    path, text = words.path(w.rng), "\n".join(words.code(w.rng, 20))
    again(
        w,
        (w.host.write, w.host.write_args(path, text), f"Wrote {len(text)} bytes", True),
        w.rng.randint(4, 10),
    )


def applied_edit(w: Writer) -> None:
    """The edit works; sent again it no longer finds its text."""
    path = words.path(w.rng)
    args = w.host.edit_args(path, "limit = 3", "limit = 5")
    w.call(w.host.edit, args, w.host.edited.format(path=path))
    again(
        w, (w.host.edit, args, "The text to replace was not found in the file.", False), w.rng.randint(5, 8)
    )


def same_todo(w: Writer) -> None:
    todos = [
        {"content": f"{verb} {words.symbol(w.rng)}", "status": "in_progress" if n == 0 else "pending"}
        for n, verb in enumerate(("Read", "Change", "Test"))
    ]
    again(w, (w.host.todo, {w.host.todos: todos}, "Todos have been updated.", True), w.rng.randint(4, 14))


def same_commit(w: Writer) -> None:
    command = f'git add -A && git commit -m "Change {words.symbol(w.rng)}"'
    w.shell(command, "[main 3f2c1aa] 1 file changed")
    again(w, w.running(command, "nothing to commit, working tree clean", ok=False), w.rng.randint(4, 9))


def same_page(w: Writer) -> None:
    again(
        w,
        (
            w.host.fetch,
            {"url": f"https://docs.example/{words.symbol(w.rng)}"},
            "Title: Guide\n" + " ".join(words.code(w.rng, 6)),
            True,
        ),
        w.rng.randint(4, 9),
    )


def failing_command(w: Writer) -> None:
    again(
        w,
        w.running(
            f"ssh box-{w.rng.randrange(9)} 'make deploy'",
            "make: *** No rule to make target 'deploy'.  Stop.",
            ok=False,
        ),
        w.rng.randint(4, 9),
    )


def failing_edit(w: Writer) -> None:
    path = words.path(w.rng)
    again(
        w,
        (
            w.host.edit,
            w.host.edit_args(path, words.symbol(w.rng), words.symbol(w.rng)),
            w.rng.choice(
                (
                    "String to replace not found in file.",
                    "Error: old text occurs 0 times",
                    f"No replacement was performed: no match in {path}.",
                )
            ),
            False,
        ),
        w.rng.randint(4, 9),
    )


def missing_argument(w: Writer) -> None:
    again(
        w, (w.host.todo, {}, f"Invalid arguments: '{w.host.todos}' is required", False), w.rng.randint(4, 9)
    )


def reworded_failure(w: Writer) -> None:
    """The same failing call with a long excuse between, never the same."""
    asked = w.running("npm run migrate", 'Error: relation "users" already exists', ok=False)
    again(
        w,
        asked,
        w.rng.randint(4, 8),
        between=lambda: w.say(
            f"That did not work because of {words.symbol(w.rng)}; I will correct"
            f" {words.symbol(w.rng)} and go on with {words.symbol(w.rng)}."
        ),
    )


def alternation(w: Writer) -> None:
    rounds(
        w,
        [
            w.reading(words.path(w.rng), words.code(w.rng, 9)),
            (w.host.search, {w.host.pattern: words.symbol(w.rng)}, "No matches found", True),
        ],
        w.rng.randint(4, 7),
    )


def longer_round(w: Writer) -> None:
    """Rounds of three to eight calls, all of them successful."""
    calls = [_looking(w) for _ in range(w.rng.randint(3, 8))]
    rounds(w, calls, w.rng.randint(4, 6))


def read_edit_test(w: Writer) -> None:
    path = words.path(w.rng)
    rounds(
        w,
        [
            w.reading(path, words.code(w.rng, 12)),
            (w.host.edit, w.host.edit_args(path, "old()", "new()"), "String to replace not found.", False),
            w.running("pytest -q tests/test_rows.py", "1 failed, 12 passed", ok=False),
        ],
        w.rng.randint(4, 6),
    )


def to_and_fro(w: Writer) -> None:
    """One edit undoes the other."""
    path = words.path(w.rng)
    done = w.host.edited.format(path=path)
    rounds(
        w,
        [
            (w.host.edit, w.host.edit_args(path, "strict = True", "strict = False"), done, True),
            (w.host.edit, w.host.edit_args(path, "strict = False", "strict = True"), done, True),
        ],
        w.rng.randint(4, 6),
    )


def to_and_fro_tested(w: Writer) -> None:
    """The same with a test after each edit, which fails in its own way each time."""
    path = words.path(w.rng)
    done = w.host.edited.format(path=path)
    rounds(
        w,
        [
            (w.host.edit, w.host.edit_args(path, "a < b", "a <= b"), done, True),
            w.running("go test ./...", "--- FAIL: TestEqual", ok=False),
            (w.host.edit, w.host.edit_args(path, "a <= b", "a < b"), done, True),
            w.running("go test ./...", "--- FAIL: TestLess", ok=False),
        ],
        w.rng.randint(4, 6),
    )


def noisy_round(w: Writer) -> None:
    """Rounds with other calls strewn in."""
    calls = [_looking(w) for _ in range(w.rng.randint(2, 4))]
    rounds(w, calls, w.rng.randint(6, 8), noise=0.25)


def among_others(w: Writer) -> None:
    """One call comes back again and again between others that are new."""
    asked = w.running("cat deploy/status.log", "no entries") if w.rng.random() < 0.5 else _looking(w)
    again(w, asked, w.rng.randint(7, 10), between=lambda: w.look(w.rng.randint(1, 2)), known_at=3)


def failing_batch(w: Writer) -> None:
    """Several calls at once, one of which fails; then the whole batch again."""
    calls = [
        w.running("npm run lint", "clean"),
        w.running("npm run typecheck", "error TS2322 in form.tsx", ok=False),
        w.running("npm test", "31 passed"),
    ]
    for turn in range(w.rng.randint(4, 7)):
        w.remark()
        w.batch([w.running_again(one) for one in calls])
        if turn == 2:
            w.mark()


def burst(w: Writer) -> None:
    """Dozens of equal calls sent off at once."""
    asked = w.running(w.rng.choice(("cargo test", "pytest -q", "npm run build")), "ok")
    calls = [w.running_again(asked) for _ in range(w.rng.randint(8, 30))]
    at = len(w.events)
    w.batch(calls)
    w.loop_at = at + 2


def resumed(w: Writer) -> None:
    """The same call again after a person's `continue`."""
    asked = w.running("./scripts/sync.sh", "remote refused: quota exceeded", ok=False)
    again(w, asked, 4)
    w.end_turn()
    w.user("continue")
    again(w, asked, 4)


def same_delegation(w: Writer) -> None:
    """One task given to sub-agent after sub-agent."""
    task = f"Find every use of {words.symbol(w.rng)} and report the files."
    for turn in range(w.rng.randint(5, 8)):
        w.remark()
        w.call(
            w.host.task,
            {w.host.prompt: task, "description": "Find uses"},
            f"I looked at {w.rng.randrange(90)} files but "
            f"{w.rng.choice(('ran out of steps', 'reached the limit'))}. {words.code(w.rng, 1)[0]}",
            seconds=w.rng.uniform(20, 90),
        )
        if turn == 3:
            w.mark()


def _looking(w: Writer) -> Asked:
    path = words.path(w.rng)
    match w.rng.randrange(4):
        case 0:
            return w.reading(path, words.code(w.rng, w.rng.randint(2, 30)))
        case 1:
            return (
                w.host.search,
                {w.host.pattern: words.symbol(w.rng)},
                f"{path}:{w.rng.randrange(300)}: match",
                True,
            )
        case 2:
            return (
                w.host.listing,
                {"path": path.rpartition("/")[0] + f"/{w.rng.randrange(99)}"},
                "\n".join(words.path(w.rng) for _ in range(3)),
                True,
            )
        case _:
            return w.running(f"git show HEAD:{path}", "\n".join(words.code(w.rng, 5)))


def rounds(w: Writer, calls: list[Asked], rounds: int, noise: float = 0.0) -> None:
    for turn in range(rounds):
        for one in calls:
            if w.rng.random() < noise:
                w.look(1)
            w.remark()
            w.batch([w.running_again(one)])
        if turn == 2:
            w.mark()


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "same_read": ("identical_call", same_read),
    "same_command": ("identical_call", same_command),
    "empty_search": ("identical_call", empty_search),
    "noop_edit": ("identical_call", noop_edit),
    "rewritten_file": ("identical_call", rewritten_file),
    "applied_edit": ("repeated_error", applied_edit),
    "same_todo": ("identical_call", same_todo),
    "same_commit": ("identical_call", same_commit),
    "same_page": ("identical_call", same_page),
    "failing_command": ("repeated_error", failing_command),
    "failing_edit": ("repeated_error", failing_edit),
    "missing_argument": ("repeated_error", missing_argument),
    "reworded_failure": ("repeated_error", reworded_failure),
    "alternation": ("cycle", alternation),
    "longer_round": ("cycle", longer_round),
    "read_edit_test": ("cycle", read_edit_test),
    "to_and_fro": ("cycle", to_and_fro),
    "to_and_fro_tested": ("cycle", to_and_fro_tested),
    "noisy_round": ("cycle", noisy_round),
    "among_others": ("identical_call", among_others),
    "failing_batch": ("cycle", failing_batch),
    "burst": ("parallel_duplicates", burst),
    "resumed": ("repeated_error", resumed),
    "same_delegation": ("subagent", same_delegation),
}
"""By name: the kind as labelled traces call it, and who writes it."""
