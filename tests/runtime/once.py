"""A stand-in for ``opencode run``: one turn that ends, then its own end. Its goal is not achieved by then."""

import os
import sys
from typing import Any

from stopping import Session  # type: ignore[import-not-found, unused-ignore]

from loopguard_cli.testing.agent.bridge import Bridge


def main() -> None:
    sessions: list[Any] = []
    bridge = Bridge(lambda order: sessions[0].order(order) if sessions else None)
    session = Session("ses_1", bridge)
    sessions.append(session)
    session.event("session.created", info={"id": session.name, "directory": "."})
    session.speak()
    session.answer()
    session.command("status")  # everything before it has arrived
    sys.stdout.write(f"{os.getpid()}\n")


if __name__ == "__main__":
    main()
