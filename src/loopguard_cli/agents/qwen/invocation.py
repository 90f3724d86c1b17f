"""Qwen Code's command line."""

from __future__ import annotations

from collections.abc import Sequence

from loopguard_cli.agents import commandline
from loopguard_cli.agents.base import Form
from loopguard_cli.agents.claude.invocation import Format, Invocation

is_qwen = commandline.named({"qwen", "qwen-code"}, {"@qwen-code/qwen-code"})
"""Whether a word of a command line names Qwen Code, as a program or as a package."""

_VALUED = {
    "--add-dir", "--allowed-mcp-server-names", "--allowed-tools", "--append-system-prompt", "--approval-mode",
    "--auth-type", "--channel", "--core-tools", "--disabled-slash-commands", "--exclude-tools",
    "--extensions",
    "--fallback-model", "--include-directories", "--input-file", "--input-format", "--json-fd", "--json-file",
    "--json-schema", "--max-session-turns", "--max-subagent-depth", "--max-tool-calls", "--max-wall-time",
    "--mcp-config", "--model", "--openai-api-key", "--openai-base-url", "--openai-logging-dir",
    "--output-format", "--output-style", "--prompt", "--prompt-interactive", "--proxy", "--resume",
    "--sandbox-image", "--session-id", "--system-prompt", "--telemetry-otlp-endpoint",
    "--telemetry-otlp-protocol", "--telemetry-outfile", "--telemetry-target", "--worktree", "-e", "-i", "-m",
    "-o", "-p", "-r",
}  # fmt: skip
_LONG = {"-o": "--output-format", "-p": "--prompt", "-i": "--prompt-interactive"}
_OURS = {"--include-partial-messages", "--input-format", "--output-format", "--prompt"}
"""What a driven process gets from us instead."""
_INFORMS = {"--help", "--list-extensions", "--version", "-h", "-l", "-v"}
_PLAIN = {
    "auth", "board", "channel", "extensions", "hooks", "mcp", "review", "sandbox", "serve", "sessions",
    "update",
}  # fmt: skip
_SCREEN = {"--acp", "--prompt-interactive"}


def parse(argv: Sequence[str], *, interactive: bool) -> Invocation:
    """Take a command line apart. A prompt on it is answered once, unless it says otherwise."""
    program, options = commandline.split(argv, is_qwen)
    values: dict[str, str] = {}
    kept: list[str] = []
    bare: list[str] = []
    words = iter(options)
    for word in words:
        name, attached, value = word.partition("=")
        name = _LONG.get(name, name)
        if word == "--":
            bare += words
        elif not word.startswith("-"):
            bare.append(word)
        else:
            taken = [word]
            if name in _VALUED and not attached:
                value = next(words, "")
                taken.append(value)
            values[name] = value
            kept += taken if name not in _OURS else ()
    prompt = values.get("--prompt", "") or " ".join(bare)
    if values.keys() & _INFORMS or (bare and bare[0] in _PLAIN):
        form = Form.PLAIN
    else:
        screen = values.keys() & _SCREEN or (interactive and not prompt)
        form = Form.SCREEN if screen else Form.ONE_SHOT
    output = values.get("--output-format", "")
    return Invocation(
        program=program,
        options=options,
        form=form,
        prompt=prompt,
        kept=tuple(kept),
        format=Format(output) if output in list(Format) else Format.TEXT,
        partial="--include-partial-messages" in values,
        streams_in=values.get("--input-format") == Format.STREAM,
    )
