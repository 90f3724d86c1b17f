"""OpenCode's command line and environment: which form was asked for, and how to start it with our bridge.

The person's command line stays as typed. Everything we add travels in the environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form, LaunchPlan
from loopguard_cli.agents.opencode import jsonc
from loopguard_cli.agents.opencode.protocol import Part
from loopguard_cli.core.effects import Prompt
from loopguard_cli.errors import ConfigError

CONTENT = "OPENCODE_CONFIG_CONTENT"
BRIDGE = "LOOPGUARD_BRIDGE"
RETRIES = "npm_config_fetch_retries"
VERIFIER = "loopguard-verifier"
READING = ("read", "glob", "grep")
"""The only tools of an auditor."""

GATE_TIMEOUT_MS = 5000
"""How long a tool call waits for us before it runs unasked. We answer within a millisecond."""

ASK_TIMEOUT_MS = 30_000
"""How long a slash command waits for its answer."""

is_opencode = commandline.named(
    {"opencode", "opencode-ai", "opencode.exe", "opencode-linux-x64", "opencode-darwin-arm64"},
    {"opencode-ai"},
)
"""Whether a word of a command line names OpenCode, as a program or as a package."""

_VALUED = {
    "--agent", "--attach", "--command", "--cors", "--dir", "--file", "--format", "--hostname", "--log-level",
    "--mdns-domain", "--model", "--password", "--port", "--prompt", "--replay-limit", "--session", "--title",
    "--username", "--variant", "-f", "-m", "-p", "-s", "-u",
}  # fmt: skip
_KEPT = {
    "--agent", "--auto", "--dir", "--format", "--log-level", "--model", "--password", "--port",
    "--print-logs", "--thinking", "--username", "--variant", "-m", "-p", "-u",
}  # fmt: skip
"""What a continuation of ``run`` takes over. The message, its files, the title and the choice of the
session belong to the first prompt."""

_FORMS = {
    "acp": Form.SERVER, "attach": Form.REMOTE, "github": Form.SERVER, "pr": Form.SCREEN, "run": Form.ONE_SHOT,
    "serve": Form.SERVER, "web": Form.SERVER,
}  # fmt: skip
_PLAIN = {
    "agent", "auth", "completion", "db", "debug", "export", "import", "mcp", "models", "plug", "plugin",
    "providers", "session", "stats", "uninstall", "upgrade",
}  # fmt: skip
_LAZY = {"serve", "web"}
"""Load their plugins with the first request of a client."""

_LINES = {"run", "serve"}
"""Write whole lines and ask nothing."""

_SCREEN = re.compile("-[^-=fmpsu]*i")
"""``-i``, alone or behind other letters that take no value (``-ci``)."""

_INFORMS = {"-h", "--help", "-v", "--version"}


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that starts OpenCode."""

    program: tuple[str, ...]
    """Up to and including OpenCode's own name (``npx -y opencode-ai``)."""
    command: str
    """The subcommand; empty for the TUI."""
    options: tuple[str, ...]
    """Everything behind ``program``, as typed."""
    form: Form
    message: bool
    """The command line holds something to be done."""
    pure: bool
    """Started without external plugins, so without a bridge."""


def parse(argv: Sequence[str]) -> Invocation:
    """Take a command line apart. One that does not name OpenCode is a wrapper around it."""
    program, options = commandline.split(argv, is_opencode)
    words = commandline.words(options, _VALUED)
    plain = [word for word in words if not word.startswith("-")]
    command = next(iter(plain), "")
    if command not in _FORMS and command not in _PLAIN:
        command = ""  # a project folder
    return Invocation(
        program=program,
        command=command,
        options=options,
        form=_form(command, words),
        message=len(plain) > 1 or "--command" in words,
        pure="--pure" in words,
    )


def first(
    invocation: Invocation, environ: Mapping[str, str], boot: dict[str, Any], opening: str = ""
) -> LaunchPlan:
    """The command as typed, with the bridge injected where there is something to inject it into.

    ``opening``: the prompt for a one-shot command line that has none.
    """
    argv = (*invocation.program, *invocation.options)
    if invocation.form is Form.PLAIN:
        return LaunchPlan(argv=argv, form=invocation.form, bridged=False)
    if invocation.form is Form.REMOTE:
        remark = (
            "this client's sessions live in an OpenCode server that runs elsewhere, so they are not guarded; "
            "start that server with 'loopguard run -- opencode serve'"
        )
        return LaunchPlan(argv=argv, form=invocation.form, bridged=False, remarks=(remark,))
    if invocation.pure or environ.get("OPENCODE_PURE", "") not in ("", "0", "false"):
        remark = "OpenCode was told to load no plugins (--pure or OPENCODE_PURE), so it runs unguarded"
        return LaunchPlan(argv=argv, form=invocation.form, bridged=False, remarks=(remark,))
    silent = invocation.form is Form.ONE_SHOT and not invocation.message
    stdin = opening.encode() if silent and opening else None
    return LaunchPlan(
        argv=argv,
        form=invocation.form,
        environment=_environment(environ, boot),
        stdin=stdin,
        lazy=invocation.command in _LAZY,
        whole_lines=invocation.command in _LINES,
    )


