"""The agents we know: a literal registry, and what other packages add to it.

Each agent has a module with ``make(setup) -> Adapter`` and ``SURFACES``, imported only when it is
needed. Other packages register a `Known` under the entry point group `GROUP`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.plain import Plain
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "loopguard.adapters"
STREAM = "stream"
"""The one of ours that reads `Setup.events`."""

Complain = Callable[[str], object]
"""Is told, in one line, of a package whose adapter cannot be used."""


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which an agent can be run, and what we can do there."""

    form: Form
    example: str
    """A command line, as behind ``loopguard run --``."""
    reached: str
    """By which ways (`agents.base`), in a few words."""
    capabilities: Capabilities
    remark: str = ""
    """What a person should know about it."""


class AgentModule(Protocol):
    """What the module of an agent offers."""

    SURFACES: tuple[Surface, ...]

    def make(self, setup: Setup) -> Adapter: ...


class Known(NamedTuple):
    """One agent of the registry."""

    title: str
    module: str
    """Import name of its `AgentModule`."""
    programs: frozenset[str] = frozenset()
    """Names of its program."""
    packages: frozenset[str] = frozenset()
    """Names of its packages, as behind ``npx``."""
    tested: str = ""
    """The version that our own tests drive."""

    def starts(self, argv: Sequence[str]) -> bool:
        """Whether a command line starts it, by name, by path, or through a package runner."""
        return commandline.position(argv, commandline.named(self.programs, self.packages)) >= 0

    def load(self) -> AgentModule:
        """Import it. Raises UsageError where it is another package's and cannot be imported."""
        if self.module.startswith(f"{__name__}."):
            return cast("AgentModule", import_module(self.module))
        try:
            module = import_module(self.module)
            missing = [name for name in ("make", "SURFACES") if not hasattr(module, name)]
        except Exception as error:  # it is not ours, and may do anything
            raise _unusable(self.title, error) from error
        if missing:
            raise _unusable(self.title, f"{self.module} has no {missing[0]}")
        return cast("AgentModule", module)


def _known(title: str, module: str, tested: str, programs: str = "", packages: str = "") -> Known:
    return Known(
        title,
        f"loopguard_cli.agents.{module}",
        frozenset(programs.split()),
        frozenset(packages.split()),
        tested,
    )


AGENTS: dict[str, Known] = {
    "opencode": _known(
        "OpenCode",
        "opencode",
        "1.18.33",
        "opencode opencode.exe opencode-ai opencode-linux-x64 opencode-darwin-arm64",
        "opencode-ai",
    ),
    "terminal": _known("Any program on a terminal", "terminal", ""),
    "claude": _known(
        "Claude Code",
        "claude",
        "2.1.332",
        "claude claude.exe",
        "@anthropic-ai/claude-code",
    ),
    "codex": _known("Codex", "codex", "0.171.0", "codex codex.js", "@openai/codex"),
    "pi": _known(
        "pi",
        "pi",
        "1.6.0",
        "pi",
        "@earendil-works/pi-coding-agent @mariozechner/pi-coding-agent",
    ),
    STREAM: _known("Any program that prints its events", "streams", ""),
    "gemini": _known("Gemini CLI", "gemini", "0.61.0", "gemini gemini.js", "@google/gemini-cli"),
    "qwen": _known("Qwen Code", "qwen", "0.24.4", "qwen qwen-code", "@qwen-code/qwen-code"),
    "copilot": _known("Copilot CLI", "copilot", "1.0.102", "copilot copilot.exe", "@github/copilot"),
    "acp": _known(
        "Agent Client Protocol",
        "acp",
        "1",
        "claude-agent-acp claude-code-acp codex-acp pi-acp",
        "@agentclientprotocol/claude-agent-acp @zed-industries/claude-code-acp @zed-industries/codex-acp "
        "pi-acp",
    ),
}


def registry(complain: Complain = lambda _: None) -> Iterator[tuple[str, Known]]:
    """All agents: ours first, then those of other packages that can be loaded."""
    yield from AGENTS.items()
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            yield entry.name, _loaded(entry)
        except UsageError as error:
            complain(str(error))


def _loaded(entry: EntryPoint) -> Known:
    if entry.name in AGENTS:
        raise _unusable(entry.name, "the name is taken")
    try:
        known = entry.load()
    except Exception as error:  # it is not ours, and may do anything
        raise _unusable(entry.name, error) from error
    if not isinstance(known, Known):
        raise _unusable(entry.name, f"{entry.value} is no {Known.__name__}")
    return known


def _unusable(name: str, why: object) -> UsageError:
    return UsageError(f"the adapter for {name!r} cannot be used: {why}", "its package must be put right")


def find(name: str, also: Iterable[str] = ()) -> Known:
    """The agent of this name. Raises UsageError; ``also`` are names that could be meant beside agents'."""
    if name in AGENTS:
        return AGENTS[name]
    complaints: list[str] = []
    agents = dict(registry(complaints.append))
    if name not in agents:
        raise UsageError(
            f"unknown agent {name!r}", "; ".join([*_nearest(name, [*agents, *also]), *complaints])
        )
    return agents[name]


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    near = [f"did you mean {word!r}?" for word in get_close_matches(name, names, n=1)]
    return [*near, f"known: {', '.join(names)}"]


def choose(setup: Setup, name: str = "", complain: Complain = lambda _: None) -> Adapter:
    """The adapter for a command line: the one named, or the one that recognises it. Raises UsageError."""
    if setup.events and name in AGENTS and name != STREAM:
        what = "is for programs that print their events, and reads nothing else of them"
        raise UsageError(f"--events cannot be given with --agent {name}", f"it {what}")
    if name:
        return find(name).load().make(setup)
    for _, known in registry(complain):
        if known.starts(setup.argv):
            return known.load().make(setup)
    if setup.interactive:
        from loopguard_cli.agents import acp, terminal

        # A person types no JSON-RPC; from a pipe, it may be an editor that talks to the agent.
        return acp.make(setup) if acp.spoken(setup.argv) else terminal.unknown(setup)
    return Plain(setup.argv)
