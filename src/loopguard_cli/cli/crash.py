"""Crash reports: where our own code failed, with versions, and without a word of the user's content.

Exception messages and values can hold arguments, paths or text of the agent; so a report has the
types of the exceptions and the lines of code that they passed through, nothing else.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_PREFIX = "loopguard-crash-"


def write_report(error: BaseException) -> Path | None:
    """Write a report that only its owner can read; None if there is no place to write to."""
    text = render(error)
    for folder in (_state_folder(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=".txt", dir=folder)
        except OSError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return Path(name)
    return None


def reports() -> list[Path]:
    """The reports that are still there."""
    folder = _state_folder()
    return sorted(folder.glob(f"{_PREFIX}*.txt")) if folder.is_dir() else []


def render(error: BaseException) -> str:
    import platform
    import sys
    import traceback
    from importlib import metadata

    from loopguard_cli import __version__

    lines = [
        f"loopguard {__version__}",
        f"python {platform.python_version()} ({platform.python_implementation()})",
        f"platform {platform.platform()}",
        f"command {_command_name(sys.argv)}",
    ]
    for package in ("typer", "msgspec", "rich", "psutil", "pexpect"):
        try:
            lines.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{package} missing")
    current: BaseException | None = error
    while current is not None:
        lines += ["", f"{type(current).__module__}.{type(current).__qualname__}"]
        for frame in traceback.extract_tb(current.__traceback__):
            lines.append(f"  {_short(frame.filename)}:{frame.lineno} in {frame.name}")
            if "loopguard_cli" in frame.filename and frame.line:
                lines.append(f"    {frame.line}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n".join(lines) + "\n"


def _command_name(argv: list[str]) -> str:
    """The subcommand alone; everything after it may be content."""
    from loopguard_cli.cli.app import COMMANDS

    names = {entry.name for entry in COMMANDS}
    return next((word for word in argv[1:2] if word in names), "-")


def _short(filename: str) -> str:
    """From the package folder on, so that the user's folders do not show."""
    parts = Path(filename).parts
    for root in ("site-packages", "src"):
        if root in parts:
            return "/".join(parts[parts.index(root) + 1 :])
    return parts[-1]


def _state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (
        Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    ) / "loopguard"
