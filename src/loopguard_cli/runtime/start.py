"""Everything between the command line and the running agent: settings, ledger, register, record."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePath

import msgspec

from loopguard_cli.agents import choose
from loopguard_cli.agents.base import Setup
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS, LOOP_GUARD, ToolProgram, goal_command
from loopguard_cli.config.load import load_for
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities, Mode, Permissions
from loopguard_cli.core.terminal import TerminalSettings
from loopguard_cli.core.wording import Wording
from loopguard_cli.errors import AgentNotExecutable, AgentNotFound
from loopguard_cli.runtime.assemble import make_hub
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.control import mcp
from loopguard_cli.runtime.driver import Run
from loopguard_cli.runtime.goals import GoalKeeper
from loopguard_cli.runtime.nesting import nested_in, replace_by
from loopguard_cli.runtime.plan import Chore, Plan
from loopguard_cli.runtime.processes import waited
from loopguard_cli.runtime.processes.evidence import Evidence
from loopguard_cli.runtime.recording import Recording
from loopguard_cli.runtime.reload import LOOK_SECONDS, Reload, unsettled
from loopguard_cli.runtime.telling import statusline
from loopguard_cli.runtime.telling.notices import write
from loopguard_cli.runtime.telling.outside import Outside
from loopguard_cli.runtime.telling.statusline import StatusLine
from loopguard_cli.store import runs
from loopguard_cli.store.folder import Folder
from loopguard_cli.store.lease import HEARTBEAT_SECONDS
from loopguard_cli.store.ledger import Ledger
from loopguard_cli.store.paths import project_folder, runtime_path, state_path

LOOPBACK = "LOOPGUARD_LOOPBACK"
"""Set: talk over loopback ports although there are Unix sockets."""

TRANSCRIPT = "LOOPGUARD_TRANSCRIPT"
"""A file for everything that the adapter is told; for people who write adapters."""

_SOCKET_PATH_BYTES = 100
"""The shortest limit of the systems we know is 104."""


class Options(msgspec.Struct, kw_only=True):
    """What the person asked for on the command line."""

    argv: Sequence[str]
    agent: str = ""
    permissions: Permissions = Permissions.ASK
    record: Path | None = None
    assignments: Sequence[str] = ()
    events: str = ""
    """In which format the agent prints its events; its adapter is then ``stream``."""
    goal: str = ""
    """A goal to be set before the agent starts, in the grammar of ``/goal set``."""


def run(options: Options, environ: Mapping[str, str] = os.environ) -> int:
    """Run the agent guarded; returns the exit status. Raises LoopguardError."""
    if outer := nested_in(environ):
        write(f"already inside the guarded run {outer}; starting {options.argv[0]} without a second guard")
        return _instead(options.argv)
    project = project_folder(Path.cwd())
    loaded = load_for(project, assignments=options.assignments, environ=environ)
    settings = loaded.settings
    for line in loaded.ignored:
        write(line)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    run_id = runs.new_run_id()
    tool_word = secrets.token_urlsafe(24)
    setup = Setup(
        argv=tuple(options.argv),
        tools=(*(GUARD_TOOLS if settings.guard.mode is not Mode.OFF else ()), *GOAL_TOOLS),
        commands=(LOOP_GUARD, goal_command(settings.goal.command_name)),
        directory=str(Path.cwd()),
        interactive=interactive,
        keyboard=sys.stdin.isatty(),
        permissions=options.permissions,
        tool_program=ToolProgram(
            (sys.executable, "-m", "loopguard_cli", "mcp"), mcp.environment(run_id, tool_word)
        ),
        terminal=settings.terminal,
        fail_closed=settings.guard.fail_closed,
        events=options.events,
    )
    adapter = choose(setup, options.agent or ("stream" if options.events else ""), write)
    if settings.guard.fail_closed and adapter.capabilities.gate and not adapter.capabilities.closes:
        write(Wording(settings.guard.locale).fails_open(adapter.name))
    waiter = waited.below_a_waiter() if waited.needed(adapter) else None
    clock = Clock()
    state = state_path(project, environ=environ)
    sockets = _sockets(run_id, environ)
    keeper = GoalKeeper(
        state,
        run=run_id,
        settings=settings.goal,
        capabilities=adapter.capabilities,
        salt=secrets.token_hex(4),
    )
    with ExitStack() as stack:
        if transcript := environ.get(TRANSCRIPT):
            from loopguard_cli.runtime.transcribing import transcribed

            adapter = stack.enter_context(transcribed(adapter, setup, Path(transcript)))
        live = partial(_restated, keeper, clock)
        store = stack.enter_context(Ledger.open(state, run=run_id, live=live))
        stack.callback(keeper.close)
        for problem in store.found:
            write(f"{problem.file}: {problem.reason}; it was put aside and a new ledger begun")
        if bad := keeper.restore():
            write(f"{bad} records about goals could not be made out")
        for place in unsettled(state, loaded):
            write(f"{place} was changed while an agent ran here, loosens the guard, and is in force now")
        recording = None
        if options.record is not None:
            recording = Recording(options.record, agent=adapter.name, started=clock.started)
            stack.callback(_close, recording)
        hub = make_hub(settings.guard, adapter.capabilities, goals=keeper.goals, watchdog=settings.watchdog)
        reload = Reload(
            project,
            loaded,
            assignments=options.assignments,
            environ=environ,
            present=lambda: hub.settings,
            goals=keeper.goals.reconfigure,
        )
        plan = Plan(
            run=run_id,
            adapter=adapter,
            hub=hub,
            settings=settings.guard,
            environ=dict(environ),
            argv0=PurePath(options.argv[0]).name,
            sockets=sockets,
            store=store,
            recording=recording,
            clock=clock,
            tool_word=tool_word,
            goals=keeper,
            goal=options.goal,
            reload=reload,
            status_line=_status_line(settings.terminal, environ),
            outside=Outside(
                settings.notify,
                settings.otel,
                run=run_id,
                locale=settings.guard.locale,
                environ=environ,
                complain=write,
                # While an agent owns the screen, nothing else may write to it.
                terminal=sys.stderr.write
                if sys.stderr.isatty() and not (interactive and _has_screen(adapter.capabilities))
                else None,
            ),
            waiter=waiter,
            evidence=Evidence(lambda: hub.watchdog is not None and hub.watchdog.attentive),
            chores=(Chore(HEARTBEAT_SECONDS, keeper.beat), Chore(LOOK_SECONDS, reload.look)),
        )
        return asyncio.run(_drive(plan, project, state))


def _has_screen(can: Capabilities) -> bool:
    """Of what we cannot steer we do not know, so it has."""
    return can.screen or not (can.prompt or can.respawn)


def _status_line(settings: TerminalSettings, environ: Mapping[str, str]) -> StatusLine | None:
    fd = 2
    if not settings.status_line or not statusline.possible(fd, environ, output=1):
        return None
    return StatusLine(fd, plain=bool(environ.get("NO_COLOR")))


def _restated(keeper: GoalKeeper, clock: Clock) -> Sequence[GoalRecord]:
    return keeper.restated(clock.now())


async def _drive(plan: Plan, project: Path, state: Path) -> int:
    run = Run(plan)

    def register() -> None:
        runs.register(
            runs.this_run(
                run=plan.run,
                agent=plan.adapter.name,
                project=project,
                state=state,
                socket=run.control.address,
                since=plan.clock.started,
                token=run.control.token,
            )
        )

    try:
        return await run.drive(register)
    finally:
        runs.unregister(plan.run)


def _close(recording: Recording) -> None:
    recording.close()
    if recording.failed:
        write(f"the record is incomplete: cannot write to {recording.path}: {recording.failed}")


def _sockets(run: str, environ: Mapping[str, str]) -> Path | None:
    """The folder for our sockets, made safe; None where sockets cannot live there."""
    path = runtime_path(environ)
    too_long = len(os.fsencode(path / f"{run}.agent")) > _SOCKET_PATH_BYTES
    if environ.get(LOOPBACK) or too_long:
        return None
    Folder.open(path, create=True).close()
    return path


def _instead(argv: Sequence[str]) -> int:
    try:
        replace_by(argv)
    except FileNotFoundError as error:
        raise AgentNotFound(f"cannot find {argv[0]!r}", "install it, or name it with its path") from error
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise AgentNotExecutable(f"cannot execute {argv[0]!r}: {why}") from error
    return 0
