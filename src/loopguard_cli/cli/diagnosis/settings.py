"""Whether the settings of this folder are valid, and what is not at its default."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.config import sources
from loopguard_cli.config.load import load_for
from loopguard_cli.core.settings import Mode
from loopguard_cli.errors import ConfigError


def settings(project: Path) -> Iterator[Diagnosis]:
    read = [str(path) for _, path in sources.files(project) if path.is_file()]
    text = f"read: {', '.join(read)}" if read else "no settings file; defaults hold"
    yield Diagnosis(area="settings", level=Level.OK, text=text)
    try:
        loaded = load_for(project)
    except ConfigError as error:
        yield Diagnosis(
            area="settings", level=Level.PROBLEM, text=error.message,
            advice=error.hint or "correct it; 'loopguard config show' tells when it is right",
        )  # fmt: skip
        return
    for key, origin in sorted(loaded.origins.items()):
        place = f"{origin.layer} {origin.place}".rstrip()
        yield Diagnosis(area="settings", level=Level.OK, text=f"{key} is set by {place}")
    if loaded.settings.guard.mode is not Mode.ON:
        yield Diagnosis(
            area="settings", level=Level.WARNING,
            text=f"the guard's mode is {loaded.settings.guard.mode}: loops are not stopped",
            advice="'loopguard config set guard.mode on', once you trust it",
        )  # fmt: skip
