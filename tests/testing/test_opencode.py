import json
from pathlib import Path

import pytest

from loopguard_cli.testing.opencode import Sandbox, find


def test_nothing_of_the_caller_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", "{}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    environment = Sandbox(tmp_path, "http://127.0.0.1:1/v1").environment({"MINE": "1"})
    assert "secret" not in environment.values()
    assert "OPENCODE_CONFIG_CONTENT" not in environment
    assert "XDG_CONFIG_HOME" not in environment
    assert environment["MINE"] == "1"
    assert environment["HOME"].startswith(str(tmp_path))


def test_the_only_provider_is_ours(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, "http://127.0.0.1:1/v1")
    sandbox.configure({"autoupdate": False})
    config = json.loads(sandbox.config_file.read_text())
    provider, _, name = config["model"].partition("/")
    assert list(config["provider"]) == [provider]
    assert name in config["provider"][provider]["models"]
    assert config["provider"][provider]["options"]["baseURL"] == "http://127.0.0.1:1/v1"
    assert config["autoupdate"] is False


def test_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find() is None
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find() == program
    assert find(str(program)) == program
    assert find(str(tmp_path / "nothing")) is None
