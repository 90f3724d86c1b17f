from __future__ import annotations

import msgspec

from loopguard_cli.config import describe, schema
from loopguard_cli.config.schema import Settings


def test_every_setting_and_table_is_described() -> None:
    described = describe.descriptions()
    assert {key for key in schema.leaves() if not described[key]} == set()
    assert all(described[key] for key in schema.sections() if key)


def test_the_schema_knows_ranges_choices_and_descriptions() -> None:
    made = describe.json_schema()
    definitions = made["$defs"]
    threshold = definitions["CallSettings"]["properties"]["repeat_threshold"]
    assert (threshold["minimum"], threshold["maximum"], threshold["default"]) == (2, 1000, 3)
    assert "equal calls within the window" in threshold["description"]
    assert definitions["Mode"]["enum"] == ["observe", "off", "on"]
    assert definitions["CallSettings"]["additionalProperties"] is False


def test_defaults_satisfy_their_own_ranges() -> None:
    assert msgspec.convert(msgspec.to_builtins(Settings()), Settings) == Settings()
