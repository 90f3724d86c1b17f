"""``loopguard eval``: measure the guard on labelled traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.core.settings import Preset

EXAMPLES = (
    "loopguard eval traces/",
    "loopguard eval traces/ --preset balanced --preset infinity --preset pi",
    "loopguard eval traces/ --set guard.calls.repeat_threshold=4 --json",
)


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of labelled traces (*.jsonl), or one trace.")
    ],
    presets: Annotated[
        list[Preset] | None,
        typer.Option("--preset", help="Preset to measure; repeatable, shown side by side."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Start from this settings file.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="As if this were set; repeatable."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=0, metavar="N", help="Processes to work with; 0: one per core.")
    ] = 0,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Report damaged traces and leave them out.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the guard on a folder of labelled traces.

    Prints recall by kind of loop, false alarms, delay and cost. An alarm is a block, abort or stop;
    nudges are counted apart. Settings of this folder and machine are left out of it.
    """
    import os

    from loopguard_cli.cli.render.evaluation import Progress, show, show_as_json
    from loopguard_cli.study.evaluate import Score, evaluate, find_traces, report
    from loopguard_cli.study.whatif import bare_settings

    chosen: list[Preset | None] = list(dict.fromkeys(presets or [])) or [None]
    guards = {}
    for preset in chosen:
        settings = bare_settings(config, preset, assignments or [])
        guards[settings.preset.value] = settings
    paths = find_traces(folder)
    scores: dict[str, list[Score]] = {name: [] for name in guards}
    damaged: list[str] = []
    with Progress(len(paths) * len(guards)) as progress:
        for name, result in evaluate(paths, guards, jobs or os.cpu_count() or 1):
            progress.step()
            if isinstance(result, Exception):
                if not keep_going:
                    raise result
                damaged.append(str(result))
            else:
                scores[name].append(result)
    for text in dict.fromkeys(damaged):
        typer.echo(f"loopguard: skipped: {text}", err=True)
    reports = [report(name, scores[name]) for name in guards]
    if as_json:
        show_as_json(reports, scores)
    else:
        show(reports)
