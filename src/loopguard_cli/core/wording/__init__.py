"""Everything the guard says, to a person or a model, in the language of the settings.

Detectors state facts; sentences are written here and only here. A catalogue is a module with the
same names as `english`; a test holds them level.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from loopguard_cli.core.findings import Finding
from loopguard_cli.core.measures import figure, number
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import english, korean
from loopguard_cli.core.wording.hanging import HANGING

_CATALOGUES: dict[Locale, ModuleType] = {Locale.EN: english, Locale.KO: korean}

BLOCKED_TAG = "[ANTI-LOOP]"
"""Begins what the model reads instead of the result of a refused call."""

STREAM_TAG = "[ANTI-LOOP STREAM]"
"""Begins the prompt that continues a turn which was cut off."""


class _Facts(dict[str, object]):
    """Facts of a finding for a template; an unknown one shows as a question mark, never an error."""

    def __missing__(self, key: str) -> str:
        return "?"


def _fill(template: str, finding: Finding) -> str:
    facts = _Facts(count=finding.count, tool=finding.tool or "?", key=finding.key[:8])
    facts.update(finding.facts)
    for name, value in finding.facts.items():
        if isinstance(value, float):
            facts[name] = figure(value)
    return template.format_map(facts)


class Wording:
    """One language's sentences."""

    def __init__(self, locale: Locale) -> None:
        self._texts = _CATALOGUES[locale]
        self._hanging = HANGING[locale]

    def _text(self, name: str) -> str:
        text: str = getattr(self._texts, name)
        return text

    def explain(self, finding: Finding) -> str:
        """The finding in plain words: what repeated, how often, under which threshold, at what cost."""
        templates: dict[str, str] = self._texts.RULES
        said = _fill(templates.get(finding.rule) or self._text("ANY_RULE"), finding)
        cost, spent = finding.cost, []
        if cost.calls:
            said_of_calls = self._texts.COST_CALL if cost.calls == 1 else self._texts.COST_CALLS
            spent.append(said_of_calls.format(number(cost.calls)))
        if cost.tokens:
            spent.append(self._texts.COST_TOKENS.format(number(cost.tokens)))
        if seconds := round(cost.seconds):
            spent.append(self._texts.COST_SECONDS.format(number(seconds)))
        return f"{said} {self._texts.COST.format(', '.join(spent))}" if spent else said

    def blocked(self, finding: Finding) -> str:
        """What the model reads in place of the refused call's result."""
        return f"{BLOCKED_TAG} {self.explain(finding)} {self._text('BLOCKED')}"

    def aborting(self) -> str:
        """For calls that still ask while their turn is being cut off."""
        return f"{BLOCKED_TAG} {self._text('ABORTING')}"

    def stopped(self) -> str:
        return f"{BLOCKED_TAG} {self._text('STOPPED')}"

    def nudge(self, finding: Finding) -> str:
        return f"{BLOCKED_TAG} {self.explain(finding)} {self._text('NUDGE')}"

    def continuation(self, finding: Finding) -> str:
        return f"{STREAM_TAG} {self.explain(finding)} {self._text('CONTINUE')}"

    def trimmed(self) -> str:
        return self._text("TRIMMED")

    def hint(self) -> str:
        """The short text in the system prompt."""
        return self._text("HINT")

    def told(self, finding: Finding, outcome: str) -> str:
        """One line for the person; ``outcome`` is one of OUTCOMES' names."""
        outcomes: dict[str, str] = self._texts.OUTCOMES
        return f"{outcomes[outcome]}: {self.explain(finding)}"

    def recovery_failed(self, why: str) -> str:
        return self._text("RECOVERY_FAILED").format(why)

    def exhausted(self, used: int) -> str:
        return self._text("EXHAUSTED").format(self._counted(used, "continuation"))

    def capped(self, what: str, limit: float) -> str:
        names: dict[str, str] = self._texts.CAPS
        return self._text("CAPPED").format(names[what], figure(limit))

    def leaked(self, tool: str) -> str:
        return self._text("LEAKED").format(tool)

    def faulted(self, component: str) -> str:
        return self._text("FAULTED").format(component)

    def status(self, *, mode: str, preset: str, calls: int, blocks: int, aborts: int) -> str:
        """One line about the run, for a toast or a model."""
        return self._text("STATUS").format(mode, preset, calls, blocks, aborts)

    def recent_calls(self, calls: Sequence[tuple[str, int, bool]]) -> str:
        """A line for each of ``calls`` (tool, count, blocked), or that there are none."""
        blocked = self._text("CALL_BLOCKED")
        lines = [f"{tool} ×{count}{f' ({blocked})' if shut else ''}" for tool, count, shut in calls]
        return "\n".join(lines) or self._text("NO_CALLS")

    def unguarded(self, agent: str) -> str:
        return self._text("UNGUARDED").format(agent)

    def bypassed(self, agent: str, reason: str) -> str:
        """The agent works, and does not ask the guard."""
        return self._text("BYPASSED").format(agent, reason)

    def guarded_again(self, agent: str) -> str:
        return self._text("GUARDED_AGAIN").format(agent)

    def refused(self, operation: str) -> str:
        return self._text("REFUSED").format(operation)

    def forged(self, hook: str) -> str:
        return self._text("FORGED").format(hook or "?")

    def changed(self, name: str, value: str) -> str:
        return self._text("CHANGED").format(name, value)

    def unknown(self, name: str, known: str) -> str:
        return self._text("UNKNOWN").format(name, known)

    def applied(self) -> str:
        return self._text("APPLIED")

    def counters_reset(self) -> str:
        return self._text("COUNTERS_RESET")

    def loosens(self, file: str, names: str) -> str:
        return self._text("LOOSENS").format(file, names)

    def reloaded(self, file: str) -> str:
        return self._text("RELOADED").format(file)

    def awaited(self, agent: str, seconds: float) -> str:
        """The agent has started and may be slow: it has said nothing for ``seconds``."""
        return self._text("AWAITED").format(agent, seconds)

    def silent(self, agent: str, reason: str) -> str:
        """The agent has started and is not reached."""
        return self._text("SILENT").format(agent, reason)

    def fails_open(self, agent: str) -> str:
        """The person wants unanswered calls refused, and this agent cannot be told so."""
        return self._text("FAILS_OPEN").format(agent)

    def spoke_late(self, agent: str) -> str:
        return self._text("SPOKE_LATE").format(agent)

    def lazy(self, agent: str) -> str:
        """A server that has had no client yet."""
        return self._text("LAZY").format(agent)

    def connected(self, agent: str) -> str:
        return self._text("CONNECTED").format(agent)

    def summary(self, *, calls: int, blocked: int, aborts: int, continuations: int) -> str:
        """What happened in a run, in one line."""
        parts = (
            self._counted(calls, "call"),
            blocked,
            self._counted(aborts, "turn"),
            self._counted(continuations, "continuation"),
        )
        return self._text("SUMMARY").format(*parts)

    def _counted(self, count: int, name: str) -> str:
        names: dict[str, str] = self._texts.COUNTED
        return names[name if count == 1 else f"{name}s"].format(number(count))

    def hung(self, waits: str, minutes: float) -> str:
        """``waits``: for what it may be waiting (`core.watchdog`)."""
        return self._hanging[waits].format(minutes)

    def mute(self, seconds: float) -> str:
        """A program that should print its events has printed none."""
        return self._hanging["mute"].format(seconds)

    def deaf(self) -> str:
        return self._hanging["deaf"]

    def restarted(self) -> str:
        """For the model, behind a restart."""
        return self._hanging["restarted"]

    def notice_title(self, topic: str) -> str:
        """The headline of a notice; ``topic`` is one of `core.noticing.TOPICS`."""
        notices: dict[str, str] = self._texts.NOTICES
        return notices[topic]

    def unparsed(self, count: int, native: str) -> str:
        return self._text("UNPARSED").format(self._counted(count, "message"), native)


def explain(finding: Finding, locale: Locale) -> str:
    """`Wording.explain` for callers that need only that."""
    return Wording(locale).explain(finding)
