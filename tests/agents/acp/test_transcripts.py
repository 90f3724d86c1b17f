"""The ACP adapter on transcripts of real agents."""

from __future__ import annotations

from pathlib import Path

from loopguard_cli.testing.conformance import Conformance


class TestAcp(Conformance):
    transcripts = Path(__file__).parents[1] / "transcripts" / "acp"
