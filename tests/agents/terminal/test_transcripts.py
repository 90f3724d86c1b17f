"""The terminal adapter on what real agents drew on their screens."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestTerminal(Conformance):
    transcripts = Path(__file__).parents[1] / "transcripts" / "terminal"
