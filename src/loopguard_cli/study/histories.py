"""All conversations that can be looked at afterwards: agents' histories, and traces of our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from loopguard_cli import history
from loopguard_cli.errors import InputError
from loopguard_cli.history import Conversation, Tally, Timed
from loopguard_cli.study.traces import Trace

TRACE = "trace"
"""The agent's name of a conversation that is a trace file of ours."""


def names() -> list[str]:
    """What ``Conversation.agent`` can be."""
    return [*history.READERS, TRACE]


def installed(home: Path, environ: Mapping[str, str]) -> Iterator[Conversation]:
    """The histories in the places where the agents keep them."""
    return history.installed(home, environ)


def find(path: Path) -> Iterator[Conversation]:
    """What lies in a file, or in a folder down to its bottom."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    for file in files:
        found = list(history.find(file))
        yield from found or _trace(file)


def events(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    """The events of one conversation, oldest first. Raises OSError when it cannot be read at all."""
    return (
        _trace_events(conversation, tally)
        if conversation.agent == TRACE
        else history.read(conversation, tally)
    )


def _trace_events(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    def damaged(_: InputError) -> None:
        tally.damaged += 1

    trace = Trace(conversation.path, damaged)
    started = trace.header().started or conversation.modified
    for moment in trace.moments():
        tally.records += 1
        for event in moment.events:
            yield Timed(started + moment.time, event)


def _trace(file: Path) -> Iterator[Conversation]:
    if file.suffix != ".jsonl" or not file.is_file():
        return
    try:
        Trace(file).header()
        stat = file.stat()
    except (InputError, OSError):
        return
    yield Conversation(agent=TRACE, path=file, modified=stat.st_mtime, size=stat.st_size)
