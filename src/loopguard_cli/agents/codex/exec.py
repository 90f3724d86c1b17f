"""``codex exec``: driven by us through the agent's server, printing what it would have printed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    LaunchPlan,
    Setup,
    Show,
    Shown,
    Streams,
    answer,
)
from loopguard_cli.agents.codex.listening import Part
from loopguard_cli.agents.codex.options import Options
from loopguard_cli.agents.codex.printing import Json, Lines, Printer
from loopguard_cli.agents.codex.protocol import (
    RAW,
    Figures,
    Initialized,
    ItemOf,
    ThreadOf,
    Threads,
    Trouble,
    TurnOf,
    UsageOf,
    read,
    text_of,
)
from loopguard_cli.agents.codex.server import Returned, Server, _nothing, _send, capabilities
from loopguard_cli.agents.codex.thread import INTERRUPTED
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import AgentConnected, AgentExited, Event, Status, StatusChanged, Unparsed
from loopguard_cli.core.ids import NO_SESSION, SessionId
from loopguard_cli.wire import jsonrpc

WARNINGS = 100

_PROMPT = "person.1"
_OUTSIDE = "Not inside a trusted directory and --skip-git-repo-check was not specified.\n"
_OWN_WARNING = "`--dangerously-bypass-hook-trust`"
"""The agent warns about how we let our hook in."""


class Exec(Server):
    """One run of ``codex exec``."""

    def __init__(self, setup: Setup, options: Options) -> None:
        super().__init__(setup, options)
        self.capabilities = capabilities(screen=False, tools=bool(setup.tools))
        self.session = NO_SESSION
        self._printer: Printer = Json() if options.json else Lines(terminal=setup.interactive)
        self._version = ""
        self._prompt_text = options.prompt
        self._schema: Any = None
        self._ready = False
        """The prompt is whole."""
        self._prompted = False
        self._warnings: list[tuple[str, bool]] = []
        """Not yet printed; whether they are about the thread, and not about settings."""
        self._warned: Recent[str, None] = Recent(WARNINGS)
        """The agent repeats itself in each turn."""
        self._failed = False
        self._status = 0
        self._total = Figures()
        self._keeping = 0
        """How often the last message is being written to its file."""
        self._last = ""
        """The agent's latest message."""

    def launch(self, _environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        self._gate.command = address.hook_command
        options = self._options
        return LaunchPlan(
            argv=(*options.program, *options.server, "app-server"),
            form=Form.ONE_SHOT,
            streams=Streams.PIPED,
            quiet=True,
            whole_lines=True,
            # A prompt on the command line and a terminal: there is nothing to be read.
            input_seconds=0 if options.prompt and self._setup.keyboard else None,
        )

    # --- driven ------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return self._prompted and not self._keeping and not self._busy(self.session)

    @property
    def finished(self) -> bool:
        return self._failed

    def began(self) -> Answer:
        info = {"name": "codex_exec", "title": "loopguard", "version": __version__}
        params = {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        return Answer((self._request("initialize", params, self._initialized),))

    def typed(self, text: str) -> Answer:
        if text and self._options.prompt:
            self._prompt_text = f"{self._options.prompt}\n\n<stdin>\n{text}\n</stdin>"
        elif text:
            self._prompt_text = text
        self._ready = True
        return answer(self._start())

    def chosen(self, _question: str, _key: str) -> Answer:
        return Answer()

    def interrupted(self) -> Answer:
        thread = self._threads.get(self.session, None)
        return answer(self._interrupt(thread)) if thread is not None and thread.turn else Answer()

    def ping(self) -> Answer:
        """By a question that changes nothing and is answered from memory, also while a turn runs."""
        return Answer((self._request("thread/loaded/list", {}, _nothing),))

    def concluded(self) -> Answer:
        return answer(self._printer.concluded(self._last))

    def exited(self, code: int) -> Sequence[Event]:
        return [*self._gone(), AgentExited(code=code or self._status)]

    # --- opening -----------------------------------------------------------------------------

    def _initialized(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        initialized = read(result, Initialized)
        if initialized is None or error is not None:
            yield from self._cannot("be spoken to", error)
            return
        self._version = initialized.version
        yield AgentConnected(agent=self.name, version=self._version)
        yield _send(self._rpc.notification("initialized", {}))
        yield self._list_hooks(self._repository_first)

    def _repository_first(self) -> Iterator[Part]:
        """The program itself works outside of a repository only if it is told to."""
        if self._options.skip_git:
            yield from self._schema_first()
            return
        folder = PurePosixPath(self._options.folder(self._setup.directory))
        unseen = {str(place / ".git") for place in (folder, *folder.parents)}
        found: list[str] = []

        def looked(path: str) -> Returned:
            def seen(_result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
                unseen.discard(path)
                if error is None:
                    found.append(path)
                if not unseen:
                    yield from self._schema_first() if found else self._outside()

            return seen

        for path in sorted(unseen):
            yield self._request("fs/getMetadata", {"path": path}, looked(path))

    def _outside(self) -> Iterator[Part]:
        self._failed, self._status = True, 1
        yield Shown(kind=Show.ERR, text=_OUTSIDE)
        yield StatusChanged(status=Status.IDLE)

    def _schema_first(self) -> Iterator[Part]:
        if not self._options.schema:
            yield from self._open()
            return
        path = str(PurePosixPath(self._setup.directory) / self._options.schema)
        yield self._request("fs/readFile", {"path": path}, self._schema_read)

    def _schema_read(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        try:
            self._schema = msgspec.json.decode(b64decode(str(result["dataBase64"])))
        except (TypeError, KeyError, ValueError):
            yield from self._cannot(f"read the schema {self._options.schema}", error)
            return
        yield from self._open()

    def _open(self) -> Iterator[Part]:
        options = self._options
        if options.resume:
            yield self._resume(SessionId(options.resume))
        elif options.resume_last:
            where = {} if options.everywhere else {"cwd": options.folder(self._setup.directory)}
            yield self._request("thread/list", {"limit": 1, **where}, self._listed)
        else:
            yield self._request("thread/start", self._thread_settings(), self._opened)

    def _thread_settings(self) -> dict[str, Any]:
        settings = self._options.thread(self._setup.directory) | RAW
        settings["config"] = self._gate.settings()
        if tools := self._tools.offered():
            settings["dynamicTools"] = tools
        return settings

    def _resume(self, session: SessionId) -> Part:
        settings = {**self._thread_settings(), "threadId": session, "excludeTurns": True}
        settings.pop("dynamicTools", None)
        return self._request("thread/resume", settings, self._opened)

    def _listed(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        threads = read(result, Threads)
        if threads is None or not threads.data:
            yield from self._cannot("find a session to resume", error)
        else:
            yield self._resume(threads.data[0].id)

    def _opened(self, result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        opened = read(result, ThreadOf)
        if opened is None or error is not None:
            yield from self._cannot("open a session", error)
            return
        self.session = opened.thread.id
        yield from self._thread_started(opened)
        yield from self._printer.opened(opened, self._version, opened.thread.cwd)
        yield from self._start()

    def _takes_ephemeral(self, thread: SessionId) -> bool:
        return self._options.ephemeral and thread == self.session

    def _start(self) -> Iterator[Part]:
        if not self._ready or self.session == NO_SESSION or self._prompted:
            return
        if not self._prompt_text:
            yield from self._cannot("begin: no prompt was given", None)
            return
        self._prompted = True
        yield from self._printer.prompted(self._prompt_text, ours=False)
        yield from self._warn()
        images = [
            {"type": "localImage", "path": str(PurePosixPath(self._setup.directory) / image)}
            for image in self._options.images
        ]
        params: dict[str, Any] = {
            "threadId": self.session,
            "input": [*images, {"type": "text", "text": self._prompt_text}],
            "clientUserMessageId": _PROMPT,
        }
        if self._schema is not None:
            params["outputSchema"] = self._schema
        yield from self._start_turn(self.session, params, self._begun)

    def _begun(self, _result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        if error is not None:
            yield from self._cannot("begin", error)

    def _cannot(self, what: str, error: jsonrpc.Failure | None) -> Iterator[Part]:
        self._failed, self._status = True, 1
        why = f": {error.message}" if error is not None and error.message else ""
        yield Shown(kind=Show.ERR, text=f"Error: the agent cannot {what}{why}\n")
        yield StatusChanged(session=self.session, status=Status.IDLE)

    # --- what is printed ---------------------------------------------------------------------

    def _notified(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        yield from super()._notified(method, params)
        if method in ("warning", "configWarning"):
            text = params.get("message", params.get("summary"))
            if isinstance(text, str) and not text.startswith(_OWN_WARNING) and text not in self._warned:
                self._warned[text] = None
                self._warnings.append((text, method == "warning"))
            yield from self._warn()
        elif params.get("threadId") == self.session:
            yield from self._print(method, params)

    def _warn(self) -> Iterator[Part]:
        """Warnings come behind the prompt, however early they are known."""
        if self._prompted:
            for text, of_thread in self._warnings:
                yield from self._printer.warned(text, of_thread=of_thread)
            self._warnings.clear()

    def _print(self, method: str, params: dict[str, Any]) -> Iterator[Part]:
        match method:
            case "turn/started" if read(params, TurnOf):
                yield from self._printer.turn()
            case "item/started" | "item/completed" if of := read(params, ItemOf):
                yield from self._print_item(of, began=method == "item/started")
            case "thread/tokenUsage/updated" if usage := read(params, UsageOf):
                self._total = usage.token_usage.total
            case "error" if trouble := read(params, Trouble):
                yield from self._printer.failed(trouble.error.message, retry=trouble.will_retry)
            case "turn/completed" if done := read(params, TurnOf):
                failure = done.turn.error.message if done.turn.error is not None else ""
                interrupted = done.turn.status == INTERRUPTED
                failed = done.turn.status == "failed"
                self._status = int(failed or interrupted)
                failure = (failure or "the turn failed") if failed else ""
                yield from self._printer.completed(self._total, failure, interrupted=interrupted)
                yield from self._keep_last()

    def _print_item(self, of: ItemOf, *, began: bool) -> Iterator[Part]:
        item = of.item
        if item.type == "userMessage":
            if began and (item.client_id or "") in self._sent:
                yield from self._printer.prompted(text_of(item.content), ours=True)
        elif began:
            yield from self._printer.began(item)
        else:
            if item.type == "agentMessage":
                self._last = item.text or ""
            yield from self._printer.ended(item)

    def _keep_last(self) -> Iterator[Part]:
        if self._options.last_message:
            path = str(PurePosixPath(self._setup.directory) / self._options.last_message)
            data = b64encode(self._last.encode()).decode()
            self._keeping += 1
            yield self._request("fs/writeFile", {"path": path, "dataBase64": data}, self._kept)

    def _kept(self, _result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
        self._keeping -= 1
        yield StatusChanged(session=self.session, status=Status.IDLE)
        if error is not None:
            text = f"Failed to write last message file {self._options.last_message}: {error.message}\n"
            yield Shown(kind=Show.ERR, text=text)

    # --- what it asks ------------------------------------------------------------------------

    def _asked(self, request: int | str, method: str, _params: dict[str, Any]) -> Iterator[Part]:
        """Nobody is here to ask, as in the agent's own ``exec``."""
        if method.endswith("/requestApproval"):
            yield _send(self._rpc.result(request, {"decision": "decline"}))
        elif method == "mcpServer/elicitation/request":
            yield _send(self._rpc.result(request, {"action": "decline"}))
        else:
            yield _send(self._rpc.failure(request, jsonrpc.METHOD_NOT_FOUND, f"no {method} here"))
            yield Unparsed(native=f"request {method}"[:100])
