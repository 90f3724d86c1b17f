"""What a tool of an agent can do to speak in the agent's name: find our hooks, and call them.

Run by path, in the agent's own shell:

- ``forging.py post HOOK FIELDS``: over HTTP, to the address of the plugin for Claude Code.
- ``forging.py call HOOK FIELDS``: by the shell client, as a child.
- ``forging.py become HOOK FIELDS``: as the shell client, in place of this process.

FIELDS is the input, in JSON. Says what came of it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FOLDERS = Path(os.environ["XDG_RUNTIME_DIR"]) / "loopguard"


def command(hook: str) -> list[str]:
    """The shell client's command line, from what the run has put inside the agent."""
    entry = next(one for one in entries() if one["type"] == "command")
    words = [*shlex.split(entry["command"]), *entry.get("args", ())]
    return [*words[:-1], hook]


def entries() -> list[dict[str, Any]]:
    """Our hooks."""
    (file,) = FOLDERS.rglob("hooks.json")
    matchers = [one for many in json.loads(file.read_text())["hooks"].values() for one in many]
    return [entry for matcher in matchers for entry in matcher["hooks"]]


def post(hook: str, body: bytes) -> str:
    address = next(one["url"] for one in entries() if one["type"] == "http")
    url = f"{address.rpartition('/')[0]}/{hook}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as answer:
            return str(answer.status)
    except urllib.error.HTTPError as error:
        return str(error.code)


def main() -> None:
    way, hook, fields = sys.argv[1:]
    body = json.dumps({"hook_event_name": hook, **json.loads(fields)}).encode()
    if way == "post":
        said = post(hook, body)
    elif way == "call":
        said = str(subprocess.run(command(hook), input=body, capture_output=True, timeout=20).returncode)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(body)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            os.dup2(file.fileno(), 0)
        os.execv("/bin/sh", command(hook))
    sys.stdout.write(f"{way} {said}\n")


if __name__ == "__main__":
    main()
