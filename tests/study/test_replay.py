"""Replays: what the guard would have done, with the numbers of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loopguard_cli.core.events import ToolAsked, ToolFinished, UserSpoke, encode
from loopguard_cli.core.ids import CallId, MessageId, RequestId, SessionId
from loopguard_cli.core.settings import GuardSettings, Mode, Preset
from loopguard_cli.study.replay import replay

from .test_traces import write


def calls(tool: str, args: dict[str, Any], output: str, times: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for n in range(times):
        lines.append({"kind": "tool_call", "tool": tool, "args": args, "id": f"{tool}{n}"})
        lines.append({"kind": "tool_result", "tool": tool, "id": f"{tool}{n}", "ok": True, "output": output})
    return lines


@pytest.fixture
def looping(tmp_path: Path) -> Path:
    return write(
        tmp_path / "loop", {"kind": "user", "text": "go"}, *calls("bash", {"command": "x"}, "same", 5)
    )


def test_the_third_call_is_named_by_its_event_in_the_file(looping: Path) -> None:
    found = list(replay(looping, GuardSettings()))
    assert (found[0].event, found[0].rule, found[0].action) == (5, "repeat-call", "block")
    assert found[0].events == (1, 3, 5)
    assert "bash" in found[0].explanation
    assert [one.event for one in found] == [5, 7, 9]


def test_presets_and_modes_hold(looping: Path) -> None:
    def actions(settings: GuardSettings) -> list[str]:
        return [one.action for one in replay(looping, settings)]

    assert actions(GuardSettings(preset=Preset.PI))[0] == "abort"
    assert set(actions(GuardSettings(mode=Mode.OBSERVE))) == {"warn"}
    assert actions(GuardSettings(mode=Mode.OFF)) == []


def test_a_replay_is_deterministic(looping: Path) -> None:
    one, other = ([*replay(looping, GuardSettings(preset=preset))] for preset in [Preset.BALANCED] * 2)
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_a_recording_goes_through_the_hub_with_its_own_times(tmp_path: Path) -> None:
    session = SessionId("s")
    events: list[Any] = [UserSpoke(session=session, message=MessageId("m"), text="go")]
    for n in range(3):
        call = CallId(str(n))
        args = {"command": "x"}
        events.append(
            ToolAsked(session=session, request=RequestId(str(n)), call=call, tool="bash", args=args)
        )
        refused = n == 2
        events.append(ToolFinished(session=session, call=call, tool="bash", args=args, refused=refused))
    lines = [json.dumps({"t": float(n), "event": json.loads(encode(one))}) for n, one in enumerate(events)]
    header = {"format": "loopguard-record", "version": 1, "salt": "s"}
    (found,) = replay(write(tmp_path / "r", *lines, header=header), GuardSettings())
    assert (found.event, found.rule, found.action, found.session) == (5, "repeat-call", "block", "s")
    assert found.events == (1, 3, 5)
