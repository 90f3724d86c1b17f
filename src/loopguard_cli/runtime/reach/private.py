"""The private folder of one run: the files that an agent is started with, and the pipes of its hooks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from loopguard_cli.agents.base import Mirror


class PrivateFolder:
    """Below ``parent`` (a folder of ours alone), or wherever the system keeps such things."""

    def __init__(self, parent: Path | None, run: str) -> None:
        if parent is None:
            self.path = Path(tempfile.mkdtemp(prefix="loopguard-"))
        else:
            self.path = parent / f"{run}.d"
            self.path.mkdir(mode=0o700)
        self._ours: set[Path] = set()
        self._mirrored: dict[Path, Path] = {}
        """The person's folder behind each folder that mirrors one."""

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write the files of a launch, by relative name; an earlier one of the same name is replaced."""
        for name, content in files.items():
            path = self.path / name
            self._ours |= {path, *path.parents}
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(content)

    def mirror(self, mirrors: Iterable[Mirror]) -> None:
        """Link to what is in folders of the person's. One that cannot be read is left out."""
        for mirror in mirrors:
            source, shown = Path(mirror.folder), self.path / mirror.at
            with suppress(OSError):
                source.mkdir(parents=True, exist_ok=True, mode=0o700)
                for name in mirror.opened:
                    self._link(source / name, shown / name)
                self._link(source, shown)
                for name in mirror.written:
                    if not (shown / name).is_symlink():
                        (shown / name).symlink_to(source / name)

    def remove(self) -> None:
        for shown, source in self._mirrored.items():
            self._give_back(shown, source)
        shutil.rmtree(self.path, ignore_errors=True)

    def _link(self, source: Path, shown: Path) -> None:
        shown.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._mirrored[shown] = source
        for entry in source.iterdir() if source.is_dir() else ():
            if not (shown / entry.name).is_symlink() and shown / entry.name not in self._mirrored:
                (shown / entry.name).symlink_to(entry)

    def _give_back(self, shown: Path, source: Path) -> None:
        """What is no link was made, or put in place of one, by the agent."""
        with suppress(OSError):
            for entry in shown.iterdir():
                if entry.is_symlink() or entry in self._ours or entry in self._mirrored:
                    continue
                with suppress(OSError, shutil.Error):
                    source.mkdir(parents=True, exist_ok=True, mode=0o700)
                    if entry.is_dir():
                        shutil.copytree(entry, source / entry.name, symlinks=True, dirs_exist_ok=True)
                    else:
                        shutil.move(entry, source / entry.name)
