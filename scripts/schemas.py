"""JSON Schemas of what commands print with ``--json``, from the types that they print.

The types are the truth: tests/docs holds the output of each command against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import msgspec

from loopguard_cli.cli.diagnosis import Diagnosis
from loopguard_cli.cli.render.history import InspectView
from loopguard_cli.cli.render.status import StatusView
from loopguard_cli.config.describe import SCHEMA_DIALECT, field_texts, json_schema
from loopguard_cli.core.records import AnyRecord
from loopguard_cli.runtime.control.client import Answer
from loopguard_cli.study.replay import Found


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
    "replay": Output("replay FILE --json", "one object a line, one for each finding", Found),
    "answer": Output(
        "mode, reset, mute, check and decide, each with --json", "one object: what the run answered", Answer
    ),
    "settings": Output("config schema", "the schema of a settings file itself", None),
}


def schemas() -> dict[str, str]:
    """Text of docs/schemas/<name>.json by name."""
    made = {name: _described(output.type) for name, output in OUTPUTS.items() if output.type is not None}
    made |= {"history": _history(), "settings": json_schema()}
    return {name: json.dumps({"$schema": SCHEMA_DIALECT, **made[name]}, indent=2) + "\n" for name in OUTPUTS}


def _described(kind: Any) -> dict[str, Any]:
    """msgspec's schema, with the docstrings below the fields as descriptions."""
    schema = msgspec.json.schema(kind)
    for struct in _structs(kind):
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
