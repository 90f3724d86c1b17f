"""Runs the real Codex against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

KEY = "SCRIPTED_KEY"
_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")


class Sandbox:
    """A home below ``root`` with a trusted project in it, and the environment that keeps Codex in them."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self._file = self.home / ".codex" / "config.toml"
        self._file.parent.mkdir()
        provider = {"name": "Scripted", "base_url": base_url, "env_key": KEY, "wire_api": "responses"}
        self._config: dict[str, Any] = {
            "model": "scripted",
            "model_provider": "scripted",
            "sandbox_mode": "danger-full-access",
            "model_providers": {"scripted": provider},
            "projects": {str(self.project): {"trust_level": "trusted"}},
        }
        self.configure({})

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's configuration."""
        self._config.update(keys)
        self._file.write_text(tomli_w.dumps(self._config))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {**inherited, KEY: "none", "HOME": str(self.home), **(extra or {})}
