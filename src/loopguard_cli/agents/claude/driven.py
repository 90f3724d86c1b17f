"""Claude Code in print mode, driven: stream-json on both of its pipes.

The person's prompt becomes the first message, and the process stays for as many turns as it takes. Hooks
are answered and tools are served on the same two pipes, so nothing has to be put into files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    LaunchPlan,
    Outgoing,
    Setup,
    Show,
    Shown,
    Streams,
    answer,
)
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.auditing import Audited
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.control import Control
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.interjecting import Interjecting
from loopguard_cli.agents.claude.invocation import Invocation
from loopguard_cli.agents.claude.printed import Printed
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.claude.sessions import Sessions
from loopguard_cli.agents.claude.steered import Part, Steered
from loopguard_cli.agents.claude.toolserver import NAME, Said, ToolServer
from loopguard_cli.agents.claude.turns import Turns
from loopguard_cli.agents.tools import SlashCommand
from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentExited,
    Asked,
    Compacted,
    CompactionStarting,
    Event,
    Origin,
    Unparsed,
)
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.settings import Capabilities

HOOKS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact")
STDIN_SECONDS = 3.0
"""How long Claude Code itself waits for something on a standard input that is no terminal."""

CAPABILITIES = Capabilities(
    gate=True,
    text_deltas=True,
    reasoning=True,
    abort=True,
    prompt=True,
    nudge=True,
    read_session=True,
    usage=True,
    child_sessions=True,
    tools=True,
    context=True,
    closes=True,
)

UNGATED = msgspec.structs.replace(CAPABILITIES, gate=False, context=False)
"""Under ``--bare`` no hook is called."""

_ARGUMENTS = (
    "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
    "--include-partial-messages",
)  # fmt: skip
_CHATTER = {
    "auth_status", "keep_alive", "prompt_suggestion", "rate_limit_event", "streamlined_text",
    "streamlined_tool_use_summary", "tool_progress", "tool_use_summary",
}  # fmt: skip
"""Messages that say nothing about what the agent does."""
_NO_PROMPT = "Error: Input must be provided either through stdin or as a prompt argument when using --print\n"


class Driven(Steered[Turns], Audited):
    """One run of print mode."""

    name = "claude"
    speaks: Any = dict[str, Any]
    commands: Sequence[SlashCommand] = ()

    def __init__(self, setup: Setup, invocation: Invocation) -> None:
        self.capabilities = UNGATED if invocation.bare else CAPABILITIES
        self.finished = False
        self.opening = ""
        self._invocation = invocation
        self._printed = Printed(invocation)
        self._control = Control()
        self._calls = Calls(f"mcp__{NAME}__")
        self._replies = Replies(self._calls)
        self._sessions = Sessions(setup.directory)
        self._gate = Gate(self._calls, lambda ref, body: self._control.answer(str(ref), body or {}))
        self._tools = ToolServer(setup.tools)
        self._hints = Interjecting(self._control)
        self._turns = Turns(self._control, self._replies, self._hints if invocation.bare else self._gate)
        self._prompted = False
        self._passed = False
        """The gate is passed by; said once."""
        self._status = 0

    # --- launching ---------------------------------------------------------------------------

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        argv = (*self._invocation.program, *_ARGUMENTS, *self._invocation.kept)
        return LaunchPlan(
            argv=argv,
            form=Form.ONE_SHOT,
            streams=Streams.PIPED,
            input_seconds=STDIN_SECONDS,
            whole_lines=True,
        )

    # --- the conversation --------------------------------------------------------------------

    @property
    def session(self) -> SessionId:
        return self._turns.session

    @property
    def waiting(self) -> bool:
        return self._prompted and not self._turns.busy

    def began(self) -> Answer:
        return answer([self._control.initialize(self._initialized, HOOKS)])

    def heard(self, message: dict[str, Any]) -> Answer:
        return answer(self._heard(message))

    def typed(self, text: str) -> Answer:
        return answer(self._typed(text))

    def chosen(self, _question: str, _key: str) -> Answer:
        return Answer()

    def interrupted(self) -> Answer:
        return answer(self._turns.interrupt())

    def ping(self) -> Answer:
        """By a request that it does not know: that it has no such thing is an answer."""
        return answer([self._control.request(_ponged, subtype="loopguard_ping")])

    def concluded(self) -> Answer:
        return answer(self._printed.conclude())

    def exited(self, code: int) -> Sequence[Event]:
        return [*self._turns.exited(), *self._gate.close(), AgentExited(code=code or self._status)]

    # --- what the agent says -----------------------------------------------------------------

    def _heard(self, message: dict[str, Any]) -> Iterator[Part]:
        yield from self._printed.take(message)
        session = reading.session_of(message)
        if session:
            self._turns.session = self._turns.session or session
            yield from self._sessions.see(session)
        match reading.text(message, "type"):
            case "control_request":
                yield from self._requested(message)
            case "control_response":
                about, error = self._control.answered(message)
                if about is not None:
                    yield from about(error)
            case "control_cancel_request":
                self._gate.gone(reading.text(message, "request_id"))
            case "stream_event":
                event = reading.record(message, "event")
                yield from self._replies.streamed(session, event)
                if reading.text(event, "delta", "stop_reason") == "end_turn" and session == self.session:
                    yield from self._hints.withdraw()
            case "assistant":
                inner = reading.record(message, "message")
                yield from self._replies.whole(session, inner)
                if not self.capabilities.gate:
                    yield from self._begun(session, inner)
            case "user":
                yield from self._user(session, message)
            case "result":
                self._status = int(reading.at(message, "is_error") is True)
                yield from self._turns.result(message)
            case "command_lifecycle":
                yield from self._turns.lifecycle(message)
                yield from self._hints.lifecycle(message)
            case "system":
                yield from self._system(session, message)
            case kind:
                if kind not in _CHATTER:
                    yield Unparsed(native=f"message {kind}"[:100])

    def _begun(self, session: SessionId, message: dict[str, Any]) -> Iterator[Part]:
        """The calls of a message, where no hook tells of them."""
        for block in reading.listed(message, "content"):
            if reading.text(block, "type") == "tool_use":
                yield from self._calls.begin(session, block, self._replies.newest(session))
                if session == self.session:
                    yield from self._hints.called(reading.call_id(block, "id"))

    def _initialized(self, error: str) -> Iterator[Part]:
        if error:
            yield Unparsed(native=f"initialize: {error}"[:100])
        else:
            yield AgentConnected(agent=self.name, version=self._tools.client)

    def _requested(self, message: dict[str, Any]) -> Iterator[Part]:
        request, asked = reading.text(message, "request_id"), reading.record(message, "request")
        body = reading.record(asked, "input")
        match reading.text(asked, "subtype"), reading.text(asked, "callback_id"):
            case "hook_callback", hook:
                yield from self._sessions.see(reading.session_of(body))
                yield from self._hook(request, hook, body)
            case "mcp_message", _:
                inner = reading.record(asked, "message")
                call = reading.call_id(reading.record(inner, "params", "_meta"), "claudecode/toolUseId")
                session = self._calls.session(call) or self.session
                for said in self._tools.heard(request, inner, session):
                    yield said if isinstance(said, Asked) else self._served(said)
            case kind, _:
                yield self._control.refuse(request, "not answered here")
                yield Unparsed(native=f"control request {kind}"[:100])

    def _hook(self, request: str, hook: str, body: dict[str, Any]) -> Iterator[Part]:
        session = reading.session_of(body)
        match hook:
            case "PreToolUse":
                yield from self._gate.before(request, body)
            case "PostToolUse" | "PostToolUseFailure":
                yield from self._gate.behind(request, hook, session)
            case "UserPromptSubmit":
                yield self._gate.prompted(request, hook, session)
            case _:
                yield self._control.answer(request, {})
                if hook == "PreCompact" and session:
                    yield CompactionStarting(session=session)

    def _served(self, said: Said) -> Outgoing:
        """A message of the tool server; even a notification is answered, by an empty result."""
        message = said.message or {"jsonrpc": "2.0", "id": 0, "result": {}}
        return self._control.answer(str(said.ref), {"mcp_response": message})

    def _respond(self, effect: Respond) -> Iterator[Part]:
        if (said := self._tools.respond(effect)) is not None:
            yield self._served(said)

    def _user(self, session: SessionId, message: dict[str, Any]) -> Iterator[Part]:
        for block in reading.blocks(reading.record(message, "message")):
            if reading.text(block, "type") == "tool_result":
                if self._calls.passed(block) and not self._passed:
                    self._passed = True
                    yield AgentDisconnected(reason=reading.BYPASSED, bypassed=True)
                if reading.came_to_nothing(block):
                    yield from self._calls.unasked(block)
                self._hints.returned(reading.call_id(block, "tool_use_id"))
                yield from self._calls.result(block, cancelled=self._turns.aborting)
            elif reading.agent_of(session) and reading.text(block, "text").startswith(reading.INTERRUPTED):
                yield from self._sessions.interrupted(session, self._replies)

    def _system(self, session: SessionId, message: dict[str, Any]) -> Iterator[Part]:
        match reading.text(message, "subtype"):
            case "init":
                yield from self._turns.began_by_itself()
            case "background_tasks_changed":
                yield from self._turns.tasks(message)
            case "compact_boundary" if session:
                self._gate.forgotten(session)
                yield Compacted(session=session)
            case _:
                pass

    def _typed(self, text: str) -> Iterator[Part]:
        if self._prompted:
            return
        prompt = "\n".join(filter(None, (self._invocation.prompt, text))) or self.opening
        self._prompted = True
        if not prompt:
            self.finished, self._status = True, 1
            yield Shown(kind=Show.ERR, text=_NO_PROMPT)
            return
        yield from self._turns.send(prompt, Origin.PERSON)


def _ponged(_error: str) -> Iterator[Part]:
    return iter(())
