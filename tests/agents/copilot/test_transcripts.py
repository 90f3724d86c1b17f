"""The Copilot CLI adapter on transcripts of the real agent."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestCopilot(Conformance):
    transcripts = Path(__file__).parents[1] / "transcripts" / "copilot"
