"""Runs the real Claude Code against a scripted model: offline, without a key, in folders of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

_KEY = "scripted-model-needs-no-key"
_APPROVED = 20
"""Claude Code remembers an approved key by so many of its last characters."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR")
_QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


def find(explicit: str | None = None) -> Path | None:
    """The Claude Code to use: ``explicit`` (a path or name), else the one on PATH; None if there is none."""
    found = shutil.which(explicit or "claude")
    return Path(found).absolute() if found else None


class Sandbox:
    """A home below ``root`` with a trusted project in it, and the environment that keeps Claude Code there.

    ``base_url`` is the scripted model's, as for an OpenAI client.
    """

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self._settings_file = self.home / ".claude" / "settings.json"
        self._settings_file.parent.mkdir()
        self._url = base_url.removesuffix("/v1")
        self._settings: dict[str, Any] = {
            "permissions": {
                "allow": ["Bash", "Edit", "Read", "Write"],
                "defaultMode": "default",
                "disableAutoMode": "disable",
            },
            "skipAutoPermissionPrompt": True,
        }
        self.configure({})
        self.trust(self.project)

    def trust(self, *folders: Path) -> None:
        """Leave the first-start questions answered, and these folders trusted; without any: none is."""
        state = {
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "hasResetAutoModeOptInForDefaultOffer": True,
            "customApiKeyResponses": {"approved": [_KEY[-_APPROVED:]]},
            "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in folders},
        }
        (self.home / ".claude.json").write_bytes(msgspec.json.encode(state))

    def configure(self, keys: Mapping[str, Any]) -> None:
        """Set top-level keys of the person's settings."""
        self._settings.update(keys)
        self._settings_file.write_bytes(msgspec.json.format(msgspec.json.encode(self._settings)))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment, with nothing of the caller's but where programs and the language are."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        model = {"ANTHROPIC_BASE_URL": self._url, "ANTHROPIC_API_KEY": _KEY}
        return {**inherited, **_QUIET, **model, "HOME": str(self.home), **(extra or {})}
