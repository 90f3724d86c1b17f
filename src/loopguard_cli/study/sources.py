"""From what a person names (a trace, a history, a session) to the report of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import mktime

from loopguard_cli.core.events import Event
from loopguard_cli.core.ids import NO_SESSION, SessionId
from loopguard_cli.core.measures import counted
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.errors import InputError
from loopguard_cli.history import NAMES, Conversation, Tally
from loopguard_cli.report import Report
from loopguard_cli.store.folder import reason
from loopguard_cli.store.redaction import Redactor
from loopguard_cli.study.hindsight import Hindsight
from loopguard_cli.study.histories import TRACE, events, find, installed
from loopguard_cli.study.replay import Found, replay
from loopguard_cli.study.retelling import retell
from loopguard_cli.study.traces import Trace

Told = tuple[int, float, Event, Sequence[Found]]


def report_of(
    conversation: Conversation, settings: GuardSettings, *, content: Redactor | None = None
) -> Report:
    """The report of one conversation. Raises InputError when it cannot be read."""
    path = conversation.path
    source = f"{path}#{conversation.session}" if conversation.session else str(path)
    tally = Tally()
    report = Report(title="", source=source, hypothetical=True)
    try:
        if conversation.agent == TRACE:
            report.hypothetical = not Trace(path).header().is_recording
            told = _trace(conversation, settings, tally)
        else:
            told = _history(conversation, settings, tally)
        report = retell(report, told, content=content)
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from error
    if not report.turns:
        raise InputError(f"{source}: no session in it")
    report.title = _title(conversation, report)
    missing = tally.damaged + tally.oversized
    if missing:
        left_out = counted(missing, "damaged or oversized record")
        report.notes.append(f"Left out of the source: {left_out}.")
    return report


def named(name: str, home: Path, environ: Mapping[str, str]) -> Conversation | None:
    """The conversation that a file or the beginning of a session's id means; the newest of several."""
    path, _, session = name.partition("#")
    if (file := Path(path).expanduser()).is_file():
        found = [one for one in find(file) if one.session.startswith(session)]
    else:
        found = [
            one
            for one in installed(home, environ)
            if name and (one.session.startswith(name) or name in one.path.stem)
        ]
    return max(found, key=lambda one: one.modified, default=None)


def newest_of(project: Path, home: Path, environ: Mapping[str, str]) -> Conversation | None:
    """The conversation that worked in a folder last."""
    from loopguard_cli.core.events import SessionSeen

    for conversation in sorted(installed(home, environ), key=lambda one: -one.modified):
        for index, timed in enumerate(events(conversation, Tally())):
            event = timed.event
            if isinstance(event, SessionSeen) and event.directory:
                if Path(event.directory) == project:
                    return conversation
                break
            if index > 100:
                break
    return None


def _trace(conversation: Conversation, settings: GuardSettings, tally: Tally) -> Iterator[Told]:
    def damaged(_: InputError) -> None:
        tally.damaged += 1

    # A trace without a date begins at midnight, so that its clock shows the time that has passed.
    begun = Trace(conversation.path).header().started or mktime((1970, 1, 2, 0, 0, 0, 0, 0, -1))
    found: dict[int, list[Found]] = {}
    for one in replay(conversation.path, settings, lambda _: None):
        found.setdefault(one.event, []).append(one)
    for moment in Trace(conversation.path, damaged).moments():
        for number, event in enumerate(moment.events, 1):
            last = number == len(moment.events)
            yield moment.index, begun + moment.time, event, found.get(moment.index, ()) if last else ()


def _history(conversation: Conversation, settings: GuardSettings, tally: Tally) -> Iterator[Told]:
    judges: dict[SessionId, Hindsight] = {}
    numbers = count()
    for time, event in events(conversation, tally):
        if event.session == NO_SESSION:
            yield next(numbers), time, event, ()
            continue
        judge = judges.get(event.session)
        if judge is None:
            judge = judges[event.session] = Hindsight(event.session, settings)
        index = next(numbers)
        yield index, time, event, [raised.found for raised in judge.take(index, time, event)]


def _title(conversation: Conversation, report: Report) -> str:
    if conversation.agent == TRACE:
        return f"Trace {conversation.path.stem}"
    folder = f" in {Path(report.project).name}" if report.project else ""
    return f"{NAMES.get(conversation.agent, conversation.agent)} session{folder}"
