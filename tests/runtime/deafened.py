"""A stand-in for a driven agent that works without an end in its turn, and hears and says nothing.

Started by ``loopguard run --agent NAME -- python deafened.py [answers]``. It speaks with loopguard as
agents behind ACP, Codex's server, Claude Code and Qwen Code do. With ``answers`` it does answer.
"""

import json
import sys
import threading
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def work() -> None:
    while True:
        sum(range(1000))


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method") or message.get("request", {}).get("subtype") or message.get("type")
        if "control_request" in line:
            answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            send(type="control_response", response=answer)
        match method:
            case "session/new":
                send(id=message["id"], result={"sessionId": "s1"})
            case "thread/start":
                send(id=message["id"], result={"thread": {"id": "s1"}})
            case "session/prompt" | "turn/start" | "user":
                send(type="system", subtype="init", session_id="s1")
                if "answers" not in sys.argv:
                    work()
                threading.Thread(target=work, daemon=True).start()
            case _ if "id" in message:
                send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case _:
                pass


if __name__ == "__main__":
    main()
