"""What every adapter provides: how to launch one agent, how to read it, how to steer it.

An adapter is pure translation. It opens nothing, starts nothing and reads no clock: the shell hands
it what arrived and performs what it answers, so that every adapter can be tested without its agent.

There are five ways to reach an agent, and an adapter may use several at once:

=========  ======================================  ==================================================
bridged    `Adapter` (greet, receive, lost)        a shim inside the agent on our socket
hooked     `Hooked` (called)                       the agent calls hooks: HTTP, or a small shell client
driven     `Driven` (began, heard, typed, ...)     its standard streams are ours: JSON, one a line
relayed    `Relayed` (heard, joined, said, ...)    it talks to a server of its own, and we stand between
terminal   `OnTerminal` (printed)                  a pseudo-terminal of ours: text out, keys in
=========  ======================================  ==================================================

Each way has one home in `runtime`: `bridges`, `hooks`, `pipes`, `relay`, `screen`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from loopguard_cli.agents.tools import AgentTool, SlashCommand
from loopguard_cli.core.effects import Effect, Prompt, RunAudit
from loopguard_cli.core.events import Event
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.settings import Capabilities, Permissions
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
    tool_server: tuple[str, ...] = ()
    """Command line of an MCP server with ``tools``, for agents that take them no other way."""
    tool_environment: dict[str, str] = {}
    """For the environment of that server, and of nothing else: it holds the word that lets it in."""
    terminal: TerminalSettings = TerminalSettings()
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
    mirrors: tuple[Mirror, ...] = ()
    """Made there first; ``files`` may lie inside."""
    bridged: bool = True
    """A first sign of life is expected (`AgentConnected`); without one the person is told."""
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


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The first message of every bridge, whatever its agent."""

    protocol: int
    token: str
    pid: int = 0
    version: str = ""
    """The agent's own, where it says so that early."""
    reconnected: bool = False
    missed: int = 0
    """Messages that the bridge could not send while it was not connected."""


class Sync(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="sync"):
    """A bridge wants to know when everything that it said has been dealt with.

    Answered with its ``id``, behind all orders that followed from what came before it.
    """

    id: int


# --- what an adapter answers ------------------------------------------------------------------

CHILD = 0
"""The peer number of a driven agent's own standard streams."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a bridge, or, with the peer `CHILD`, for a driven agent's standard input."""

    peer: int
    message: dict[str, Any]


class HookReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one `HookCall`; a second one for the same call is dropped."""

    call: int
    body: dict[str, Any] | None = None
    """None: nothing to say, the agent goes on as without us."""
    code: int = 0
    """Exit status of a command hook."""
    text: str = ""
    """Standard error of a command hook."""


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """Typed into the agent's terminal, as by the person."""

    data: bytes
    pause: float = 0.0
    """Seconds to wait before; some agents take a text and the Enter behind it as one paste."""


class Interrupt(msgspec.Struct, frozen=True, kw_only=True):
    """SIGINT to an agent that can be told nothing else (`Streams.TAPPED`)."""


class Show(StrEnum):
    """What a piece of console output is."""

    TEXT = "text"
    """The assistant speaks; pieces follow each other on the same line."""
    REASONING = "reasoning"
    TOOL = "tool"
    """A call begins: one line."""
    RESULT = "result"
    """What came of it, one line or more."""
    NOTE = "note"
    """One line about the session."""
    PROMPT = "prompt"
    """What we sent to the agent in the person's place."""
    OUT = "out"
    """To standard output, verbatim: what the agent itself would have printed."""
    ERR = "err"
    """To standard error, verbatim."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Something for the person to see (driven agents)."""

    kind: Show
    text: str


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    label: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something for the person to decide; comes back by `Driven.chosen`, or is cancelled by the agent."""

    id: str
    text: str
    choices: tuple[Choice, ...]


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """A `Question` that needs no answer any more."""

    id: str


class Follow(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the agent appends to: tell what is appended from now on (`Following.appended`)."""

    path: str


