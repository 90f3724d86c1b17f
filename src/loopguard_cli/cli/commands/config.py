"""``loopguard config``: show, change, describe and import settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from loopguard_cli.cli import live
from loopguard_cli.cli.lazy import epilog

EXAMPLES = (
    "loopguard config show",
    "loopguard config set guard.calls.repeat_threshold 4",
    "loopguard config set guard.preset pi --user",
    "loopguard config import .pi/loop-guard.json",
)

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="""Show, change and import settings.

    Values come, weakest first, from: defaults, the preset, the user file, the project files, the
    environment (LOOPGUARD_*), flags (--set), live commands.
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


class Shown(TypedDict):
    """One setting, as ``show --json`` prints it."""

    value: Any
    layer: str
    place: str


class FileRead(TypedDict):
    """One file, as ``path --json`` prints it."""

    layer: str
    path: str
    exists: bool


def _keys(incomplete: str) -> list[str]:
    from loopguard_cli.config import schema

    return [key for key in schema.leaves() if key.startswith(incomplete)]


Key = Annotated[
    str,
    typer.Argument(metavar="KEY", help="Dotted name of a setting.", autocompletion=_keys, show_default=False),
]
ToUser = Annotated[bool, typer.Option("--user", help="The user file, for all projects.")]
ToLocal = Annotated[
    bool, typer.Option("--local", help="The project's .loopguard/config.toml, not committed.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Show as if this were set; repeatable."),
]


