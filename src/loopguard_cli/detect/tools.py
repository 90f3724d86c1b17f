"""What kind of thing a tool call does, judged from names that agents and MCP servers use.

Only outcome-aware rules look here. A wrong guess costs sensitivity, not safety: what is not known
to be harmless reading counts as something that may change the world.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any


class Kind(Enum):
    """What a call does, as far as its name and arguments tell."""

    READ = "read"
    """Looks at something; equal calls give equal answers while nothing changes."""
    EDIT = "edit"
    """Changes a file. Sent twice it is either a mistake or does nothing."""
    MOVE = "move"
    """Moves through something (scroll, click, next page): equal calls are how one gets along."""
    WAIT = "wait"
    """Lets time pass, or asks how something is getting on."""
    NOTE = "note"
    """Thinking, to-do lists: changes nothing outside the agent."""
    DELEGATE = "delegate"
    """Gives a task to a sub-agent; what it reports never has the same words twice."""
    ACT = "act"
    """Anything else: may change the world."""
    IDLE = "idle"
    """A command that does nothing at all, or only says something."""


READ, EDIT, MOVE, WAIT, NOTE, DELEGATE, ACT, IDLE = Kind
"""By themselves, since Python 3.11 takes its time to find them in the class, and each call is asked many
times what it does."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SEPARATORS = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_SHELL_NAMES = frozenset(
    ["bash", "sh", "shell", "powershell", "terminal", "exec", "command", "cmd", "console", "zsh"]
)
_COMMAND_FIELDS = ("command", "cmd", "script", "input")
_GIVEN = frozenset(["-c", "-lc", "-ic", "/c", "-Command"])
"""What hands a shell its command as one word."""
_QUOTED = re.compile(r"`([^`]+)`\s*\Z")
"""A command told among other words, as transcripts do."""

_LOOKING = _set(
    "read cat view open grep glob find search ls list dir tree fetch webfetch browse get query recall lookup "
    "show stat head tail diff log output ask question screenshot snapshot"
)

_DELEGATING = _set("subagent delegate spawn handoff")

_WORDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    (WAIT, _set("wait sleep poll status watch monitor progress heartbeat")),
    (DELEGATE, _DELEGATING),
    (NOTE, _set("think thought todo todos todowrite todoread plan")),
    (
        EDIT,
        _set("edit multiedit write patch replace insert create append rename delete remove update"),
    ),
    (MOVE, _set("scroll click press swipe tap key type hover drag next goto step walk turn advance")),
    (READ, _LOOKING),
)

_UNDER_WAY = _set("task tasks job jobs run runs build builds deployment deployments pipeline queue")
_VERBS = _set("run build queue")
"""Those of them that are what is to be done where they come first."""

_GIVING = _set("task agent new run execute start launch dispatch assign")
"""A task (or an agent) and nothing but these words: it is given to somebody. Others are kept lists."""

_PAGING = _set("scroll page next goto advance")
_SCREENS = _set("terminal console process")
_FILES = _set("file files dir directory folder path item items")

_TYPING = frozenset(["send", "input"])
_TYPED_FIELDS = ("chars", "input", "data", "text", "keys", "content")

_ACTION_FIELDS = ("action", "command", "operation", "op", "mode")
_WAITING_ACTIONS = _set("poll wait status log logs tail check sleep output")
_VIEWING_ACTIONS = _set("view read list get show search screenshot snapshot")
_MOVING_ACTIONS = _set(
    "scroll click left_click right_click double_click mouse_move key type press swipe tap drag hover next"
    " step step_over step_into step_out continue"
)

