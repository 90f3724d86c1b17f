"""Settings that change while the agent runs.

A file may have been written by the agent itself, which nobody can tell on disk. So what tightens the
guard is put in force at once; what loosens it, or changes the terms of goals, waits for a person who
says so from outside (``loopguard config apply``). A broken file changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.config import sources
from loopguard_cli.config.load import Loaded, reload_for
from loopguard_cli.config.schema import Layer, Settings
from loopguard_cli.config.weaken import weakened
from loopguard_cli.core.effects import Effect, Level, Record, Tell
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import RequestId
from loopguard_cli.core.records import GuardChanged
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.core.wording import Wording
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.store.lines import Entry
from loopguard_cli.store.reading import read_state

LOOK_SECONDS = 2.0
"""Between looks at the files; one look costs a `stat` for each."""

APPLY = "guard.apply"
"""Put the files in force as they are now."""

SETTINGS = "guard.settings"
"""The operation of the hub that this becomes."""


class Reload:
    """Watches the files of one run."""

    def __init__(
        self,
        folder: Path,
        loaded: Loaded,
        *,
        assignments: Sequence[str],
        environ: Mapping[str, str],
        present: Callable[[], GuardSettings],
        goals: Callable[[GoalSettings], None],
    ) -> None:
        """``present``: the guard's settings now, live commands included. ``goals``: puts theirs in force."""
        self._folder = folder
        self._loaded = loaded
        self._assignments = assignments
        self._environ = environ
        self._present = present
        self._goals = goals
        self._paths = [path for _, path in sources.files(folder, environ)]
        self._stamps = sources.stamps(self._paths)

    def look(self) -> Sequence[Event | Effect]:
        """What is to be done about the files, if they have changed."""
        changed = sources.changed(self._paths, self._stamps)
        if not changed:
            return ()
        self._stamps = sources.stamps(self._paths)
        new, broken = self._read()
        if broken:
            return (_tell(broken),)
        guard = self._with_live(new)
        loosens = (*weakened(self._present(), guard), *_terms(self._loaded.settings, new.settings))
        if loosens:
            names = ", ".join(loosens)
            text = Wording(self._present().locale).loosens(changed[-1].name, names)
            refused = GuardChanged(
                operation=SETTINGS, surface=Surface.FILE.value, accepted=False, detail=names
            )
            return (Record(record=refused, sync=True), _tell(text))
        self._loaded = new
        if guard == self._present():
            return ()
        text = Wording(guard.locale).reloaded(changed[-1].name)
        return (_settings(RequestId("reload"), Surface.FILE, guard), _tell(text, Level.INFO))

    def meant(self, event: Event) -> Event:
        """A request to put the files in force, as the hub understands it; any other event as it is."""
        if not isinstance(event, Asked) or event.operation != APPLY:
            return event
        if event.surface not in (Surface.CLI, Surface.SLASH):
            return msgspec.structs.replace(event, operation=SETTINGS)  # refused there
        self._stamps = sources.stamps(self._paths)
        new, broken = self._read()
        if broken:
            return msgspec.structs.replace(event, operation=SETTINGS, arguments={"error": broken})
        guard = self._with_live(new)
        self._loaded = new
        self._goals(new.settings.goal)
        asked = _settings(event.request, event.surface, guard)
        return msgspec.structs.replace(asked, session=event.session)

    def _read(self) -> tuple[Loaded, str]:
        return reload_for(self._folder, self._loaded, assignments=self._assignments, environ=self._environ)

    def _with_live(self, new: Loaded) -> GuardSettings:
        """A mode that was set by a live command is stronger than any file."""
        guard, mode = new.settings.guard, self._present().mode
        if mode is self._loaded.settings.guard.mode:
            return guard
        return msgspec.structs.replace(guard, mode=mode)


def unsettled(state: Path, loaded: Loaded) -> list[str]:
    """Places (``file:line: key``) of settings that a run in this folder refused to take up and that no
    person has put in force since: they may be the agent's own doing, and hold from the next start on.

    Raises StoreError when the state folder cannot be used safely.
    """
    refused: dict[str, None] = {}
    for entry in read_state(state):
        record = entry.record if isinstance(entry, Entry) else None
        if isinstance(record, GuardChanged) and record.operation == SETTINGS:
            if record.accepted:
                refused.clear()
            elif record.surface == Surface.FILE:
                refused |= dict.fromkeys(record.detail.split(", "))
    origins = {key: origin for key, origin in loaded.origins.items() if origin.layer is Layer.PROJECT}
    return [f"{origin.place}: {key}" for key, origin in origins.items() if key in refused]


def _terms(old: Settings, new: Settings) -> list[str]:
    """The settings of goals that differ."""
    return [
        f"goal.{name}"
        for name in GoalSettings.__struct_fields__
        if getattr(old.goal, name) != getattr(new.goal, name)
    ]


def _settings(request: RequestId, surface: Surface, guard: GuardSettings) -> Asked:
    arguments: dict[str, Any] = {"guard": msgspec.to_builtins(guard)}
    return Asked(request=request, operation=SETTINGS, arguments=arguments, surface=surface)


def _tell(text: str, level: Level = Level.WARNING) -> Tell:
    return Tell(text=text, level=level, topic="guard.settings")
