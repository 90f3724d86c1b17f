"""Settings that change while the agent runs: what tightens holds at once, what loosens waits for a person."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loopguard_cli.config.load import load_for
from loopguard_cli.core.effects import Effect, Record, Tell
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import RequestId
from loopguard_cli.core.records import GuardChanged
from loopguard_cli.core.settings import GuardSettings, Mode
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.runtime.reload import Reload


class Project:
    """A folder with a settings file, and a run in it."""

    def __init__(self, folder: Path, *assignments: str) -> None:
        self.file = folder / "loopguard.toml"
        self.environ = {"XDG_CONFIG_HOME": str(folder / "none")}
        self.goals: list[GoalSettings] = []
        loaded = load_for(folder, assignments=assignments, environ=self.environ)
        self.guard = loaded.settings.guard
        self.reload = Reload(
            folder, loaded, assignments=assignments, environ=self.environ,
            present=lambda: self.guard, goals=self.goals.append,
        )  # fmt: skip

    def write(self, text: str) -> Sequence[Event | Effect]:
        """Write the file; what a look then brings about, put in force as the hub would."""
        self.file.write_text(text)
        found = self.reload.look()
        for event in found:
            if isinstance(event, Asked):
                self._obey(event)
        return found

    def apply(self, surface: Surface = Surface.CLI) -> Event:
        meant = self.reload.meant(Asked(request=RequestId("r1"), operation="guard.apply", surface=surface))
        assert isinstance(meant, Asked)
        if surface is Surface.CLI:
            self._obey(meant)
        return meant

    def _obey(self, asked: Asked) -> None:
        assert asked.operation == "guard.settings"
        if "guard" in asked.arguments:
            self.guard = msgspec.convert(asked.arguments["guard"], GuardSettings)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def told(found: Sequence[Event | Effect]) -> str:
    return " ".join(effect.text for effect in found if isinstance(effect, Tell))


def records(found: Sequence[Event | Effect]) -> list[Any]:
    return [effect.record for effect in found if isinstance(effect, Record)]


def test_nothing_changed(project: Project) -> None:
    assert project.reload.look() == ()


def test_what_tightens_is_in_force_at_once(project: Project) -> None:
    found = project.write("[guard.calls]\nrepeat_threshold = 2\n")
    assert project.guard.calls.repeat_threshold == 2
    assert "in force" in told(found)
    (asked,) = [event for event in found if isinstance(event, Asked)]
    assert asked.surface is Surface.FILE
    assert project.reload.look() == ()


def test_what_loosens_waits_for_a_person(project: Project) -> None:
    found = project.write("[guard]\nmode = 'off'\n[guard.calls]\nrepeat_threshold = 2\n")
    assert (project.guard.mode, project.guard.calls.repeat_threshold) == (Mode.ON, 3)
    assert "guard.mode" in told(found)
    assert "loopguard config apply" in told(found)
    (record,) = records(found)
    assert isinstance(record, GuardChanged)
    assert (record.surface, record.accepted, record.detail) == ("file", False, "guard.mode")
    assert project.reload.look() == (), "and it is said once"
    project.apply()
    assert (project.guard.mode, project.guard.calls.repeat_threshold) == (Mode.OFF, 2)


@pytest.mark.parametrize("surface", [Surface.INSIDE, Surface.TOOL])
def test_the_agent_cannot_say_so(project: Project, surface: Surface) -> None:
    project.write("[guard]\nmode = 'off'\n")
    meant = project.apply(surface)
    assert isinstance(meant, Asked)
    assert (meant.surface, meant.operation, meant.arguments) == (surface, "guard.settings", {})


def test_the_terms_of_goals_wait_as_well(project: Project) -> None:
    found = project.write("[goal]\nmax_turns = 99\naudit = 'builtin'\n")
    assert "goal.max_turns, goal.audit" in told(found)
    assert project.goals == []
    project.apply()
    assert [goal.max_turns for goal in project.goals] == [99]


def test_a_broken_file_changes_nothing_and_says_where(project: Project) -> None:
    project.write("[guard.calls]\nrepeat_threshold = 2\n")
    found = project.write("[guard.calls]\nrepeat_threshold = 'many'\n")
    assert project.guard.calls.repeat_threshold == 2
    assert "loopguard.toml:2" in told(found)
    meant = project.apply()
    assert isinstance(meant, Asked)
    assert "loopguard.toml:2" in meant.arguments["error"]
    project.write("[guard.calls]\nrepeat_threshold = 2\nfrequency_threshold = 3\n")
    assert project.guard.calls.frequency_threshold == 3


def test_a_file_that_is_gone_loosens_what_it_had_tightened(project: Project) -> None:
    project.write("[guard.calls]\nrepeat_threshold = 2\n")
    project.file.unlink()
    assert "repeat_threshold" in told(project.reload.look())
    assert project.guard.calls.repeat_threshold == 2


def test_flags_stay_stronger_than_files(tmp_path: Path) -> None:
    project = Project(tmp_path, "guard.calls.repeat_threshold=5")
    project.write("[guard.calls]\nrepeat_threshold = 2\nfrequency_threshold = 3\n")
    assert (project.guard.calls.repeat_threshold, project.guard.calls.frequency_threshold) == (5, 3)


def test_a_mode_set_by_a_live_command_stays(project: Project) -> None:
    project.guard = msgspec.structs.replace(project.guard, mode=Mode.OBSERVE)
    project.write("[guard.calls]\nrepeat_threshold = 2\n")
    assert (project.guard.mode, project.guard.calls.repeat_threshold) == (Mode.OBSERVE, 2)


def test_other_events_pass_unchanged(project: Project) -> None:
    asked = Asked(request=RequestId("r1"), operation="guard.status")
    assert project.reload.meant(asked) is asked
