"""Folders of the person's as an agent sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.agents.base import Mirror
from loopguard_cli.runtime.reach.private import PrivateFolder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The person's folder."""
    own = tmp_path / "own"
    (own / "extensions" / "theirs").mkdir(parents=True)
    (own / "settings.json").write_text("theirs")
    return own


@pytest.fixture
def private(own: Path, tmp_path: Path) -> PrivateFolder:
    private = PrivateFolder(tmp_path, "run")
    mirror = Mirror(folder=str(own), at="home/.agent", opened=("extensions",), written=("login.json",))
    private.mirror([mirror])
    private.write({"home/.agent/extensions/ours/manifest.json": b"{}"})
    return private


def test_what_is_there_is_seen_with_ours_beside(private: PrivateFolder) -> None:
    seen = private.path / "home/.agent"
    assert (seen / "settings.json").read_text() == "theirs"
    assert {entry.name for entry in (seen / "extensions").iterdir()} == {"theirs", "ours"}


def test_what_the_agent_writes_is_the_persons_at_once(private: PrivateFolder, own: Path) -> None:
    seen = private.path / "home/.agent"
    (seen / "settings.json").write_text("changed")
    (seen / "login.json").write_text("new")
    assert (own / "settings.json").read_text() == "changed"
    assert (own / "login.json").read_text() == "new"


def test_what_it_makes_or_replaces_is_given_back_at_the_end_and_ours_is_not(
    private: PrivateFolder, own: Path
) -> None:
    seen = private.path / "home/.agent"
    (seen / "sessions").mkdir()
    (seen / "sessions" / "one.jsonl").write_text("said")
    (seen / "settings.tmp").write_text("replaced")
    (seen / "settings.tmp").rename(seen / "settings.json")
    (seen / "extensions" / "fresh").mkdir()
    private.remove()
    assert (own / "sessions" / "one.jsonl").read_text() == "said"
    assert (own / "settings.json").read_text() == "replaced"
    assert {entry.name for entry in (own / "extensions").iterdir()} == {"theirs", "fresh"}
    assert not private.path.exists()


def test_a_folder_that_does_not_exist_is_begun(tmp_path: Path) -> None:
    private = PrivateFolder(tmp_path, "run")
    private.mirror([Mirror(folder=str(tmp_path / "new"), at="home/.agent", written=("settings.json",))])
    (private.path / "home/.agent/settings.json").write_text("first")
    private.remove()
    assert (tmp_path / "new" / "settings.json").read_text() == "first"
