"""JSON Schemas of what commands print with ``--json``, from the types that they print.

The types are the truth: tests/docs holds the output of each command against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import msgspec

from loopguard_cli.cli.commands.config import FileRead, Shown
from loopguard_cli.cli.diagnosis import Diagnosis
from loopguard_cli.cli.render.agents import AgentData
from loopguard_cli.cli.render.evaluation import Evaluation
from loopguard_cli.cli.render.history import InspectView
from loopguard_cli.cli.render.scanned import SCHEMA, UNTOLD
from loopguard_cli.cli.render.status import StatusView
from loopguard_cli.config.describe import SCHEMA_DIALECT, field_texts, json_schema
from loopguard_cli.core.records import AnyRecord
from loopguard_cli.goal.shapes import GoalData, HistoryData, ListData, ResultData
from loopguard_cli.report import Report
from loopguard_cli.runtime.control.client import Answer
from loopguard_cli.store.migrate import Imported
from loopguard_cli.study.replay import Found
from loopguard_cli.study.scan import Totals
from loopguard_cli.testing.demonstration import Demonstrated


class Output(NamedTuple):
    """One shape of output."""

    commands: str
    """As a person types them, separated by commas."""
    what: str
    type: Any
    """None: made by hand below."""


OUTPUTS = {
    "status": Output("status --json, status --watch --json", "one object (--watch: one a line)", StatusView),
    "inspect": Output("inspect --json", "one object", InspectView),
    "history": Output("history --json", "one object a line, one for each record", None),
    "doctor": Output("doctor --json", "a list", list[Diagnosis]),
    "agents": Output("agents --json", "a list", list[AgentData]),
    "goal": Output("goal … --json", "one object; its data depends on the command", None),
    "goal-import": Output("goal import --json", "one object", Imported),
    "scan": Output("scan --json", "one object", None),
    "report": Output("report --json", "one object: what the page would show", Report),
    "replay": Output("replay FILE --json", "one object a line, one for each finding", Found),
    "answer": Output(
        "mode, reset, mute, check, decide and config apply, each with --json",
        "one object: what the run answered",
        Answer,
    ),
    "eval": Output("eval FOLDER --json", "one object", Evaluation),
    "config": Output("config show --json", "one object, settings by their names", dict[str, Shown]),
    "config-files": Output("config path --json", "a list", list[FileRead]),
    "demo": Output("demo --json", "one object", Demonstrated),
    "settings": Output("config schema", "the schema of a settings file itself", None),
}


def schemas() -> dict[str, str]:
    """Text of docs/schemas/<name>.json by name."""
    made = {name: _described(output.type) for name, output in OUTPUTS.items() if output.type is not None}
    made |= {"history": _history(), "goal": _goal(), "scan": _scan(), "settings": json_schema()}
    return {name: json.dumps({"$schema": SCHEMA_DIALECT, **made[name]}, indent=2) + "\n" for name in OUTPUTS}


def _described(kind: Any) -> dict[str, Any]:
    """msgspec's schema, with the docstrings below the fields as descriptions."""
    schema = msgspec.json.schema(kind)
    for struct in dict.fromkeys(_structs(kind)):
        properties = schema["$defs"][struct.__name__]["properties"]
        for name, text in field_texts(struct).items():
            properties[name].setdefault("description", text)
    return schema


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from _structs(field.type)
    for argument in get_args(kind):
        yield from _structs(argument)


def _history() -> dict[str, Any]:
    """A record with its place in the ledger beside its fields."""
    made = _described(AnyRecord)
    place = {
        "seq": {"type": "integer", "description": "Its number in the ledger."},
        "time": {"type": "number", "description": "Unix time in seconds."},
        "run": {"type": "string"},
    }
    for record in get_args(AnyRecord):
        own = made["$defs"][record.__name__]
        own["properties"] = {**place, **own["properties"]}
        own["required"] = [*place, *own.get("required", ())]
    return made


def _goal() -> dict[str, Any]:
    """The answer's ``data.reply`` says which of the shapes its other fields have."""
    shapes = {"status:active": GoalData, "status:last_result": ResultData, "list": ListData}
    shapes |= {"history:active": HistoryData, "history:last_result": HistoryData}
    _, defs = msgspec.json.schema_components(shapes.values(), ref_template="#/$defs/{name}")
    said = {
        "reply": {"type": "string", "description": "What kind of answer this is."},
        "work": {"type": "boolean", "description": "A goal came into force or was changed."},
        "waits": {"type": "boolean", "description": "No run is live here: the goal waits for the next one."},
    }
    data = {
        "type": "object",
        "properties": said,
        "allOf": [
            {
                "if": {"properties": {"reply": {"const": reply}}, "required": ["reply"]},
                "then": {"$ref": f"#/$defs/{shape.__name__}"},
            }
            for reply, shape in shapes.items()
        ],
    }
    return {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "text": {"type": "string", "description": "The answer for a person."},
            "data": data,
        },
        "required": ["ok", "text", "data"],
        "$defs": defs,
    }


def _scan() -> dict[str, Any]:
    """The sums, less what only the scan itself needs, and with dates instead of numbers."""
    made = _described(Totals)
    totals, loop = made["$defs"]["Totals"], made["$defs"]["Loop"]
    date = {"type": "string", "format": "date-time"}
    properties = {
        "schema": {"const": SCHEMA},
        "finished": {"type": "boolean", "description": "False: it was interrupted."},
        "preset": {"type": "string", "description": "The rules it was judged with."},
        **{name: shape for name, shape in totals["properties"].items() if name not in UNTOLD},
    }
    for name in ("started", "ended"):
        properties[name] = {"anyOf": [date, {"type": "null"}]}
    loop["properties"]["time"] = date | {"description": "When the first alarm was."}
    totals["properties"], totals["required"] = properties, list(properties)
    return made
