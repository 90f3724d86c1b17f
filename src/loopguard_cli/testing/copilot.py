"""Runs the real Copilot CLI against a scripted model: offline, without an account, in folders of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

MODEL = "scripted-1"

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")
_UNPACKED = "COPILOT_PKG_CACHE_HOME"


class Sandbox:
    """A home below ``root`` with a project in it, and the environment that keeps Copilot CLI in them.

    What it unpacks from its own program at its first start, which takes it seconds, is shared with the
    person's.
    """

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self._folder = self.home / ".copilot"
        self._folder.mkdir()
        self._url = base_url
        self._settings: dict[str, Any] = {}

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's settings."""
        self._settings.update(keys)
        (self._folder / "settings.json").write_bytes(msgspec.json.format(msgspec.json.encode(self._settings)))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        inherited[_UNPACKED] = os.environ.get(_UNPACKED) or str(_cache())
        model = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self._url,
            "COPILOT_MODEL": MODEL,
            "COPILOT_AUTO_UPDATE": "false",
        }
        return {**inherited, **model, "HOME": str(self.home), **(extra or {})}


def _cache() -> Path:
    """Where the person's Copilot CLI unpacks itself."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copilot"
