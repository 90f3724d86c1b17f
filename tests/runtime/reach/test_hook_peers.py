"""Who may call hooks: the agent's process, and the shell clients that it starts itself."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.runtime.reach.test_hooks import Served, serving

from loopguard_cli.agents.base import Hook
from loopguard_cli.core.events import Asked, Surface
from loopguard_cli.runtime.reach import hook_pipes
from loopguard_cli.runtime.reach.hooks import REPORTED

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="asks Linux who calls")

CALLING = Path(__file__).with_name("calling.py")
REFUSED = 1
"""Exit status of the shell client."""


class Agent:
    """A running `calling`, and the server that it calls."""

    def __init__(self, it: Served, process: subprocess.Popen[str]) -> None:
        self.it, self._process = it, process

    async def say(self, *words: Any) -> int:
        return await asyncio.to_thread(self._say, words)

    def _say(self, words: tuple[Any, ...]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    # --- over HTTP ---------------------------------------------------------------------------

    async def posts(self, hook: str = "echo") -> int:
        return await self.say("post", self.it.address.hooks + hook)

    async def tool_posts(self, *, own_session: bool = True) -> int:
        url = self.it.address.hooks + "echo"
        return await self.say("child", own_session, sys.executable, "-I", str(CALLING), "post", url)

    # --- by the shell client -----------------------------------------------------------------

    def command(self, hook: str = "echo") -> list[str]:
        return [*self.it.address.hook_command, hook]

    async def calls(self, *, own_session: bool = False, hook: str = "echo") -> int:
        return await self.say("child", own_session, *self.command(hook))

    async def shell_calls(self, script: str, *, own_session: bool = True) -> int:
        """A shell runs ``script``, where ``%s`` is the client's command line."""
        return await self.say("child", own_session, "bash", "-c", script % shlex.join(self.command()))

    def refused(self) -> list[str]:
        """The hooks that were refused, as they went on record."""
        asked = [event for event in self.it.agent.events if isinstance(event, Asked)]
        assert all((one.operation, one.surface) == ("guard.hook", Surface.INSIDE) for one in asked)
        return [one.arguments["hook"] for one in asked]


Story = Callable[[Agent], Coroutine[Any, Any, None]]
Tell = Callable[..., None]


