"""The supervisor's own share of a gate: CPU time from a question's bytes to its answer's.

Each question comes with the result of the call before it, as from the bridge, so both are in the figure.
"""

from __future__ import annotations

import time
import uuid
from unittest.mock import patch

from loopguard_cli.runtime.reach import bridges
from tests.bench.section import Row, percentile
from tests.runtime.wired import Wired, played

TITLE = "The supervisor's share of a gate"

CALLS = 3000


def _result(call: str) -> dict[str, object]:
    state = {"status": "completed", "input": {}, "output": uuid.uuid4().hex * 30, "metadata": {"exit": 0}}
    return {
        "id": f"p{call}",
        "messageID": "msg_1",
        "type": "tool",
        "tool": "bash",
        "callID": call,
        "state": state,
    }


def measure() -> list[Row]:
    spent: list[float] = []
    take = bridges._Connection.data_received

    def timed(connection: bridges._Connection, data: bytes) -> None:
        began = time.thread_time()
        take(connection, data)
        if b'"type": "gate"' in data:
            spent.append((time.thread_time() - began) * 1000)

    async def ask(wired: Wired) -> None:
        peer = await wired.bridge()
        for number in range(CALLS):
            call = f"c{number}"
            await peer.gate(call, command=f"cat file{number} {uuid.uuid4()}")
            peer.native("message.part.updated", sessionID="ses_1", part=_result(call))

    with patch.object(bridges._Connection, "data_received", timed):
        played(ask)
    return [
        Row("question and result before it, p50", percentile(spent, 0.5), "ms", 1.0),
        Row("question and result before it, p99", percentile(spent, 0.99), "ms", 20.0),
        Row("question and result before it, worst", max(spent), "ms"),
    ]
