"""One run from launch to exit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import Adapter, Form, LaunchPlan
from loopguard_cli.core.effects import Prompt, Record
from loopguard_cli.core.events import AgentDisconnected
from loopguard_cli.core.records import RunEnded, RunStarted
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.runtime import tree
from loopguard_cli.runtime.bridges import BridgeServer
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.child import Child
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.control_server import ControlServer
from loopguard_cli.runtime.notices import Notices
from loopguard_cli.runtime.perform import Performer, Store
from loopguard_cli.runtime.recording import Recording
from loopguard_cli.runtime.supervisor import Brain, Supervisor
from loopguard_cli.runtime.terminal import Terminal

HELLO_SECONDS = 20.0
"""Without a hello by then the agent counts as unguarded. OpenCode needs 1 to 7 s."""

LAST_WORDS_SECONDS = 1.0
"""For what a bridge said just before its process ended."""

EXIT_SECONDS = 10.0
"""For a one-shot agent to exit by itself once it has nothing more to do."""

GRACE_SECONDS = 3.0
"""Between asking an agent to end and making it."""

INTERRUPT_SECONDS = 1.0
"""Before an interrupt that should have come from the keyboard is passed on after all."""


class Plan(msgspec.Struct, kw_only=True):
    """What a run is made of. All of it decided before anything is started."""

    run: str
    adapter: Adapter
    hub: Brain
    settings: GuardSettings
    environ: Mapping[str, str]
    argv0: str
    sockets: Path | None
    """Folder for our sockets; None: loopback ports."""
    store: Store | None = None
    recording: Recording | None = None
    clock: Clock = msgspec.field(default_factory=Clock)
    hello_seconds: float = HELLO_SECONDS


class Run:
    """Drives one run. `Run.drive` returns its exit status."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._adapter = plan.adapter
        self._mark = f"{plan.run}:{os.getpid()}"
        self._terminal = Terminal()
        self._bridges = BridgeServer(plan.adapter, lambda events: self._supervisor.post(events))
        self._control = ControlServer(lambda events: self._supervisor.post(events))
        self._jobs = Jobs(lambda events: self._supervisor.post(events))
        self._child: Child | None = None
        self._guarded = False
        self._signalled = 0
        """The signal that is to end the run."""

    @property
    def control(self) -> ControlServer:
        return self._control

    async def drive(self, listening: Callable[[], None] = lambda: None) -> int:
        """Launch the agent and stay with it. ``listening``: called when commands can reach us.

        Raises LoopguardError before anything was started.
        """
        plan = self._plan
        await self._bridges.open(plan.sockets / f"{plan.run}.agent" if plan.sockets else None)
        await self._control.open(plan.sockets / f"{plan.run}.sock" if plan.sockets else None)
        launch = self._adapter.launch(plan.environ, self._bridges.invite())
        self._notices = Notices(screen=launch.form is Form.SCREEN)
        self._performer = Performer(
            adapter=self._adapter,
            form=launch.form,
            bridges=self._bridges,
            store=plan.store,
            notices=self._notices,
            jobs=self._jobs,
            reply=self._control.reply,
        )
        self._supervisor = Supervisor(plan.hub, self._performer, plan.clock, plan.recording)
        listening()
        tree.adopt_orphans()
        self._watch_signals()
        try:
            return await self._live(launch)
        finally:
            await self._clean_up()

    # --- the run -----------------------------------------------------------------------------

    async def _live(self, launch: LaunchPlan) -> int:
        plan = self._plan
        self._record_start(launch)
        code = await self._once(launch)
        while (prompt := await self._continuation(launch.form)) is not None:
            self._performer.next_prompt = None
            code = await self._once(self._adapter.relaunch(plan.environ, self._bridges.invite(), prompt))
        ending = self._performer.ending
        if ending is not None and launch.form is Form.ONE_SHOT and not self._signalled:
            code = ending.code
        reason = ending.reason if ending is not None else ""
        self._performer(Record(record=RunEnded(code=code, reason=reason), sync=True), plan.clock.now())
        return code

    def _record_start(self, launch: LaunchPlan) -> None:
        started = RunStarted(
            agent=self._adapter.name,
            argv0=self._plan.argv0,
            mode=self._plan.settings.mode.value,
            preset=self._plan.settings.preset.value,
            version=__version__,
        )
        if launch.form is not Form.PLAIN:
            self._performer(Record(record=started), self._plan.clock.now())

    async def _once(self, launch: LaunchPlan) -> int:
        """One agent process, from its start to its last word."""
        environ = {**self._plan.environ, tree.MARK: self._mark} if launch.bridged else self._plan.environ
        self._terminal.remember()
        child = self._child = Child(launch, environ)
        for remark in launch.remarks:
            self._notices.say(remark)
        watchers = [asyncio.ensure_future(self._expect_hello())] if launch.bridged else []
        if launch.form is Form.ONE_SHOT:
            watchers.append(asyncio.ensure_future(self._hurry(child)))
        child.poll()
        await child.ended.wait()
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        self._terminal.restore(modes=child.signal != 0 and launch.form is Form.SCREEN)
        await self._bridges.drained(LAST_WORDS_SECONDS)
        await tree.end_all(self._mark, self._jobs.pids)
        assert child.code is not None
        if launch.bridged and not self._bridges.greeted.is_set():
            self._notices.say("the agent ended before it connected, so it was not guarded")
        self._supervisor.post(self._adapter.exited(child.code))
        return child.code

    async def _continuation(self, form: Form) -> Prompt | None:
        """With what a one-shot agent that has exited goes on; None when the run is over."""
        if form is not Form.ONE_SHOT:
            return None
        while not self._signalled and self._performer.ending is None:
            if self._performer.next_prompt is not None:
                return self._performer.next_prompt
            if not _pending(self._plan.hub):
                return None
            self._supervisor.changed.clear()
            await self._supervisor.changed.wait()
        return None

    async def _expect_hello(self) -> None:
        try:
            await asyncio.wait_for(self._bridges.greeted.wait(), self._plan.hello_seconds)
        except TimeoutError:
            reason = f"no hello within {self._plan.hello_seconds:g} s"
            self._supervisor.post([AgentDisconnected(reason=reason)])
            self._notices.say(
                f"{self._adapter.name} runs UNGUARDED: its plugin of ours did not load ({reason})"
            )
            await self._bridges.greeted.wait()
            self._notices.say(f"{self._adapter.name} has connected after all and is guarded now")
        self._guarded = True

    async def _hurry(self, child: Child) -> None:
        """A one-shot agent that should be done, because its continuation waits, must not hang."""
        while self._performer.next_prompt is None and self._performer.ending is None:
            self._supervisor.changed.clear()
            await self._supervisor.changed.wait()
        await asyncio.sleep(EXIT_SECONDS)
        await child.end(GRACE_SECONDS)

    # --- signals -----------------------------------------------------------------------------

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._on_child)
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        loop.add_signal_handler(signal.SIGCONT, self._on_continue)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            loop.add_signal_handler(number, self._on_end, number)

    def _on_child(self) -> None:
        child = self._child
        spare = {*self._jobs.pids, *([child.pid] if child and child.code is None else [])}
        stopped = child is not None and child.poll()
        tree.reap(spare)
        if stopped and self._terminal.foreground():
            # The agent alone suspended itself: our shell waits for us, so we stop as well.
            os.kill(os.getpid(), signal.SIGSTOP)

    def _on_continue(self) -> None:
        if self._child is not None and self._child.poll():
            self._child.send(signal.SIGCONT)

    def _on_interrupt(self) -> None:
        """^C goes to the whole foreground group, so the agent has it already; `kill -INT` has not."""
        self._give_up(signal.SIGINT)
        if self._child is None or self._child.code is not None:
            return
        delay = INTERRUPT_SECONDS if self._terminal.keyboard_interrupts() else 0.0
        asyncio.get_running_loop().call_later(delay, self._child.send, signal.SIGINT)

    def _on_end(self, number: int) -> None:
        self._give_up(number)
        if self._child is not None:
            self._child.send(number)

    def _give_up(self, number: int) -> None:
        """No continuation any more: the person wants the run to end."""
        self._signalled = number
        self._supervisor.changed.set()

    # --- the end -----------------------------------------------------------------------------

    async def _clean_up(self) -> None:
        if self._child is not None:
            await self._child.end(GRACE_SECONDS)
        await self._jobs.close()
        await tree.end_all(self._mark)
        self._supervisor.close()
        await self._bridges.close()
        await self._control.close()
        self._terminal.close()
        self._notices.finish(guarded=self._guarded)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGCONT, signal.SIGTERM, signal.SIGHUP):
            with suppress(ValueError):
                loop.remove_signal_handler(number)


def _pending(hub: Any) -> bool:
    """The hub will still do something without further word from outside (a recovery, a goal)."""
    recovering = any(guard.recovery.active for guard in hub.sessions.values())
    return recovering or (hub.goals is not None and any(hub.goals.drives(s) for s in hub.sessions))


def nested_in(environ: Mapping[str, str]) -> str:
    """The run this process is inside of, empty if none: a mark alone could be a leftover."""
    run, _, pid = environ.get(tree.MARK, "").rpartition(":")
    if not run or not pid.isdigit():
        return ""
    from loopguard_cli.runtime.peers import descends

    return run if descends(os.getpid(), int(pid)) else ""


def replace_by(argv: Sequence[str]) -> None:
    """Become the agent, unsupervised by us. Raises OSError."""
    os.execvp(argv[0], list(argv))
