"""The detector families a panel is made of, besides the rules about calls (`detect.calls`).

Order matters only for findings of the same event: earlier ones come first.
"""

from __future__ import annotations

from loopguard_cli.detect.base import Family
from loopguard_cli.detect.responses import responses
from loopguard_cli.detect.text import streamed_text

TEXT_FAMILIES: tuple[Family, ...] = (streamed_text, responses)
"""Rules about what the assistant writes and thinks."""
