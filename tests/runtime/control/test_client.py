"""The control socket: commands from other terminals, and attempts from inside the agent."""

import asyncio
import subprocess
import sys

import pytest
from tests.runtime.wired import Peer, Wired, played

from loopguard_cli.core import events as ev
from loopguard_cli.runtime.control import client as control
from loopguard_cli.runtime.control import server as control_server
from loopguard_cli.store.runs import LiveRun

CLIENT = """
import sys, msgspec
from loopguard_cli.runtime.control import client as control
from loopguard_cli.store.runs import LiveRun
answer = control.ask(msgspec.json.decode(sys.argv[1], type=LiveRun), "guard.mode", {"mode": "off"})
sys.stdout.write(answer.code)
"""


def live(wired: Wired, token: str | None = None) -> LiveRun:
    return LiveRun(
        run="r1",
        pid=1,
        started="",
        space="",
        agent="opencode",
        project="/project",
        state="/project/.loopguard",
        socket=wired.control.address,
        since=0.0,
        token=wired.control.token if token is None else token,
    )


async def ask(run: LiveRun, operation: str, **arguments: object) -> control.Answer:
    return await asyncio.to_thread(control.ask, run, operation, arguments)


@pytest.mark.parametrize("loopback", [False, True])
def test_a_question_is_answered(loopback: bool) -> None:
    async def test(wired: Wired) -> None:
        answer = await ask(live(wired), "guard.status")
        assert answer.ok
        assert answer.data["mode"] == "on"

    played(test, loopback=loopback)


def test_a_loopback_port_wants_its_token() -> None:
    async def test(wired: Wired) -> None:
        assert (await ask(live(wired, "guessed"), "guard.status")).code == "not_allowed"
        assert wired.of(ev.Asked) == []

    played(test, loopback=True)


def test_a_process_below_the_run_does_not_speak_for_the_person() -> None:
    """The supervisor is this process, so a child of it stands where the agent's shell does."""
    import msgspec

    async def test(wired: Wired) -> None:
        run = msgspec.json.encode(live(wired)).decode()
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", CLIENT, run], capture_output=True, text=True, check=False
        )
        assert (done.stdout, done.stderr) == ("not_allowed", "")
        (asked,) = wired.of(ev.Asked)
        assert asked.surface is ev.Surface.INSIDE
        assert (await ask(live(wired), "guard.status")).data["mode"] == "on"

    played(test)


def test_nonsense_is_answered_as_such_and_hurts_nobody() -> None:
    async def test(wired: Wired) -> None:
        peer = Peer(*await asyncio.open_unix_connection(wired.control.address))
        peer.writer.write(b"nonsense\n{}\n[1]\n\xff\xfe\n" + b'{"operation":5}\n')
        codes = [(await peer.read())["code"] for _ in range(5)]
        assert codes == ["bad_request"] * 5
        peer.send({"operation": "no.such.thing"}, {"operation": "guard.nothing"})
        assert (await peer.read())["code"] == "unknown_operation"
        await peer.closed()
        assert (await ask(live(wired), "guard.status")).ok

    played(test)


def test_who_says_nothing_is_shown_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_server, "IDLE_SECONDS", 0.05)

    async def test(wired: Wired) -> None:
        peer = Peer(*await asyncio.open_unix_connection(wired.control.address))
        assert await peer.gone()
        await peer.closed()

    played(test)


def test_only_so_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_server, "CLIENTS", 3)

    async def test(wired: Wired) -> None:
        peers = [Peer(*await asyncio.open_unix_connection(wired.control.address)) for _ in range(4)]
        assert await peers[3].gone()
        for peer in peers:
            await peer.closed()

    played(test)


def test_a_run_that_is_gone_is_said_to_be() -> None:
    async def test(wired: Wired) -> LiveRun:
        return live(wired)

    with pytest.raises(control.RunUnreachable, match="r1 cannot be reached"):
        control.ask(played(test), "guard.status")