@app.command(
    "show",
    short_help="Show values and where they come from.",
    epilog=epilog(
        (
            "loopguard config show",
            "loopguard config show guard.calls",
            "loopguard config show --changed",
        )
    ),
)
def show(
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="A setting or a section; all if left out.", autocompletion=_keys),
    ] = "",
    assignments: Assignments = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not at its default.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the settings in force in this folder, each with where it comes from."""
    from loopguard_cli.config.load import load_for

    loaded = load_for(_project(), assignments=assignments or ())
    for line in loaded.ignored:
        typer.echo(f"note: {line}", err=True)
    rows = _rows(loaded)
    if key:
        rows = [row for row in rows if row[0] == key or row[0].startswith(f"{key}.")]
        if not rows:
            raise _unknown(key)
    if changed:
        rows = [row for row in rows if row[2] != "default"]
    if as_json:
        typer.echo(_json({name: Shown(value=v, layer=layer, place=at) for name, v, layer, at in rows}))
        return
    shown = [(name, _shown(value), f"{layer} {at}".rstrip()) for name, value, layer, at in rows]
    widths = [max((len(row[n]) for row in shown), default=0) for n in (0, 1)]
    for name, value, origin in shown:
        typer.echo(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}")


@app.command(
    "set",
    short_help="Change one setting in a file.",
    epilog=epilog(
        (
            "loopguard config set guard.calls.repeat_threshold 4",
            "loopguard config set guard.preset pi --user",
            "loopguard config set guard.calls.ignore_tools sleep,wait",
        )
    ),
)
def set_value(
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="Lists as a,b; tables as name=value,name=value.")
    ],
    user: ToUser = False,
    local: ToLocal = False,
) -> None:
    """Change one setting, by default in the project's loopguard.toml.

    A live run takes it up within seconds, but what loosens its guard only with 'loopguard config apply'.
    """
    from loopguard_cli.config import schema, write
    from loopguard_cli.errors import ConfigError

    if not user and key in schema.PERSONAL:
        raise ConfigError(f"{key} is not taken from project files", "write it into your own with --user")
    path = _target(user=user, local=local)
    written = write.assign(path, key, value)
    typer.echo(f"{key} = {_shown(written)} ({path})")
    _tell_if_overridden(key, path)


@app.command(
    "unset",
    short_help="Take one setting out of a file.",
    epilog=epilog(("loopguard config unset guard.calls.repeat_threshold",)),
)
def unset(key: Key, user: ToUser = False, local: ToLocal = False) -> None:
    """Take one setting out of a file, so that a weaker source or the default holds again."""
    from loopguard_cli.config import schema, write

    path = _target(user=user, local=local)
    if write.remove(path, key):  # also what no version of ours knows
        typer.echo(f"{key} removed ({path})")
    elif schema.find(tuple(key.split("."))) is None and key not in schema.sections():
        raise _unknown(key)
    else:
        typer.echo(f"{key} is not set in {path}")


@app.command(
    "apply", short_help="Put the files in force in a live run.", epilog=epilog(("loopguard config apply",))
)
def apply(run: live.RunOption = "", as_json: AsJson = False) -> None:
    """Put the files in force in a live run, also where they loosen its guard.

    A run takes up by itself what tightens it. What loosens it waits for this word, which counts only from
    outside the agent.
    """
    live.show(live.ask(run, "guard.apply", {}), as_json=as_json)


@app.command("path", short_help="Show which files are read.", epilog=epilog(("loopguard config path",)))
def path(as_json: AsJson = False) -> None:
    """Show the files that are read for this folder, weakest first."""
    from loopguard_cli.config import sources

    found = [(layer.value, str(file), file.is_file()) for layer, file in sources.files(_project())]
    if as_json:
        typer.echo(_json([FileRead(layer=layer, path=file, exists=there) for layer, file, there in found]))
        return
    for layer, file, there in found:
        typer.echo(f"{layer:<12}  {file}{'' if there else '  (not there)'}")


@app.command(
    "schema",
    short_help="Print the JSON Schema of a settings file.",
    epilog=epilog(("loopguard config schema > loopguard.schema.json",)),
)
def schema() -> None:
    """Print the JSON Schema of a settings file, for editors that complete and check TOML."""
    from loopguard_cli.config.describe import json_schema

    typer.echo(_json(json_schema()))


@app.command(
    "import",
    short_help="Take over the settings of a replaced guard.",
    epilog=epilog(
        (
            "loopguard config import .pi/loop-guard.json --dry-run",
            "loopguard config import opencode.json",
        )
    ),
)
def import_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Its JSON file: .pi/loop-guard.json, opencode.json, …")
    ],
    user: ToUser = False,
    local: ToLocal = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the settings, write nothing.")] = False,
) -> None:
    """Take over the settings of pi-loop-guard or of OpenCode Infinity Loop Guard.

    The preset that behaves as the replaced guard did is set as well.
    """
    from loopguard_cli.config import importing, write

    imported = importing.read(file)
    if not dry_run:
        target = _target(user=user, local=local)
        write.put(target, imported.values)
        typer.echo(f"written to {target}:")
    for place, value in imported.values.items():
        typer.echo(f"  {'.'.join(place)} = {_shown(value)}")
    for note in imported.notes:
        typer.echo(f"  not taken over: {note}")


def _unknown(key: str) -> Exception:
    from loopguard_cli.config import schema
    from loopguard_cli.errors import ConfigError

    near = schema.near(key, [*schema.leaves(), *schema.sections()])
    return ConfigError(f"unknown setting {key!r}", near and f"did you mean {near!r}?")


def _project() -> Path:
    from loopguard_cli.store.paths import project_folder

    return project_folder(Path.cwd())


def _target(*, user: bool, local: bool) -> Path:
    from loopguard_cli.config import sources
    from loopguard_cli.errors import UsageError

    if user and local:
        raise UsageError("--user and --local exclude each other", "give one of them")
    if user:
        return sources.user_file()
    shared, own = (_project() / name for name in sources.PROJECT_FILES)
    return own if local else shared


def _rows(loaded: Any) -> list[tuple[str, Any, str, str]]:
    """Key, plain value, layer and place of every setting; a table has a row per key of its own."""
    import msgspec

    from loopguard_cli.config import schema

    rows = []
    for leaf in schema.leaves().values():
        value = schema.value_of(loaded.settings, leaf.key)
        names = [f"{leaf.key}.{name}" for name in value] if leaf.is_table else []
        plain = msgspec.to_builtins(value)
        for name in names or [leaf.key]:
            origin = loaded.origins.get(name)
            one = plain[name.removeprefix(f"{leaf.key}.")] if names else plain
            rows.append(
                (name, one, origin.layer.value if origin else "default", origin.place if origin else "")
            )
    return rows


def _tell_if_overridden(key: str, path: Path) -> None:
    from loopguard_cli.config.load import load_for

    origin = load_for(_project()).origins.get(key)
    if origin is not None and origin.source is not None and origin.source.name != str(path):
        typer.echo(f"note: {origin.place} ({origin.layer}) is stronger and stays in force", err=True)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    if isinstance(value, dict):
        return ",".join(f"{name}={one}" for name, one in value.items()) or "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)
