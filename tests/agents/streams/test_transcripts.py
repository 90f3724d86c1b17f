"""Event streams of real agents, and one of our own format."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestStreams(Conformance):
    transcripts = Path(__file__).parents[1] / "transcripts" / "stream"
