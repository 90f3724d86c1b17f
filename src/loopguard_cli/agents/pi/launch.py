"""pi's command line: which form was asked for, and how to start it with our extension.

The extension is named by ``-e`` right behind the program; the rest of the line stays as typed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form, LaunchPlan
from loopguard_cli.agents.tools import AgentTool

BRIDGE = "LOOPGUARD_BRIDGE"

GATE_TIMEOUT_MS = 5000
"""How long a tool call waits for us before it runs unasked. We answer within a millisecond."""

ASK_TIMEOUT_MS = 30_000
"""How long a slash command waits for its answer."""

PACKAGES = {"@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"}

is_pi = commandline.named({"pi"}, PACKAGES)
"""Whether a word of a command line names pi, as a program or as a package."""

_VALUED = {
    "--api-key", "--append-system-prompt", "--exclude-tools", "--export", "--extension", "--fork", "--mode",
    "--model", "--models", "--name", "--prompt-template", "--provider", "--session", "--session-dir",
    "--session-id", "--skill", "--system-prompt", "--theme", "--thinking", "--tools", "--tui-mode",
    "--use-theme", "-e", "-n", "-t", "-xt",
}  # fmt: skip
_PLAIN = {"auth", "config", "install", "list", "mcp", "remove", "uninstall", "update"}
_INFORMS = {"-h", "--help", "-v", "--version", "--list-models", "--export"}
_OF_MODEL = {"--api-key", "--model", "--provider", "--thinking"}
READING = "read,grep,find,ls"
"""The only tools of an auditor."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that starts pi."""

    program: tuple[str, ...]
    """Up to and including pi's own name."""
    options: tuple[str, ...]
    """Everything behind it, as typed."""
    form: Form
    message: bool
    """The command line holds something to be done."""
    json: bool = False
    """Events are printed as JSON."""


def parse(argv: Sequence[str], *, interactive: bool) -> Invocation:
    """Take a command line apart. pi prints unless standard input and output are a terminal."""
    program, options = commandline.split(argv, is_pi)
    words = commandline.words(options, _VALUED)
    plain = [word for word in words if not word.startswith("-")]
    if "--" in options:
        plain += options[options.index("--") + 1 :]
    mode = _value(options, "--mode")
    return Invocation(
        program=program,
        options=options,
        form=_form(words, mode, interactive=interactive),
        message=bool(plain),
        json=mode == "json",
    )


def first(invocation: Invocation, boot: dict[str, Any], opening: str = "") -> LaunchPlan:
    """The command as typed, with the extension. ``opening``: the prompt where the command has none."""
    program, options = invocation.program, invocation.options
    if invocation.form is Form.PLAIN:
        return LaunchPlan(argv=(*program, *options), form=invocation.form, bridged=False)
    silent = invocation.form is Form.ONE_SHOT and not invocation.message
    said = (opening,) if silent and opening else ()
    boot = {**boot, "gate_timeout_ms": GATE_TIMEOUT_MS, "ask_timeout_ms": ASK_TIMEOUT_MS}
    return LaunchPlan(
        argv=(*program, "-e", bridge_path(), *options, *said),
        form=invocation.form,
        environment={BRIDGE: json.dumps(boot)},
        whole_lines=True,
    )


def auditor(invocation: Invocation, prompt: str, model: str) -> LaunchPlan:
    """A one-shot pi that may read and nothing else, and that leaves no session behind."""
    options = _kept(invocation.options)
    if model and "--model" not in options:
        options += ["--model", model]
    alone = ("-p", "--no-session", "--no-extensions", "--no-approve", "--tools", READING)
    argv = (*invocation.program, *alone, *options)
    return LaunchPlan(argv=argv, form=Form.ONE_SHOT, stdin=prompt.encode(), bridged=False)


def bridge_path() -> str:
    return str(Path(__file__).with_name("bridge.js"))


def rendered(tool: AgentTool) -> dict[str, Any]:
    """A tool as the bridge registers it."""
    required = [name for name in tool.args if name not in tool.optional]
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": {"type": "object", "properties": tool.args, "required": required},
        "patience_ms": int(tool.patience * 1000),
    }


def _form(words: Sequence[str], mode: str, *, interactive: bool) -> Form:
    if any(word in _INFORMS for word in words) or (words and words[0] in _PLAIN):
        return Form.PLAIN
    if mode == "rpc":
        return Form.SERVER
    if mode == "json" or "-p" in words or "--print" in words or not interactive:
        return Form.ONE_SHOT
    return Form.SCREEN


def _value(options: Sequence[str], name: str) -> str:
    values = [option.removeprefix(f"{name}=") for option in options if option.startswith(f"{name}=")]
    values += [value for option, value in pairwise(options) if option == name]
    return values[-1] if values else ""


def _kept(options: Sequence[str]) -> list[str]:
    """Which model, and how it is reached."""
    kept: list[str] = []
    for option, value in zip(options, (*options[1:], ""), strict=True):
        name = option.partition("=")[0]
        if name in _OF_MODEL:
            kept += [option] if "=" in option else [option, value]
    return kept
