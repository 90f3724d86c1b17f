"""One session as one HTML page that needs nothing else: no network, no other file.

`model` is the plain data, `page` makes the text of it. The page works without its script (which
only filters), in light and dark, on paper, and read aloud.
"""

from __future__ import annotations

from loopguard_cli.report.model import HINTS, Alarm, Budget, Curve, Goal, Item, Kind, Report, Turn
from loopguard_cli.report.page import MARK, render

__all__ = ["HINTS", "MARK", "Alarm", "Budget", "Curve", "Goal", "Item", "Kind", "Report", "Turn", "render"]
