"""Runs the real OpenCode against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

PROVIDER = "scripted"
MODELS = ("scripted-1", "scripted-2")
"""The first is the default; the server answers to any name."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "SYSTEMROOT")

_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}

_NO_REGISTRY = {"npm_config_registry": "http://127.0.0.1:9/"}
"""OpenCode installs its plugin package at each start; nothing listens on the discard port."""


def configuration(base_url: str) -> dict[str, Any]:
    """An OpenCode configuration whose only provider is the scripted model at ``base_url``."""
    limit = {"context": 100_000, "output": 8_000}
    return {
        "$schema": "https://opencode.ai/config.json",
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Scripted",
                "options": {"baseURL": base_url, "apiKey": "none"},
                "models": {name: {"name": name, "limit": limit, "tool_call": True} for name in MODELS},
            }
        },
        "model": f"{PROVIDER}/{MODELS[0]}",
    }


def find(explicit: str | None = None) -> Path | None:
    """The OpenCode to use: ``explicit`` (a path or a name), else the one on PATH; None if there is none."""
    found = shutil.which(explicit or "opencode")
    return Path(found).absolute() if found else None


class Sandbox:
    """A home below ``root`` with a project in it, and the environment that keeps OpenCode in them.

    The provider stands in the global configuration file, as it would for a person, so that
    ``OPENCODE_CONFIG_CONTENT`` is free for others.
    """

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.config_file = self.home / ".config" / "opencode" / "opencode.json"
        self.config_file.parent.mkdir(parents=True)
        self.project.mkdir()
        self._config = configuration(base_url)
        self.configure({})

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the global configuration."""
        self._config.update(keys)
        self.config_file.write_bytes(msgspec.json.format(msgspec.json.encode(self._config)))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {**inherited, **_QUIET, **_NO_REGISTRY, "HOME": str(self.home), **(extra or {})}