_WAITING_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:sleep\s+[\d.$]|wait(?:\s|$|;)|watch\s|tail\s+-[a-zA-Z]*[fF]|timeout\s+\d+\s+tail"
    r"|gh\s+(?:run|pr\s+checks)|kubectl\s+(?:get|rollout|wait|describe|logs)|docker\s+(?:ps|logs|inspect)"
    r"|docker[ -]compose\s+(?:ps|logs)|systemctl\s+(?:status|is-active)|journalctl|squeue|sacct"
    r"|pgrep|nvidia-smi|ps\s+[-a]|jobs(?:\s|$))"
)
_PAUSING_COMMAND = re.compile(r"(?:^|[\s;&|(])(?:sleep\s+[\d.$]|wait(?:\s|$|;))")
_PAUSING = _set("wait sleep")
_POLLED_URL = re.compile(r"\bcurl\b.*(?:health|ready|alive|status|jobs?/|progress|localhost|127\.0\.0\.1)")
_REDIRECT = re.compile(r">>?\s*(?!&|/dev/null)\S")
_SEGMENT = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_IDLE_COMMAND = re.compile(
    r"(?:true|:|(?:echo|printf)(?:\s[^$`]*)?|cat(?:\s+/dev/null)?|pwd|cd(?:\s+\S+)?)?\s*$"
)
_WRITING_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:sed\s+(?:-\w+\s+)*-i|mv\s|cp\s|rm\s|mkdir\s|touch\s|ln\s|chmod\s|patch\s|apply_patch"
    r"|git\s+(?:add|commit|checkout|switch|restore|apply|stash|merge|rebase|reset|pull|mv|rm|cherry-pick)"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|remove|ci)\b|(?:pip3?|uv|poetry|cargo|go|gem|apt(?:-get)?|brew)"
    r"\s+(?:pip\s+)?(?:install|add|remove|get|sync)\b)"
)
_TEEING_COMMAND = re.compile(
    r"(?:^|[;&|(]\s*)(?:echo|printf|cat)\b[^|;&]*\|\s*(?:sudo\s+)?tee\s|^\s*(?:sudo\s+)?tee\s"
)
"""It writes what is in the command; behind other programs ``tee`` only keeps what they say."""
_READING_COMMAND = re.compile(
    r"(?:\w+=\S*\s+)*(?:sudo\s+)?(?:ls|cat|head|tail|less|more|grep|egrep|rg|ag|find|fd|wc|pwd|echo|printf|which"
    r"|type|whereis|stat|file|du|df|ps|env|printenv|date|whoami|id|uname|hostname|test|\[|true|false|:|awk|sort|uniq"
    r"|cut|tr|jq|yq|tree|diff|cmp|md5sum|sha256sum|xxd|od|strings|nl|column|readlink|realpath|basename|dirname|cd"
    r"|sleep|wait|seq|sed\s+-n|git\s+(?:status|log|diff|show|branch|remote|rev-parse|ls-files|blame|grep|describe)"
    r"|gh\s+(?:run|pr|issue)\s+(?:view|list|checks|status|watch)|kubectl\s+(?:get|describe|logs)|docker\s+(?:ps|logs)"
    r"|git\s+(?:reflog|rev-list|cat-file|ls-tree|shortlog|merge-base|config\s+(?:--get|--list|-l)|tag\s*$)"
    r"|(?:npm|pnpm|yarn)\s+(?:ls|list|view|why|outdated)|pip3?\s+(?:list|show|freeze)|go\s+(?:list|env)"
    r"|cargo\s+(?:tree|metadata)|nproc|arch|lscpu|getent|locale|lsof"
    r"|curl|wget\s+-qO-|ping|nslookup|dig|history|man|help|[\w./-]+\s+(?:--version|-v|-V|--help|version)\s*$)(?:\s|$)"
)


@lru_cache(maxsize=512)
def _words(name: str) -> tuple[str, ...]:
    """The words of a tool's own name, without the server or extension it comes from."""
    own = name.rpartition("__")[2] or name
    return tuple(word for word in _SEPARATORS.split(_CAMEL.sub("_", own).lower()) if word)


