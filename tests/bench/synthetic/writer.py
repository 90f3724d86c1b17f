"""The pen: writes one trace in the neutral format, in the words of one host."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from random import Random
from typing import Any

from tests.bench.synthetic import words
from tests.bench.synthetic.hosts import HOSTS, Host

CUT = 1_000
"""Characters of an output that a trace keeps."""

Asked = tuple[str, dict[str, Any], str, bool]
"""Tool, arguments, output, success."""


class Writer:
    """One trace in the making."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.host: Host = rng.choice(HOSTS)
        self.events: list[dict[str, Any]] = []
        self.loop_at: int | None = None
        self.kind = ""
        self.repeats: list[dict[str, Any]] = []
        self._timed = rng.random() < 0.8
        self._talks = rng.choice((0.0, 0.3, 0.6, 1.0))
        """How often something is said before a call."""
        self._style = rng.choice(("plain", "arrow", "pipe", "cat"))
        self._reasons = rng.random() < 0.2
        self._now = 0.0
        self._ids = 0
        self._streams = self._timed and rng.random() < 0.5

    # --- the bare events ---------------------------------------------------------------------

    def user(self, text: str = "", after: float = 4.0) -> None:
        self._pause(after)
        self._add(kind="user", text=text or self.rng.choice(words.TASKS))

    def end_turn(self) -> None:
        self._pause(0.1)
        self._add(kind="turn_end")

    def say(self, text: str, *, kind: str = "text") -> None:
        """Whole or in pieces, as the host delivers it; ``kind`` may be ``reasoning``."""
        if not self._streams and kind == "text":
            self._pause(1.5)
            self._add(kind="text", text=text)
            return
        at = 0
        while at < len(text):
            size = self.rng.randint(3, 14)
            self._pause(0.08)
            piece = text[at : at + size]
            self._add(kind="text_delta" if kind == "text" else "reasoning", text=piece)
            at += size

    def remark(self) -> None:
        """Perhaps say something, each time something else."""
        if self.rng.random() < self._talks:
            self.say(f"{self.rng.choice(words.REMARKS)[:-1]} in {words.symbol(self.rng)}.")

    def call(
        self, tool: str, args: dict[str, Any], output: str, *, ok: bool = True, seconds: float | None = None
    ) -> None:
        self.batch([(tool, args, output, ok)], seconds=seconds)

    def batch(self, calls: Iterable[Asked], seconds: float | None = None) -> None:
        """Sent off together, answered in the same order."""
        asked = list(calls)
        self._pause(self.rng.uniform(1.0, 4.0))
        names = []
        for tool, args, _, _ in asked:
            self._ids += 1
            names.append(f"call_{self._ids}")
            self._add(kind="tool_call", tool=tool, args=args, id=names[-1])
            self._pause(0.02)
        self._pause(self.rng.uniform(0.1, 0.9) if seconds is None else seconds, exact=True)
        for name, (tool, _, output, ok) in zip(names, asked, strict=True):
            self._add(
                kind="tool_result",
                tool=tool,
                id=name,
                ok=ok if self.host.flags_failure or ok else True,
                output=output[:CUT],
                output_sha=sha256(f"{ok}{output}".encode()).hexdigest()[:16],
                output_len=len(output),
            )

    def wait(self, seconds: float) -> None:
        self._pause(seconds, exact=True)

    def mark(self) -> None:
        """From here on a sensible person calls it a loop."""
        if self.loop_at is None:
            self.loop_at = len(self.events) - 1

    # --- in the host's words -----------------------------------------------------------------

    def reading(
        self, path: str, lines: list[str], start: int | None = None, count: int | None = None
    ) -> Asked:
        shown = words.numbered(lines, start or 1, self._style)
        return self.host.read, self.host.read_args(path, start, count), shown, True

    def read(self, path: str, lines: list[str], start: int | None = None, count: int | None = None) -> None:
        self.batch([self.reading(path, lines, start, count)])

    def running(self, command: str, output: str, ok: bool = True) -> Asked:
        described = f"{self.rng.choice(('Run', 'Execute', 'Try', 'Check'))} {command.split()[0]}"
        if not ok and not self.host.flags_failure:
            output = f"{output}\n[exit code 1]"
        return self.host.shell, self.host.shell_args(command, described), output, ok

    def running_again(self, asked: Asked) -> Asked:
        """The same call once more; what a host words anew each time is worded anew."""
        tool, args, output, ok = asked
        if "description" in args and tool == self.host.shell:
            verb = self.rng.choice(("Run", "Execute", "Try", "Check", "Repeat"))
            return (
                tool,
                args
                | {"description": f"{verb} it {self.rng.choice(('again', 'now', 'once more', 'first'))}"},
                output,
                ok,
            )
        return asked

    def shell(self, command: str, output: str, *, ok: bool = True, seconds: float | None = None) -> None:
        self.batch([self.running(command, output, ok)], seconds=seconds)

    def search(self, pattern: str, output: str, where: str = "") -> None:
        args = {self.host.pattern: pattern} | ({"path": where} if where else {})
        self.call(self.host.search, args, output)

    def listing(self, where: str, output: str) -> None:
        self.call(self.host.listing, {"path": where}, output)

    def edit(self, path: str, old: str, new: str, output: str = "", *, ok: bool = True) -> None:
        said = output or self.host.edited.format(path=path)
        self.call(self.host.edit, self.host.edit_args(path, old, new), said, ok=ok)

    def write(self, path: str, content: str, output: str = "") -> None:
        self.call(self.host.write, self.host.write_args(path, content), output or f"created {path}")

    # --- honest work -------------------------------------------------------------------------

    def look(self, steps: int) -> None:
        """``steps`` calls that only look, no two alike."""
        for _ in range(steps):
            self.remark()
            self._step(kinds=5)

    def work(self, steps: int) -> None:
        """``steps`` calls of ordinary work, no two alike."""
        for _ in range(steps):
            self.remark()
            if self._reasons and self.rng.random() < 0.3:
                self.say(f"{words.symbol(self.rng)} may be the cause; look there. ", kind="reasoning")
            self._step()

    def open(self) -> None:
        """A task, and the beginning of the work on it."""
        self.user(after=0.5)
        self.work(self.rng.randint(3, 9))

    def _step(self, kinds: int = 7) -> None:
        rng, path = self.rng, words.path(self.rng)
        match rng.randrange(kinds):
            case 0 | 1:
                self.read(path, words.code(rng, rng.randint(3, 40)))
            case 2:
                hits = [
                    f"{words.path(rng)}:{rng.randrange(400)}: {line}"
                    for line in words.code(rng, rng.randint(1, 6))
                ]
                self.search(words.symbol(rng), "\n".join(hits))
            case 3:
                self.listing(
                    path.rpartition("/")[0] + f"/{words.symbol(rng)}",
                    "\n".join(words.path(rng) for _ in range(4)),
                )
            case 4:
                self.shell(
                    f"git log --oneline -{rng.randint(2, 30)} -- {path}",
                    "\n".join(f"{words.hexadecimal(rng, 7)} {words.symbol(rng)}" for _ in range(3)),
                )
            case 5:
                self.edit(path, words.code(rng, 1)[0], words.code(rng, 1)[0] + f" // {rng.randrange(9999)}")
            case _:
                self.shell(f"wc -l {path}", f"{rng.randrange(900)} {path}")

    # --- inside ------------------------------------------------------------------------------

    def _pause(self, seconds: float, *, exact: bool = False) -> None:
        self._now += seconds if exact else self.rng.uniform(0.6, 1.4) * seconds

    def _add(self, **fields: Any) -> None:
        fields["t"] = round(self._now, 3) if self._timed else None
        self.events.append(fields)
