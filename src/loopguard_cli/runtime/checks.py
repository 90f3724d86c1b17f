"""Completion checks and external auditors: programs of the person's that run beside the agent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from loopguard_cli.agents.base import LaunchPlan
from loopguard_cli.core.effects import RunAudit, RunCheck
from loopguard_cli.core.events import AuditFinished, CheckFinished, Event
from loopguard_cli.core.ids import EffectId
from loopguard_cli.runtime.processes import tree

TAIL_BYTES = 8 << 10
"""How much of a program's output is kept, from its end."""

READ_BYTES = 1 << 20
"""The same, of an auditor whose output has yet to be read."""

LAST_WORDS_SECONDS = 1.0
"""For the output of a program that has ended; a process outside its group may still hold it open."""

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

    def audit_by(self, effect: RunAudit, plan: LaunchPlan, read: Callable[[str], str]) -> None:
        """Have a process of the agent's own verify. ``read``: what it said, from its standard output."""
        self._start(effect.effect, self._audit_by(effect, plan, read))

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
        done = await self._run(effect.command, b"", effect.timeout, directory=effect.directory)
        self._post(
            [
                CheckFinished(
                    session=effect.session,
                    effect=effect.effect,
                    exit_code=done.code,
                    error=done.error,
                    tail=done.tail,
                    seconds=time.monotonic() - before,
                )
            ]
        )

    async def _audit(self, effect: RunAudit) -> None:
        payload = json.dumps({**effect.payload, "prompt": effect.prompt}).encode()
        done = await self._run(effect.command, payload, effect.timeout)
        self._post(
            [
                AuditFinished(
                    session=effect.session,
                    effect=effect.effect,
                    reply=done.tail,
                    error=done.error,
                    approved=None if done.code is None else done.code == 0,
                    reason=done.tail.strip()[-500:],
                )
            ]
        )

    async def _audit_by(self, effect: RunAudit, plan: LaunchPlan, read: Callable[[str], str]) -> None:
        environ = {**os.environ, **plan.environment}
        done = await self._run(
            plan.argv, plan.stdin or b"", effect.timeout, environ=environ, complaints=False, keep=READ_BYTES
        )
        error = done.error or (f"the auditor exited with {done.code}" if done.code else "")
        reply = "" if error else read(done.tail)
        self._post([AuditFinished(session=effect.session, effect=effect.effect, reply=reply, error=error)])

    async def _run(
        self,
        command: str | Sequence[str],
        stdin: bytes,
        timeout: float,
        *,
        directory: str = "",
        environ: Mapping[str, str] | None = None,
        complaints: bool = True,
        keep: int = TAIL_BYTES,
    ) -> _Done:
        """Run a shell command or a program to its end, and end whatever of it is left then."""
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else command
        loop = asyncio.get_running_loop()
        try:
            with tree.starting():
                transport, program = await loop.subprocess_exec(
                    lambda: _Program(keep),
                    *argv,
                    stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT if complaints else asyncio.subprocess.DEVNULL,
                    cwd=directory or None,
                    env=environ,
                    start_new_session=True,
                )
                pid = transport.get_pid()
                self.pids.add(pid)
        except OSError as failure:
            return _Done(None, "", (failure.strerror or str(failure)).lower())
        error = ""
        try:
            program.tell(transport, stdin)
            await asyncio.wait_for(program.exited.wait(), timeout)
        except TimeoutError:
            error = f"timed out after {timeout:g} s"
        finally:
            # A child that it left behind would hold the output open.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(TimeoutError):
                await asyncio.wait_for(program.over(), LAST_WORDS_SECONDS)
            transport.close()
            self.pids.discard(pid)
        code = None if error else transport.get_returncode()
        return _Done(code, program.tail.decode(errors="replace"), error)


class _Program(asyncio.SubprocessProtocol):
    """A program that is written to, read and waited for, each by itself."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.tail = bytearray()
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()
        """Nobody holds its output open any more."""

    async def over(self) -> None:
        await self.exited.wait()
        await self.silent.wait()

    def tell(self, transport: asyncio.SubprocessTransport, text: bytes) -> None:
        pipe = transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(text)
            pipe.write_eof()

    def pipe_data_received(self, _fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        self.tail += data
        del self.tail[: -self._keep]

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        if fd == 1:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()


class _Done(NamedTuple):
    code: int | None
    """None: it could not be started, or did not end in time; ``error`` tells."""
    tail: str
    """The end of its output."""
    error: str
