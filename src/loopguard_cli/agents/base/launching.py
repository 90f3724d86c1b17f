"""Launching: what an adapter is made from, and the plan by which the shell starts its agent."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from loopguard_cli.agents.tools import AgentTool, SlashCommand, ToolProgram
from loopguard_cli.core.settings import Permissions
from loopguard_cli.core.terminal import TerminalSettings


class Form(StrEnum):
    """How the agent was asked to run; decides what can be guarded and how it goes on."""

    SCREEN = "screen"
    """Interactive: the agent owns the person's terminal."""
    CONSOLE = "console"
    """Interactive through us: we print what it says, and the person types to us (driven agents)."""
    ONE_SHOT = "one-shot"
    """One prompt, then it exits. Going on means a new invocation (capability ``respawn``) or, where
    we drive it, another prompt before it is dismissed."""
    SERVER = "server"
    """Runs until it is stopped; sessions come from other clients."""
    REMOTE = "remote"
    """A client of an agent that runs elsewhere: nothing inside it can be guarded from here."""
    PLAIN = "plain"
    """No agent work at all (``--version``, ``models``, ...): passed through."""


class Streams(StrEnum):
    """Who holds the agent's standard streams."""

    INHERITED = "inherited"
    """The person's own; the agent cannot tell that we are there."""
    PIPED = "piped"
    """Ours: the adapter is `Driven`."""
    RELAYED = "relayed"
    """The person's own; its server beside it has streams that are ours: the adapter is `Relayed`."""
    TERMINAL = "terminal"
    """A pseudo-terminal, passed through: keys can be typed, and an `OnTerminal` adapter reads along."""
    TAPPED = "tapped"
    """An `OnTerminal` adapter reads along in standard output; the others are the person's own."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter is made from."""

    argv: tuple[str, ...]
    """The command line as the person typed it."""
    tools: tuple[AgentTool, ...] = ()
    """What the model gets from us."""
    commands: tuple[SlashCommand, ...] = ()
    """What the person can type into the agent to reach us."""
    directory: str = ""
    """The folder the agent works in; absolute."""
    interactive: bool = True
    """A person is at the terminal: standard input and output are one."""
    keyboard: bool = True
    """Standard input is a terminal: nothing is piped in."""
    permissions: Permissions = Permissions.ASK
    tool_program: ToolProgram | None = None
    """Serves ``tools`` over MCP, for agents that take them no other way."""
    terminal: TerminalSettings = TerminalSettings()
    fail_closed: bool = False
    """Calls that we do not answer are to be refused."""
    events: str = ""
    """In which format the agent prints its events on standard output, if it does."""


class Mirror(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of the person's as the agent shall see it: links to what is in it, and files of ours beside.

    What the agent makes or replaces there is put into the person's folder when the run ends.
    """

    folder: str
    """The person's; made when it does not exist, as the agent would."""
    at: str
    """Where the agent sees it: a name in the run's private folder."""
    opened: tuple[str, ...] = ()
    """Folders in it that are mirrored themselves, so that ours can lie inside."""
    written: tuple[str, ...] = ()
    """Files that are linked even before they exist: what the agent writes is the person's at once."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """How the agent calls one hook."""

    events: tuple[str, ...] = ()
    """What its input may name as the event (``hook_event_name``); empty: anything."""
    client: bool = False
    """By the shell client; else over HTTP."""


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the agent. Everything the shell needs, nothing it has to know about the agent."""

    argv: tuple[str, ...]
    form: Form
    environment: dict[str, str] = {}
    """Added to, or replaced in, the environment of the run."""
    stdin: bytes | None = None
    """Fed to standard input, which is then closed; None: inherited. Only with inherited streams."""
    streams: Streams = Streams.INHERITED
    server: tuple[str, ...] = ()
    """With `Streams.RELAYED`: command line of the server; a message is a line on its standard streams."""
    relay: str = ""
    """With `Streams.RELAYED`: path of the Unix socket where the agent finds it; a message is a WebSocket
    frame there."""
    input_seconds: float | None = None
    """Driven, without a person: our standard input counts as empty if nothing comes for so long (0: it is
    not read at all). None: it is read to its end, however long that takes."""
    files: dict[str, bytes] = {}
    """Written into the run's private folder (`BridgeAddress.folder`) before the start, by relative name."""
    hooks: dict[str, Hook] = {}
    """Which hooks of ours the agent calls, by the name behind the address; others are refused. Empty: any."""
    mirrors: tuple[Mirror, ...] = ()
    """Made there first; ``files`` may lie inside."""
    bridged: bool = True
    """A first sign of life is expected (`AgentConnected`); without one the person is told."""
    lazy: bool = False
    """A server that loads what is ours with its first client: it may be silent until somebody comes."""
    whole_lines: bool = False
    """What it writes to a terminal, without a screen, are whole lines, so one of ours can be kept below them.
    Text that streams in pieces would lose characters where a row is full."""
    quiet: bool = False
    """Driven: standard error is kept back, and its end shown only if the agent fails."""
    remarks: tuple[str, ...] = ()
    """What the person must know about how far this launch is guarded."""


class BridgeAddress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where what we put inside the agent finds the supervisor, and the word that lets it in."""

    token: str
    unix: str = ""
    host: str = ""
    port: int = 0
    hooks: str = ""
    """Base URL for HTTP hooks, the token in it; append the hook's name. Only for `Hooked` adapters."""
    hook_command: tuple[str, ...] = ()
    """Command line of the hook client; append the hook's name. Only for `Hooked` adapters."""
    folder: str = ""
    """The run's private folder, where `LaunchPlan.files` are. Only for `Hooked` adapters."""
