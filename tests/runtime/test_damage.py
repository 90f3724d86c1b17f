"""Traces damaged at random: one clear error with file and line, or, when skipping, everything else read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.errors import InputError
from loopguard_cli.study.replay import replay
from loopguard_cli.study.traces import Damage


def _whole() -> bytes:
    told: list[dict[str, Any]] = [{"trace": "t", "label": "loop"}, {"kind": "user", "text": "go"}]
    for n in range(6):
        told.append({"kind": "text_delta", "text": f"Let me look, {n}. "})
        told.append({"kind": "tool_call", "tool": "bash", "args": {"command": "ls", "n": [1, None]}, "id": n})
        ended = {"kind": "tool_result", "tool": "bash", "id": n, "ok": n != 2, "output": "a\nb"}
        told.append(ended | {"output_len": 3})
    return "".join(f"{json.dumps(one)}\n" for one in told).encode()


WHOLE = _whole()

ODD = [b"\n", b"{}", b"null", b'"', b"9" * 400]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The trace with pieces overwritten, cut out, put in or doubled."""
    data = bytearray(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        match draw(st.sampled_from(["overwrite", "cut", "insert", "double", "end"])):
            case "overwrite":
                data[at:end] = draw(st.binary(min_size=end - at, max_size=end - at))
            case "cut":
                del data[at:end]
            case "insert":
                data[at:at] = draw(
                    st.binary(max_size=20) | st.sampled_from([b"\n", b"{}", b"null", b'"', b"9" * 400])
                )
            case "double":
                data[at:at] = data[at:end]
            case _:
                del data[at:]
    return bytes(data)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage") / "trace.jsonl"


def _refused(path: Path, damage: Damage | None = None) -> str | None:
    """Why the trace cannot be replayed; None if it can. Any other exception is a failure."""
    try:
        list(replay(path, GuardSettings(), damage))
    except InputError as error:
        return error.message
    return None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=damaged())
def test_damage_is_named_by_file_and_line_and_never_anything_else(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    error = _refused(place)
    if error is not None:
        line = re.match(rf"{re.escape(str(place))}:(\d+): ", error)
        assert line is not None
        assert 1 <= int(line.group(1)) <= data.count(b"\n") + 1
        assert "\n" not in error


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=damaged())
def test_skipping_reads_on_unless_the_header_is_gone(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    skipped: list[InputError] = []
    error = _refused(place, skipped.append)
    if error is None:
        assert all(one.message.startswith(f"{place}:") for one in skipped)
    else:
        assert error.startswith(f"{place}:1: ")
