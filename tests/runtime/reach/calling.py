"""A stand-in for an agent that calls hooks, and whose tools try to. Run by path, as a process of its own.

Each line of standard input is ``[way, argument...]``, each line of output what came of it:

- ``["post", url]``: POST by this process, on a new connection; the status.
- ``["child", own_session, program, argument...]``: a child with this command line; its status.
- ``["fork"]``: go on in a child, in this process's place; its number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request


def post(url: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, b"{}"), timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def child(own_session: bool, *argv: str) -> int:
    return subprocess.run(
        argv, input=b"{}", stdout=subprocess.DEVNULL, start_new_session=own_session, timeout=20
    ).returncode


def main() -> None:
    for line in sys.stdin:
        way, *arguments = json.loads(line)
        if way == "post":
            said = post(*arguments)
        elif way == "child":
            said = child(*arguments)
        else:
            if (pid := os.fork()) != 0:
                os.waitpid(pid, 0)
                os._exit(0)
            said = os.getpid()
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["post"]:
        sys.exit(post(sys.argv[2]) != 200)
    main()
