"""Honest work that varies one call, or sends many at once."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.writer import Writer


def many_edits(w: Writer) -> None:
    """One file, many places, one answer."""
    path = words.path(w.rng)
    for n in range(w.rng.randint(6, 14)):
        w.edit(path, f'_("text {n}")', f't("text {n}")')


def many_files(w: Writer) -> None:
    """The same change in many files, one answer."""
    for _ in range(w.rng.randint(6, 14)):
        w.edit(words.path(w.rng), "import old", "import new", "File updated")


def many_writes(w: Writer) -> None:
    for n in range(w.rng.randint(5, 10)):
        w.write(f"fixtures/case_{n:02}.json", f'{{"case": {n}}}', "created")


def same_command_elsewhere(w: Writer) -> None:
    """One command over a list of things, in each the same answer."""
    form, said = w.rng.choice(
        (
            ("cd repos/r{n} && git pull", "Already up to date."),
            ("gh pr merge {m} --squash", "merged"),
            ("npm audit fix --prefix packages/p{n}", "found 0 vulnerabilities"),
            ("git mv old/f{n}.ts new/f{n}.ts", ""),
            ("rubocop app/models/m{n}.rb", "no offenses detected"),
            ("ping -c1 10.0.0.{m}", "1 received"),
        )
    )
    for n in range(w.rng.randint(5, 10)):
        w.remark()
        w.shell(form.format(n=n, m=100 + 3 * n), said)


def searches_without_hits(w: Writer) -> None:
    """Looks for different things, none of which is there."""
    for _ in range(w.rng.randint(5, 8)):
        w.search(words.symbol(w.rng) + words.symbol(w.rng), "No matches found")


def guesses(w: Writer) -> None:
    """Tries several places for a file that is in none but the last."""
    for folder in w.rng.sample(words.FOLDERS, 4):
        w.call(
            w.host.read,
            w.host.read_args(f"{folder}/settings.local.json"),
            f"File does not exist: {folder}/settings.local.json",
            ok=False,
        )
    w.read("config/settings.local.json", words.code(w.rng, 4))


def parallel_reads(w: Writer) -> None:
    """Several reads at once, the same file twice among them."""
    for _ in range(w.rng.randint(2, 4)):
        path, lines = words.path(w.rng), words.code(w.rng, 5)
        calls = [
            w.reading(path, lines),
            *(w.reading(words.path(w.rng), words.code(w.rng, 5)) for _ in range(3)),
            w.reading(path, lines),
        ]
        if w.rng.random() < 0.3:
            calls.append(w.reading(path, lines))
        w.batch(calls)


def cancelled_batch(w: Writer) -> None:
    """One call of a batch fails and takes the others with it."""
    said = w.rng.choice(
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            "Cancelled: parallel tool call Read errored",
            "The user doesn't want to proceed with this tool use.",
        )
    )
    w.batch(
        [
            (
                w.host.read,
                w.host.read_args(words.path(w.rng)),
                "File does not exist." if n == 0 else said,
                False,
            )
            for n in range(w.rng.randint(4, 8))
        ]
    )
    for _ in range(3):
        w.work(1)


def failing_batch_once(w: Writer) -> None:
    """Several guesses at once, all of them wrong in the same way."""
    w.batch(
        [
            (w.host.read, w.host.read_args(f"old/{words.path(w.rng)}"), "File not found.", False)
            for _ in range(w.rng.randint(4, 7))
        ]
    )
    w.work(2)
    w.batch(
        [
            (w.host.read, w.host.read_args(f"older/{words.path(w.rng)}"), "File not found.", False)
            for _ in range(3)
        ]
    )


def ranges(w: Writer) -> None:
    """One file, other places, and one of them twice."""
    path = words.path(w.rng)
    starts = [w.rng.randrange(1, 4000) for _ in range(w.rng.randint(5, 9))]
    for start in [*starts, starts[0]]:
        w.remark()
        w.read(path, words.code(w.rng, 20), start, 40)


def todo_updates(w: Writer) -> None:
    """The list of tasks is written again as they get done; the answer is always the same."""
    items = [f"{verb} {words.symbol(w.rng)}" for verb in ("Read", "Change", "Test", "Document", "Review")]
    for done in range(len(items) + 1):
        states = [
            "completed" if n < done else "in_progress" if n == done else "pending" for n in range(len(items))
        ]
        w.call(
            w.host.todo,
            {w.host.todos: [{"content": c, "status": s} for c, s in zip(items, states, strict=True)]},
            "Todos have been updated.",
        )
        w.work(w.rng.randint(0, 2))


def fan_out(w: Writer) -> None:
    """Sub-agents for different tasks, at once or one after the other."""
    tasks = [
        f"Look for uses of {words.symbol(w.rng)} in {folder} and list them."
        for folder in w.rng.sample(words.FOLDERS, 5)
    ]
    asked = [
        (
            w.host.task,
            {w.host.prompt: task, "description": "Explore"},
            f"Found {w.rng.randrange(9)}: {words.path(w.rng)}",
            True,
        )
        for task in tasks
    ]
    if w.rng.random() < 0.5:
        w.batch(asked, seconds=60)
    else:
        for one in asked:
            w.batch([one], seconds=20)


def same_prompt_each_round(w: Writer) -> None:
    """A driver sends one prompt each round on purpose; the work differs."""
    for _ in range(w.rng.randint(3, 6)):
        w.user("Read TODO.md, do the first open item, test, commit.")
        w.read("TODO.md", words.code(w.rng, 5))
        w.edit(words.path(w.rng), words.code(w.rng, 1)[0], words.code(w.rng, 1)[0])
        w.shell("make test", "14 passed")
        w.shell(f'git commit -am "{words.symbol(w.rng)}"', "ok")
        w.end_turn()


def memory(w: Writer) -> None:
    """Looks into its memory before each part of the work."""
    for n in range(w.rng.randint(3, 6)):
        w.call("recall_memory", {"topic": "conventions"}, "tabs; tests beside the code")
        w.write(f"jobs/j{n}.py", f"def job_{n}(): ...")


def bisect(w: Writer) -> None:
    """`git bisect`: two verdicts, another commit each time."""
    for _ in range(w.rng.randint(5, 8)):
        w.shell("make test", w.rng.choice(("FAIL", "ok")), ok=True)
        w.shell(
            f"git bisect {w.rng.choice(('good', 'bad'))}",
            f"Bisecting: {w.rng.randrange(400)} revisions left\n[{words.hexadecimal(w.rng, 40)}]",
        )


def numeric_search(w: Writer) -> None:
    """Tries values; each brings another number."""
    for n in range(w.rng.randint(5, 9)):
        w.shell(f"./bench --threads {2**n}", f"throughput {w.rng.randrange(1000, 90000)} ops/s")


def lookups(w: Writer) -> None:
    """One tool over many records, many of them alike."""
    for _ in range(w.rng.randint(6, 12)):
        w.call(
            "get_order",
            {"order_id": f"#W{w.rng.randrange(10**6, 10**7)}"},
            '{"status": "delivered", "items": 1}',
        )


def sql(w: Writer) -> None:
    tables = w.rng.sample(words.NAMES, 6)
    for table in tables:
        w.call("sql", {"query": f"SELECT count(*) FROM {table}"}, "count\n0")


def installs(w: Writer) -> None:
    """Missing packages, one after the other: equal command, another error each time."""
    for name in w.rng.sample(words.NAMES, 4):
        w.shell("python app.py", f"ModuleNotFoundError: No module named '{name}'", ok=False)
        w.shell(f"pip install {name}", f"Successfully installed {name}-1.{w.rng.randrange(9)}")
    w.shell("python app.py", "serving")


def plain(w: Writer) -> None:
    w.work(w.rng.randint(20, 60))


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "many_edits": ("batch", many_edits),
    "many_files": ("batch", many_files),
    "many_writes": ("batch", many_writes),
    "same_command_elsewhere": ("batch", same_command_elsewhere),
    "searches_without_hits": ("explore", searches_without_hits),
    "guesses": ("explore", guesses),
    "parallel_reads": ("batch", parallel_reads),
    "cancelled_batch": ("parallel_cancelled", cancelled_batch),
    "failing_batch_once": ("parallel_cancelled", failing_batch_once),
    "ranges": ("explore", ranges),
    "todo_updates": ("batch", todo_updates),
    "fan_out": ("batch", fan_out),
    "same_prompt_each_round": ("by_design", same_prompt_each_round),
    "memory": ("recall", memory),
    "bisect": ("edit_test", bisect),
    "numeric_search": ("explore", numeric_search),
    "lookups": ("batch", lookups),
    "sql": ("explore", sql),
    "installs": ("retry", installs),
    "plain": ("plain", plain),
}
"""By name: what makes it look repetitive, and who writes it."""
