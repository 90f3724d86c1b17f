"""One run from launch to exit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from loopguard_cli import __version__
from loopguard_cli.agents.base import (
    BridgeAddress,
    Following,
    Form,
    Hooked,
    LaunchPlan,
    Opened,
    Streams,
)
from loopguard_cli.core.effects import Effect, Prompt, Record, Respond
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    Asked,
    Event,
    Surface,
)
from loopguard_cli.core.ids import RequestId
from loopguard_cli.core.records import RunEnded, RunStarted
from loopguard_cli.core.watchdog import SAMPLE_SECONDS
from loopguard_cli.errors import UsageError
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.control.server import ControlServer
from loopguard_cli.runtime.perform import Performer
from loopguard_cli.runtime.plan import Chore, Plan
from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.processes.process import Process, start
from loopguard_cli.runtime.processes.terminal import Terminal
from loopguard_cli.runtime.reach.bridges import BridgeServer
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.reach.private import PrivateFolder
from loopguard_cli.runtime.signals import Signals
from loopguard_cli.runtime.supervisor import Supervisor
from loopguard_cli.runtime.telling.notices import SHOW_SECONDS, Notices
from loopguard_cli.runtime.watchers import GRACE_SECONDS, Watchers

if TYPE_CHECKING:
    from loopguard_cli.runtime.reach.hooks import HookServer

LAST_WORDS_SECONDS = 1.0
"""For what a bridge said just before its process ended."""

INSIST_SECONDS = 2.0
"""Between a signal that ends the run and our ending an agent that does not follow it."""

_GOAL = RequestId("start.goal")


class Run:
    """Drives one run. `Run.drive` returns its exit status."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._adapter = plan.adapter
        self._mark = f"{plan.run}:{os.getpid()}"
        self._terminal = Terminal()
        self._bridges = BridgeServer(plan.adapter, self._post)
        self._channels = Channels(self._bridges, self._post)
        self._control = ControlServer(self._post, tool_word=plan.tool_word)
        self._jobs = Jobs(self._post)
        self._hooks: HookServer | None = None
        self._folder: PrivateFolder | None = None
        self._process: Process | None = None
        self._signals = Signals(self._terminal, self._jobs, self._give_up, plan.waiter)
        self._refusal = ""
        """Why the goal of the command line is not set."""
        self._signalled = 0
        """The signal that is to end the run."""
        self._between = False
        """It came while no agent ran that could have died of it."""
        self._insisting: asyncio.Task[None] | None = None

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
        await self._open_hooks()
        self._notices = Notices(locale=plan.settings.locale)
        self._performer = Performer(
            adapter=self._adapter,
            channels=self._channels,
            store=plan.store,
            notices=self._notices,
            jobs=self._jobs,
            reply=self._reply,
            goals=plan.goals,
            environ=plan.environ,
            outside=plan.outside,
        )
        self._supervisor = Supervisor(plan.hub, self._performer, plan.clock, plan.recording)
        self._watchers = Watchers(
            adapter=self._adapter,
            supervisor=self._supervisor,
            performer=self._performer,
            channels=self._channels,
            notices=self._notices,
            hello_seconds=plan.hello_seconds,
        )
        chores: list[asyncio.Task[None]] = []
        try:
            launch = self._prepare()
            listening()
            tree.adopt_orphans()
            self._signals.watch()
            always = (Chore(SAMPLE_SECONDS, self._sample), Chore(SHOW_SECONDS, self._show))
            chores += [asyncio.create_task(self._repeat(chore)) for chore in (*plan.chores, *always)]
            return await self._live(launch)
        finally:
            for task in chores:
                task.cancel()
            await self._clean_up()

    def _prepare(self) -> LaunchPlan:
        """Everything that can still be refused. Raises LoopguardError."""
        plan = self._plan
        if plan.goal:
            if not (self._adapter.capabilities.prompt or self._adapter.capabilities.respawn):
                raise UsageError(f"{plan.argv0} cannot be prompted by us, so no goal can be pursued in it")
            self._set_goal(plan.goal)
        if plan.goals is not None and isinstance(self._adapter, Opened):
            self._adapter.opening = plan.goals.goals.opening(plan.clock.now())
        launch = self._adapter.launch(plan.environ, self._invite())
        self._notices.screen = launch.form is Form.SCREEN
        if launch.form in (Form.ONE_SHOT, Form.SERVER) and launch.whole_lines:
            self._notices.line = plan.status_line
            self._signals.leave = self._notices.hide if plan.status_line else None
        return launch

    def _set_goal(self, text: str) -> None:
        """As by a command before the first event; it waits for the agent's first session."""
        arguments = {"verb": "set", "text": text}
        asked = Asked(request=_GOAL, operation="goal.command", arguments=arguments, surface=Surface.CLI)
        self._post([asked])
        if self._refusal:
            raise UsageError(self._refusal.replace("\n", "; "), "see 'loopguard goal set --help'")

    async def _repeat(self, chore: Chore) -> None:
        while True:
            await asyncio.sleep(chore.seconds)
            for found in chore.do():
                if isinstance(found, Effect):
                    self._post(self._performer(found, self._plan.clock.now()))
                else:
                    self._post([found])

    def _show(self) -> Iterable[Event]:
        self._notices.show(self._plan.clock.now() - self._plan.clock.started)
        return ()

    def _sample(self) -> Iterable[Event]:
        evidence, process = self._plan.evidence, self._process
        if evidence is None or process is None or process.child.code is not None:
            return ()
        return evidence.look(process.child.pid, spare=self._jobs.pids)

    def _post(self, events: Iterable[Event]) -> None:
        events = tuple(events)
        if self._plan.reload is not None:
            events = tuple(map(self._plan.reload.meant, events))
        if any(isinstance(event, AgentConnected) for event in events):
            self._watchers.connected.set()
        self._supervisor.post(events)

    def _reply(self, answer: Respond) -> bool:
        console = self._channels.console
        if answer.request == _GOAL:
            self._refusal = "" if answer.ok else answer.text
            return True
        return self._control.reply(answer) or (console is not None and console.reply(answer))

    async def _open_hooks(self) -> None:
        if isinstance(self._adapter, Hooked):
            from loopguard_cli.runtime.reach.hooks import HookServer

            self._folder = PrivateFolder(self._plan.sockets, self._plan.run)
            hooks = HookServer(self._adapter, self._folder.path, self._channels.take, self._post)
            self._hooks = self._channels.hooks = hooks
            await hooks.open()
        if isinstance(self._adapter, Following):
            from loopguard_cli.runtime.reach.follow import Follower

            self._channels.files = Follower(self._adapter, self._channels.take)

    def _invite(self) -> BridgeAddress:
        """The address for an agent about to be launched."""
        self._watchers.connected.clear()
        address = self._bridges.invite()
        return self._hooks.invite(address) if self._hooks is not None else address

    # --- the run -----------------------------------------------------------------------------

    async def _live(self, launch: LaunchPlan) -> int:
        plan = self._plan
        self._record_start(launch)
        code = await self._once(launch)
        while (prompt := await self._continuation(launch.form)) is not None:
            self._performer.next_prompt = None
            code = await self._once(self._adapter.relaunch(plan.environ, self._invite(), prompt))
        ending = self._performer.ending
        if launch.form is Form.ONE_SHOT:
            code = self._verdict(code)
        reason = ending.reason if ending is not None else ""
        self._performer(Record(record=RunEnded(code=code, reason=reason), sync=True), plan.clock.now())
        return code

    def _verdict(self, code: int) -> int:
        """The exit status of a one-shot run whose agent ended with ``code``."""
        of_goals = self._plan.goals.goals.exit_code() if self._plan.goals is not None else None
        if self._signalled:
            # What an agent that ended before, or in the midst of a goal, says of itself is not the run's.
            unfinished = bool(of_goals) or (of_goals is None and bool(self._plan.goal))
            return 128 + self._signalled if self._between or unfinished else code
        if self._performer.ending is not None:
            return self._performer.ending.code
        return code if of_goals is None else of_goals

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
        environ = self._plan.environ
        if launch.bridged or launch.streams is Streams.TERMINAL:
            environ = {**environ, tree.MARK: self._mark}
        if self._folder is not None:
            self._folder.mirror(launch.mirrors)
            self._folder.write(launch.files)
        self._terminal.remember()
        process = self._process = start(launch, environ, self._adapter, self._channels, self._post)
        self._signals.attend(process, screen=launch.form is Form.SCREEN)
        if self._hooks is not None:
            self._hooks.launched(process.child.pid, launch.hooks)
        child = process.child
        if self._channels.console is not None:
            self._notices.write = self._channels.console.say
        # Whoever runs any program on a terminal of ours sees that program's bytes and no others.
        remark = self._notices.say if launch.streams is Streams.TERMINAL else self._notices.remark
        for text in launch.remarks:
            remark(text)
        process.begin()
        self._watchers.watch(process, launch)
        child.poll()
        await child.ended.wait()
        await self._watchers.dismissed()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.drained(), LAST_WORDS_SECONDS)
        if self._channels.files is not None:
            self._channels.files.look()
        process.close()
        self._terminal.restore(modes=child.signal != 0 and launch.form is Form.SCREEN)
        await self._bridges.drained(LAST_WORDS_SECONDS)
        await tree.end_all(self._mark, self._jobs.pids)
        if launch.bridged and not self._watchers.connected.is_set():
            self._notices.say("the agent ended before it connected, so it was not guarded")
        return self._ended(process)

    def _ended(self, process: Process) -> int:
        """Tell the adapter; returns the exit status that the run has from this process."""
        code = process.child.code
        assert code is not None
        if process.driven and self._signalled:
            code = 128 + self._signalled
        elif process.dismissed and process.child.signal:
            code = 0
        events = self._adapter.exited(code)
        self._post(events)
        return next((event.code for event in events if isinstance(event, AgentExited)), code)

    async def _continuation(self, form: Form) -> Prompt | None:
        """With what a one-shot agent that has exited goes on; None when the run is over."""
        if form is not Form.ONE_SHOT or not self._adapter.capabilities.respawn:
            return None
        while not self._signalled and self._performer.ending is None:
            if self._performer.next_prompt is not None:
                return self._performer.next_prompt
            if not self._plan.hub.pending():
                return None
            self._supervisor.changed.clear()
            await self._supervisor.changed.wait()
        return None

    def _give_up(self, number: int) -> None:
        """No continuation any more: the person wants the run to end."""
        if not self._signalled:
            self._between = self._process is None or self._process.child.code is not None
        self._signalled = number
        self._watchers.giving_up = True
        self._supervisor.changed.set()
        if number != signal.SIGINT and self._process is not None and self._insisting is None:
            self._insisting = asyncio.ensure_future(self._insist(self._process))

    async def _insist(self, process: Process) -> None:
        """What was told to end has ended soon, whether it listens or not; ^C an agent may take otherwise."""
        await asyncio.sleep(INSIST_SECONDS)
        await process.child.end(1.0)

    # --- the end -----------------------------------------------------------------------------

    async def _clean_up(self) -> None:
        if self._insisting is not None:
            self._insisting.cancel()
        if self._process is not None:
            await self._process.child.end(GRACE_SECONDS)
            self._process.close()
        await self._jobs.close()
        await tree.end_all(self._mark)
        self._supervisor.close()
        if self._plan.goals is not None:
            self._plan.goals.close()
        if self._hooks is not None:
            self._hooks.close()
        if self._channels.files is not None:
            self._channels.files.close()
        await self._bridges.close()
        await self._control.close()
        if self._folder is not None:
            self._folder.remove()
        self._terminal.close()
        if self._plan.outside is not None:
            await self._plan.outside.close(self._plan.clock.now())
        self._notices.finish(guarded=self._watchers.guarded)
        self._signals.close()
