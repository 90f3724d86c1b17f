"""Claude Code on the person's terminal, or driven by another program: reached by a plugin's hooks.

Hooks ask the gate and tell what happens; the transcript has the text; Escape, typed, interrupts. A
prompt of ours goes in by hooks as well (`pushing`), so that nothing is typed over what the person
types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Follow,
    Form,
    HookCall,
    HookReply,
    LaunchPlan,
    Setup,
    Streams,
    answer,
)
from loopguard_cli.agents.claude import plugin, reading
from loopguard_cli.agents.claude.aside import Aside
from loopguard_cli.agents.claude.auditing import Audited
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.invocation import Invocation
from loopguard_cli.agents.claude.journal import Journal
from loopguard_cli.agents.claude.pushing import Pushing
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.claude.sessions import Sessions
from loopguard_cli.agents.claude.steered import Part, Steered
from loopguard_cli.agents.claude.talk import Talk
from loopguard_cli.agents.claude.toolserver import Said, ToolServer
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.tools import readable, slash
from loopguard_cli.core.effects import CancelEffect, Effect, Respond, Tell
from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentExited,
    Asked,
    CompactionStarting,
    Event,
    Status,
    StatusChanged,
    Surface,
    Unparsed,
)
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.core.settings import Capabilities

CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
SESSIONS = 100

_HOOKED = Capabilities(
    gate=True,
    prompt=True,
    nudge=True,
    read_session=True,
    child_sessions=True,
    tools=True,
    context=True,
    closes=True,
)
SCREEN = msgspec.structs.replace(_HOOKED, reasoning=True, abort=True, usage=True, screen=True)
HOSTED = msgspec.structs.replace(_HOOKED, reasoning=True, usage=True)
"""Without a terminal there is nothing that could interrupt it."""

_HOOKLESS = "--bare and --safe-mode switch all hooks off, so this session runs UNGUARDED"
_ELSEWHERE = "this session runs in another process than the one started here, so it is not guarded"
_NOT_UNDERSTOOD = (
    "an option is unknown to loopguard, so print mode is left as typed: it cannot be interrupted"
)


class Interactive(Steered[Talk], Audited):
    """One run that is reached by hooks."""

    name = "claude"

    def __init__(self, setup: Setup, invocation: Invocation) -> None:
        self.opening = ""
        self._setup = setup
        self._invocation = invocation
        self._screen = invocation.form is Form.SCREEN
        self.capabilities = SCREEN if self._screen else HOSTED
        self._commands = plugin.commands(setup.commands)
        self._calls = Calls(plugin.TOOL_PREFIX)
        self._replies = Replies(self._calls)
        self._journal = Journal(self._calls, self._replies)
        self._known = Sessions(setup.directory)
        self._gate = Gate(self._calls, self._reply)
        self._turns = Talk(self._replies, self._gate, screen=self._screen)
        self._tools = ToolServer(setup.tools)
        self._connected = False
        self._passed = False
        """The gate is passed by; said once."""
        self._awaited = False
        """The command line holds a prompt, which has not come yet."""
        self._asked: Recent[RequestId, int] = Recent(SESSIONS)
        """Slash commands that wait for their answer, and the calls of the hook that wait with them."""
        self._aside = Aside("loopguard: ")
        self._numbers = 0

    # --- launching ---------------------------------------------------------------------------

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        asked = self._invocation
        if asked.form is Form.PLAIN:
            return LaunchPlan(argv=asked.argv, form=Form.PLAIN, bridged=False)
        if asked.form is Form.REMOTE:
            return LaunchPlan(argv=asked.argv, form=Form.REMOTE, bridged=False, remarks=(_ELSEWHERE,))
        if asked.bare or asked.safe:
            return LaunchPlan(argv=asked.argv, form=asked.form, bridged=False, remarks=(_HOOKLESS,))
        if (cap := environ.get(CAP, "")).isdecimal():
            self._turns.pushing = Pushing(int(cap))
        opening = (self.opening,) if self.opening and not asked.prompt and self._screen else ()
        self._awaited = bool(opening or asked.prompt)
        return LaunchPlan(
            # The prompt first: behind an option that takes several values it would be one of them.
            argv=(
                *asked.program, *opening, "--plugin-dir", f"{address.folder}/{plugin.FOLDER}", *asked.options,
            ),
            form=asked.form,
            streams=Streams.TERMINAL if self._screen else Streams.INHERITED,
            hooks=plugin.CALLED,
            files=plugin.files(
                address,
                self._setup.commands,
                tools=bool(self._setup.tools),
                waits=self._screen,
                closed=self._setup.fail_closed,
            ),
            remarks=() if asked.understood or self._screen else (_NOT_UNDERSTOOD,),
        )  # fmt: skip

    def exited(self, code: int) -> Sequence[Event]:
        return [*self._gate.close(), *self._turns.exited(), AgentExited(code=code)]

    # --- hooks -------------------------------------------------------------------------------

    def called(self, call: HookCall) -> Answer:
        return answer(self._called(call))

    def considered(self, call: int) -> Answer:
        return answer(self._turns.pushing.considered(call))

    def hung_up(self, call: int) -> Sequence[Event]:
        self._gate.gone(call)
        self._turns.pushing.gone(call)
        return ()

    def appended(self, path: str, data: bytes) -> Answer:
        return answer(self._appended(path, data))

    def _called(self, call: HookCall) -> Iterator[Part]:
        body = call.body
        if call.hook == plugin.MCP:
            yield from self._served(call)
            return
        session = reading.session_of(body)
        if not session:
            yield HookReply(call=call.call)
            yield Unparsed(native=f"hook {call.hook}: no session in it"[:100])
            return
        if not self._connected:
            self._connected = True
            yield AgentConnected(agent=self.name, version=self._tools.client)
        yield from self._known.see(session)
        self._turns.meet(session)
        if path := reading.text(body, "transcript_path"):
            yield Follow(path=path)
        match call.hook:
            case plugin.WAIT:
                yield from self._turns.pushing.waits(session, call.call)
            case "UserPromptSubmit":
                yield from self._prompted(call.call, session, body)
            case "PreToolUse":
                self._turns.pushing.worked(session)
                yield from self._turns.busy(session)
                yield from self._replies.acting(session)
                yield from self._gate.before(call.call, body)
            case "PostToolUse":
                output = reading.flat(reading.at(body, "tool_response"))
                yield from self._calls.end(reading.call_id(body, "tool_use_id"), output, ok=True, exit_code=0)
                yield from self._gate.behind(call.call, call.hook, session)
            case "PostToolUseFailure":
                yield from self._failed(body)
                yield from self._gate.behind(call.call, call.hook, session)
            case "Stop":
                self._journal.ended(session, reading.text(body, "prompt_id"))
                yield from self._turns.stopped(call.call, session, body)
            case hook:
                yield self._reply(call.call, None)
                yield from self._noted(hook, session, body)

    def _noted(self, hook: str, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """Hooks that only tell."""
        match hook:
            case "SessionStart":
                self._gate.forgotten(session)
                # A conversation is also begun anew by its summary, in the middle of a turn.
                if not self._awaited and reading.at(body, "source") != "compact":
                    yield StatusChanged(session=session, status=Status.IDLE)
            case "SubagentStart":
                yield StatusChanged(session=session, status=Status.BUSY)
            case "SubagentStop":
                yield from self._turns.said(session, body)
                yield StatusChanged(session=session, status=Status.IDLE)
            case "StopFailure":
                yield from self._turns.broken(session, body)
            case "PreCompact":
                yield CompactionStarting(session=session)
            case "SessionEnd":
                yield from self._turns.idle(session)
            case _:
                pass

    def _failed(self, body: dict[str, Any]) -> Iterator[Event]:
        error = reading.flat(reading.at(body, "error"))
        yield from self._calls.end(
            reading.call_id(body, "tool_use_id"),
            error,
            ok=False,
            exit_code=reading.exit_code_of(error),
            cancelled=reading.at(body, "is_interrupt") is True,
        )

    def _served(self, call: HookCall) -> Iterator[Part]:
        before = self._tools.client
        about = reading.call_id(reading.record(call.body, "params", "_meta"), "claudecode/toolUseId")
        for said in self._tools.heard(call.call, call.body, self._calls.session(about)):
            yield said if isinstance(said, Asked) else _carried(said)
        if self._connected and self._tools.client != before:
            yield AgentConnected(agent=self.name, version=self._tools.client)

    # --- turns -------------------------------------------------------------------------------

    def _prompted(self, call: int, session: SessionId, body: dict[str, Any]) -> Iterator[Part]:
        text = reading.text(body, "prompt")
        name, _, rest = text.removeprefix("/").partition(" ")
        if text.startswith("/") and name in self._commands:
            yield self._command(call, session, self._commands[name].name, rest)
            return
        self._awaited = False
        yield self._gate.prompted(call, "UserPromptSubmit", session)
        yield from self._turns.prompted(session, body)

    def _appended(self, path: str, data: bytes) -> Iterator[Part]:
        for part in self._journal.read(path, data):
            if isinstance(part, AgentDisconnected):
                if not self._passed:
                    self._passed = True
                    yield part
            elif isinstance(part, Event):
                yield part
            else:
                yield from self._turns.interrupted(*part)

    # --- what we want from it ----------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case Tell():
                self._aside.add(effect.text)
            case CancelEffect():
                self._turns.pushing.cancel(effect.effect)
            case _:
                yield from super()._carry_out(effect)

    # --- what the person asks and sees -------------------------------------------------------

    def _command(self, call: int, session: SessionId, name: str, text: str) -> Asked:
        operation, arguments = slash(name, text.strip())
        self._numbers += 1
        request = RequestId(f"slash.{self._numbers}")
        self._asked[request] = call
        return Asked(
            session=session,
            request=request,
            operation=operation,
            arguments=arguments,
            surface=Surface.SLASH,
        )

    def _respond(self, effect: Respond) -> Iterator[Part]:
        if (said := self._tools.respond(effect)) is not None:
            yield _carried(said)
        elif (call := self._asked.pop(effect.request)) is not None:
            # Refused as a prompt: the model never reads it, and the person reads the reason.
            yield HookReply(call=call, body={"decision": "block", "reason": readable(effect)})

    def _reply(self, call: Any, body: dict[str, Any] | None) -> HookReply:
        """An answer that shows the waiting notices as well."""
        return HookReply(call=call, body=self._aside.beside(body))


def _carried(said: Said) -> HookReply:
    return HookReply(call=said.ref, body=said.message)
