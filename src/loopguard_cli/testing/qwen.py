"""Runs the real Qwen Code against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

ASIDE = "^Managed memory"
"""How the requests begin in which it lets the model sum up what is worth remembering."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")


class Sandbox:
    """A home below ``root`` with a project in it, and the environment that keeps Qwen Code in them."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self._url = base_url
        self._settings: dict[str, Any] = {}

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's settings."""
        self._settings.update(keys)
        folder = self.home / ".qwen"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_bytes(msgspec.json.format(msgspec.json.encode(self._settings)))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        model = {"OPENAI_BASE_URL": self._url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        return {**inherited, **model, "HOME": str(self.home), **(extra or {})}
