"""What programs print on a terminal while they are well: logs say the same again and are no loops."""

from __future__ import annotations

import pytest

from tests.agents.terminal.desk import Watched

WARNING = "src/widgets/button.c:120: warning: implicit declaration of function 'draw_button' is deprecated."
TRACE = """Traceback (most recent call last):
  File "server.py", line 120, in handle
    return self.routes[request.path](request)
  File "routes.py", line 31, in show_index
    return render(self.templates["index"], user=request.user)
KeyError: 'index' is not among the templates that were loaded when the server was started."""
ANNOUNCEMENT = "I will now read the configuration file once more."

LOGS = {
    "a warning for each of eight files": [WARNING] * 8,
    "a build that counts": [f"[{n:4}/1500] Compiling translation unit number {n}" for n in range(1500)],
    "downloads": [f"Get:{n} http://mirror/pool package-{n} amd64 [{n * 7} kB]" for n in range(1, 400)],
    "a test runner": [f"test_case_{n} ... ok" for n in range(600)],
    "an error of four requests": [TRACE] * 4,
    "hints of two sentences a line": ["warning: old_name is deprecated. Please use new_name instead."] * 6,
    "a poll": ["Waiting for the deployment to become ready, this may take a while ..."] * 7,
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_no_loop(name: str) -> None:
    watched = Watched()
    watched.keys(b"make\r")
    for line in LOGS[name]:
        watched.prints(line.replace("\n", "\r\n") + "\r\n", 0.05)
    assert watched.found == []
    assert watched.typed == []


@pytest.mark.parametrize(
    ("piece", "copies"),
    [
        pytest.param(f"{ANNOUNCEMENT} ", 5, id="flowing on within a line"),
        pytest.param(f"{ANNOUNCEMENT}\r\n", 10, id="each a line of its own"),
        pytest.param(f"{ANNOUNCEMENT} Then I will mend what is wrong in it.\r\n\r\n", 10, id="two at a time"),
        pytest.param(f"{WARNING}\r\n", 10, id="a line that does not end"),
    ],
)
def test_what_does_not_end_is_cut_off(piece: str, copies: int) -> None:
    watched = Watched()
    watched.keys(b"do it\r")
    for _ in range(copies):
        watched.prints(piece)
    assert watched.found == ["prose-block"]
    assert watched.typed == [b"\x1b"]


@pytest.mark.parametrize("lines", [12, 20])
def test_so_is_a_long_passage(lines: int) -> None:
    passage = "".join(
        f"{chr(97 + n) * 3} is the next thing that I am going to look at.\r\n" for n in range(lines)
    )
    watched = Watched()
    watched.keys(b"do it\r")
    for _ in range(12):
        watched.prints(passage)
    assert watched.typed == [b"\x1b"]
