"""Example, for loopguard. Imported with each table of agents, so it imports next to nothing."""

from __future__ import annotations

from loopguard_cli.agents import Known

EXAMPLE = Known(
    title="Example",
    module="loopguard_example.agent",
    programs=frozenset({"example-agent"}),
    packages=frozenset({"@example/agent"}),
    tested="1",
)
"""What the entry point names: how a command line is recognised, and where the adapter is."""
