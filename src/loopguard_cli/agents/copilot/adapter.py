"""Copilot CLI with ``-p``: its hooks ask the gate, its standard output is read along, and it goes on by
another start in the same session.

The hook at a turn's end could give it a prompt as well, but only a few times in a row, and before all of
its output was read; so a turn ends with its process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.sessions import Sessions
from loopguard_cli.agents.claude.steered import Part, Steered
from loopguard_cli.agents.copilot import plugin, speech
from loopguard_cli.agents.copilot.invocation import Invocation
from loopguard_cli.agents.copilot.turns import Turns
from loopguard_cli.agents.gemini.calls import OpenCalls
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.effects import AnswerGate, Effect, Prompt, Respond
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    CompactionStarting,
    Event,
    FilesChanged,
    ToolFinished,
)
from loopguard_cli.core.ids import CallId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities

QUESTIONS = 1000

CAPABILITIES = Capabilities(
    gate=True,
    text_deltas=True,
    abort=True,
    respawn=True,
    nudge=True,
    read_session=True,
    child_sessions=True,
    tools=True,
    context=True,
)

_CHANGING = {"create", "edit", "str_replace_editor"}
_SHELL = re.compile(r"\n?<shellId: [^>]*? completed with exit code (\d{1,3})>\s*$")
"""How the result of a command ends; the number of the shell differs between equal results."""
_UNREACHED = "in this form nothing of ours is in Copilot CLI, so it runs UNGUARDED"


class Copilot(Steered[Turns]):
    """One run of prompt mode."""

    name = "copilot"
    capabilities = CAPABILITIES

    def __init__(self, setup: Setup, invocation: Invocation) -> None:
        self.opening = ""
        self._setup = setup
        self._invocation = invocation
        self._known = Sessions(setup.directory)
        calls = Calls(plugin.TOOL_PREFIX)
        self._open = OpenCalls(calls)
        self._gate = Gate(calls, self._reply)
        self._turns = Turns(self._gate, self._open)
        self._reader = speech.reader(json=invocation.json)
        self._connected = False
        self._agents: set[str] = set()
        """Sub-agents that work now."""
        self._gated: Recent[RequestId, CallId] = Recent(QUESTIONS)
        self._prompts: Recent[int, SessionId] = Recent(QUESTIONS)
        """Hooks before a prompt, which takes the standing text along that the session brings about."""

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        asked = self._invocation
        if asked.form is not Form.ONE_SHOT:
            remarks = () if asked.form is Form.PLAIN else (_UNREACHED,)
            return LaunchPlan(argv=asked.argv, form=asked.form, bridged=False, remarks=remarks)
        opening = ("--prompt", self.opening) if self.opening and not asked.prompted else ()
        return self._plan(address, (*opening, *asked.options))

    def relaunch(self, _environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        self._turns.launched(prompt)
        self._connected = False
        self._reader = speech.reader(json=self._invocation.json)
        return self._plan(address, self._invocation.again(prompt.session, prompt.text))

    def _plan(self, address: BridgeAddress, options: tuple[str, ...]) -> LaunchPlan:
        return LaunchPlan(
            argv=(*self._invocation.program, *plugin.arguments(address), *options),
            form=Form.ONE_SHOT,
            streams=Streams.TAPPED,
            files=plugin.files(address, self._setup),
        )

    def exited(self, code: int) -> Sequence[Event]:
        self._agents.clear()
        return [*self._turns.exited(code), *self._gate.close(), AgentExited(code=code)]

    # --- what it prints ----------------------------------------------------------------------

    def printed(self, data: bytes) -> Answer:
        return answer(self._printed(data))

    def _printed(self, data: bytes) -> Iterator[Event]:
        main = self._turns.session
        if self._agents and not self._invocation.json:
            # What sub-agents say cannot be told from what the agent says.
            self._reader = speech.Text()
            return
        for said in self._reader.feed(data):
            session = SessionId(f"{main}/{said.agent}") if said.agent else main
            if main:
                yield from self._known.see(session)
                yield from self._turns.said(session, said)

    def paused(self) -> Answer:
        return Answer()

    # --- hooks -------------------------------------------------------------------------------

    def called(self, call: HookCall) -> Answer:
        return answer(self._called(call))

    def considered(self, call: int) -> Answer:
        session = self._prompts.pop(call)
        if session is None:
            return Answer()
        return answer([self._gate.prompted(call, "userPromptSubmitted", session)])

    def hung_up(self, call: int) -> Sequence[Event]:
        self._gate.gone(call)
        self._prompts.pop(call)
        return ()

    def _called(self, call: HookCall) -> Iterator[Part]:
        body, number, hook = call.body, call.call, call.hook
        named = reading.text(body, "sessionId")
        if not named:
            yield HookReply(call=number)
            return
        if not self._connected:
            self._connected = True
            yield AgentConnected(agent=self.name)
        agent = reading.text(body, "agentId")
        if not agent and hook in ("sessionStart", "userPromptSubmitted"):
            self._turns.session = SessionId(named)
        main = self._turns.session or SessionId(named)
        about = hook in ("subagentStart", "subagentStop")
        session = SessionId(f"{main}/{agent}") if agent and not about else main
        yield from self._known.see(session)
        match hook:
            case "userPromptSubmitted":
                self._prompts[number] = session
                yield from self._turns.prompted(session, reading.text(body, "prompt"))
            case "preToolUse":
                yield from self._before(number, session, _call(session, body))
            case "postToolUse" | "postToolUseFailure":
                yield from self._behind(session, body)
                yield from self._gate.behind(number, hook, session)
            case _:
                yield self._reply(number, None)
                yield from self._told(hook, session, agent)

    def _told(self, hook: str, session: SessionId, agent: str) -> Iterator[Event]:
        match hook:
            case "sessionStart":
                self._gate.forgotten(session)
            case "subagentStart" if agent:
                self._agents.add(agent)
            case "subagentStop":
                self._agents.discard(agent)
            case "agentStop" if agent:
                yield from self._turns.ended(session)
            case "preCompact":
                self._gate.forgotten(session)
                yield CompactionStarting(session=session)
            case _:
                pass

    def _before(self, number: int, session: SessionId, body: dict[str, Any]) -> Iterator[Part]:
        yield from self._turns.acting(session)
        body = self._open.name(session, body)
        self._gated[RequestId(f"hook.{number}")] = CallId(body["tool_use_id"])
        yield from self._gate.before(number, body)

    def _behind(self, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        result = reading.text(body, "toolResult", "textResultForLlm")
        shell = _SHELL.search(result)
        output = result if shell is None else f"{result[: shell.start()]}\n<exit code {shell[1]}>".strip()
        code = None if shell is None else int(shell[1])
        success = reading.text(body, "toolResult", "resultType") == "success"
        ended = self._open.over(
            session,
            _call(session, body),
            output or reading.text(body, "error"),
            ok=success and not code,
            exit_code=code,
        )
        for event in ended:
            yield event
            if isinstance(event, ToolFinished) and event.ok and event.tool in _CHANGING:
                yield FilesChanged(session=session, files=(reading.text(event.args, "path"),))

    def _reply(self, call: Any, body: dict[str, Any] | None) -> HookReply:
        """An answer in the words of Copilot CLI, which are Claude Code's without what is around them."""
        output = reading.record(body, "hookSpecificOutput")
        said = {name: value for name, value in output.items() if name != "hookEventName"}
        return HookReply(call=call, body=said or None)

    # --- what we want from it ----------------------------------------------------------------

    def _carry_out(self, effect: Effect) -> Iterator[Part]:
        yield from super()._carry_out(effect)
        if isinstance(effect, AnswerGate):
            call = self._gated.pop(effect.request)
            if call is not None and not effect.allow:
                yield from self._open.refused(call, effect.text)

    def _respond(self, _effect: Respond) -> Iterator[Part]:
        yield from ()


def _call(session: SessionId, body: dict[str, Any]) -> dict[str, Any]:
    """The call of a hook's input, as Claude Code would tell it."""
    args = reading.at(body, "toolArgs")
    main, _, agent = session.partition("/")
    return {
        "session_id": main,
        "agent_id": agent,
        "tool_name": reading.text(body, "toolName"),
        "tool_input": {"input": args} if isinstance(args, str) else args,
    }
