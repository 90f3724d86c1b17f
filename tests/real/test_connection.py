"""The connection between the real OpenCode and its supervisor breaks, and comes back."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Self

from tests.real.harness import World, trace

from loopguard_cli.testing.script import Hold, reply, say, turn


class Cable:
    """Between a bridge and its supervisor: can be pulled out and put in again."""

    def __init__(self, address: Path) -> None:
        """``address``: where the invitation of the bridge will be found, by its first connection."""
        self._address = address
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._in = True
        self._lock = threading.Lock()
        self._refused = 0
        self._turned_away = threading.Condition(self._lock)
        self._threads = [threading.Thread(target=self._accept)]
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pull()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def pull(self) -> None:
        with self._lock:
            self._in = False
            for end in self._ends:
                end.shutdown(socket.SHUT_RDWR)
            self._ends.clear()

    def tried(self) -> None:
        """Wait until the bridge has tried in vain to come back, from now on."""
        with self._turned_away:
            before = self._refused
            assert self._turned_away.wait_for(lambda: self._refused > before, timeout=30)

    def plug(self) -> None:
        with self._lock:
            self._in = True

    def _accept(self) -> None:
        while True:
            try:
                bridge, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if not self._in:
                    bridge.close()
                    self._refused += 1
                    self._turned_away.notify_all()
                    continue
                boot = json.loads(self._address.read_text())
                supervisor = socket.create_connection((boot["host"], boot["port"]))
                self._ends += [bridge, supervisor]
                for pair in ((bridge, supervisor), (supervisor, bridge)):
                    self._threads.append(threading.Thread(target=self._carry, args=pair))
                    self._threads[-1].start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # pulled out, or the other side has gone
        with self._lock:
            if source in self._ends:
                self._ends.remove(source)
        source.close()


def test_calls_run_meanwhile_and_what_was_counted_stays_counted(world: World) -> None:
    """Two calls are counted, one runs unasked while the cable is out, and the next is refused again."""
    again = trace("a")
    world.model.behave(
        [
            turn(
                *[reply(again)] * 2,
                reply(Hold(name="out"), again),
                reply(Hold(name="in"), again),
                reply(trace("b")),
                say("Done."),
            )
        ]
    )
    boot = world.root / "boot"
    with Cable(boot) as cable:
        rewrite = f"""sed 's/"port":[^,}}]*/"port":{cable.port}/'"""
        wrapper = world.script(
            "my-agent",
            f'printf %s "$LOOPGUARD_BRIDGE" > {boot}\n'
            f'export LOOPGUARD_BRIDGE="$({rewrite} < {boot})"\n'
            'exec opencode "$@"',
        )
        started = world.guard(
            wrapper, "run", "go", options=["--agent", "opencode"], env={"LOOPGUARD_LOOPBACK": "1"}
        )
        world.model.wait_for(lambda seen: len(seen) == 3)
        cable.pull()
        started.wait_for("lost")
        world.model.release("out")
        world.model.wait_for(lambda seen: len(seen) == 4)
        cable.tried()  # so what it had to say of the third call is lost
        cable.plug()
        started.wait_for("again")
        world.model.release("in")
        result = started.wait()
    assert result.code == 0, result
    assert world.count("a") == 3
    assert world.count("b") == 1
    refused = world.model.chats()[-2].request.results[-1]
    assert refused.startswith("[ANTI-LOOP] bash was called 3 times")
