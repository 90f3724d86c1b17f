"""OpenCode: all sessions in one SQLite database, ``~/.local/share/opencode/opencode.db``.

The agent may be writing while we read. With a write-ahead log beside it the database is opened
read-only and SQLite's own locks keep the reading whole; without one nobody is writing, and it is
opened as immutable, so that reading leaves no files behind. Checked against 1.18.33.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.events import AgentConnected, Channel, FilesChanged
from loopguard_cli.history.base import Conversation, Tally, Timed
from loopguard_cli.history.building import Building

MAX_ROW_BYTES = 32 << 20

_SESSIONS = """
    SELECT s.id, s.time_updated, (SELECT count(*) FROM part WHERE part.session_id = s.id)
    FROM session AS s ORDER BY s.time_created
"""
_SESSION = "SELECT directory, parent_id, version, time_created FROM session WHERE id = ?"
_PARTS = """
    SELECT m.id, CAST(m.data AS BLOB), p.id, {data}, p.time_created
    FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id
    WHERE m.session_id = :session ORDER BY m.time_created, m.id, p.id
"""
"""As bytes: what is no text at all is then one damaged record, and need not be decoded twice."""
_DATA = "CAST(p.data AS BLOB)"
_SHORT_DATA = f"CASE WHEN length(p.data) <= :most THEN {_DATA} END"
"""Asking for the length reads everything once more, so it is asked only where something is too long."""
_BYTES_PER_PART = 2_000
"""For progress only: asking for the true size would read everything twice."""


class _Cache(msgspec.Struct, frozen=True):
    read: int = 0
    write: int = 0


class _Tokens(msgspec.Struct, frozen=True):
    total: int | None = 0
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()


class _Time(msgspec.Struct, frozen=True):
    created: float | None = 0
    completed: float | None = 0
    start: float | None = 0
    end: float | None = 0


class _Error(msgspec.Struct, frozen=True):
    name: str = ""


class _Message(msgspec.Struct, frozen=True, rename="camel"):
    role: str = ""
    time: _Time = _Time()
    agent: str | None = ""
    model_id: str | None = msgspec.field(default="", name="modelID")
    provider_id: str | None = msgspec.field(default="", name="providerID")
    tokens: _Tokens | None = None
    cost: float | None = None
    finish: str | None = ""
    error: _Error | None = None
    summary: Any = None


class _Metadata(msgspec.Struct, frozen=True):
    exit: Any = None


class _State(msgspec.Struct, frozen=True):
    status: str = ""
    input: dict[str, Any] | None = None
    output: str | None = ""
    error: str | None = ""
    metadata: _Metadata | None = None
    time: _Time | None = None


class _Part(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = ""
    synthetic: bool | None = False
    ignored: bool | None = False
    tool: str = ""
    call: str = msgspec.field(default="", name="callID")
    state: _State = _State()
    files: tuple[str, ...] = ()
    time: _Time | None = None


_message_decoder = msgspec.json.Decoder(_Message)
_part_decoder = msgspec.json.Decoder(_Part)
_ABORTED = "MessageAbortedError"
_MARKS = (b'{"type":"step-start"', b'{"reason":"tool-calls","type":"step-finish"')
"""How every other part begins: those that say nothing, and need not be decoded."""


def places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    data = environ.get("XDG_DATA_HOME", "").strip()
    folder = (Path(data) if data else home / ".local" / "share") / "opencode"
    named = environ.get("OPENCODE_DB", "").strip()
    return [folder, *([folder / named] if named and named != ":memory:" else [])]


def recognises(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0")


def find(place: Path) -> Iterator[Conversation]:
    for path in sorted(place.glob("opencode*.db")) if place.is_dir() else [place]:
        try:
            with closing(_open(path)) as database:
                rows = database.execute(_SESSIONS).fetchall()
        except (OSError, sqlite3.Error):
            continue  # not OpenCode's, or a version with other tables
        for session, updated, parts in rows:
            yield Conversation(
                agent="opencode",
                path=path,
                session=session,
                modified=updated / 1000,
                size=parts * _BYTES_PER_PART,
            )


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    made = Building(conversation.session)
    try:
        with closing(_open(conversation.path)) as database:
            for directory, parent, version, created in database.execute(_SESSION, (conversation.session,)):
                made.at(created / 1000)
                made.add(AgentConnected(agent="opencode", version=version or ""))
                made.seen(directory or "", parent or "")
            session = _Session(made)
            for row in _rows(database, conversation.session):
                session.take(row, tally)
                yield from made.take()
            session.end()
    except sqlite3.Error:
        # Cut short by a damaged page: what was read until here is good.
        tally.damaged += 1
    made.idle()
    yield from made.take()


def _rows(database: sqlite3.Connection, session: str) -> Iterator[tuple[Any, ...]]:
    """The parts of a session with their messages; no data for one that is longer than is read."""
    given = {"session": session, "most": MAX_ROW_BYTES}
    before = database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
    done = 0
    # What is read twice should be the same twice, though the agent goes on writing.
    database.execute("BEGIN")
    try:
        for row in database.execute(_PARTS.format(data=_DATA), given):
            yield row
            done += 1
    except sqlite3.DataError:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
        yield from islice(database.execute(_PARTS.format(data=_SHORT_DATA), given), done, None)


def _open(path: Path) -> sqlite3.Connection:
    wal = path.with_name(path.name + "-wal")
    live = wal.exists() and wal.stat().st_size > 0
    uri = path.absolute().as_uri() + ("?mode=ro" if live else "?mode=ro&immutable=1")
    database = sqlite3.connect(uri, uri=True, timeout=5)
    database.execute("PRAGMA query_only = 1")
    return database


class _Session:
    def __init__(self, made: Building) -> None:
        self._made = made
        self._id = ""
        self._message = _Message()
        self._spoke = False
        self._tools: list[_Part] = []
        """Tool parts of the message; calls of one step may have run side by side."""
        self._files: tuple[str, ...] = ()

    def take(self, row: tuple[Any, ...], tally: Tally) -> None:
        message_id, message, part_id, data, created = row
        tally.records += 1
        try:
            if message_id != self._id:
                self.end()
                # Should the message be damaged, its parts belong to nobody.
                self._id, self._message, self._spoke = message_id, _Message(), False
                self._begin(_message_decoder.decode(message))
            if data is not None:
                tally.bytes += len(data)
                if not data.startswith(_MARKS):
                    self._part(_part_decoder.decode(data), (created or 0) / 1000)
            elif part_id is not None:
                tally.oversized += 1
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
            tally.damaged += 1

    def _begin(self, message: _Message) -> None:
        self._message = message
        self._made.at((message.time.created or 0) / 1000)
        if message.role == "assistant":
            model = f"{message.provider_id}/{message.model_id}" if message.model_id else ""
            self._made.reply(
                self._id, model=model, agent=message.agent or "", summary=message.summary is True
            )

    def end(self) -> None:
        """The message is complete."""
        message, made = self._message, self._made
        if message.role != "assistant":
            return
        self._calls()
        if (tokens := message.tokens) is not None:
            made.usage(
                self._id,
                input=tokens.input,
                output=tokens.output,
                reasoning=tokens.reasoning,
                cache_read=tokens.cache.read,
                cache_write=tokens.cache.write,
                total=tokens.total or 0,
                cost=message.cost,
            )
        made.at((message.time.completed or 0) / 1000)
        error = message.error.name if message.error else ""
        if error:
            made.error(error, aborted=error == _ABORTED)
        made.finish(message.finish or "", error=error, aborted=error == _ABORTED)
        if message.summary is True:
            made.compacted()
        if error or message.finish not in ("tool-calls", "", None):
            made.idle()

    def _part(self, part: _Part, created: float) -> None:
        made = self._made
        match part.type if self._message.role else "":
            case "text" if self._message.role == "user":
                if part.text and not (part.synthetic or part.ignored or self._spoke):
                    self._spoke = True
                    made.user(self._id, part.text)
            case "text":
                made.at(_start(part.time) or created)
                made.text(part.text or "", synthetic=bool(part.synthetic))
            case "reasoning":
                made.at(_start(part.time) or created)
                made.text(part.text or "", channel=Channel.REASONING)
            case "tool":
                self._tools.append(part)
            case "patch":
                self._files += part.files
            case "compaction":
                made.compacted()
            case _:
                pass

    def _calls(self) -> None:
        """The step's calls, starts and ends in the order in which they happened."""
        moments = []
        for part in self._tools:
            state = part.state
            moments.append((_start(state.time), 0, part))
            if state.status in ("completed", "error"):
                moments.append((_end(state.time), 1, part))
        self._tools = []
        if len(moments) > 1:
            moments.sort(key=_when)
        for time, is_end, part in moments:
            self._made.at(time)
            if is_end:
                self._result(part)
            else:
                self._made.call(part.call, part.tool, part.state.input)
        if self._files:
            self._made.add(FilesChanged(session=self._made.session, files=self._files))
            self._files = ()

    def _result(self, part: _Part) -> None:
        state, failed = part.state, part.state.status == "error"
        code = state.metadata.exit if state.metadata else None
        self._made.result(
            part.call,
            (state.error if failed else state.output) or "",
            ok=not failed,
            exit_code=code if isinstance(code, int) else None,
        )


_when = itemgetter(0, 1)


def _start(time: _Time | None) -> float:
    """In seconds; a part has it in milliseconds."""
    return (time.start or 0) / 1000 if time else 0.0


def _end(time: _Time | None) -> float:
    return (time.end or 0) / 1000 if time else 0.0