@asynccontextmanager
async def agent(it: Served, hooks: dict[str, Hook] | None = None, launched: int = 0) -> AsyncIterator[Agent]:
    process = subprocess.Popen(
        [sys.executable, "-I", str(CALLING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    it.server.launched(launched or process.pid, hooks or {})
    try:
        yield Agent(it, process)
    finally:
        await asyncio.to_thread(process.communicate, timeout=20)


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(story: Story, hooks: dict[str, Hook] | None = None, launched: int = 0) -> None:
        async def main() -> None:
            async with serving(tmp_path) as it, agent(it, hooks, launched) as one:
                await asyncio.wait_for(story(one), 60)

        asyncio.run(main())

    return told


def test_over_http_only_the_process_that_called_first_is_heard(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert await it.posts() == 200
        assert await it.tool_posts() != 0
        assert await it.tool_posts(own_session=False) != 0
        assert await it.posts() == 200
        assert it.refused() == ["echo", "echo"]
        assert [call.hook for call in it.it.agent.calls] == ["echo", "echo"]

    tell(story)


def test_a_client_is_heard_as_a_child_of_the_agent_alone(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert await it.calls() == 0
        for script in ("%s; exit $?", "exec %s", "%s", "(%s)", "setsid -w %s"):
            assert await it.shell_calls(script) == REFUSED, script
        assert await it.shell_calls("%s; exit $?", own_session=False) == REFUSED
        assert await it.calls(own_session=True) == REFUSED, "as a tool would that becomes a client"
        assert await it.calls() == 0
        assert await it.shell_calls("%s", own_session=False) == 0, "asked for that alone, as by Gemini CLI"
        assert it.refused() == ["echo"] * 7
        assert len(it.it.agent.calls) == 3

    tell(story)


def test_clients_that_lead_sessions_are_heard_where_the_first_one_did(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert await it.calls(own_session=True) == 0
        assert await it.shell_calls("%s; exit $?") == REFUSED
        assert await it.shell_calls("setsid -w %s") == REFUSED
        assert await it.calls() == REFUSED
        assert await it.calls(own_session=True) == 0

    tell(story)


def test_a_process_that_takes_the_place_of_the_agent_is_heard(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        await it.say("fork")
        assert (await it.posts(), await it.calls()) == (200, 0)
        await it.say("fork")
        # The former one waits for it, and lives: this is none of the agent's ways.
        assert (await it.posts(), await it.calls()) == (403, REFUSED)

    tell(story)


def test_where_the_first_caller_cannot_be_made_out_nobody_is_refused(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert (await it.posts(), await it.calls(), await it.tool_posts()) == (200, 0, 0)
        assert it.refused() == []

    with subprocess.Popen(["sleep", "60"]) as stranger:
        tell(story, launched=stranger.pid)
        stranger.terminate()


def test_nobody_waits_in_the_name_of_another_process(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert await it.calls() == 0
        folder = Path(it.it.address.folder)
        for end in "qa":
            os.mkfifo(folder / f"{os.getpid()}.{end}")
        answer = os.open(folder / f"{os.getpid()}.a", os.O_RDWR | os.O_NONBLOCK)
        (folder / "requests").write_text(f"{os.getpid()} echo\n")
        while not it.refused():
            await asyncio.sleep(0)
        os.close(answer)
        assert it.refused() == ["echo"]
        assert len(it.it.agent.calls) == 1

    tell(story)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_who_leaves_before_it_has_asked_holds_nothing_of_ours(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        before = open_files()
        client = subprocess.Popen(it.command(), stdin=subprocess.PIPE)
        while not psutil.Process(client.pid).children():
            await asyncio.sleep(0)
        # What it has started for its question has that open still.
        client.kill()
        await asyncio.to_thread(client.communicate)
        while open_files() != before:
            await asyncio.sleep(0)
        assert it.it.agent.calls == []

    tell(story)


def test_who_is_refused_holds_nothing_of_ours_for_long(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Agent) -> None:
        assert await it.calls() == 0
        client = await asyncio.create_subprocess_exec(*it.command(), stdin=subprocess.PIPE)
        while not it.refused():
            await asyncio.sleep(0)
        held = open_files()
        while open_files() != held - 2:
            await asyncio.sleep(0)
        assert client.stdin is not None
        client.stdin.close()
        await client.wait()

    monkeypatch.setattr(hook_pipes, "REFUSED_SECONDS", 0.1)
    tell(story)


def test_hooks_are_heard_in_the_way_and_of_the_events_that_they_are_for(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert (await it.calls(), await it.posts("posted")) == (0, 200)
        assert (await it.calls(hook="posted"), await it.posts("echo")) == (REFUSED, 403)
        assert (await it.posts("unheard"), await it.calls(hook="un heard")) == (403, REFUSED)
        body = json.dumps({"hook_event_name": "Other"}).encode()
        other = subprocess.Popen(it.command(), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        await asyncio.to_thread(other.communicate, body, 20)
        assert other.returncode == REFUSED
        assert it.refused() == ["posted", "echo", "unheard", "", "echo"]
        assert [call.hook for call in it.it.agent.calls] == ["echo", "posted"]

    # This process has not been looked at yet, so it calls as the agent does.
    tell(story, {"echo": Hook(client=True, events=("Echo",)), "posted": Hook()}, os.getpid())


def test_a_loop_of_attempts_is_recorded_up_to_a_number(tell: Tell) -> None:
    async def story(it: Agent) -> None:
        assert await it.posts() == 200
        for _ in range(REPORTED + 3):
            assert await it.posts("other") == 403
        assert it.refused() == ["other"] * REPORTED

    tell(story, {"echo": Hook()})
