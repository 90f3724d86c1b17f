"""Agents whose streams we hold: driven, relayed, or on a terminal of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from loopguard_cli.agents.base.orders import Answer
from loopguard_cli.agents.tools import SlashCommand
from loopguard_cli.core.ids import SessionId


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
class Pinged(Protocol):
    """A `Driven` agent that answers at once, also in the midst of a turn, as long as it hears and speaks."""

    @property
    def name(self) -> str: ...

    def ping(self) -> Answer:
        """A question to which any answer will do; asked once it has a `Driven.session`."""


@runtime_checkable
class Overheard(Protocol):
    """A `Driven` agent whose other clients may take us for it."""

    def overheard(self, line: str) -> Answer:
        """Standard input, which is no terminal, begins with this line; it may not end for long."""


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
class ReadsPictures(Protocol):
    """An `OnTerminal` adapter that looks at what was drawn, and must not look while it is being drawn."""

    def drawn(self) -> Answer:
        """It has written nothing for `runtime.reach.screen.DRAWN_SECONDS`."""


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