def again(
    invocation: Invocation, environ: Mapping[str, str], boot: dict[str, Any], prompt: Prompt
) -> LaunchPlan:
    """``opencode run`` once more, in the session of ``prompt``, with its text on standard input."""
    kept = _kept(invocation.options)
    for option, short, value in (
        ("--agent", "", prompt.agent),
        ("--model", "-m", prompt.model),
        ("--variant", "", prompt.variant),
    ):
        if value and option not in kept and short not in kept:
            kept += [option, value]
    argv = (*invocation.program, "run", *kept, "--session", prompt.session)
    return LaunchPlan(
        argv=argv,
        form=invocation.form,
        environment=_environment(environ, boot),
        stdin=prompt.text.encode(),
        whole_lines=True,
    )


def auditor(invocation: Invocation, environ: Mapping[str, str], prompt: str, model: str) -> LaunchPlan:
    """A one-shot OpenCode that may read and nothing else, and that leaves no session behind."""
    argv = [*invocation.program, "run", "--format", "json", "--agent", VERIFIER]
    if model:
        argv += ["--model", model]
    config = _own(environ)
    verifier = {
        "mode": "primary",
        "description": "Verifies a goal by reading.",
        "permission": {"*": "deny", **dict.fromkeys(READING, "allow")},
    }
    config = {**config, "agent": {**config.get("agent", {}), VERIFIER: verifier}}
    return LaunchPlan(
        argv=tuple(argv),
        form=Form.ONE_SHOT,
        environment={CONTENT: json.dumps(config), "OPENCODE_DB": ":memory:", RETRIES: "0"},
        stdin=prompt.encode(),
        bridged=False,
    )


def answer(output: str) -> str:
    """What a one-shot OpenCode with ``--format json`` said last: the text of its last message."""
    said: dict[str, list[str]] = {}
    for line in output.splitlines():
        try:
            part = msgspec.json.decode(line, type=_Line).part
        except msgspec.DecodeError:
            continue
        if part.type == "text" and isinstance(part.text, str):
            said.setdefault(part.message, []).append(part.text)
    return "\n".join(next(reversed(said.values()), ()))


class _Line(msgspec.Struct):
    part: Part = Part()


# --- command line --------------------------------------------------------------------------------


def _form(command: str, words: Sequence[str]) -> Form:
    if command in _PLAIN or any(word in _INFORMS for word in words):
        return Form.PLAIN
    if command == "run" and "--attach" in words:
        return Form.REMOTE
    if command == "run" and any(word == "--interactive" or _SCREEN.match(word) for word in words):
        return Form.SCREEN
    return _FORMS.get(command, Form.SCREEN)


def _kept(options: Sequence[str]) -> list[str]:
    kept: list[str] = []
    words = iter(options)
    switched = False
    for word in words:
        if word == "--":
            break
        if switched and word in {"true", "false"}:  # the value of the switch before it, not a message
            kept.append(word)
        name, equals, value = word.partition("=")
        switched = not equals and name in _KEPT - _VALUED
        if not word.startswith("-") or name not in _KEPT:
            if word in _VALUED:
                next(words, None)
            continue
        if name not in _VALUED:
            kept.append(word)  # as typed: ``--auto=false`` is not ``--auto``
            continue
        kept += [name, value if equals else next(words, "")]
    return kept


# --- environment ---------------------------------------------------------------------------------


def _environment(environ: Mapping[str, str], boot: dict[str, Any]) -> dict[str, str]:
    boot = {
        **boot,
        "gate_timeout_ms": GATE_TIMEOUT_MS,
        "ask_timeout_ms": ASK_TIMEOUT_MS,
        # With a plugin configured, OpenCode waits 70 s for a registry that cannot be reached.
        "restore": {RETRIES: environ.get(RETRIES)},
        # An OpenCode that the agent starts in its shell is not ours to bridge.
        "shell": {CONTENT: environ.get(CONTENT, "")},
    }
    config = _own(environ)
    content = json.dumps({**config, "plugin": [*config.get("plugin", []), bridge_url()]})
    return {CONTENT: content, BRIDGE: json.dumps(boot), RETRIES: "0"}


def _own(environ: Mapping[str, str]) -> dict[str, Any]:
    """The person's own configuration in the environment."""
    own = environ.get(CONTENT, "")
    try:
        config = json.loads(jsonc.plain(own)) if own.strip() else {}
    except ValueError as error:
        raise ConfigError(f"{CONTENT} is not valid JSON", "correct it or unset it") from error
    if not isinstance(config, dict) or not isinstance(config.get("plugin", []), list):
        raise ConfigError(f"{CONTENT} must be an object whose 'plugin' is a list", "correct it or unset it")
    return config


def bridge_url() -> str:
    """Where the bridge is, as OpenCode wants a plugin file named."""
    return Path(__file__).with_name("bridge.js").as_uri()
