"""``loopguard replay``: feed a recorded trace through the guard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.core.settings import Preset

EXAMPLES = (
    "loopguard replay trace.jsonl",
    "loopguard replay trace.jsonl --preset pi --json",
    "loopguard replay trace.jsonl --set guard.calls.repeat_threshold=4",
)


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recording (run --record) or a neutral trace.")
    ],
    preset: Annotated[Preset | None, typer.Option(help="Use the rules of this preset.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use this settings file and no other.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="As if this were set; repeatable."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Report damaged lines and skip them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per finding.")] = False,
) -> None:
    """Feed a recorded trace through the guard and print what it would have done.

    Without --config the settings of this folder hold. No agent is started and nothing is written.
    """
    from loopguard_cli.study.replay import replay
    from loopguard_cli.study.whatif import bare_settings, folder_settings

    chosen = assignments or []
    if config is None:
        settings = folder_settings(Path.cwd(), preset, chosen)
    else:
        settings = bare_settings(config, preset, chosen)

    damaged: list[str] = []

    def skip(error: Exception) -> None:
        damaged.append(str(error))
        typer.echo(f"loopguard: skipped: {getattr(error, 'message', error)}", err=True)

    found = replay(file, settings, skip if keep_going else None)
    if as_json:
        import msgspec

        for one in found:
            typer.echo(msgspec.json.encode(one).decode())
        return
    from loopguard_cli.cli.render.replay import show

    show(list(found), damaged=len(damaged))
