# ruff: noqa: E501 -- a call a line reads best
"""Preset ``balanced`` on further kinds of calls, each loop with the honest sessions that look like it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from loopguard_cli.core.findings import Action

from .sitting import ABORT, BLOCK, NUDGE, Sitting

Session = Callable[[Sitting], list[Action]]

FILE = [f"def f{n}(x): return x + {n}" for n in range(1, 41)]

# --- nothing new asked, nothing new brought --------------------------------------------------


def parts_of_one_file(s: Sitting) -> list[Action]:
    """Ever other ranges of what was read as a whole."""
    said = [s.call("Read", {"file_path": "/a/p.py"}, "\n".join(FILE))]
    for at in range(20):
        begin = at * 7 % 20
        part = "\n".join(FILE[begin : begin + 15])
        said.append(s.call("Read", {"file_path": "/a/p.py", "offset": begin, "limit": 15}, part))
    return said


def the_same_pages_in_another_order(s: Sitting) -> list[Action]:
    draw = random.Random(3)
    pages = [f"Page {n} about the start - https://x{n}.test" for n in range(5)]
    words = ["x", "fails", "start", "why", "reason", "fix"]
    said = []
    for _ in range(20):
        draw.shuffle(pages)
        query = " ".join(draw.sample(words, 4))
        said.append(s.call("WebSearch", {"query": query}, "\n".join(pages)))
    return said


def two_tools_that_find_nothing(s: Sitting) -> list[Action]:
    names = ["handleClick", "handle_click", "onClick", "on_click", "clickHandler", "click"]
    said = []
    for at in range(16):
        said.append(s.call("Grep", {"pattern": names[at % 6]}, "No files found"))
        said.append(s.call("Glob", {"pattern": f"**/*{names[(at * 5 + 1) % 6]}*"}, "No files found"))
    return said


def searches_that_are_told_back(s: Sitting) -> list[Action]:
    """The answer repeats the question, so no two are equal."""
    queries = [
        "plotter error QX",
        "QX plotter error",
        "error QX of plotter",
        "plotter QX error code",
        "QX error code plotter",
        "code of plotter error QX",
        "error code QX plotter",
    ]
    return [
        s.call("WebSearch", {"query": one}, f'Web search results for query: "{one}"\n\nNo links found.')
        for one in queries
    ]


def each_package_is_checked(s: Sitting) -> list[Action]:
    names = ["core", "web", "api", "cli", "docs", "auth", "jobs", "mail", "search", "infra", "tools", "site"]
    return [s.bash(f"cd packages/{one} && npm run lint", "> lint\n> eslint .\n") for one in names]


def places_with_the_same_settings(s: Sitting) -> list[Action]:
    text = (
        "replicas: 2\ndebug: false\nimage: registry.test/app\nresources:\n  limits:\n    cpu: 1\n    memory: 1Gi\n"
        * 2
    )
    names = ["dev", "stage", "prod", "test", "qa", "demo", "edge", "eu", "us", "ap", "sa", "af"]
    return [s.call("Read", {"file_path": f"/env/{one}/app.yaml"}, text) for one in names]


def numbered_orders(s: Sitting) -> list[Action]:
    return [
        s.call("ship_order", {"order_id": 4711 + at}, "Order shipped successfully to the customer.")
        for at in range(16)
    ]


def settings_that_are_tried(s: Sitting) -> list[Action]:
    pairs = [(layers, depth) for layers in range(1, 5) for depth in range(1, 5)]
    return [s.bash(f"python train.py --layers {a} --depth {b}", "accuracy 0.81") for a, b in pairs]


def expressions_in_a_debugger(s: Sitting) -> list[Action]:
    names = ["a", "b", "total", "rows", "index", "state", "cfg", "mode", "path", "user", "last", "first"]
    return [s.call("debugger_evaluate", {"expression": one}, "None") for one in names]


def functions_of_one_file(s: Sitting) -> list[Action]:
    s.call("Read", {"file_path": "/a/p.py"}, "\n".join(FILE))
    return [s.call("Grep", {"pattern": f"f{n}\\(", "path": "/a"}, FILE[n - 1]) for n in range(1, 38, 3)]


# --- trials, rewritten files -----------------------------------------------------------------


def a_pile_of_debug_scripts(s: Sitting) -> list[Action]:
    said = []
    for at in range(1, 10):
        content = f"from invoice import total\nprint(total([0.1] * 3))  # try {at}"
        said.append(
            s.call(
                "write_file",
                {"file_path": f"/d/debug{at}.py", "content": content},
                "Successfully wrote the file.",
            )
        )
        said.append(s.bash(f"python debug{at}.py", "total 0.30000000000000004"))
    return said


def a_file_for_each_shard(s: Sitting) -> list[Action]:
    said = []
    for at in range(1, 10):
        said.append(
            s.call(
                "write_file",
                {"file_path": f"/d/shard{at}.yaml", "content": f"shard: {at}\nrole: replica"},
                "Successfully wrote the file.",
            )
        )
        said.append(s.bash(f"kubeval shard{at}.yaml", "The configuration is valid."))
    return said


def one_text_in_its_own_words(s: Sitting) -> list[Action]:
    texts = ["The build was broken and is fixed.", "The build is fixed and was broken."]
    return [
        s.call("Write", {"file_path": "/n.md", "content": f"# Notes {at}\n{texts[at % 2]}"}, "File written")
        for at in range(10)
    ]


def a_report_that_grows(s: Sitting) -> list[Action]:
    words = ["alpha", "bravo", "carrot", "delta", "easter", "falcon", "garden", "hotel", "island", "jungle"]
    return [
        s.call(
            "Write",
            {"file_path": "/n.md", "content": "# Notes\n" + "\n".join(words[: at + 1])},
            "File written",
        )
        for at in range(10)
    ]


# --- waiting ---------------------------------------------------------------------------------


def a_pod_that_crashes(s: Sitting) -> list[Action]:
    said = []
    for at in range(30):
        age, count = f"{3 + at // 6}m{at * 10 % 60}s", 4 + at // 12
        line = f"indexer   0/1   CrashLoopBackOff   {count} ({5 + at}s ago)   {age}"
        said.append(s.bash("kubectl get pods", line))
        s.now += 3
    return said


def a_pane_that_is_gone(s: Sitting) -> list[Action]:
    said = []
    for _ in range(36):
        said.append(s.bash("sleep 10; tmux capture-pane -p -t imp", "can't find pane: imp", ok=False))
        s.now += 12
    return said


def leave_that_nobody_gives(s: Sitting) -> list[Action]:
    said = []
    for at in range(26):
        pause = min(600, 60 * (1 + at // 2))
        said.append(
            s.bash(
                f"sleep {pause}; gh pr view 77 --json reviewDecision", '{"reviewDecision":"REVIEW_REQUIRED"}'
            )
        )
        s.now += pause
    return said


def a_build_that_takes_its_time(s: Sitting) -> list[Action]:
    said = []
    for _ in range(18):
        said.append(s.bash("sleep 300; gh run view 5 --json status", '{"status":"in_progress"}'))
        s.now += 300
    return said


def a_pod_that_comes_up(s: Sitting) -> list[Action]:
    said = []
    for at in range(8):
        said.append(s.bash("kubectl get pods", f"indexer   0/1   ContainerCreating   0   {at * 6}s"))
        s.now += 3
    return [*said, s.bash("kubectl get pods", "indexer   1/1   Running   0   49s")]


# --- a summary starts the same work over -----------------------------------------------------

SUMMARY = "[conversation summary] Goal: document the wire protocol in PROTOCOL.md. Four files must be read. Nothing is written yet."


def read_again_after_each_summary(s: Sitting, rounds: int = 5) -> list[Action]:
    said = []
    for _ in range(rounds):
        said += [
            s.call("read", {"filePath": f"/p/{one}.rs"}, f"//! {one}\n" + "pub const A: u16 = 0;\n" * 9)
            for one in ("frame", "codec", "session", "errors")
        ]
        s.person(SUMMARY)
    return said


def the_same_order_each_morning(s: Sitting) -> list[Action]:
    """The turn ends before it is given again."""
    said = []
    for _ in range(5):
        s.person(
            "Look at the three dashboards and tell me whether anything is red. Answer with one line only, please."
        )
        said += [
            s.call("fetch", {"url": f"https://dash.test/{one}"}, f"{one}: all green")
            for one in ("web", "db", "jobs")
        ]
        s.idle()
    return said


# --- places that refuse ----------------------------------------------------------------------


def ever_other_sites_refuse(s: Sitting) -> list[Action]:
    hosts = ["museum.test", "stadt.test", "reise.test", "ausflug.test", "wiki.test"]
    return [
        s.call("WebFetch", {"url": f"https://{one}/open"}, "Request failed with status code 403", ok=False)
        for one in hosts
    ]


def one_site_refuses(s: Sitting) -> list[Action]:
    return [
        s.call(
            "WebFetch", {"url": f"https://museum.test/{one}"}, "Request failed with status code 403", ok=False
        )
        for one in ("a", "b", "c", "d", "e", "f")
    ]


LOOPS: list[tuple[Session, Action]] = [
    (parts_of_one_file, NUDGE),
    (the_same_pages_in_another_order, NUDGE),
    (two_tools_that_find_nothing, NUDGE),
    (searches_that_are_told_back, NUDGE),
    (a_pile_of_debug_scripts, BLOCK),
    (one_text_in_its_own_words, BLOCK),
    (a_pod_that_crashes, BLOCK),
    (a_pane_that_is_gone, BLOCK),
    (leave_that_nobody_gives, BLOCK),
    (read_again_after_each_summary, BLOCK),
    (one_site_refuses, ABORT),
]  # fmt: skip
HONEST: list[Session] = [
    each_package_is_checked,
    places_with_the_same_settings,
    numbered_orders,
    settings_that_are_tried,
    expressions_in_a_debugger,
    functions_of_one_file,
    a_file_for_each_shard,
    a_report_that_grows,
    a_build_that_takes_its_time,
    a_pod_that_comes_up,
    lambda s: read_again_after_each_summary(s, rounds=2),
    the_same_order_each_morning,
    ever_other_sites_refuse,
]


@pytest.mark.parametrize(("session", "least"), LOOPS)
def test_loops_are_noticed(session: Session, least: Action) -> None:
    assert max(session(Sitting())) >= least


@pytest.mark.parametrize("session", HONEST)
def test_work_is_left_alone(session: Session) -> None:
    sitting = Sitting()
    assert max(session(sitting)) < NUDGE, sitting.rules()