class ToClient(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a client of a relayed server."""

    client: int
    message: dict[str, Any]


Outgoing = Order | HookReply | Keys | Interrupt | Shown | Question | Withdrawn | Follow | ToClient


class Answer(NamedTuple):
    """What something comes to: what goes out, and events that are known at once."""

    orders: tuple[Outgoing, ...] = ()
    events: tuple[Event, ...] = ()


def answer(parts: Iterable[Outgoing | Event]) -> Answer:
    """An `Answer` from a generator that yields what goes out and what is known, mixed."""
    orders: list[Outgoing] = []
    events: list[Event] = []
    for part in parts:
        if isinstance(part, Event):
            events.append(part)
        else:
            orders.append(part)
    return Answer(tuple(orders), tuple(events))


# --- the adapter ------------------------------------------------------------------------------


class Adapter(Protocol):
    """One agent. One instance serves one run."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities:
        """Of this launch, not of the agent in general."""

    @property
    def messages(self) -> Any:
        """The union of message types that its bridge sends after `Hello`, for `wire.ndjson.Decoder`."""

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        """The first start."""

    def relaunch(self, environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        """With ``respawn``: the invocation that goes on in ``prompt.session`` with ``prompt.text``."""

    def greet(self, peer: int, hello: Hello) -> Answer:
        """A bridge was let in. ``peer`` numbers the connection; orders are sent with the welcome."""

    def receive(self, peer: int, message: Any) -> Sequence[Event]:
        """What one message means."""

    def carry_out(self, effect: Effect) -> Answer:
        """What ``effect`` means to the agent. What cannot reach it is settled as failed at once."""

    def lost(self, peer: int, reason: str) -> Sequence[Event]:
        """The connection is gone; what it still owes is settled when the agent is back or gone."""

    def exited(self, code: int) -> Sequence[Event]:
        """The agent's process is gone. The code of the `AgentExited` among these is the run's."""


@runtime_checkable
class Opened(Protocol):
    """An agent that can be given its first prompt where the command line has none."""

    opening: str
    """Set before `Adapter.launch`; empty: there is none to give."""


@runtime_checkable
class Holding(Protocol):
    """A one-shot agent that our bridge keeps when its turn is over, until nothing more is wanted of it."""

    @property
    def holding(self) -> bool:
        """It waits for `release`, or for a prompt."""

    def release(self, end: bool) -> Answer:
        """Let it go on by itself; ``end``: the run is over, and it shall begin nothing more."""


@runtime_checkable
class Auditing(Protocol):
    """An agent that can verify a goal in a process of its own."""

    def auditor(self, environ: Mapping[str, str], audit: RunAudit) -> LaunchPlan | None:
        """The agent once more, able to read and to do nothing else; None: `Adapter.carry_out` does it."""

    def verdict(self, output: str) -> str:
        """What the auditor said, from the standard output of its process."""


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook; the agent waits for its `HookReply` (or gives up by itself)."""

    call: int
    hook: str
    """The name that the adapter appended to the address."""
    body: dict[str, Any]


@runtime_checkable
class Hooked(Protocol):
    """An agent that calls hooks of ours."""

    def called(self, call: HookCall) -> Answer:
        """A hook was called. Answer with `HookReply` now, or later out of `Adapter.carry_out`."""

    def hung_up(self, call: int) -> Sequence[Event]:
        """The agent waits no longer for the answer to this call."""


@runtime_checkable
class Considering(Protocol):
    """A `Hooked` agent whose hook may be answered by what a call brings about at once."""

    def considered(self, call: int) -> Answer:
        """All effects that followed at once from the events of `Hooked.called` were carried out."""


@runtime_checkable
class Following(Protocol):
    """An agent that writes down what it does in files that we read (`Follow`)."""

    def appended(self, path: str, data: bytes) -> Answer:
        """A followed file has grown by ``data``, which may end anywhere in a line."""


@runtime_checkable
class Driven(Protocol):
    """An agent whose standard streams are ours."""

    @property
    def speaks(self) -> Any:
        """The type of the lines on its standard output, for `wire.ndjson.Decoder`."""

    @property
    def commands(self) -> Sequence[SlashCommand]:
        """What the person can type to reach us instead of the agent."""

    @property
    def session(self) -> SessionId:
        """The session that the person talks to; empty before there is one."""

    @property
    def waiting(self) -> bool:
        """It does nothing and has nothing to do: no turn runs, no prompt is queued or being sent."""

    @property
    def finished(self) -> bool:
        """It can do nothing more for anybody, for example because it could not open a session."""

    def began(self) -> Answer:
        """The process runs."""

    def heard(self, message: Any) -> Answer:
        """One message came (a `speaks`, never `wire.ndjson.Malformed`)."""

    def typed(self, text: str) -> Answer:
        """The person entered a prompt; where standard input is no terminal, all of it, once, maybe empty."""

    def chosen(self, question: str, key: str) -> Answer:
        """The person decided; an empty ``key``: nobody can be asked."""

    def interrupted(self) -> Answer:
        """The person pressed ^C while a turn runs: stop it, and send nothing more by itself."""


@runtime_checkable
class Concluding(Protocol):
    """A `Driven` agent that has something to show when everything was said."""

    def concluded(self) -> Answer:
        """Its standard output is at its end."""


@runtime_checkable
class Relayed(Protocol):
    """An agent in two parts, a server and clients of it, that we stand between.

    Nothing passes by itself: what goes on to the other side is what these answer (`ToClient`, and
    `Order` with the peer `CHILD` for the server).
    """

    @property
    def speaks(self) -> Any:
        """The type of the server's messages."""

    def heard(self, message: Any) -> Answer:
        """One message of the server came (a `speaks`, never `wire.ndjson.Malformed`)."""

    def joined(self, client: int) -> Answer:
        """A client has connected."""

    def said(self, client: int, message: dict[str, Any]) -> Answer:
        """One message of a client came."""

    def parted(self, client: int) -> Answer:
        """A client is gone."""


@runtime_checkable
class OnTerminal(Protocol):
    """An agent on a pseudo-terminal that is read along."""

    def printed(self, data: bytes) -> Answer:
        """The agent wrote to its terminal (in the order written; the person has it already)."""

    def paused(self) -> Answer:
        """It has written nothing for a moment (`runtime.reach.screen.PAUSE_SECONDS`)."""


@runtime_checkable
class ReadsAlong(Protocol):
    """What an `OnTerminal` adapter may want to know besides, where the screen is all there is to read."""

    def sized(self, rows: int, columns: int) -> Answer:
        """The terminal has this size, or has it now."""

    def keyed(self, data: bytes) -> Answer:
        """The person typed; the agent gets it right after."""

    def still(self) -> Answer:
        """It has written nothing for `runtime.reach.screen.STILL_SECONDS`."""

    def missed(self, count: int) -> Answer:
        """It wrote more than could be read along: ``count`` bytes never came to `OnTerminal.printed`."""
