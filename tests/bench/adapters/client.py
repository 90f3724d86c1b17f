"""The least ACP client that there can be: ``client.py COMMAND...``; one prompt, and everything is allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def main() -> None:
    agent = subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert agent.stdin
    assert agent.stdout

    def send(**message: object) -> None:
        agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")  # type: ignore[union-attr]
        agent.stdin.flush()  # type: ignore[union-attr]

    send(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
    for line in agent.stdout:
        message = json.loads(line)
        if message.get("method") == "session/request_permission":
            options = message["params"]["options"]
            once = next(option["optionId"] for option in options if option["kind"] == "allow_once")
            send(id=message["id"], result={"outcome": {"outcome": "selected", "optionId": once}})
        elif message.get("id") == 1:
            send(id=2, method="session/new", params={"cwd": str(Path.cwd()), "mcpServers": []})
        elif message.get("id") == 2:
            prompt = [{"type": "text", "text": sys.stdin.read()}]
            params = {"sessionId": message["result"]["sessionId"], "prompt": prompt}
            send(id=3, method="session/prompt", params=params)
        elif message.get("id") == 3:
            break
    agent.stdin.close()
    agent.wait()


if __name__ == "__main__":
    main()
