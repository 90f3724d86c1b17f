"""Traces, metrics and logs: what is in them, that content never is, and a receiver that gets them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from loopguard_cli.core.ids import CallKey, SessionId
from loopguard_cli.core.records import (
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
from loopguard_cli.core.telemetry import OTHER, Names, OtelSettings
from loopguard_cli.errors import ConfigError
from loopguard_cli.runtime.telling import otel
from loopguard_cli.runtime.telling.otel import OPEN_TURNS, TOOLS, Telemetry, connect

sdk = pytest.importorskip("opentelemetry.sdk")

S = SessionId("ses_1")
KEY = CallKey("deadbeef" * 4)
NIGHT: tuple[Record, ...] = (
    RunStarted(agent="opencode", argv0="opencode", mode="on", preset="balanced", version="0"),
    UserTurn(session=S),
    CallSeen(session=S, tool="bash", key=KEY, count=1, verdict="allow", event=1),
    CallEnded(session=S, tool="bash", key=KEY, ok=False, outcome="o", seconds=2.0),
    CallSeen(session=S, tool="bash", key=KEY, count=3, verdict="block", event=2),
    LoopFound(
        session=S, rule="repeat-call", verdict="block", key=KEY, count=3, facts={"secret fact": "secret"}
    ),
    RecoveryStep(session=S, step="abort", detail="secret detail"),
    TurnDone(session=S, calls=2, tokens=500, cost=0.25),
    GoalRecord(session=S, goal="g", event="completed", detail="secret evidence", data={"x": "secret data"}),
    GoalRecord(session=S, goal="g", event="checkpoint", detail="secret checkpoint"),
    Fault(component="detectors", error="ValueError"),
    RunEnded(code=80, reason="secret reason"),
)


class Memory:
    """A `Telemetry` whose export can be looked at."""

    def __init__(self) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._spans, self._logs, self._reader = (
            InMemorySpanExporter(),
            InMemoryLogRecordExporter(),
            InMemoryMetricReader(),
        )
        tracers, loggers = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.telemetry = Telemetry(tracers.get_tracer("t"), meters.get_meter("t"), loggers.get_logger("t"))

    def see(self, *records: Record) -> None:
        """One a second, from 100 on; then the run closes."""
        for number, record in enumerate(records):
            self.telemetry.see(record, 100.0 + number)
        self.telemetry.close(100.0 + len(records))

    @property
    def spans(self) -> list[Any]:
        return list(self._spans.get_finished_spans())

    @property
    def logs(self) -> list[Any]:
        return [one.log_record for one in self._logs.get_finished_logs()]

    def metrics(self) -> dict[str, list[Any]]:
        """Data points by metric."""
        data = self._reader.get_metrics_data()
        scopes = (
            [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        )
        return {metric.name: list(metric.data.data_points) for scope in scopes for metric in scope.metrics}


def test_a_run_a_turn_and_a_call_are_spans_within_each_other() -> None:
    memory = Memory()
    memory.see(*NIGHT)
    spans = {span.name: span for span in memory.spans}
    run, turn, call = spans["loopguard run"], spans["invoke_agent opencode"], spans["execute_tool bash"]
    assert call.parent.span_id == turn.context.span_id
    assert turn.parent.span_id == run.context.span_id
    assert (call.end_time - call.start_time, call.end_time) == (2_000_000_000, 103_000_000_000)
    assert not call.status.is_ok
    assert call.attributes["gen_ai.tool.name"] == "bash"
    assert turn.attributes["loopguard.tokens"] == 500
    assert [(event.name, event.attributes.get("loopguard.rule")) for event in turn.events] == [
        ("loop", "repeat-call"),
        ("recovery", None),
    ]
    assert run.attributes["process.exit.code"] == 80
    assert not run.status.is_ok


def test_metrics() -> None:
    memory = Memory()
    memory.see(*NIGHT)
    found = memory.metrics()
    sums = {
        name: sum(point.value for point in points) for name, points in found.items() if "duration" not in name
    }
    assert sums == {
        "loopguard.calls": 2,
        "loopguard.loops": 1,
        "loopguard.recovery.steps": 1,
        "loopguard.turns": 1,
        "loopguard.tokens": 500,
        "loopguard.cost": 0.25,
        "loopguard.goal.events": 1,
        "loopguard.faults": 1,
    }
    (duration,) = found["loopguard.call.duration"]
    assert (duration.count, duration.sum) == (1, 2.0)
    (loop,) = found["loopguard.loops"]
    assert loop.attributes["loopguard.verdict"] == "block"
    assert "session" not in str(found).lower()


def test_logs() -> None:
    memory = Memory()
    memory.see(*NIGHT)
    told = {log.event_name: log.severity_text for log in memory.logs}
    assert told == {
        "loopguard.run.started": "INFO",
        "loopguard.loop": "WARN",
        "loopguard.recovery": "INFO",
        "loopguard.goal": "INFO",
        "loopguard.fault": "ERROR",
        "loopguard.run.ended": "WARN",
    }


def test_content_is_never_exported() -> None:
    memory = Memory()
    memory.see(*NIGHT)
    everything = " ".join(
        [span.to_json() for span in memory.spans]
        + [f"{log.body} {dict(log.attributes)}" for log in memory.logs]
        + [str(memory.metrics())]
    )
    assert "repeat-call" in everything
    assert "secret" not in everything
    assert KEY not in everything


def test_labels_stay_few_whatever_the_names() -> None:
    memory = Memory()
    memory.see(
        NIGHT[0],
        *(
            CallSeen(session=SessionId(str(n)), tool=f"tool{n}", key=KEY, count=1, verdict="allow", event=n)
            for n in range(3_000)
        ),
    )
    points = memory.metrics()["loopguard.calls"]
    assert len(points) == TOOLS + 1
    others = [point.value for point in points if point.attributes["gen_ai.tool.name"] == OTHER]
    assert others == [3_000 - TOOLS]


def test_open_turns_stay_few() -> None:
    memory = Memory()
    memory.see(*(UserTurn(session=SessionId(str(number))) for number in range(OPEN_TURNS + 20)))
    assert len(memory.spans) == OPEN_TURNS + 20


def test_names() -> None:
    names = Names(2)
    assert [names.of(name) for name in ("a", "b", "c", "a", "")] == ["a", "b", OTHER, "a", OTHER]
    assert len(Names(1).of("x" * 500)) == 64


# --- over the wire ---------------------------------------------------------------------------


class _Collector(ThreadingHTTPServer):
    """An OTLP receiver."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: dict[str, bytes] = {}
        self.status = 200
        self.answers = Event()
        self.answers.set()
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got[self.path] = body
        self.server.answers.wait(30)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[_Collector]:
    with _Collector() as made:
        thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_collector_gets_all_three(collector: _Collector) -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    settings = OtelSettings(enabled=True, endpoint=f"http://127.0.0.1:{collector.server_port}/")
    telemetry = connect(settings, run="3f2a")
    assert telemetry is not None
    for number, record in enumerate(NIGHT):
        telemetry.see(record, 100.0 + number)
    telemetry.close(200.0)
    traces = ExportTraceServiceRequest.FromString(collector.got["/v1/traces"])
    metrics = ExportMetricsServiceRequest.FromString(collector.got["/v1/metrics"])
    logs = ExportLogsServiceRequest.FromString(collector.got["/v1/logs"])
    resource = {one.key: one.value.string_value for one in traces.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "loopguard"
    assert resource["service.instance.id"] == "3f2a"
    assert {span.name for span in traces.resource_spans[0].scope_spans[0].spans} == {
        "loopguard run",
        "invoke_agent opencode",
        "execute_tool bash",
    }
    assert metrics.resource_metrics[0].scope_metrics[0].metrics
    assert len(logs.resource_logs[0].scope_logs[0].log_records) == 6
    assert not any(b"secret" in body for body in collector.got.values())


def test_a_collector_that_refuses_is_mentioned_once(
    collector: _Collector, capfd: pytest.CaptureFixture[str]
) -> None:
    collector.status = 400
    complaints: list[str] = []
    settings = OtelSettings(enabled=True, endpoint=f"http://127.0.0.1:{collector.server_port}")
    telemetry = connect(settings, run="r", complain=complaints.append)
    assert telemetry is not None
    for record in NIGHT:
        telemetry.see(record, 100.0)
    telemetry.close(101.0)
    (complaint,) = complaints
    assert complaint.startswith("telemetry could not be exported: ")
    assert capfd.readouterr() == ("", "")


def test_a_collector_that_does_not_answer_is_given_up_and_mentioned(
    collector: _Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel, "CLOSE_SECONDS", 0.2)
    collector.answers.clear()
    complaints: list[str] = []
    settings = OtelSettings(enabled=True, endpoint=f"http://127.0.0.1:{collector.server_port}")
    telemetry = connect(settings, run="r", complain=complaints.append)
    assert telemetry is not None
    for record in NIGHT:
        telemetry.see(record, 100.0)
    telemetry.close(101.0)
    collector.answers.set()
    assert complaints == [
        "telemetry could not be exported: the collector took more than 0.2 s; the rest is dropped"
    ]


def test_it_is_off_unless_switched_on() -> None:
    assert connect(OtelSettings(), run="r") is None


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http._log_exporter", None)
    with pytest.raises(ConfigError, match="not installed") as failed:
        connect(OtelSettings(enabled=True), run="r")
    assert failed.value.hint == "install loopguard-cli[otel]"


def test_it_is_not_imported_by_itself() -> None:
    program = (
        f"import {otel.__name__}, sys; raise SystemExit(any('opentelemetry' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 0