@lru_cache(maxsize=512)
def _by_name(tool: str) -> Kind | None:
    ordered = _words(tool)
    words = frozenset(ordered)
    if words & _LOOKING and words & (_SHELL_NAMES | _SCREENS):
        # "read_terminal", "BashOutput": a look at what a command prints meanwhile.
        return WAIT
    if words & _SHELL_NAMES:
        return None
    if words & _UNDER_WAY and words & _LOOKING and ordered[0] not in _VERBS:
        # "task_list", "get_job": a look at something that goes on elsewhere.
        return WAIT
    if "move" in words and not words & _FILES:
        # A character in a game, a pointer, a robot; "move_file" is another matter.
        return MOVE
    if words & {"task", "agent"}:
        if words <= _GIVING:
            return DELEGATE
        if "task" in words and not words & _DELEGATING:
            return NOTE
    return next((kind for kind, names in _WORDS if words & names), ACT)


def is_paging(tool: str) -> bool:
    """It shows another part of something."""
    return not _PAGING.isdisjoint(_words(tool))


def is_shell(tool: str) -> bool:
    return _by_name(tool) is None


def command_of(args: Mapping[str, Any]) -> str:
    """The command line a shell call runs; empty when there is none."""
    for field in _COMMAND_FIELDS:
        value = args.get(field)
        if isinstance(value, str):
            told = _QUOTED.search(value) if field == "input" else None
            return told.group(1) if told else value
        if isinstance(value, list):
            words = [str(part) for part in value]
            through_shell = (
                len(words) == 3 and words[0].rpartition("/")[2] in _SHELL_NAMES and words[1] in _GIVEN
            )
            return words[2] if through_shell else " ".join(words)
    return ""


def _names_command(args: Mapping[str, Any]) -> bool:
    return any(field in args for field in _COMMAND_FIELDS)


@lru_cache(maxsize=1024)
def _of_command(command: str) -> Kind:
    text = command[:2048]
    if not text.strip():
        # Nothing typed into a terminal asks it for more of what is still running there.
        return WAIT
    if _WAITING_COMMAND.search(text) or _POLLED_URL.search(text):
        return WAIT
    if _REDIRECT.search(text):
        return ACT
    parts = [part for part in _SEGMENT.split(text) if part]
    if all(_IDLE_COMMAND.match(part) for part in parts):
        return IDLE
    if all(_READING_COMMAND.match(part) for part in parts):
        return READ
    return ACT


def _typed(tool: str, args: Mapping[str, Any]) -> str | None:
    """What a call sends to a program that runs; None if it is no such call. Nothing asks for more output."""
    if not _TYPING.issubset(_words(tool)) and "stdin" not in _words(tool):
        return None
    return next((str(args[field]) for field in _TYPED_FIELDS if field in args), "")


def kind_of(tool: str, args: Mapping[str, Any]) -> Kind:
    """What this call does."""
    typed = _typed(tool, args)
    if typed is not None:
        return ACT if typed.strip() else WAIT
    kind = _by_name(tool)
    if kind is None:
        command = command_of(args)
        return _of_command(command) if command or _names_command(args) else ACT
    if kind in (ACT, EDIT, READ):
        for field in _ACTION_FIELDS:
            action = args.get(field)
            if isinstance(action, str):
                if action in _WAITING_ACTIONS:
                    return WAIT
                if action in _VIEWING_ACTIONS:
                    return READ
                if action in _MOVING_ACTIONS:
                    return MOVE
    return kind


def pauses(tool: str, args: Mapping[str, Any], kind: Kind) -> bool:
    """It lets time pass."""
    if kind is not WAIT:
        return False
    if is_shell(tool):
        return _PAUSING_COMMAND.search(command_of(args)[:2048]) is not None
    return not _PAUSING.isdisjoint(_words(tool))


def writes(tool: str, args: Mapping[str, Any], kind: Kind) -> bool:
    """It plainly changes files or what is installed."""
    if kind is EDIT:
        return True
    return kind is ACT and is_shell(tool) and _writing(command_of(args))


@lru_cache(maxsize=1024)
def _writing(command: str) -> bool:
    text = command[:2048]
    return any(form.search(text) for form in (_REDIRECT, _WRITING_COMMAND, _TEEING_COMMAND))
