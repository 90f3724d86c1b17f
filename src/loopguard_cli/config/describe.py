"""Descriptions of settings, taken from the docstrings under the fields, and the JSON Schema with them.

One text serves the code, ``loopguard config show --help-texts``, editors and docs/configuration.md.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.config.schema import Settings

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def descriptions() -> dict[str, str]:
    """By dotted key, for settings and tables."""
    return dict(_walk(Settings, ""))


def json_schema() -> dict[str, Any]:
    """The schema of a settings file, for editors."""
    schema = msgspec.json.schema(Settings)
    for struct, texts in _structs(Settings):
        properties = schema["$defs"][struct.__name__]["properties"]
        for name, text in texts.items():
            properties[name].setdefault("description", text)
    return {"$schema": SCHEMA_DIALECT, "title": "loopguard.toml", **schema}


def _walk(struct: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, str]]:
    texts = field_texts(struct)
    for field in msgspec.structs.fields(struct):
        key = f"{prefix}{field.name}"
        if _is_struct(field.type):
            yield key, texts.get(field.name) or inspect.getdoc(field.type) or ""
            yield from _walk(field.type, f"{key}.")
        else:
            yield key, texts.get(field.name, "")


def _structs(struct: type[msgspec.Struct]) -> Iterator[tuple[type[msgspec.Struct], dict[str, str]]]:
    yield struct, field_texts(struct)
    for field in msgspec.structs.fields(struct):
        if _is_struct(field.type):
            yield from _structs(field.type)


def field_texts(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The docstrings below the fields of ``struct``, each on one line."""
    (definition,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
