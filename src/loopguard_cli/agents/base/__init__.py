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

Each way has one home in `runtime.reach`: `bridges`, `hooks`, `pipes`, `relay`, `screen`.

Adapters, ours and those of other packages, import from here; the modules below divide the contract by
what it is about.
"""

from __future__ import annotations

from loopguard_cli.agents.base.adapter import Adapter, Auditing, Opened
from loopguard_cli.agents.base.bridged import Hello, Holding, Pong, Sync
from loopguard_cli.agents.base.hooked import Considering, Following, HookCall, Hooked
from loopguard_cli.agents.base.launching import (
    BridgeAddress,
    Form,
    Hook,
    LaunchPlan,
    Mirror,
    Setup,
    Streams,
)
from loopguard_cli.agents.base.orders import (
    CHILD,
    Answer,
    Choice,
    Follow,
    HookReply,
    Interrupt,
    Keys,
    Order,
    Outgoing,
    Question,
    Show,
    Shown,
    ToClient,
    Withdrawn,
    answer,
)
from loopguard_cli.agents.base.streams import (
    Concluding,
    Driven,
    OnTerminal,
    Overheard,
    Pinged,
    ReadsAlong,
    ReadsPictures,
    Relayed,
)

__all__ = [
    "CHILD",
    "Adapter",
    "Answer",
    "Auditing",
    "BridgeAddress",
    "Choice",
    "Concluding",
    "Considering",
    "Driven",
    "Follow",
    "Following",
    "Form",
    "Hello",
    "Holding",
    "Hook",
    "HookCall",
    "HookReply",
    "Hooked",
    "Interrupt",
    "Keys",
    "LaunchPlan",
    "Mirror",
    "OnTerminal",
    "Opened",
    "Order",
    "Outgoing",
    "Overheard",
    "Pinged",
    "Pong",
    "Question",
    "ReadsAlong",
    "ReadsPictures",
    "Relayed",
    "Setup",
    "Show",
    "Shown",
    "Streams",
    "Sync",
    "ToClient",
    "Withdrawn",
    "answer",
]
