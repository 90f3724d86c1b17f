# ruff: noqa: E501 -- a call a line reads best
"""Preset ``balanced`` on kinds of sessions: loops that vary, and honest work that looks like them.

Each loop has honest siblings. What is a nudge at least for a loop must be silent for work.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopguard_cli.core.findings import Action

from .sitting import BLOCK, NUDGE, Sitting

Session = Callable[[Sitting], list[Action]]

LOOPS: dict[str, tuple[Session, Action]] = {}
WORK: dict[str, Session] = {}


def loop(least: Action = BLOCK) -> Callable[[Session], Session]:
    def add(session: Session) -> Session:
        LOOPS[session.__name__] = session, least
        return session

    return add


def work(session: Session) -> Session:
    WORK[session.__name__] = session
    return session


# --- errors that echo what they were given ---------------------------------------------------

SELECTORS = [
    "#save",
    ".save-button",
    "text=Save",
    "button[type=submit]",
    "form>button",
    "[aria-label=Save]",
    "#submit",
    ".btn",
    "input.save",
    "a.save",
    "role=button",
    "button.primary",
]


@loop()
def elements_that_are_not_there(s: Sitting) -> list[Action]:
    return [
        s.call("click", {"selector": one}, f"Error: no element matches selector {one} on this page", ok=False)
        for one in SELECTORS
    ]


@loop()
def names_that_cannot_be_imported(s: Sitting) -> list[Action]:
    names = "Client Session connect Connection open_client ApiClient make_client Api create new_client HTTPClient Http"
    return [
        s.bash(
            f'python -c "from acme import {one}"',
            'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
            f"ImportError: cannot import name '{one}' from 'acme' (/usr/lib/acme/__init__.py)",
            ok=False,
        )
        for one in names.split()
    ]


@loop()
def flags_that_do_not_exist(s: Sitting) -> list[Action]:
    flags = "all every everything full complete verbose-all show-all list-all include-all any whole total"
    return [
        s.bash(
            f"acme report --{one}",
            f"error: unexpected argument '--{one}' found\n\nUsage: acme report [OPTIONS]",
            ok=False,
        )
        for one in flags.split()
    ]


@loop()
def texts_that_are_not_in_the_file(s: Sitting) -> list[Action]:
    return [
        s.call(
            "edit",
            {"file_path": "a.py", "old_string": f"def load({what}):", "new_string": "def load():"},
            f"String to replace not found in file.\nString: def load({what}):",
            ok=False,
        )
        for what in [
            "path",
            "name",
            "file",
            "source",
            "stream",
            "handle",
            "where",
            "url",
            "text",
            "data",
            "body",
            "raw",
        ]
    ]


@work
def settings_are_looked_for_where_they_may_be(s: Sitting) -> list[Action]:
    said = [
        s.call(
            "read",
            {"file_path": f"/app/{one}"},
            f"ENOENT: no such file or directory, open '/app/{one}'",
            ok=False,
        )
        for one in (".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", "eslint.config.js")
    ]
    return [*said, s.call("read", {"file_path": "/app/package.json"}, '{"eslintConfig": {"root": true}}')]


@work
def links_are_checked_one_by_one(s: Sitting) -> list[Action]:
    said = []
    for at, name in enumerate(
        ["install", "usage", "faq", "license", "changes", "api", "cli", "themes", "plugins", "support"]
    ):
        gone = at % 3 == 1
        out = f"curl: (22) The requested URL returned error: 404 for /{name}" if gone else "200"
        said.append(s.bash(f"curl -fsS -o /dev/null https://docs.acme.dev/{name}", out, ok=not gone))
    return said


@work
def errors_are_mended_one_by_one(s: Sitting) -> list[Action]:
    said = []
    for at, name in enumerate(
        ["parse", "render", "load", "save", "merge", "split", "join", "trim", "sort", "filter"]
    ):
        said.append(
            s.bash(
                "cargo check",
                f"error[E0425]: cannot find function `{name}` in this scope\n --> src/{name}.rs:{at}",
                ok=False,
            )
        )
        said.append(s.call("edit", {"path": f"src/{name}.rs", "old": "x", "new": name}, "edited"))
    return said


@work
def files_fail_each_in_its_own_way(s: Sitting) -> list[Action]:
    failures = (
        "assert 3 == 4",
        "KeyError: 'id'",
        "TimeoutError after 5 s waiting for lock",
        "assert [] == ['a']",
        "ValueError: bad date",
        "AttributeError: no attribute 'run'",
        "ZeroDivisionError",
        "assert 'x' in 'abc'",
    )
    return [
        s.bash(f"pytest -q tests/test_{at}.py", f"FAILED tests/test_{at}.py::test_it - {why}", ok=False)
        for at, why in enumerate(failures)
    ]


# --- one wall, many doors --------------------------------------------------------------------


@loop()
def one_socket_by_many_programs(s: Sitting) -> list[Action]:
    tries = (
        (
            "docker ps",
            "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
        ),
        (
            "docker info",
            "ERROR: permission denied while trying to connect to unix:///var/run/docker.sock: connect: permission denied",
        ),
        (
            "curl --unix-socket /var/run/docker.sock http://x/info",
            "curl: (7) Couldn't connect: /var/run/docker.sock: Permission denied",
        ),
        (
            "python3 -c 'import docker; docker.from_env(base=\"/var/run/docker.sock\")'",
            "PermissionError: [Errno 13] Permission denied: '/var/run/docker.sock'",
        ),
        (
            "DOCKER_HOST=unix:///var/run/docker.sock docker version",
            "permission denied: unix:///var/run/docker.sock",
        ),
        ("sudo -n docker ps", "sudo: a password is required"),
        (
            "chmod 666 /var/run/docker.sock",
            "chmod: changing permissions of '/var/run/docker.sock': Operation not permitted",
        ),
        (
            "socat - UNIX-CONNECT:/var/run/docker.sock",
            "socat: E connect(/var/run/docker.sock): Permission denied",
        ),
        ("nc -U /var/run/docker.sock", "nc: /var/run/docker.sock: Permission denied"),
        ("docker -H unix:///var/run/docker.sock ps", "permission denied ... /var/run/docker.sock"),
        (
            "podman --url unix:///var/run/docker.sock ps",
            "Error: dial unix /var/run/docker.sock: connect: permission denied",
        ),
        ("newgrp docker -c 'ls /var/run/docker.sock'", "newgrp: /var/run/docker.sock: Permission denied"),
    )
    return [s.bash(command, out, ok=False) for command, out in tries]


@loop(NUDGE)
def a_database_that_does_not_run(s: Sitting) -> list[Action]:
    tries = (
        (
            "psql -h localhost -p 5432 -c 'select 1'",
            'psql: error: connection to server at "localhost", port 5432 failed: Connection refused',
        ),
        ("nc -z localhost 5432", "nc: connect to localhost port 5432 (tcp) failed: Connection refused"),
        ("curl localhost:5432", "curl: (7) Failed to connect to localhost port 5432: Connection refused"),
        (
            "python -c \"import psycopg; psycopg.connect('host=localhost port=5432')\"",
            "OperationalError: localhost 5432: Connection refused",
        ),
        (
            "bash -c '</dev/tcp/localhost/5432'",
            "bash: connect: Connection refused\nbash: /dev/tcp/localhost/5432: Connection refused",
        ),
        (
            "psql postgres://localhost:5432/app",
            'psql: error: connection to server at "localhost", port 5432 failed: Connection refused',
        ),
        (
            "telnet localhost 5432",
            "telnet: Unable to connect to remote host: Connection refused (localhost 5432)",
        ),
    )
    return [s.bash(command, out, ok=False) for command, out in tries]


@work
def a_server_is_brought_up_and_asked(s: Sitting) -> list[Action]:
    said = []
    for at, mend in enumerate(("port", "host", "volume", "user", "network")):
        said.append(
            s.bash(
                "curl -s localhost:8080/health",
                "curl: (7) Failed to connect to localhost port 8080: Connection refused",
                ok=False,
            )
        )
        said.append(s.call("edit", {"path": "compose.yml", "old": "a", "new": mend}, "edited"))
        said.append(s.bash("docker compose up -d", f"Container web{at} Recreated\nContainer web{at} Started"))
    return said


@work
def what_may_not_be_read_is_passed_over(s: Sitting) -> list[Action]:
    said = []
    for name in ["shadow", "sudoers", "ssl/private", "gshadow"]:
        said.append(s.bash(f"cat /etc/{name}", f"cat: /etc/{name}: Permission denied", ok=False))
        said.append(s.bash(f"ls -l /etc/{name}", f"-rw-r----- 1 root shadow 900 /etc/{name}"))
    return said


@work
def hosts_are_asked_one_by_one(s: Sitting) -> list[Action]:
    hosts = [
        "web",
        "db",
        "cache",
        "queue",
        "mail",
        "search",
        "proxy",
        "build",
        "files",
        "auth",
        "logs",
        "dns",
    ]
    return [
        s.bash(
            f"ssh {host} uptime",
            f"ssh: connect to host {host} port 22: Connection refused" if at % 4 else "up 3 days",
            ok=not at % 4,
        )
        for at, host in enumerate(hosts)
    ]


@work
def a_free_name_is_looked_for(s: Sitting) -> list[Action]:
    return [
        s.bash(
            f"npm view {name} version",
            f"npm error code E404\nnpm error 404 Not Found - GET /{name}",
            ok=False,
        )
        for name in ("loopy", "guardian", "loopstop", "spinless", "norepeat")
    ]


# --- tasks, plans, pages ---------------------------------------------------------------------


@loop()
def one_question_to_ever_new_helpers(s: Sitting) -> list[Action]:
    tasks = (
        "Find out why the nightly build is red",
        "Investigate the red nightly build",
        "Why does the nightly build fail?",
        "Look into the failing build of the night",
        "Determine the cause of the broken nightly",
        "Explain the red build",
        "Check what breaks the nightly build",
        "Analyse the failure of last night",
        "Debug the nightly build",
    )
    report = "The nightly build fails in the packaging step. I could not see the log of that step."
    return [s.call("task", {"prompt": one}, report) for one in tasks]


@work
def each_file_has_its_reviewer(s: Sitting) -> list[Action]:
    files = (
        "src/cart_item.ts",
        "src/user_menu.ts",
        "src/price_tag.ts",
        "src/order_list.ts",
        "src/img_box.ts",
        "src/nav_bar.ts",
    )
    report = "I reviewed the file. No problems were found, nothing needs to be changed."
    return [s.call("task", {"prompt": f"Review {one} for missing translations"}, report) for one in files]


def steps(*items: tuple[str, str]) -> dict[str, object]:
    return {"todos": [{"content": text, "status": state} for text, state in items]}


@loop()
def a_list_in_ever_other_words(s: Sitting) -> list[Action]:
    words = ["Read", "Study", "Inspect", "View", "Open", "Examine", "Scan", "Check", "Survey", "Review"]
    return [
        s.call(
            "todowrite",
            steps((f"{one} the parser", "in_progress"), ("Fix it", "pending"), ("Test", "pending")),
            "saved",
        )
        for one in words
    ]


@loop(NUDGE)
def a_list_of_boxes_in_ever_other_words(s: Sitting) -> list[Action]:
    words = ["Read", "Study", "Inspect", "View", "Open", "Examine", "Scan", "Check", "Survey", "Review"]
    return [
        s.call("plan", {"text": f"- [ ] {one} the parser\n- [ ] Fix it\n- [ ] Test"}, "saved")
        for one in words
    ]


@work
def a_list_whose_items_get_on(s: Sitting) -> list[Action]:
    return [
        s.call(
            "todowrite",
            steps(*((f"step {at}", "completed" if at < done else "pending") for at in range(8))),
            "saved",
        )
        for done in range(9)
    ]


@work
def a_list_that_is_made_item_by_item(s: Sitting) -> list[Action]:
    names = ["schema", "api", "client", "tests", "docs", "migration", "release", "rollback"]
    said = [
        s.call("TaskCreate", {"subject": f"Do the {one}", "description": f"the {one}"}, f"Task {at} created")
        for at, one in enumerate(names)
    ]
    return said + [
        s.call("TaskUpdate", {"taskId": str(at), "status": "completed"}, f"Updated task {at}")
        for at in range(8)
    ]


@work
def thinking_step_by_step(s: Sitting) -> list[Action]:
    thoughts = "the lock is taken twice|so the second waits|unless it is reentrant|which it is not|thus a deadlock|a test shows it|the cure is one owner|or a queue|I take the queue|now to the code"
    return [
        s.call(
            "sequentialthinking",
            {"thought": one, "thoughtNumber": at, "nextThoughtNeeded": True},
            f'{{"thoughtNumber": {at}}}',
        )
        for at, one in enumerate(thoughts.split("|"))
    ]


@loop()
def one_page_by_its_anchors(s: Sitting) -> list[Action]:
    page = "# Acme\n\nEverything about acme. JavaScript is required to show this page."
    return [
        s.call("WebFetch", {"url": f"https://acme.dev/guide#{one}", "prompt": "find it"}, page)
        for one in ["a", "b", "c", "d", "e", "f", "g", "h"]
    ]


@work
def pages_with_anchors_that_differ(s: Sitting) -> list[Action]:
    parts = ["install", "first-steps", "options", "plugins", "themes", "faq", "support", "license"]
    return [
        s.call(
            "WebFetch",
            {"url": f"https://acme.dev/guide#{one}", "prompt": "find it"},
            f"## {one}\n\nAbout {one}.",
        )
        for one in parts
    ]


# --- measuring and chance --------------------------------------------------------------------


@work
def samples_of_a_sensor(s: Sitting) -> list[Action]:
    return [
        s.bash("cat /sys/class/hwmon/hwmon0/temp1_input", str(41_000 + (at * 37) % 900)) for at in range(10)
    ]


@work
def a_latency_is_measured(s: Sitting) -> list[Action]:
    return [
        s.bash("curl -o /dev/null -s -w '%{time_total}' https://acme.dev", f"0.{118_000 + 731 * at % 9_000}")
        for at in range(10)
    ]


@work
def a_benchmark_is_run_five_times(s: Sitting) -> list[Action]:
    return [
        s.bash(
            "go test -bench=. ./enc | tee -a old.txt",
            f"goos: linux\nBenchmarkEncode-8   {48_211 + 97 * at}   {248.1 + at / 7:.1f} ns/op\nPASS\nok  enc",
        )
        for at in range(5)
    ]


@work
def ten_runs_at_the_persons_word(s: Sitting) -> list[Action]:
    s.person("it is flaky. run it 10 times and tell me how often it fails")
    return [s.bash("pytest -q test_ws.py", f"1 passed in 2.{at}s") for at in range(10)]


@work
def until_it_fails(s: Sitting) -> list[Action]:
    s.person("run the test until it fails, I want to see the log")
    return [s.bash("go test -run TestRace ./...", f"ok  acme/q  0.4{at}s") for at in range(20)]


@work
def a_test_that_fails_by_chance(s: Sitting) -> list[Action]:
    outcomes = ["1 passed in 2.1s", "FAILED test_ws.py::test_it - assert None"]
    return [
        s.bash("pytest -q test_ws.py", outcomes[at % 5 in (1, 3)], ok=at % 5 not in (1, 3)) for at in range(9)
    ]


@loop()
def a_run_that_nobody_asked_to_be_repeated(s: Sitting) -> list[Action]:
    s.person("see that the tests pass")
    return [s.bash("pytest -q", f"212 passed in 9.{at}s") for at in range(6)]


@loop()
def more_often_than_was_asked_for(s: Sitting) -> list[Action]:
    s.person("run it 5 times")
    return [s.bash("pytest -q", "212 passed") for at in range(9)]


@loop(NUDGE)
def a_counter_is_no_measurement(s: Sitting) -> list[Action]:
    return [
        s.bash("./gen --check", f"bash: line {at}: gen: command gave up after attempt {at}")
        for at in range(1, 12)
    ]


# --- polls and batches -----------------------------------------------------------------------


@work
def checks_that_are_pending_fail(s: Sitting) -> list[Action]:
    said = []
    for _ in range(7):
        s.now += 45
        said.append(
            s.bash(
                "sleep 45; gh pr checks 412",
                "build\tpending\t0\nlint\tpass\t12s\nsome checks are pending",
                ok=False,
            )
        )
    return [*said, s.bash("sleep 45; gh pr checks 412", "build\tpass\t4m\nlint\tpass\t12s")]


@work
def a_server_that_needs_a_while(s: Sitting) -> list[Action]:
    said = []
    for _ in range(6):
        s.now += 5
        said.append(
            s.bash(
                "sleep 5 && curl -sf localhost:3000",
                "curl: (7) Failed to connect to localhost port 3000: Connection refused",
                ok=False,
            )
        )
    return [*said, s.bash("sleep 5 && curl -sf localhost:3000", "<html>")]


@loop()
def two_calls_with_useless_ones_between(s: Sitting) -> list[Action]:
    said = []
    noise = [
        "git status",
        "node --version",
        "ls public",
        "git branch",
        "python3 -V",
        "git log -1",
        "pwd",
        "cat .nvmrc",
    ]
    for at in range(10):
        said.append(s.call("read", {"path": "a.tsx"}, "export const A = 1"))
        if at % 3:
            said.append(s.bash(noise[at % len(noise)], f"out of {noise[at % len(noise)]}"))
        said.append(s.call("grep", {"pattern": "srcSet"}, "No matches found"))
    return said


# --- finding nothing -------------------------------------------------------------------------


@loop()
def one_thing_by_ever_other_patterns(s: Sitting) -> list[Action]:
    patterns = [
        "rate_limit",
        "rateLimit",
        "RateLimit",
        "rate-limit",
        "RATE_LIMIT",
        "'rate",
        "limit'",
        "rate_limiter",
        "RateLimiter",
        "limit_rate",
        "rateLimiter",
        "limiter_rate",
        "rate.*limit",
        "limit.*rate",
        "RATELIMIT",
    ]
    return [s.call("grep", {"pattern": one, "path": "src"}, "No matches found") for one in patterns]


@work
def many_things_that_are_not_used_any_more(s: Sitting) -> list[Action]:
    names = [
        "formatPrice",
        "useCart",
        "oldHeader",
        "lazyLoad",
        "trackClick",
        "parseQuery",
        "zipCode",
        "slugify",
        "deepMerge",
        "onceOnly",
    ]
    return [s.call("grep", {"pattern": one, "path": "src"}, "No matches found") for one in names]


# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_noticed(name: str) -> None:
    session, least = LOOPS[name]
    assert max(session(Sitting())) >= least


@pytest.mark.parametrize("name", WORK)
def test_work_is_left_alone(name: str) -> None:
    sitting = Sitting()
    assert max(WORK[name](sitting)) < NUDGE, sitting.rules()
