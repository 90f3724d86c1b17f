"""A sitting of detectors and policy: tests make calls and look at what the guard says."""

from __future__ import annotations

from itertools import count
from typing import Any

from loopguard_cli.config.load import load
from loopguard_cli.config.sources import from_flags
from loopguard_cli.core.events import (
    Event,
    Origin,
    ReplyStarted,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    UserSpoke,
)
from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.policy import Policy, Verdict
from loopguard_cli.core.settings import Capabilities, GuardSettings
from loopguard_cli.detect.panel import DetectorPanel

S = SessionId("s")

ABLE = Capabilities(gate=True, abort=True, nudge=True, prompt=True)

ALLOW, NOTE, WARN, NUDGE, BLOCK, ABORT = (
    Action.ALLOW,
    Action.NOTE,
    Action.WARN,
    Action.NUDGE,
    Action.BLOCK,
    Action.ABORT,
)


def settings(preset: str = "balanced", *assignments: str) -> GuardSettings:
    """Settings as the command line would make them (``calls.repeat_threshold=4``)."""
    flags = [f"guard.preset={preset}", *(f"guard.{one}" for one in assignments)]
    return load([from_flags(flags)]).settings.guard


class Sitting:
    """One session. Time passes as told; each call takes a second, each step between two."""

    def __init__(self, preset: str = "balanced", *assignments: str, able: Capabilities = ABLE) -> None:
        self.settings = settings(preset, *assignments)
        self.panel = DetectorPanel(S, self.settings)
        self.policy = Policy(self.settings, able)
        self.now = 0.0
        self.findings: list[Finding] = []
        self.verdicts: list[Verdict] = []
        self._asked: dict[CallId, tuple[str, dict[str, Any]]] = {}
        self._latest = CallId("")
        self._numbers = count()
        self._seq = count()

    # --- events ------------------------------------------------------------------------------

    def feed(self, event: Event) -> Action:
        found = list(self.panel.observe(event, next(self._seq), self.now))
        verdict = self.policy.judge(found, at_gate=isinstance(event, ToolAsked))
        self.findings += found
        if verdict.finding is not None:
            self.verdicts.append(verdict)
        return verdict.action

    def ask(self, tool: str, args: dict[str, Any] | None = None, *, call: str = "") -> Action:
        """Ask for a call; what is refused does not run."""
        name = call or f"c{next(self._numbers)}"
        self._latest = CallId(name)
        self._asked[self._latest] = (tool, args or {})
        action = self.feed(
            ToolAsked(session=S, request=RequestId(name), call=CallId(name), tool=tool, args=args or {})
        )
        if action >= Action.BLOCK:
            self.panel.call_blocked(CallId(name), self.now)
        return action

    def end(self, output: str = "", *, call: str = "", **fields: Any) -> Action:
        """The latest call (or ``call``) ends."""
        name = CallId(call) if call else self._latest
        tool, args = self._asked[name]
        return self.feed(ToolFinished(session=S, call=name, tool=tool, args=args, output=output, **fields))

    def call(
        self, tool: str, args: dict[str, Any] | None = None, output: str = "", *, ok: bool = True
    ) -> Action:
        """A whole call; the strongest of what was said about it."""
        self.now += 2.0
        at_gate = self.ask(tool, args)
        if at_gate >= Action.BLOCK:
            return at_gate
        self.now += 1.0
        return max(at_gate, self.end(output, ok=ok))

    def bash(self, command: str, output: str = "", *, ok: bool = True) -> Action:
        return self.call("bash", {"command": command}, output, ok=ok)

    def person(self, text: str = "go on", *, origin: Origin = Origin.PERSON) -> None:
        if origin is Origin.PERSON:
            self.policy.person_spoke()
        message = MessageId(f"u{next(self._numbers)}")
        self.feed(UserSpoke(session=S, message=message, text=text, origin=origin))

    def idle(self) -> None:
        self.feed(StatusChanged(session=S, status=Status.IDLE))

    def step(self) -> Action:
        """The agent begins another model call."""
        return self.feed(ReplyStarted(session=S, message=MessageId(f"m{next(self._numbers)}")))

    def say(self, text: str) -> None:
        name = f"p{next(self._numbers)}"
        self.feed(TextDelta(session=S, message=MessageId(name), part=PartId(name), delta=text))

    # --- looking -----------------------------------------------------------------------------

    def check(self, tool: str, args_json: str) -> dict[str, Any]:
        return dict(self.panel.check({"toolName": tool, "argsJson": args_json}, self.now))

    def decide(
        self, decision: str, tool: str = "", args_json: str = "{}", /, **fields: Any
    ) -> dict[str, Any]:
        given: dict[str, Any] = {
            "decision": decision,
            "observedResult": "the server answered with 503 twice",
            "rationale": "the deployment has finished meanwhile",
            "expectedInformation": "whether the new version is up now",
            "nextTool": tool,
            "argsJson": args_json,
        }
        return dict(self.panel.decide(given | fields, self.now))

    def rules(self) -> set[str]:
        return {finding.rule for finding in self.findings}
