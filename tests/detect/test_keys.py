"""Keys: insensitive to the order of JSON keys, and to nothing else."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.detect.keys import call_key

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
arguments = st.dictionaries(st.text(), values, max_size=5)
tools = st.sampled_from(["read", "edit", "mcp_search", "Read", ""])


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(name, shuffled(inner, chance)) for name, inner in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@given(tools, arguments, st.randoms(use_true_random=False))
def test_the_order_of_object_keys_never_matters_at_any_depth(
    tool: str, args: dict[str, Any], chance: random.Random
) -> None:
    assert call_key(tool, shuffled(args, chance)) == call_key(tool, args)


@given(tools, arguments, tools, arguments)
def test_keys_are_equal_exactly_when_tool_and_json_are(
    tool: str, args: dict[str, Any], other_tool: str, other_args: dict[str, Any]
) -> None:
    same = (tool, json.dumps(args, sort_keys=True)) == (other_tool, json.dumps(other_args, sort_keys=True))
    assert (call_key(tool, args) == call_key(other_tool, other_args)) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"n": 0}, {"n": None}),
        ({"n": "1"}, {"n": 1}),
        ({"text": "a"}, {"text": "a "}),
        ({"text": "a"}, {"text": "A"}),
        ({"list": [1, 2]}, {"list": [2, 1]}),
        ({}, {"x": None}),
        ({"description": "a"}, {"description": "b"}),
        ({"timeout": 1}, {"timeout": 2}),
    ],
)
def test_everything_else_makes_a_difference(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert call_key("read", one) != call_key("read", other)


@pytest.mark.parametrize("shell", ["bash", "shell", "powershell", "Bash", "run_shell_command"])
def test_a_shell_call_is_its_command_not_its_description_or_timeout(shell: str) -> None:
    plain = call_key(shell, {"command": "ls -l"})
    assert call_key(shell, {"timeout": 5000, "command": "ls -l", "description": "List files"}) == plain
    assert call_key(shell, {"command": "ls  -l"}) != plain
    assert call_key(shell, {"command": "ls -l", "workdir": "/"}) != plain


def test_the_tool_name_cannot_be_confused_with_the_arguments() -> None:
    assert call_key('a","b', {}) != call_key("a", {"b": {}})


@pytest.mark.parametrize("value", [10**30, "\ud800", {"deep": ["\udfff", 2**70]}])
def test_values_beyond_the_fast_encoder_still_have_keys(value: Any) -> None:
    assert call_key("t", {"v": value}) == call_key("t", {"v": value})
    assert call_key("t", {"v": value}) != call_key("t", {"v": "other"})
