"""Overlong strings: the bridge sends head, length and digest instead of the whole."""

from __future__ import annotations

from typing import Any, NamedTuple


class Text(NamedTuple):
    """A string as it arrived."""

    text: str
    """The whole string, or its head."""
    chars: int = -1
    """Length of the whole where ``text`` is only its head, else -1."""
    digest: str = ""


def text(value: Any) -> Text:
    """Read a string or its stand-in; anything else counts as empty."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, dict) and isinstance(value.get("$cut"), str):
        chars, digest = value.get("chars"), value.get("digest")
        return Text(
            value["$cut"], chars if isinstance(chars, int) else 0, digest if isinstance(digest, str) else ""
        )
    return Text("")


def plain(value: Any) -> Any:
    """Arguments with each stand-in replaced by one string that still tells equal from different."""
    if isinstance(value, dict):
        if "$cut" in value:
            cut = text(value)
            return f"{cut.text}… ({cut.chars} characters, sha256 {cut.digest})"
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def arguments(value: Any) -> dict[str, Any]:
    """Tool arguments; what is no object is wrapped."""
    read = plain(value)
    if read is None:
        return {}
    return read if isinstance(read, dict) else {"value": read}
