"""Honest work written after the first had been seen by the rules: a check on kinds, not on wording."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.synthetic import words
from tests.bench.synthetic.writer import Writer


def screenshot_each(w: Writer) -> None:
    """A picture after each click; the text of the answer is always the same."""
    for _ in range(w.rng.randint(4, 9)):
        w.call("browser_click", {"element": words.symbol(w.rng), "ref": f"e{w.rng.randrange(99)}"}, "clicked")
        w.call("browser_take_screenshot", {}, "Took the viewport screenshot.")


def computer_use(w: Writer) -> None:
    """One tool for screen and mouse; pictures are not text."""
    for _ in range(w.rng.randint(5, 9)):
        w.call(
            "computer",
            {"action": "left_click", "coordinate": [w.rng.randrange(900), w.rng.randrange(700)]},
            "[image]",
        )
        if w.rng.random() < 0.6:
            w.call("computer", {"action": "screenshot"}, "[image]")
        if w.rng.random() < 0.4:
            w.call("computer", {"action": "type", "text": words.symbol(w.rng)}, "[image]")


def keyboard(w: Writer) -> None:
    """Tab by tab through a form, with pictures that are not text."""
    for _ in range(w.rng.randint(4, 5)):
        w.call("computer", {"action": "key", "text": "Tab"}, "[image]")
    w.call("computer", {"action": "type", "text": "Ann"}, "[image]")


def struggle(w: Writer) -> None:
    """Two or three edits miss before one hits."""
    path = words.path(w.rng)
    for _ in range(w.rng.randint(2, 3)):
        w.edit(path, words.code(w.rng, 1)[0], "fixed()", "String to replace not found in file.", ok=False)
    w.read(path, words.code(w.rng, 20))
    w.edit(path, words.code(w.rng, 1)[0], "fixed()")


def change_folder(w: Writer) -> None:
    """`cd` before each command, silent each time."""
    for _ in range(w.rng.randint(5, 9)):
        w.shell("cd /repo/web", "")
        w.look(1)


def list_each(w: Writer) -> None:
    """Looks at the same folder after each command that may have changed it."""
    for n in range(w.rng.randint(4, 7)):
        w.shell(f"./convert case{n}.xml", "converted")
        w.listing("out", "\n".join(f"case{k}.json" for k in range(n + 1 if w.rng.random() < 0.7 else 3)))


def clock(w: Writer) -> None:
    """Asks the time now and then."""
    for _ in range(w.rng.randint(3, 6)):
        w.shell(
            "date",
            f"Mon Mar  2 1{w.rng.randrange(9)}:{w.rng.randrange(10, 59)}:{w.rng.randrange(10, 59)} UTC 2026",
        )
        w.work(w.rng.randint(1, 3))


def seeds(w: Writer) -> None:
    """A test under many seeds, all of them fine."""
    for n in range(w.rng.randint(5, 10)):
        w.shell(f"pytest -q -p randomly --seed {n}", "40 passed")


def shards(w: Writer) -> None:
    """Reads numbered files that look alike."""
    for n in range(w.rng.randint(5, 9)):
        w.call(w.host.read, w.host.read_args(f"data/shard_{n:02}.json"), '{"rows": []}')


def no_results(w: Writer) -> None:
    """Looks for flights on one day after the other; there are none."""
    for day in range(10, 10 + w.rng.randint(5, 8)):
        w.call(
            "search_direct_flight", {"origin": "OSL", "destination": "LIS", "date": f"2026-05-{day}"}, "[]"
        )


def reviews(w: Writer) -> None:
    """A sub-agent for each of many numbered parts."""
    for n in range(1, w.rng.randint(5, 8)):
        w.call(
            w.host.task,
            {w.host.prompt: f"Review chapter {n} of the manual and list mistakes.", "description": "Review"},
            "No mistakes found.",
            seconds=30,
        )


def sampled(w: Writer) -> None:
    """The same task to several sub-agents at once, on purpose."""
    prompt = f"Propose a design for {words.symbol(w.rng)}."
    w.batch(
        [
            (w.host.task, {w.host.prompt: prompt}, f"Design: {words.code(w.rng, 2)}", True)
            for _ in range(w.rng.randint(3, 5))
        ],
        seconds=60,
    )
    w.work(3)


def growing_retry(w: Writer) -> None:
    """Tries again with growing pauses that it states."""
    for pause in (2, 5, 15, 40):
        w.call(w.host.fetch, {"url": "https://api.example/v2/rows"}, "HTTP 429 Too Many Requests", ok=False)
        w.shell(f"sleep {pause}", "", seconds=pause)
    w.call(w.host.fetch, {"url": "https://api.example/v2/rows"}, "[1, 2]")


def typed_code(w: Writer) -> None:
    """A notebook: equal answers to different cells."""
    for _ in range(w.rng.randint(5, 9)):
        w.call("python", {"code": "\n".join(words.code(w.rng, 3))}, w.rng.choice(("", "None", "")))


def plan_refused(w: Writer) -> None:
    """A plan that the person sends back with remarks."""
    for _ in range(w.rng.randint(3, 4)):
        w.call(
            "ExitPlanMode",
            {"plan": "1. Change the parser. 2. Test."},
            "The user doesn't want to proceed with this tool use.",
            ok=False,
        )
        w.end_turn()
        w.user(f"Take {words.symbol(w.rng)} into account.", after=40)


def shell_progress(w: Writer) -> None:
    """A step command that is run until it says done."""
    for left in range(w.rng.randint(5, 12), -1, -1):
        w.shell("./migrate --next", f"applied {words.symbol(w.rng)}, {left} left")


def same_numbers(w: Writer) -> None:
    """A build that fails with as many errors as before while other files change."""
    for n in range(5):
        w.write(f"src/module_{n}.ts", "\n".join(words.code(w.rng, 5)), "ok")
        w.shell(
            "npx tsc --noEmit",
            f"{words.path(w.rng)}({n},1): error TS2304: Cannot find name.\nFound 7 errors.",
            ok=False,
        )


def stateful_terminal(w: Writer) -> None:
    """Empty input asks a terminal for more of what is still printed."""
    w.call("execute_bash", {"command": "npm run build"}, "building, no new output yet")
    for _ in range(w.rng.randint(3, 6)):
        w.call(
            "execute_bash", {"command": "", "is_input": True}, "(no new output after 10 seconds)", seconds=10
        )
    w.call("execute_bash", {"command": "", "is_input": True}, "built in 58 s", seconds=10)


KINDS: dict[str, tuple[str, Callable[[Writer], None]]] = {
    "screenshot_each": ("ui", screenshot_each),
    "computer_use": ("ui", computer_use),
    "keyboard": ("ui", keyboard),
    "struggle": ("retry", struggle),
    "change_folder": ("explore", change_folder),
    "list_each": ("edit_test", list_each),
    "clock": ("explore", clock),
    "seeds": ("batch", seeds),
    "shards": ("batch", shards),
    "no_results": ("explore", no_results),
    "reviews": ("batch", reviews),
    "sampled": ("batch", sampled),
    "growing_retry": ("retry", growing_retry),
    "typed_code": ("explore", typed_code),
    "plan_refused": ("approved", plan_refused),
    "shell_progress": ("paging", shell_progress),
    "same_numbers": ("edit_test", same_numbers),
    "stateful_terminal": ("poll", stateful_terminal),
}
"""By name: what makes it look repetitive, and who writes it."""
