"""Loops written after the first ones had been seen by the rules: a check on kinds, not on wording."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.loops_exact import again, rounds
from tests.bench.synthetic.loops_varying import varied
from tests.bench.synthetic.writer import Writer


def intent_field(w: Writer) -> None:
    """One call, with a sentence about its purpose that is new each time."""
    path, lines = words.path(w.rng), words.code(w.rng, 5)

    def make(w: Writer, _: int) -> None:
        args = w.host.read_args(path) | {
            "explanation": f"{w.rng.choice(words.REMARKS)} {words.symbol(w.rng)}"
        }
        w.call(w.host.read, args, "\n".join(lines))

    varied(w, w.rng.randint(7, 14), make)


def intent_round(w: Writer) -> None:
    """Two such calls in turn."""
    path, name = words.path(w.rng), words.symbol(w.rng)
    for turn in range(w.rng.randint(5, 8)):
        for tool, args, output in (
            (w.host.read, w.host.read_args(path), "empty file"),
            (w.host.search, {w.host.pattern: name}, "No matches found"),
        ):
            w.call(tool, args | {"reason": f"because of {words.symbol(w.rng)}"}, output)
        if turn == 3:
            w.mark()


def hand_over(w: Writer) -> None:
    """Two agents send each other the task."""
    for turn in range(w.rng.randint(5, 8)):
        for to in ("planner", "coder"):
            w.call(
                "handoff_to_agent",
                {"agent": to, "reason": f"{words.symbol(w.rng)} needs {w.rng.choice(words.REMARKS)}"},
                f"transferred to {to}",
            )
        if turn == 3:
            w.mark()


def dead_button(w: Writer) -> None:
    for turn in range(w.rng.randint(8, 14)):
        w.call(
            "browser_click",
            {"element": "Submit", "ref": "e9"},
            "clicked; the form still shows: field Name is required",
        )
        if turn == 5:
            w.mark()


def sleeps(w: Writer) -> None:
    for turn in range(w.rng.randint(25, 40)):
        w.shell("sleep 2", "", seconds=2)
        if turn == 19:
            w.mark()


def spelt_otherwise(w: Writer) -> None:
    forms = (
        "ls -la src",
        "ls -al src",
        "ls -l -a src",
        "ls -a -l ./src",
        "cd src && ls -la",
        "ls -la ./src/",
    )
    listing = "\n".join(f"-rw-r--r-- 1 u u {w.rng.randrange(9000)} {name}.py" for name in words.NAMES[:5])
    varied(w, w.rng.randint(9, 13), lambda w, _: w.shell(w.rng.choice(forms), listing), known_at=5)


def three_variants(w: Writer) -> None:
    """Three ways to write one line, tried in turn, with a test after each."""
    path = words.path(w.rng)
    lines = ("x = a + b", "x = b + a", "x = a - b")
    calls = []
    for old, new in zip(lines, (*lines[1:], lines[0]), strict=True):
        calls += [
            (w.host.edit, w.host.edit_args(path, old, new), w.host.edited.format(path=path), True),
            w.running("npm test", "1 failing", ok=False),
        ]
    rounds(w, calls, w.rng.randint(4, 5))


def rewritten_each_time(w: Writer) -> None:
    """The whole file anew each time, the same failure after it."""

    def make(w: Writer, _: int) -> None:
        w.write("solve.py", "\n".join(words.code(w.rng, 8)), "ok")
        w.shell("python solve.py", "Traceback (most recent call last):\nKeyError: 'rows'", ok=False)

    varied(w, w.rng.randint(12, 16), make, known_at=8)


def long_noisy_round(w: Writer) -> None:
    calls = [w.reading(words.path(w.rng), words.code(w.rng, 5)) for _ in range(w.rng.randint(5, 8))]
    rounds(w, calls, w.rng.randint(6, 8), noise=0.12)


def failing_search(w: Writer) -> None:
    """A search with another pattern each time, refused for the same reason."""
    varied(
        w,
        w.rng.randint(7, 10),
        lambda w, _: w.call(
            w.host.search,
            {w.host.pattern: f"({words.symbol(w.rng)}"},
            "Error: regex parse error: unclosed group",
            ok=False,
        ),
    )


def same_question(w: Writer) -> None:
    """Asks the person the same thing, who never answers it."""
    for turn in range(w.rng.randint(5, 8)):
        w.call("ask_followup_question", {"question": "Which database shall I use?"}, "No answer.")
        if turn == 2:
            w.mark()


def refused_by_rule(w: Writer) -> None:
    """One command after the other that a policy forbids."""
    varied(
        w,
        w.rng.randint(7, 10),
        lambda w, _: w.shell(
            f"rm -rf build/{words.symbol(w.rng)}",
            "Blocked by policy: rm is not allowed in this workspace.",
            ok=False,
        ),
    )


def screenshots(w: Writer) -> None:
    again(
        w,
        ("browser_take_screenshot", {"type": "png"}, "Took the viewport screenshot.", True),
        w.rng.randint(6, 12),
        known_at=3,
    )


def changing_order(w: Writer) -> None:
    """The same three looks, the order of which changes from round to round."""
    calls = [w.reading(words.path(w.rng), words.code(w.rng, 5)) for _ in range(3)]
    for turn in range(w.rng.randint(6, 10)):
        w.rng.shuffle(calls)
        for one in calls:
            w.remark()
            w.batch([w.running_again(one)])
        if turn == 3:
            w.mark()


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "intent_field": ("jittered_args", intent_field),
    "intent_round": ("cycle", intent_round),
    "hand_over": ("subagent", hand_over),
    "dead_button": ("identical_call", dead_button),
    "sleeps": ("poll_no_progress", sleeps),
    "spelt_otherwise": ("paraphrase", spelt_otherwise),
    "three_variants": ("cycle", three_variants),
    "rewritten_each_time": ("fruitless", rewritten_each_time),
    "long_noisy_round": ("cycle", long_noisy_round),
    "failing_search": ("repeated_error_varied_args", failing_search),
    "same_question": ("identical_call", same_question),
    "refused_by_rule": ("repeated_error_varied_args", refused_by_rule),
    "screenshots": ("identical_call", screenshots),
    "changing_order": ("cycle", changing_order),
}
"""By name: the kind as labelled traces call it, and who writes it."""
