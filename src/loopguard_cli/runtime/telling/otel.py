"""Exports what the ledger records as OpenTelemetry traces, metrics and logs.

Only records are looked at, so nothing can be exported that is not in the ledger: names, digests,
counts and verdicts; of goals not even their text. Optional: needs the extra ``loopguard-cli[otel]``,
and is imported only when it is switched on.

Spans: one per run, one per turn (``invoke_agent``), one per tool call (``execute_tool``), named after
the semantic conventions for generative AI. Loops are events of the turn in which they were found.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any

from loopguard_cli import __version__
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    Fault,
    GoalRecord,
    LoopFound,
    Record,
    RecoveryStep,
    RunEnded,
    RunStarted,
    TurnDone,
    UserTurn,
)
from loopguard_cli.core.telemetry import Names, OtelSettings
from loopguard_cli.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Span, Tracer

SCOPE = "loopguard"
TOOLS = 50
"""Tools that are told apart by their name."""
NAMES = 100
"""Values of any other label: rules, steps, kinds of goal events."""
OPEN_TURNS = 100
"""Turns that may be open at once; the oldest is closed for a further one."""
FLUSH_MILLISECONDS = 3_000
CLOSE_SECONDS = 5.0
"""What has not been delivered until then is given up."""

_GOAL_BOOKKEEPING = frozenset({"claimed", "checkpoint", "attached", "snapshot"})


class Telemetry:
    """One run's export. `see` is called with every record; it never blocks and never raises."""

    def __init__(
        self,
        tracer: Tracer,
        meter: Meter,
        logger: Logger,
        *,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self._tracer = tracer
        self._logger = logger
        self._shut = close
        self._tools, self._names = Names(TOOLS), Names(NAMES)
        self._agent = ""
        self._run: Span | None = None
        self._turns: OrderedDict[SessionId, Span] = OrderedDict()
        counter = meter.create_counter
        self._calls = counter("loopguard.calls", "{call}", "Tool calls that were asked for")
        self._loops = counter("loopguard.loops", "{loop}", "Loops found, by rule and verdict")
        self._recoveries = counter("loopguard.recovery.steps", "{step}", "Steps of aborts and continuations")
        self._turn_count = counter("loopguard.turns", "{turn}", "Turns that ended")
        self._tokens = counter("loopguard.tokens", "{token}", "Tokens, as the agent reports them")
        self._cost = counter("loopguard.cost", "{USD}", "Cost, as the agent reports it")
        self._goals = counter("loopguard.goal.events", "{event}", "What happened to goals")
        self._faults = counter("loopguard.faults", "{fault}", "Parts of loopguard that failed")
        self._duration = meter.create_histogram("loopguard.call.duration", "s", "How long tool calls took")

    def see(self, record: Record, now: float) -> None:
        """Take one record in; ``now`` is Unix time in seconds."""
        if isinstance(record, RunStarted):
            self._agent = self._names.of(record.agent)
            self._run = self._tracer.start_span(
                "loopguard run",
                start_time=_nanoseconds(now),
                attributes={"gen_ai.agent.name": self._agent, "loopguard.mode": record.mode},
            )
        self._measure(record)
        self._trace(record, now)
        self._log(record, now)

    def close(self, now: float) -> None:
        """End what is open and hand over what is left, within a few seconds."""
        for span in (*self._turns.values(), *((self._run,) if self._run else ())):
            span.end(_nanoseconds(now))
        self._turns.clear()
        self._run = None
        self._shut()

    # --- metrics -----------------------------------------------------------------------------

    def _measure(self, record: Record) -> None:
        agent: dict[str, Any] = {"gen_ai.agent.name": self._agent}
        match record:
            case CallSeen():
                tool = {"gen_ai.tool.name": self._tools.of(record.tool)}
                self._calls.add(1, {**agent, **tool, "loopguard.verdict": self._names.of(record.verdict)})
            case CallEnded():
                tool = {"gen_ai.tool.name": self._tools.of(record.tool)}
                self._duration.record(record.seconds, {**agent, **tool, "loopguard.ok": record.ok})
            case LoopFound():
                self._loops.add(1, {**agent, **self._loop(record)})
            case RecoveryStep():
                self._recoveries.add(1, {**agent, **self._step(record)})
            case TurnDone():
                self._turn_count.add(1, agent)
                self._tokens.add(record.tokens, agent)
                self._cost.add(record.cost, agent)
            case GoalRecord() if record.event not in _GOAL_BOOKKEEPING:
                self._goals.add(1, {**agent, "loopguard.goal.event": self._names.of(record.event)})
            case Fault():
                self._faults.add(1, {"loopguard.component": self._names.of(record.component)})
            case _:
                pass

    def _loop(self, record: LoopFound) -> dict[str, str]:
        return {
            "loopguard.rule": self._names.of(record.rule),
            "loopguard.verdict": self._names.of(record.verdict),
        }

    def _step(self, record: RecoveryStep) -> dict[str, Any]:
        return {"loopguard.step": self._names.of(record.step), "loopguard.ok": record.ok}

    # --- traces ------------------------------------------------------------------------------

    def _trace(self, record: Record, now: float) -> None:
        match record:
            case UserTurn():
                self._end_turn(record.session, now)
                self._turn(record.session, now)
            case CallEnded():
                tool = self._tools.of(record.tool)
                span = self._tracer.start_span(
                    f"execute_tool {tool}",
                    context=_within(self._turn(record.session, now - record.seconds)),
                    start_time=_nanoseconds(now - record.seconds),
                    attributes={
                        "gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": tool,
                        "loopguard.call.key": record.key[:8],
                    },
                )
                _status(span, ok=record.ok)
                span.end(_nanoseconds(now))
            case LoopFound():
                attributes: dict[str, Any] = {**self._loop(record), "loopguard.count": record.count}
                self._turn(record.session, now).add_event("loop", attributes, _nanoseconds(now))
            case RecoveryStep():
                self._turn(record.session, now).add_event("recovery", self._step(record), _nanoseconds(now))
            case TurnDone():
                self._end_turn(record.session, now, calls=record.calls, tokens=record.tokens)
            case RunEnded() if self._run is not None:
                self._run.set_attribute("process.exit.code", record.code)
                _status(self._run, ok=record.code == 0)
            case _:
                pass

    def _turn(self, session: SessionId, now: float) -> Span:
        span = self._turns.get(session)
        if span is None:
            span = self._turns[session] = self._tracer.start_span(
                f"invoke_agent {self._agent}".rstrip(),
                context=_within(self._run) if self._run is not None else None,
                start_time=_nanoseconds(now),
                attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": session},
            )
            while len(self._turns) > OPEN_TURNS:
                self._end_turn(next(iter(self._turns)), now)
        return span

    def _end_turn(self, session: SessionId, now: float, **totals: int) -> None:
        span = self._turns.pop(session, None)
        if span is not None:
            for name, value in totals.items():
                span.set_attribute(f"loopguard.{name}", value)
            span.end(_nanoseconds(now))

    # --- logs --------------------------------------------------------------------------------

    def _log(self, record: Record, now: float) -> None:
        from opentelemetry._logs import SeverityNumber

        told = self._told(record)
        if told is None:
            return
        name, severity, attributes = told
        self._logger.emit(
            timestamp=_nanoseconds(now),
            severity_number=SeverityNumber[severity],
            severity_text=severity,
            event_name=f"loopguard.{name}",
            body=" ".join([name.replace(".", " "), *(str(value) for value in attributes.values())]),
            attributes={"gen_ai.conversation.id": record.session, **attributes},
        )

    def _told(self, record: Record) -> tuple[str, str, dict[str, Any]] | None:
        """Name, severity and attributes of the log line a record is worth."""
        match record:
            case RunStarted():
                return (
                    "run.started",
                    "INFO",
                    {"loopguard.mode": record.mode, "loopguard.preset": record.preset},
                )
            case RunEnded():
                return "run.ended", "WARN" if record.code else "INFO", {"process.exit.code": record.code}
            case AgentSeen():
                return (
                    "agent.seen",
                    "INFO" if record.connected else "WARN",
                    {"loopguard.connected": record.connected},
                )
            case LoopFound():
                return "loop", "WARN", {**self._loop(record), "loopguard.count": record.count}
            case RecoveryStep():
                return "recovery", "INFO" if record.ok else "ERROR", self._step(record)
            case GoalRecord() if record.event not in _GOAL_BOOKKEEPING:
                return "goal", "INFO", {"loopguard.goal.event": self._names.of(record.event)}
            case Fault():
                component = self._names.of(record.component)
                return "fault", "ERROR", {"loopguard.component": component, "error.type": record.error[:64]}
            case _:
                return None


def connect(
    settings: OtelSettings, *, run: str, complain: Callable[[str], object] = lambda _: None
) -> Telemetry | None:
    """The export to the collector that settings and environment name; None when it is switched off.

    ``complain`` is told once when exporting fails. Raises ConfigError when the extra is not installed.
    """
    if not settings.enabled:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError(
            "otel.enabled is set, but OpenTelemetry is not installed", "install loopguard-cli[otel]"
        ) from error

    complaint = _Complaint(complain)
    _quieten(complaint)
    base = settings.endpoint.rstrip("/")

    def at(signal: str) -> dict[str, Any]:
        return {"endpoint": f"{base}/v1/{signal}"} if base else {}

    resource = Resource.create(
        {"service.name": "loopguard", "service.version": __version__, "service.instance.id": run}
    )
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(**at("traces"))))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(**at("metrics")))
    meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(**at("logs"))))

    def finish() -> None:
        for provider in (spans, logs, meters):
            provider.force_flush(FLUSH_MILLISECONDS)
            provider.shutdown()

    def close() -> None:
        # Exporters retry for longer than anybody waits for the end of a run.
        thread = Thread(target=finish, name="telemetry", daemon=True)
        thread.start()
        thread.join(CLOSE_SECONDS)
        if thread.is_alive():
            complaint.say(f"the collector took more than {CLOSE_SECONDS:g} s; the rest is dropped")

    return Telemetry(
        spans.get_tracer(SCOPE, __version__),
        meters.get_meter(SCOPE, __version__),
        logs.get_logger(SCOPE, __version__),
        close=close,
    )


class _Complaint(logging.Handler):
    """Says the first failure of the export, and keeps the others from the agent's screen."""

    def __init__(self, complain: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._complain: Callable[[str], object] | None = complain

    def emit(self, record: logging.LogRecord) -> None:
        self.say(" ".join(record.getMessage().split())[:200])

    def say(self, why: str) -> None:
        """Unless something was said before."""
        complain, self._complain = self._complain, None
        if complain is not None:
            complain(f"telemetry could not be exported: {why}")


def _quieten(complaint: _Complaint) -> None:
    logger = logging.getLogger("opentelemetry")
    logger.handlers[:] = [complaint]
    logger.propagate = False


def _within(span: Span) -> Any:
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span)


def _status(span: Span, *, ok: bool) -> None:
    from opentelemetry.trace import StatusCode

    if not ok:
        span.set_status(StatusCode.ERROR)


def _nanoseconds(time: float) -> int:
    return int(time * 1e9)
