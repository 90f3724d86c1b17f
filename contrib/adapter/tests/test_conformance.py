"""The adapter on transcripts of the agent."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestExample(Conformance):
    transcripts = Path(__file__).parent / "transcripts"
