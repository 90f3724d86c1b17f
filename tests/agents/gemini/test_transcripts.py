"""The Gemini CLI adapter on transcripts of the real agent."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestGemini(Conformance):
    transcripts = Path(__file__).parents[1] / "transcripts" / "gemini"
