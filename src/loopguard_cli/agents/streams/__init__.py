"""A program that prints what it does as JSON, one event a line, on its standard output (``--events``)."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.streams.adapter import CAPABILITIES, EventStream, Format

SURFACES = tuple(
    Surface(
        form=Form.ONE_SHOT,
        example=f"--events {known} -- ./my-agent",
        reached="its standard output is read along",
        capabilities=CAPABILITIES,
        remark="a loop is interrupted (SIGINT) and not continued; calls are seen, and not asked about",
    )
    for known in Format
)


def make(setup: Setup) -> Adapter:
    return EventStream(setup)
