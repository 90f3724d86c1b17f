"""The tables of docs/detection.md are what the code has."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from loopguard_cli.core.settings import Preset
from loopguard_cli.core.wording import english
from loopguard_cli.detect.calls import RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
DETECT = ROOT / "src" / "loopguard_cli" / "detect"

ROWS = re.findall(
    r"^\| `([a-z-]+)` \| ([a-z, ]+) \| .+ \| .+ \| ([a-z]+) \| `([a-z]+\.py)` \|$", PAGE, flags=re.MULTILINE
)
CONSTANTS = re.findall(r"^\| `([a-z]+)\.([A-Z_]+)` \| ([\d.]+) \|", PAGE, flags=re.MULTILINE)


def test_each_rule_that_can_speak_is_in_the_table_and_no_other() -> None:
    assert {rule for rule, _, _, _ in ROWS} == english.RULES.keys()


@pytest.mark.parametrize(("rule", "presets", "limit", "module"), ROWS)
def test_a_rule_is_where_the_table_says(rule: str, presets: str, limit: str, module: str) -> None:
    assert f'"{rule}"' in (DETECT / module).read_text(encoding="utf-8")
    assert {Preset(name) for name in presets.split(", ")} <= set(Preset)
    assert limit in ("warn", "nudge", "block", "abort", "stop")


@pytest.mark.parametrize("preset", list(Preset))
def test_the_modules_of_a_presets_rules_about_calls_are_named(preset: Preset) -> None:
    named = {module for _, presets, _, module in ROWS if preset.value in presets.split(", ")}
    modules = {f"{rule.__module__.rpartition('.')[2]}.py" for rule in RULES[preset]}
    assert modules <= named


@pytest.mark.parametrize(("module", "name", "value"), CONSTANTS)
def test_a_constant_has_the_value_in_the_table(module: str, name: str, value: str) -> None:
    assert getattr(import_module(f"loopguard_cli.detect.{module}"), name) == float(value)


def test_the_tables_were_found() -> None:
    assert len(ROWS) >= 30
    assert len(CONSTANTS) >= 15
