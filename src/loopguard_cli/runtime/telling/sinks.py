"""Where notices go: the desktop, the terminal, a command of the user's, a webhook.

A sink sends one notice or raises; `runtime.telling.notify` sees to time limits and failures.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from threading import Thread
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from loopguard_cli.core.noticing import Notice, NotifySettings
from loopguard_cli.errors import ConfigError
from loopguard_cli.runtime.processes import tree

MAX_TEXT = 400
"""Characters; more than a desktop shows."""


class Sink(Protocol):
    """One way to reach somebody."""

    name: str

    async def send(self, notice: Notice) -> None:
        """Raises an OSError or ValueError that says why it could not be sent."""


class Command:
    """Runs a program for each notice, with the notice as JSON on its standard input."""

    name = "command"

    def __init__(self, argv: Sequence[str], run: str) -> None:
        self._argv = argv
        self._run = run

    async def send(self, notice: Notice) -> None:
        variables = {
            "LOOPGUARD_NOTICE_TOPIC": notice.topic,
            "LOOPGUARD_NOTICE_TITLE": notice.title,
            "LOOPGUARD_NOTICE_TEXT": said(notice),
        }
        await _run(self._argv, stdin=payload(notice, self._run), environ={**os.environ, **variables})


class Desktop:
    """A notice of the desktop: notify-send, or Notification Center."""

    name = "desktop"

    def __init__(self, argv: Callable[[Notice], Sequence[str]]) -> None:
        self._argv = argv

    async def send(self, notice: Notice) -> None:
        await _run(self._argv(notice))


class Terminal:
    """A notice by the terminal emulator, by an escape sequence. Only for a terminal that is ours."""

    name = "terminal"

    def __init__(self, sequence: Callable[[str, str], str], write: Callable[[str], object]) -> None:
        self._sequence = sequence
        self._write = write

    async def send(self, notice: Notice) -> None:
        self._write(self._sequence(_printable(notice.title), _printable(said(notice))))


class Webhook:
    """Posts each notice as JSON; ``text`` and ``content`` are what Slack and Discord show."""

    name = "webhook"

    def __init__(self, address: str, run: str) -> None:
        self._address = address
        self._run = run

    async def send(self, notice: Notice) -> None:
        await _beside(partial(self._post, payload(notice, self._run)))

    def _post(self, body: bytes) -> None:
        from http.client import HTTPConnection, HTTPSConnection

        parts = urlsplit(self._address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=POST_SECONDS)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": "loopguard"}
        try:
            connection.request("POST", target, body, headers)
            status = connection.getresponse().status
        finally:
            connection.close()
        if status >= 300:
            raise ValueError(f"{parts.hostname} answered with status {status}")


POST_SECONDS = 5.0


def sinks(
    settings: NotifySettings,
    *,
    run: str,
    environ: Mapping[str, str],
    write: Callable[[str], object] | None = None,
) -> list[Sink]:
    """The sinks that the settings name and this machine has.

    ``write`` writes to the terminal; None where the agent owns it. Raises ConfigError for a command or
    address that can never work.
    """
    found: list[Sink] = []
    if settings.desktop and (desktop := _desktop(environ, write)) is not None:
        found.append(desktop)
    if settings.command:
        found.append(Command(_argv(settings.command), run))
    if settings.webhook:
        parts = urlsplit(settings.webhook)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                "notify.webhook is no http or https address", "write https://host/path, or leave it empty"
            )
        found.append(Webhook(settings.webhook, run))
    return found


def said(notice: Notice) -> str:
    """The text, and how many notices before it were not sent."""
    more = f" (and {notice.held_back} before)" if notice.held_back else ""
    return notice.text[: MAX_TEXT - len(more)] + more


def payload(notice: Notice, run: str) -> bytes:
    """What commands and webhooks get."""
    text = f"{notice.title}: {said(notice)}" if notice.text != notice.title else notice.title
    data = {"schema": "loopguard.notice/1", "run": run, **msgspec.to_builtins(notice)}
    return msgspec.json.encode({**data, "text": text, "content": text})


def osc(environ: Mapping[str, str]) -> Callable[[str, str], str] | None:
    """How this terminal emulator is asked for a notice; None where it is not known to do it."""
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if environ.get("TMUX") or term.startswith(("screen", "tmux", "dumb")):
        return None  # a multiplexer would swallow it
    if "KITTY_WINDOW_ID" in environ or term == "xterm-kitty":
        return lambda title, text: (
            f"\x1b]99;i=loopguard:d=0;{title}\x1b\\\x1b]99;i=loopguard:p=body;{text}\x1b\\"
        )
    if program in ("iTerm.app", "WezTerm", "ghostty") or environ.get("WT_SESSION"):
        return lambda title, text: f"\x1b]9;{title}: {text}\x1b\\"
    if term.startswith(("rxvt", "foot")) or "VTE_VERSION" in environ:
        return lambda title, text: f"\x1b]777;notify;{title.replace(';', ',')};{text}\x1b\\"
    return None


def _desktop(environ: Mapping[str, str], write: Callable[[str], object] | None) -> Sink | None:
    if sys.platform == "darwin" and (program := shutil.which("osascript", path=environ.get("PATH"))):
        # Text goes in as arguments, never into the script.
        script = "on run a\ndisplay notification (item 2 of a) with title (item 1 of a)\nend run"
        return Desktop(lambda notice: (program, "-e", script, "--", notice.title, said(notice)))
    shows = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if shows and (sender := shutil.which("notify-send", path=environ.get("PATH"))):
        return Desktop(lambda notice: (sender, "--app-name=loopguard", "--", notice.title, said(notice)))
    sequence = osc(environ)
    return Terminal(sequence, write) if sequence is not None and write is not None else None


def _argv(command: str) -> Sequence[str]:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"notify.command cannot be read: {error}", "quote it as in a shell") from None
    if not argv or shutil.which(argv[0]) is None:
        raise ConfigError(f"notify.command: no program {command!r}", "name one on PATH, or its whole path")
    return argv


async def _run(argv: Sequence[str], *, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> None:
    """Run a program to its end; it and its children end with us if we are cancelled."""
    with ExitStack() as stack:
        # A notice is sent when a run ends, of all times: it must not be ended with the agent's processes.
        with tree.starting():
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
            stack.enter_context(tree.keeping(process.pid))
        try:
            await process.communicate(stdin)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
    if process.returncode:
        raise ValueError(f"{argv[0]} ended with status {process.returncode}")


async def _beside(work: Callable[[], None]) -> None:
    """``work`` in a thread that nobody waits for once we are cancelled.

    A server that answers one byte a second outlasts any time limit on its socket, and a thread of the
    event loop's own pool is waited for before the program may end.
    """
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if not settled.done():
            settled.set_exception(error) if error else settled.set_result(None)

    def work_on() -> None:
        error = None
        try:
            work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is gone, and so is whoever asked
            loop.call_soon_threadsafe(settle, error)

    Thread(target=work_on, name="notice", daemon=True).start()
    await settled


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
