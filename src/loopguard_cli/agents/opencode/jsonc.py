"""JSON with comments and trailing commas, as OpenCode's configuration allows it."""

from __future__ import annotations

import re

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def plain(text: str) -> str:
    """``text`` without comments and trailing commas; strings are left alone."""
    without = _COMMENT.sub(lambda m: m[1] or " ", text)
    return _COMMA.sub(lambda m: m[1] or "", without)
