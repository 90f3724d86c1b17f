"""Runs the real pi against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

PROVIDER = "scripted"
MODEL = "scripted-1"

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")
_QUIET = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}


def find(explicit: str | None = None) -> Path | None:
    """The pi to use: ``explicit`` (a path or a name), else the one on PATH; None if there is none."""
    found = shutil.which(explicit or "pi")
    return Path(found).absolute() if found else None


class Sandbox:
    """A home below ``root`` with a project in it, and the environment that keeps pi in them."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self._folder = self.home / ".pi" / "agent"
        self._folder.mkdir(parents=True)
        self.project.mkdir()
        model = {"id": MODEL, "contextWindow": 100_000, "maxTokens": 8_000}
        provider = {"baseUrl": base_url, "api": "openai-completions", "apiKey": "none", "models": [model]}
        self._write("models.json", {"providers": {PROVIDER: provider}})
        self._settings: dict[str, Any] = {"defaultProvider": PROVIDER, "defaultModel": MODEL}
        self.configure({})

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's settings."""
        self._settings.update(keys)
        self._write("settings.json", self._settings)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {**inherited, **_QUIET, "HOME": str(self.home), **(extra or {})}

    def _write(self, name: str, content: dict[str, Any]) -> None:
        (self._folder / name).write_bytes(msgspec.json.format(msgspec.json.encode(content)))
