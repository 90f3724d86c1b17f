"""What the model says, out of what Copilot CLI prints."""

from __future__ import annotations

import pytest

from loopguard_cli.agents.copilot.speech import Events, Kind, Said, Text

PRINTED = """First a look.

    indented code
- item

● Lists the files (shell)
  │ ls
  └ 6 lines…

● Create f.txt +1

✗ Read nonexistent
  │ /nonexistent
  └ Permission denied because no interactive user response was available. Retry in an interactive
    session so the user can approve it.
  Approval check
    └ ✗ Denied, no one to approve

All good, ööh.

    more code

"""
SAID = """First a look.

    indented code
- item

All good, ööh.

    more code

"""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_reports_of_calls_are_no_text_wherever_the_pieces_are_cut(size: int) -> None:
    reader, data = Text(), PRINTED.encode()
    said = [one for at in range(0, len(data), size) for one in reader.feed(data[at : at + size])]
    assert "".join(one.text for one in said) == SAID
    assert {one.kind for one in said} == {Kind.TEXT}


def test_text_is_known_before_its_line_ends() -> None:
    assert list(Text().feed(b"The build is")) == [Said(Kind.TEXT, "The build is")]


def test_events_are_read_by_whom_they_are() -> None:
    lines = (
        b'{"type":"assistant.message_start","data":{"messageId":"m"},"agentId":"a"}\n'
        b'{"type":"assistant.message_delta","data":{"messageId":"m","deltaContent":"Hey"},"agentId":"a"}\n'
        b'{"type":"assistant.reasoning_delta","data":{"reasoningId":"r","deltaContent":"Hm"}}\n'
        b'{"type":"session.error","data":{"message":"no such model"}}\n'
        b"[1]\nwhat is this\n"
    )
    assert list(Events().feed(lines)) == [
        Said(Kind.START, "", "m", "a"),
        Said(Kind.TEXT, "Hey", "m", "a"),
        Said(Kind.REASONING, "Hm"),
        Said(Kind.ERROR, "no such model"),
        Said(Kind.UNREAD, "line: not JSON"),
    ]
