"""A stand-in for OpenCode with many sessions whose goals are stopped at random moments.

Started by ``loopguard run --agent opencode -- python stopping.py SESSIONS SEED``. In each session a goal is
set, turns end and are continued, and a person says stop: by a message, Escape, a refused permission or
a command. Prints, for each way, how many prompts came, and how many of them after the stop was known.
"""

import json
import random
import sys
import threading
from collections import Counter
from typing import Any

from loopguard_cli.testing.agent.bridge import Bridge

AT_ONCE = 20
NEVER = threading.Event()


class Session:
    def __init__(self, name: str, bridge: Bridge) -> None:
        self.name, self.bridge = name, bridge
        self.prompted = threading.Semaphore(0)
        self.prompts = self.number = 0
        self.busy = False
        self.user = self.assistant = ""

    def order(self, order: dict[str, Any]) -> Any:
        if order["op"] == "read":
            user = {"id": self.user, "agent": "build"}
            return {"status": "busy" if self.busy else "idle", "assistant": self.assistant, "user": user}
        if order["op"] == "prompt":
            self.prompts += 1
            self.speak(order["id"])
            self.prompted.release()
        return None

    def event(self, kind: str, **properties: Any) -> None:
        self.bridge.event(kind, sessionID=self.name, **properties)

    def speak(self, effect: str = "") -> None:
        """A user message: ours, or a person's."""
        self.number += 1
        self.user, self.busy = f"{self.name}u{self.number}", True
        self.bridge.send(
            type="message", session=self.name, message=self.user, effect=effect, real=not effect, text="stop"
        )
        self.event("session.status", status={"type": "busy"})

    def answer(self) -> None:
        """A turn with a tool call ends."""
        self.number += 1
        self.assistant = f"{self.name}m{self.number}"
        info = {"id": self.assistant, "role": "assistant", "parentID": self.user, "agent": "build"}
        self.event("message.updated", info=info)
        state = {"status": "completed", "input": {"command": str(self.number)}, "output": str(self.number)}
        part = {"id": f"{self.assistant}p", "type": "tool", "tool": "bash", "callID": f"{self.assistant}c"}
        self.event("message.part.updated", part={**part, "state": state, "messageID": self.assistant})
        self.event("message.updated", info={**info, "finish": "stop", "time": {"completed": 1}})
        self.idle()

    def idle(self) -> None:
        self.busy = False
        self.event("session.status", status={"type": "idle"})
        self.event("session.idle")

    def command(self, text: str) -> str:
        """What the answer to a slash command says; orders given before it have arrived."""
        return self.bridge.ask(self.name, "goal", {"text": text}, surface="slash")

    def stop(self, how: str) -> None:
        match how:
            case "message":
                self.speak()
            case "escape":
                self.event(
                    "session.error", error={"name": "MessageAbortedError", "data": {"message": "Aborted"}}
                )
            case "refusal":
                self.event("permission.replied", requestID="p", reply="reject")
            case command:
                self.command(command)


def play(session: Session, how: str, chance: random.Random) -> tuple[int, int]:
    """Prompts until the stop was known, and after it."""
    session.event("session.created", info={"id": session.name, "directory": "."})
    session.idle()
    session.command(f"port {session.name}")
    for _ in range(chance.randint(0, 2)):
        if session.prompted.acquire(timeout=20):
            NEVER.wait(chance.uniform(0, 0.02))
            session.answer()
    NEVER.wait(chance.choice([0.0, chance.uniform(0, 0.04)]))
    session.stop(how)
    session.command("status")
    known = session.prompts
    for _ in range(3):
        session.answer()
        NEVER.wait(0.03)
    session.command("status")
    return known, session.prompts - known


def main(count: int, seed: int) -> None:
    sessions: dict[str, Session] = {}
    bridge = Bridge(
        lambda order: sessions[order["session"]].order(order) if order.get("session") in sessions else None
    )
    sessions.update((name, Session(name, bridge)) for name in (f"ses_{n}" for n in range(count)))
    ways = ("message", "escape", "refusal", "pause", "clear")
    before: Counter[str] = Counter(dict.fromkeys(ways, 0))
    after: Counter[str] = Counter(dict.fromkeys(ways, 0))
    free, lock = threading.Semaphore(AT_ONCE), threading.Lock()

    def trial(number: int, session: Session) -> None:
        with free:
            how = ways[number % len(ways)]
            known, late = play(session, how, random.Random(f"{seed}.{number}"))
        with lock:
            before[how] += known
            after[how] += late

    threads = [threading.Thread(target=trial, args=pair) for pair in enumerate(sessions.values())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(json.dumps({"before": before, "after": after}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
