"""What is typed on a terminal: by us, as a paste, and by the person, as far as it has to be understood."""

from __future__ import annotations

import re
from typing import NamedTuple

from loopguard_cli.agents.base import Keys
from loopguard_cli.core.terminal import InterruptKey

ENTER_SECONDS = 0.5
"""Between a paste and its Enter; several agents take what comes together as one paste."""

KEYS = {InterruptKey.ESCAPE: b"\x1b", InterruptKey.CONTROL_C: b"\x03"}

_PASTE = re.compile(rb"\x1b\[200~.*?(?:\x1b\[201~|\Z)", re.DOTALL)
# Arrow and function keys, mouse and focus reports, answers to the program's questions.
_REPORT = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[O][ -~]|[PX\]^_].*?(?:\x07|\x1b\\))", re.DOTALL)
_ENTER = re.compile(rb"\r|\n|\x1b\[13u")
_STOP = re.compile(rb"\x03|\x1b\Z|\x1b\[27u|\x1b\[99;5u")
_CLEARED = re.compile(rb"[\x03\x15]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Typed(NamedTuple):
    """What one portion of the person's keys comes to."""

    entered: bool
    """An Enter that was not part of a paste."""
    stop: bool
    """Escape or ^C."""
    draft: bool | None
    """Whether something typed waits for its Enter; None: as before."""


def understood(data: bytes) -> Typed:
    """The keys in ``data``. A terminal sends a key in one piece, and a lone Escape alone."""
    keys = _REPORT.sub(lambda found: found.group() if _special(found.group()) else b"", data)
    pasted = b"\x1b[200~" in data
    keys = _PASTE.sub(b"", keys)
    stop = _STOP.search(keys) is not None
    entered = _ENTER.search(keys) is not None
    rest = re.split(rb"[\r\n\x03\x15]|\x1b\[13u", keys)[-1]
    written = any(byte >= 0x20 and byte != 0x7F for byte in _STOP.sub(b"", rest))
    if written or (pasted and not entered):
        draft: bool | None = True
    else:
        draft = False if entered or _CLEARED.search(keys) else None
    return Typed(entered, stop, draft)


def _special(sequence: bytes) -> bool:
    return bool(_ENTER.fullmatch(sequence) or _STOP.fullmatch(sequence)) or sequence in (
        b"\x1b[200~",
        b"\x1b[201~",
    )


def prompt(text: str, *, bracketed: bool) -> tuple[Keys, Keys]:
    """``text`` and Enter. A program that does not ask for bracketed paste would take each line by itself."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n")).strip()
    if bracketed:
        pasted = b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~"
    else:
        pasted = " ".join(text.split()).encode()
    return Keys(data=pasted), Keys(data=b"\r", pause=ENTER_SECONDS)
