"""The private folder of one run: the files that an agent is started with, and the pipes of its hooks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


class PrivateFolder:
    """Below ``parent`` (a folder of ours alone), or wherever the system keeps such things."""

    def __init__(self, parent: Path | None, run: str) -> None:
        if parent is None:
            self.path = Path(tempfile.mkdtemp(prefix="loopguard-"))
        else:
            self.path = parent / f"{run}.d"
            self.path.mkdir(mode=0o700)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write the files of a launch, by relative name; an earlier one of the same name is replaced."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(content)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
