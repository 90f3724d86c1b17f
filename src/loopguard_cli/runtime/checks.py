"""Completion checks and external auditors: programs of the person's that run beside the agent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

from loopguard_cli.core.effects import RunAudit, RunCheck
from loopguard_cli.core.events import AuditFinished, CheckFinished, Event
from loopguard_cli.core.ids import EffectId

TAIL_BYTES = 8 << 10
"""How much of a program's output is kept, from its end."""

Post = Callable[[Iterable[Event]], None]


class Jobs:
    """The programs that run at present. Each in a process group of its own, so that all of it ends."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._tasks: dict[EffectId, asyncio.Task[None]] = {}
        self.pids: set[int] = set()

    def check(self, effect: RunCheck) -> None:
        self._start(effect.effect, self._check(effect))

    def audit(self, effect: RunAudit) -> None:
        self._start(effect.effect, self._audit(effect))

    def cancel(self, effect: EffectId) -> None:
        if task := self._tasks.pop(effect, None):
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, effect: EffectId, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[effect] = task
        task.add_done_callback(lambda _: self._tasks.pop(effect, None))

    async def _check(self, effect: RunCheck) -> None:
        before = time.monotonic()
        code, tail, error = await self._run(effect.command, b"", effect.timeout, effect.directory)
        self._post(
            [
                CheckFinished(
                    session=effect.session,
                    effect=effect.effect,
                    exit_code=code,
                    error=error,
                    tail=tail,
                    seconds=time.monotonic() - before,
                )
            ]
        )

    async def _audit(self, effect: RunAudit) -> None:
        if not effect.command:
            error = "this agent offers no auditor of its own; set an external one"
            self._post([AuditFinished(session=effect.session, effect=effect.effect, error=error)])
            return
        payload = json.dumps({**effect.payload, "prompt": effect.prompt}).encode()
        code, tail, error = await self._run(effect.command, payload, effect.timeout, "")
        self._post(
            [
                AuditFinished(
                    session=effect.session,
                    effect=effect.effect,
                    reply=tail,
                    error=error,
                    approved=None if code is None else code == 0,
                    reason=tail.strip()[-500:],
                )
            ]
        )

    async def _run(
        self, command: str, stdin: bytes, timeout: float, directory: str
    ) -> tuple[int | None, str, str]:
        """Exit code (None: none), the end of its output, and what went wrong."""
        try:
            process = await asyncio.create_subprocess_shell(
                command,
                stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=directory or None,
                start_new_session=True,
            )
        except OSError as error:
            return None, "", (error.strerror or str(error)).lower()
        self.pids.add(process.pid)
        tail = bytearray()
        try:
            await asyncio.wait_for(_talk(process, stdin, tail), timeout)
        except TimeoutError:
            return None, _text(tail), f"timed out after {timeout:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            self.pids.discard(process.pid)
        return process.returncode, _text(tail), ""


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, tail: bytearray) -> None:
    if process.stdin is not None:
        with suppress(ConnectionError):
            process.stdin.write(stdin)
            await process.stdin.drain()
        process.stdin.close()
    assert process.stdout is not None
    while chunk := await process.stdout.read(1 << 16):
        tail += chunk
        del tail[:-TAIL_BYTES]
    await process.wait()


def _text(tail: bytearray) -> str:
    return tail.decode(errors="replace")
