"""Kinds that were written when the rules were frozen, and run against them only then."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.loops_exact import again, rounds
from tests.bench.synthetic.loops_varying import varied
from tests.bench.synthetic.writer import Writer

Kinds = dict[str, tuple[str, Callable[[Writer], None]]]


# --- loops -----------------------------------------------------------------------------------


def service_restarted(w: Writer) -> None:
    """Restart, ask, restart, ask: nothing is changed in between."""
    rounds(
        w,
        [
            w.running("docker compose restart api", "Container api Started"),
            w.running("curl -s localhost:8080/ping", "connection refused", ok=False),
        ],
        w.rng.randint(5, 8),
    )


def reinstalled(w: Writer) -> None:
    """Installs what is installed and runs what fails."""
    rounds(
        w,
        [
            w.running("pip install numpy", "Requirement already satisfied: numpy"),
            w.running("python plot.py", "ImportError: cannot import name 'arr'", ok=False),
        ],
        w.rng.randint(4, 7),
    )


def reverted_file(w: Writer) -> None:
    """Writes a file and takes it back."""
    text = "\n".join(words.code(w.rng, 8))
    rounds(
        w,
        [
            (w.host.write, w.host.write_args("src/rows.py", text), "ok", True),
            w.running("git checkout src/rows.py", "Updated 1 path from the index"),
        ],
        w.rng.randint(4, 7),
    )


def asked_tool_help(w: Writer) -> None:
    commands = (
        "deploy --help",
        "deploy -h",
        "deploy help",
        "./deploy --help",
        "deploy --help 2>&1",
        "deploy --help | cat",
        "man deploy",
    )
    varied(
        w,
        w.rng.randint(8, 12),
        lambda w, n: w.shell(commands[n % len(commands)], "usage: deploy [--env ENV]\n  --env ENV  where to"),
        known_at=5,
    )


def same_query_dressed(w: Writer) -> None:
    """A database query with another comment each time."""
    varied(
        w,
        w.rng.randint(7, 11),
        lambda w, _: w.call(
            "run_query",
            {"sql": "SELECT * FROM users WHERE id = 7", "comment": f"check {words.symbol(w.rng)}"},
            "0 rows",
        ),
    )


def failing_download(w: Writer) -> None:
    names = ("v1.2.0", "v1.2.1", "v1.3.0", "latest", "v2.0.0", "v1.1.9", "stable", "v1.0.0")
    varied(
        w,
        8,
        lambda w, n: w.shell(
            f"curl -fL https://files.example/{names[n]}/tool.tgz -o tool.tgz",
            "curl: (22) The requested URL returned error: 403",
            ok=False,
        ),
    )


def closed_file(w: Writer) -> None:
    """Opens and closes the same editor tab."""
    rounds(
        w,
        [
            ("open_file", {"path": "README.md"}, "opened", True),
            ("close_file", {"path": "README.md"}, "closed", True),
        ],
        w.rng.randint(4, 7),
    )


def submitted(w: Writer) -> None:
    again(w, ("submit_answer", {"answer": "42"}, "Rejected: wrong format.", False), w.rng.randint(4, 8))


def listing_again(w: Writer) -> None:
    """Between looks at other things the same folder, eight times."""
    again(
        w,
        (w.host.listing, {"path": "src"}, "a.py b.py", True),
        w.rng.randint(7, 9),
        between=lambda: w.look(1),
        known_at=3,
    )


# --- honest ----------------------------------------------------------------------------------


def translations(w: Writer) -> None:
    for language in ("de", "fr", "es", "it", "pt", "nl", "sv")[: w.rng.randint(5, 7)]:
        w.write(f"locale/{language}.json", "{}", "created")
        w.shell("npm run i18n:check", "all keys present")


def git_rebase(w: Writer) -> None:
    for _ in range(w.rng.randint(4, 6)):
        w.shell(
            "git rebase --continue", f"CONFLICT (content): Merge conflict in {words.path(w.rng)}", ok=False
        )
        w.edit(words.path(w.rng), "<<<<<<<", "", "ok")
        w.shell("git add -A", "")
    w.shell("git rebase --continue", "Successfully rebased")


def profile_runs(w: Writer) -> None:
    for _ in range(w.rng.randint(4, 6)):
        w.edit("core/hot.py", words.code(w.rng, 1)[0], words.code(w.rng, 1)[0] + str(w.rng.random()))
        w.shell("python bench.py", f"{w.rng.uniform(1, 3):.3f} s per run")


def chat_messages(w: Writer) -> None:
    for _ in range(w.rng.randint(4, 6)):
        w.call("send_message", {"to": "ops", "text": f"{words.symbol(w.rng)} is done"}, "sent")
        w.work(1)


def pages_of_search(w: Writer) -> None:
    for page in range(1, w.rng.randint(5, 8)):
        w.call("search_issues", {"query": "is:open label:bug", "page": page}, "; ".join(words.code(w.rng, 3)))


def rename_each(w: Writer) -> None:
    for _ in range(w.rng.randint(5, 8)):
        name = words.symbol(w.rng)
        w.search(f"{name}\\(", f"{words.path(w.rng)}:3: {name}()")
        w.edit(words.path(w.rng), name, f"{name}_new")


def empty_inbox(w: Writer) -> None:
    """Looks into several folders; there is nothing in them."""
    for folder in ("inbox", "archive", "drafts", "spam", "sent", "trash"):
        w.call("list_mail", {"folder": folder}, "[]")


def warmed_cache(w: Writer) -> None:
    for _ in range(2):
        w.shell("make build", "built in 12 s")
    w.edit("Makefile", "a", "b")
    for _ in range(2):
        w.shell("make build", "built in 11 s")


def health_checks(w: Writer) -> None:
    for port in (8080, 8081, 8082, 9090, 9091, 5432)[: w.rng.randint(4, 6)]:
        w.shell(f"curl -s localhost:{port}/health", "ok")


def asks_for_leave(w: Writer) -> None:
    """Several edits that the person has to allow; some are turned down."""
    for n in range(w.rng.randint(4, 6)):
        if n % 3 == 1:
            w.edit(
                words.path(w.rng),
                "a",
                f"b{n}",
                "The user doesn't want to proceed with this tool use.",
                ok=False,
            )
            w.user("not this file", after=20)
        else:
            w.edit(words.path(w.rng), "a", f"b{n}")


def cells(w: Writer) -> None:
    for n in range(w.rng.randint(5, 8)):
        w.call("notebook_run_cell", {"index": n}, "")


LOOPS: Kinds = {
    "service_restarted": ("cycle", service_restarted),
    "reinstalled": ("cycle", reinstalled),
    "reverted_file": ("cycle", reverted_file),
    "asked_tool_help": ("paraphrase", asked_tool_help),
    "same_query_dressed": ("jittered_args", same_query_dressed),
    "failing_download": ("repeated_error_varied_args", failing_download),
    "closed_file": ("cycle", closed_file),
    "submitted": ("repeated_error", submitted),
    "listing_again": ("identical_call", listing_again),
}

HONEST: Kinds = {
    "translations": ("edit_test", translations),
    "git_rebase": ("edit_test", git_rebase),
    "profile_runs": ("edit_test", profile_runs),
    "chat_messages": ("batch", chat_messages),
    "pages_of_search": ("paging", pages_of_search),
    "rename_each": ("batch", rename_each),
    "empty_inbox": ("explore", empty_inbox),
    "warmed_cache": ("edit_test", warmed_cache),
    "health_checks": ("batch", health_checks),
    "asks_for_leave": ("approved", asks_for_leave),
    "cells": ("batch", cells),
}
