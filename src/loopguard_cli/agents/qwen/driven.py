"""Qwen Code in print mode: the messages of Claude Code's, but for those that are put right here.

It calls no hooks on these pipes. Command hooks ask the gate, from settings below the person's own.
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
from loopguard_cli.agents.claude import driven, reading
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.invocation import Invocation
from loopguard_cli.agents.claude.steered import Part
from loopguard_cli.agents.claude.turns import Turns
from loopguard_cli.agents.gemini.calls import exit_code_of, plain
from loopguard_cli.agents.qwen import hooks
from loopguard_cli.core.events import Event, Unparsed
from loopguard_cli.core.settings import Capabilities

CAPABILITIES = Capabilities(
    gate=True,
    text_deltas=True,
    reasoning=True,
    abort=True,
    prompt=True,
    nudge=True,
    read_session=True,
    usage=True,
    tools=True,
    context=True,
)
UNGATED = msgspec.structs.replace(CAPABILITIES, gate=False, nudge=False, tools=False, context=False)
"""Where our settings are not read: calls are known when they begin."""

_ARGUMENTS = (
    "--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages",
)  # fmt: skip
_PASSED_ON = "another program talks to Qwen Code (--input-format stream-json), so it runs UNGUARDED"
_TAKEN = (
    f"{hooks.VARIABLE} is set, so our hooks cannot be added to its settings and calls are not asked about"
)
_CANCELLED = "cancelled"


class Qwen(driven.Driven):
    """One run of print mode."""

    name = "qwen"

    def __init__(self, setup: Setup, invocation: Invocation) -> None:
        super().__init__(setup, invocation)
        self.capabilities = CAPABILITIES
        self._setup = setup
        self._gate = Gate(self._calls, lambda ref, body: HookReply(call=int(ref), body=body))
        self._turns = Turns(self._control, self._replies, self._gate)

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        asked = self._invocation
        if asked.form is Form.PLAIN or asked.streams_in:
            remarks = (_PASSED_ON,) if asked.form is not Form.PLAIN else ()
            return LaunchPlan(argv=asked.argv, form=asked.form, bridged=False, remarks=remarks)
        plan = LaunchPlan(
            argv=(*asked.program, *_ARGUMENTS, *asked.kept),
            form=Form.ONE_SHOT,
            streams=Streams.PIPED,
            input_seconds=driven.STDIN_SECONDS,
            whole_lines=True,
        )
        if hooks.taken(environ):
            self.capabilities = UNGATED
            return msgspec.structs.replace(plan, remarks=(_TAKEN,))
        return msgspec.structs.replace(
            plan, environment=hooks.environment(address), files=hooks.files(address, self._setup)
        )

    # --- hooks -------------------------------------------------------------------------------

    def called(self, call: HookCall) -> Answer:
        return answer(self._called(call))

    def hung_up(self, call: int) -> Sequence[Event]:
        self._gate.gone(call)
        return ()

    def _called(self, call: HookCall) -> Iterator[Part]:
        body, number = call.body, call.call
        session = reading.session_of(body)
        yield from self._sessions.see(session)
        match call.hook:
            case "PreToolUse":
                # The name that the call has in the conversation; its own is only known to hooks.
                name = reading.text(body, "tool_call_id") or reading.text(body, "tool_use_id")
                yield from self._gate.before(number, {**body, "tool_use_id": name})
            case "PostToolUse" | "PostToolUseFailure":
                yield from self._gate.behind(number, call.hook, session)
            case "UserPromptSubmit" if reading.text(body, "prompt"):
                yield self._gate.prompted(number, call.hook, session)
            case _:
                yield HookReply(call=number)

    # --- what it says ------------------------------------------------------------------------

    def began(self) -> Answer:
        return answer([self._control.request(self._initialized, subtype="initialize")])

    def _heard(self, message: dict[str, Any]) -> Iterator[Part]:
        match reading.text(message, "type"), reading.text(message, "subtype"):
            case "system", "init":
                yield from super()._heard(message)
                yield from self._turns.started()
            case "user", _:
                whole = reading.record(message, "message")
                blocks = [_ended(block) for block in reading.blocks(whole)]
                for block in blocks:
                    # No hook is called for calls that fail before they run.
                    yield from self._calls.unasked(block)
                yield from super()._heard({**message, "message": {**whole, "content": blocks}})
            case "assistant", _:
                yield from super()._heard(message)
                yield from self._complete(message)
            case "result", "error_during_execution":
                cancelled = _CANCELLED in reading.text(message, "error", "message")
                reason = {"terminal_reason": "aborted_streaming"} if cancelled else {}
                yield from super()._heard({**message, **reason})
            case "control_request", _:
                yield self._control.refuse(reading.text(message, "request_id"), "nobody can be asked")
                kind = reading.text(message, "request", "subtype")
                if kind != "can_use_tool":
                    yield Unparsed(native=f"control request {kind}"[:100])
            case _:
                yield from super()._heard(message)

    def _complete(self, message: dict[str, Any]) -> Iterator[Part]:
        """What Claude Code tells by other messages: figures, and the end of the message."""
        session = reading.session_of(message)
        whole = reading.record(message, "message")
        delta = {"stop_reason": reading.text(whole, "stop_reason") or "end_turn"}
        end = {"type": "message_delta", "usage": reading.record(whole, "usage"), "delta": delta}
        yield from self._replies.streamed(session, end)


def _ended(block: dict[str, Any]) -> dict[str, Any]:
    """A result: a command that failed counts as failed, and equal results look equal."""
    if reading.text(block, "type") != "tool_result":
        return block
    output = reading.flat(reading.at(block, "content"))
    failed = reading.at(block, "is_error") is True or bool(exit_code_of(output))
    return {**block, "content": plain(output), "is_error": failed}
