"""Reading traces, neutral and our own, sound and damaged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    ReplyStarted,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    UserSpoke,
    encode,
)
from loopguard_cli.core.ids import MessageId, SessionId
from loopguard_cli.errors import InputError
from loopguard_cli.study.traces import Trace

HEADER = {"trace": "t", "label": "loop", "loop_kind": "cycle", "loop_at": 3}


def write(path: Path, *lines: Any, header: Any = HEADER) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in (header, *lines)]
    path.write_text("\n".join(texts) + "\n")
    return path


def events(path: Path) -> list[Event]:
    return [event for moment in Trace(path).moments() for event in moment.events]


def test_event_zero_is_the_second_line_and_missing_times_are_six_seconds_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "t", *({"kind": "text", "text": "x", "t": None} for _ in range(3)))
    assert [(moment.index, moment.time) for moment in Trace(path).moments()] == [
        (0, 0.0),
        (1, 6.0),
        (2, 12.0),
    ]


def test_times_are_taken_where_they_are_given(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {"kind": "user", "t": 0.5}, {"kind": "text"}, {"kind": "text", "t": 7})
    assert [moment.time for moment in Trace(path).moments()] == [0.5, 6.5, 7.0]


def test_a_call_and_its_result_are_joined_by_id(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        {"kind": "tool_call", "tool": "bash", "args": {"command": "ls"}, "id": "a"},
        {"kind": "tool_call", "tool": "bash", "args": {"command": "pwd"}, "id": "b"},
        {"kind": "tool_result", "tool": "bash", "id": "b", "ok": False, "output": "no"},
        {"kind": "tool_result", "tool": "bash", "id": "a", "ok": None, "output": "yes"},
    )
    ended = [event for event in events(path) if isinstance(event, ToolFinished)]
    assert [(event.args["command"], event.ok, event.output) for event in ended] == [
        ("pwd", False, "no"),
        ("ls", True, "yes"),
    ]


def test_without_ids_the_oldest_open_call_of_the_tool_ends(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        {"kind": "tool_call", "tool": "read", "args": {"n": 1}},
        {"kind": "tool_call", "tool": "bash", "args": {"n": 2}},
        {"kind": "tool_result", "tool": "bash", "output": "x"},
    )
    (ended,) = [event for event in events(path) if isinstance(event, ToolFinished)]
    assert ended.args == {"n": 2}


def test_a_result_whose_call_is_not_in_the_trace_is_no_event(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {"kind": "tool_result", "tool": "bash", "id": "zz", "output": "x"})
    assert events(path) == []


def test_a_cut_output_is_known_by_the_digest_of_the_whole(tmp_path: Path) -> None:
    call = {"kind": "tool_call", "tool": "bash", "args": {}, "id": "a"}
    result = {
        "kind": "tool_result",
        "id": "a",
        "output": "ab",
        "output_sha": "f00",
        "output_len": 9,
    }
    ended = events(write(tmp_path / "t", call, result))[-2]
    assert isinstance(ended, ToolFinished)
    assert (ended.output_digest, ended.output_chars) == ("f00", 9)
    whole = events(write(tmp_path / "u", call, result | {"output_len": 2}))[-2]
    assert isinstance(whole, ToolFinished)
    assert (whole.output_digest, whole.output_chars) == ("", -1)


def test_messages_parts_and_turns_are_put_around_bare_events(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        {"kind": "user", "text": "go"},
        {"kind": "reasoning", "text": "hm"},
        {"kind": "text_delta", "text": "a"},
        {"kind": "text_delta", "text": "b"},
        {"kind": "text", "text": "c"},
        {"kind": "tool_call", "tool": "t", "args": {}, "id": "1"},
        {"kind": "tool_result", "id": "1", "output": ""},
        {"kind": "text", "text": "d"},
        {"kind": "turn_end"},
    )
    found = events(path)
    assert [type(event) for event in found] == [
        *(UserSpoke, StatusChanged, ReplyStarted, TextDelta, TextDelta, TextDelta, TextDelta, ToolAsked),
        *(ToolFinished, ReplyFinished, ReplyStarted, TextDelta, ReplyFinished, StatusChanged),
    ]
    texts = [event for event in found if isinstance(event, TextDelta)]
    assert [event.channel for event in texts] == [Channel.REASONING] + [Channel.TEXT] * 4
    parts = [event.part for event in texts]
    assert parts[1] == parts[2]
    assert len({*parts}) == 4
    assert texts[-1].message != texts[0].message
    assert found[-1] == StatusChanged(session=texts[0].session, status=Status.IDLE)


def test_a_recording_of_ours_gives_the_events_it_holds(tmp_path: Path) -> None:
    told = [
        UserSpoke(session=SessionId("s"), message=MessageId("m"), text="hi"),
        StatusChanged(session=SessionId("s"), status=Status.BUSY),
    ]
    lines = [json.dumps({"t": n * 1.5, "event": json.loads(encode(event))}) for n, event in enumerate(told)]
    header = {"format": "loopguard-record", "version": 1, "salt": "x", "capabilities": {"gate": True}}
    path = write(tmp_path / "t", *lines, header=header)
    assert events(path) == told
    assert [moment.time for moment in Trace(path).moments()] == [0.0, 1.5]
    assert Trace(path).header().salt == "x"


# --- damage ----------------------------------------------------------------------------------

SOUND = {"kind": "text", "text": "x"}


@pytest.mark.parametrize(
    "damaged",
    [
        '{"kind": "text", "te',
        "nonsense",
        "[]",
        '{"text": "no kind"}',
        '{"kind": "unheard_of"}',
        '{"kind": "tool_call", "args": [1]}',
        '{"kind": "text", "t": "noon"}',
        '{"kind": 7}',
        '{"kind": "text", "text": "\\ud8"}',
    ],
)
def test_a_damaged_line_is_named_by_file_and_line(tmp_path: Path, damaged: str) -> None:
    path = write(tmp_path / "t.jsonl", SOUND, damaged, SOUND)
    with pytest.raises(InputError, match=r"t\.jsonl:3: "):
        list(Trace(path).moments())


def test_damaged_lines_can_be_skipped_and_keep_the_numbers_of_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "t", SOUND, "oops", SOUND, '{"kind": "nope"}', SOUND)
    told: list[InputError] = []
    assert [moment.index for moment in Trace(path, told.append).moments()] == [0, 2, 4]
    assert [error.message.split(":")[1] for error in told] == ["3", "5"]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": "loopguard-record", "version": 99}',
        '{"format": "other", "version": 1}',
        '{"trace": 7}',
        '{"trace": "t", "loop_at": "soon"}',
    ],
)
def test_a_file_that_is_no_trace_is_refused_at_line_one(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "t", SOUND, header=header)
    for read in (lambda: Trace(path).header(), lambda: list(Trace(path, lambda _: None).moments())):
        with pytest.raises(InputError, match=":1: "):
            read()


@pytest.mark.parametrize("make", [str, Path.mkdir], ids=["missing", "folder"])
def test_a_missing_file_and_a_folder_are_named(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "t"
    make(path)
    with pytest.raises(InputError, match=str(path)):
        Trace(path).header()


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_whatever_escape_as_another_error(tmp_path_factory: Any, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_bytes(b"\n".join([json.dumps(HEADER).encode(), *lines]))
    told: list[InputError] = []
    list(Trace(path, told.append).moments())
    if told:
        with pytest.raises(InputError, match=re.escape(told[0].message)):
            list(Trace(path).moments())
    else:
        list(Trace(path).moments())


def test_blank_lines_are_not_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "t", SOUND, "", "   ", SOUND)
    assert [moment.index for moment in Trace(path).moments()] == [0, 3]


def test_a_header_may_hold_more_than_we_know(tmp_path: Path) -> None:
    header = Trace(write(tmp_path / "t", SOUND, header=HEADER | {"note": "n", "licence": "MIT"})).header()
    assert msgspec.structs.asdict(header)["loop_at"] == 3
