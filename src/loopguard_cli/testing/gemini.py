"""Runs the real Gemini CLI against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")


class Sandbox:
    """A home below ``root`` with a trusted project in it, and the environment that keeps Gemini CLI there.

    ``base_url`` is the scripted model's, as for an OpenAI client.
    """

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.folder = self.home / ".gemini"
        self.folder.mkdir()
        self._url = base_url.removesuffix("/v1")
        self._settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"name": "gemini-2.5-pro"},
        }
        self.configure({})
        (self.folder / "trustedFolders.json").write_bytes(
            msgspec.json.encode({str(self.project): "TRUST_FOLDER"})
        )

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's settings."""
        self._settings.update(keys)
        (self.folder / "settings.json").write_bytes(msgspec.json.format(msgspec.json.encode(self._settings)))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        model = {"GOOGLE_GEMINI_BASE_URL": self._url, "GEMINI_API_KEY": "scripted-model-needs-no-key"}
        return {**inherited, **model, "HOME": str(self.home), **(extra or {})}
