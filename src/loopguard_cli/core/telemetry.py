"""Settings of the OTLP export, and what keeps its labels few.

A label that may take any value makes a metric of its own for each; one run with a thousand tools
would fill a whole fleet's store. So names pass through `Names`, which knows only so many.
"""

from __future__ import annotations

import msgspec

OTHER = "other"
"""What stands for every name beyond the known ones."""


class OtelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traces, metrics and logs over OTLP (needs the extra ``loopguard-cli[otel]``)."""

    enabled: bool = False
    """Export; where to is told by the usual variables (OTEL_EXPORTER_OTLP_ENDPOINT and relatives)."""
    endpoint: str = ""
    """Base address of the collector, instead of the variable; for example http://localhost:4318. Not taken
    from project files."""


class Names:
    """At most ``limit`` names; whatever comes after them is `OTHER`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """``name``, cut to 64 characters, while there is room for it."""
        name = name[:64] or OTHER
        if name not in self._known:
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(name)
        return name
