"""A stand-in for an agent behind ACP that works without an end in its turn, and hears and says nothing.

Started by ``loopguard run --agent acp -- python deafened.py [answers]``; with ``answers`` it does answer.
"""

import json
import sys
import threading
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def work() -> None:
    while True:
        sum(range(1000))


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                send(id=message["id"], result={"sessionId": "s1"})
            case "session/prompt" if "answers" in sys.argv:
                threading.Thread(target=work, daemon=True).start()
            case "session/prompt":
                work()
            case "_loopguard/ping":
                sys.stderr.write("asked\n")
                send(id=message["id"], error={"code": -32601, "message": "Method not found"})
            case _:
                pass


if __name__ == "__main__":
    main()
