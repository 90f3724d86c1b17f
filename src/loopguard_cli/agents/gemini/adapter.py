"""Gemini CLI, on the person's terminal and with ``-p``: its hooks ask the gate, stream the text, and go on.

Each piece of text is a call of a hook, and a refusal there ends the turn; the hook at the end of a turn
takes what the turn goes on with. So nearly everything happens within the agent's own process and turn. But
with ``-p`` the provider's answer stays open behind a refused piece for as long as the process lives: after an
abort it goes on by another start in the same session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    HookCall,
    HookReply,
    LaunchPlan,
    Setup,
    Streams,
    answer,
)
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.aside import Aside
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.sessions import Sessions
from loopguard_cli.agents.claude.steered import Part, Steered
from loopguard_cli.agents.gemini import extension
from loopguard_cli.agents.gemini.calls import OpenCalls, was_cancelled
from loopguard_cli.agents.gemini.invocation import Invocation
from loopguard_cli.agents.gemini.turns import INTERRUPTED, Turns
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.tools import readable, slash
from loopguard_cli.core.effects import (
    AnswerGate,
    Effect,
    Prompt,
    Respond,
    Tell,
)
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    Asked,
    Event,
    Status,
    StatusChanged,
    Surface,
)
from loopguard_cli.core.ids import CallId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities

QUESTIONS = 1000

ONE_SHOT = Capabilities(
    gate=True,
    text_deltas=True,
    abort=True,
    prompt=True,
    nudge=True,
    read_session=True,
    usage=True,
    tools=True,
    context=True,
    respawn=True,
)
SCREEN = msgspec.structs.replace(ONE_SHOT, screen=True, respawn=False)

_CANCELLED = b"Request cancelled"
"""What the screen shows when the person has ended a turn."""
_CANCELS = (b"\x1b", b"\x03", b"\x1b[27u", b"\x1b[27;1u", b"\x1b[99;5u")
"""What a terminal sends for Escape and for ^C."""
_SANDBOXED = "in a sandbox of its own (--sandbox) our hooks cannot reach us, so Gemini CLI runs UNGUARDED"


class Gemini(Steered[Turns]):
    """One run."""

    name = "gemini"

    def __init__(self, setup: Setup, invocation: Invocation) -> None:
        self.opening = ""
        self._setup = setup
        self._invocation = invocation
        self._screen = invocation.form is Form.SCREEN
        self.capabilities = SCREEN if self._screen else ONE_SHOT
        self._known = Sessions(setup.directory)
        calls = Calls(extension.TOOL_PREFIX)
        self._open = OpenCalls(calls)
        self._gate = Gate(calls, self._reply)
        self._turns = Turns(self._gate, self._open, screen=self._screen)
        self._connected = False
        self._awaited = False
        """The command line holds a prompt, which has not come yet."""
        self._pieces: Recent[int, SessionId] = Recent(QUESTIONS)
        """Calls of the hook behind a piece of text that wait for what the piece brings about."""
        self._gated: Recent[RequestId, CallId] = Recent(QUESTIONS)
        self._slashes = {command.name for command in setup.commands}
        self._commands: Recent[RequestId, int] = Recent(QUESTIONS)
        self._aside = Aside()
        self._tail = b""

    # --- launching ---------------------------------------------------------------------------

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        asked = self._invocation
        if asked.form is Form.PLAIN:
            return LaunchPlan(argv=asked.argv, form=Form.PLAIN, bridged=False)
        if asked.sandboxed:
            return LaunchPlan(argv=asked.argv, form=asked.form, bridged=False, remarks=(_SANDBOXED,))
        ours = ("-e", extension.NAME) if asked.chooses else ()
        opening: tuple[str, ...] = ()
        if self.opening and not asked.prompted:
            opening = ("--prompt-interactive" if self._screen else "--prompt", self.opening)
        self._awaited = asked.prompted or bool(opening) or not self._screen
        return self._plan(environ, address, (*opening, *ours, *asked.options))

    def relaunch(self, environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        self._turns.launched(prompt)
        self._connected, self._awaited = False, True
        ours = ("-e", extension.NAME) if self._invocation.chooses else ()
        again = self._invocation.again(prompt.session, prompt.text)
        return self._plan(environ, address, (*ours, *again))

    def _plan(
        self, environ: Mapping[str, str], address: BridgeAddress, options: tuple[str, ...]
    ) -> LaunchPlan:
        environment = extension.environment(address)
        if not self._screen:
            # The process in front of the real one, which it may start again, listens to no signal.
            environment["GEMINI_CLI_NO_RELAUNCH"] = "true"
        return LaunchPlan(
            argv=(*self._invocation.program, *options),
            form=self._invocation.form,
            environment=environment,
            streams=Streams.TERMINAL if self._screen else Streams.INHERITED,
            hooks=extension.CALLED,
            mirrors=extension.mirrors(environ),
            files=extension.files(address, self._setup),
        )

    def exited(self, code: int) -> Sequence[Event]:
        return [*self._gate.close(), *self._turns.exited(code), AgentExited(code=code)]

    # --- hooks -------------------------------------------------------------------------------

    def called(self, call: HookCall) -> Answer:
        self._turns.answering = True
        return answer(self._called(call))

    def considered(self, call: int) -> Answer:
        return answer(self._considered(call))

    def hung_up(self, call: int) -> Sequence[Event]:
        self._gate.gone(call)
        self._pieces.pop(call)
        self._turns.gone(call)
        return ()

    @property
    def holding(self) -> bool:
        return not self._screen and any(True for _ in self._turns.held())

    def release(self, _end: bool) -> Answer:
        return answer(self._turns.release())

    def _called(self, call: HookCall) -> Iterator[Part]:
        body, number = call.body, call.call
        session = reading.session_of(body)
        if not session:
            yield HookReply(call=number)
            return
        if not self._connected:
            self._connected = True
            yield AgentConnected(agent=self.name)
        yield from self._known.see(session)
        match call.hook:
            case "BeforeAgent":
                yield from self._prompted(number, session, reading.text(body, "prompt"))
            case "BeforeModel" if self._turns.aborting(session):
                yield self._reply(number, _interrupted())
            case "BeforeModel":
                yield self._reply(number, None)
                yield from self._turns.asked(session, reading.text(body, "llm_request", "model"))
            case "AfterModel":
                self._pieces[number] = session
                yield from self._turns.said(session, reading.record(body, "llm_response"))
            case "BeforeTool":
                yield from self._before(number, session, body)
            case "AfterTool":
                yield from self._open.ended(session, body)
                yield from self._gate.behind(number, "AfterTool", session)
                if was_cancelled(body):
                    yield from self._turns.stopped(session)
            case "AfterAgent":
                yield from self._turns.ended(session, number)
            case hook:
                yield self._reply(number, None)
                if hook == "SessionStart":
                    self._gate.forgotten(session)
                    if not self._awaited:
                        yield StatusChanged(session=session, status=Status.IDLE)

    def _prompted(self, number: int, session: SessionId, text: str) -> Iterator[Part]:
        # What is typed before the agent has read its commands reaches the model as it was typed.
        marked = text.removeprefix(f"{extension.COMMAND} ")
        name, _, arguments = marked.removeprefix("/").partition(" ")
        if text.startswith((extension.COMMAND, "/")) and name in self._slashes:
            operation, given = slash(name, arguments.strip())
            request = RequestId(f"slash.{number}")
            self._commands[request] = number
            yield Asked(
                session=session, request=request, operation=operation, arguments=given, surface=Surface.SLASH
            )
            return
        self._awaited = False
        yield self._gate.prompted(number, "BeforeAgent", session)
        yield from self._turns.prompted(session, text)

    def _before(self, number: int, session: SessionId, body: dict[str, Any]) -> Iterator[Part]:
        if self._turns.aborting(session):
            yield self._reply(number, _interrupted())
            return
        named = self._open.name(session, body)
        self._gated[RequestId(f"hook.{number}")] = CallId(named["tool_use_id"])
        yield from self._gate.before(number, named)

    def _considered(self, call: int) -> Iterator[Part]:
        session = self._pieces.pop(call)
        if session is not None:
            yield self._reply(call, _interrupted() if self._turns.aborting(session) else None)
        elif self._screen:
            yield from self._turns.release()
        self._turns.answering = False

    def _reply(self, call: Any, body: dict[str, Any] | None) -> HookReply:
        """An answer in the words of Gemini CLI; what waits to be shown goes with it."""
        output = reading.record(body, "hookSpecificOutput")
        decision = reading.text(output, "permissionDecision")
        if decision == "deny":
            body = {"decision": "deny", "reason": reading.text(output, "permissionDecisionReason")}
        elif decision:
            body = None
        return HookReply(call=call, body=self._aside.beside(body))

    # --- the terminal ------------------------------------------------------------------------

    def printed(self, data: bytes) -> Answer:
        seen = self._tail + data
        self._tail = seen[-len(_CANCELLED) + 1 :]
        self._turns.composer.printed(data)
        return answer(self._turns.stopped()) if _CANCELLED in seen else Answer()

    def keyed(self, data: bytes) -> Answer:
        if data in _CANCELS:
            self._turns.cancelled()
        elif not data.startswith(b"\x1b"):  # a key, or what a terminal reports by itself
            self._turns.composer.touched()
        return Answer()

    def paused(self) -> Answer:
        return answer(self._turns.composer.paused())

    def still(self) -> Answer:
        return answer(self._still())

    def _still(self) -> Iterator[Part]:
        yield from self._turns.composer.still()
        yield from self._turns.quiet()

    def sized(self, _rows: int, _columns: int) -> Answer:
        return Answer()

    def missed(self, _count: int) -> Answer:
        self._tail = b""
        self._turns.composer.missed()
        return Answer()

    # --- what we want from it ----------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        match effect:
            case AnswerGate():
                yield from super()._carry_out(effect)
                call = self._gated.pop(effect.request)
                if effect.allow:
                    self._turns.answering = False
                elif call is not None:
                    yield from self._open.refused(call, effect.text)
            case Tell():
                if self._screen:
                    self._aside.add(effect.text)
            case _:
                yield from super()._carry_out(effect)

    def _respond(self, effect: Respond) -> Iterator[Part]:
        if (call := self._commands.pop(effect.request)) is not None:
            # Refused as a prompt: the model never reads it, and the person reads the reason.
            yield HookReply(call=call, body={"decision": "deny", "reason": readable(effect)})


def _interrupted() -> dict[str, Any]:
    return {"decision": "deny", "reason": INTERRUPTED}
