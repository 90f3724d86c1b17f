"""What a command line asks Claude Code for."""

from __future__ import annotations

import pytest

from loopguard_cli.agents.base import Form
from loopguard_cli.agents.claude.invocation import Format, Invocation, parse


def parsed(line: str, *, interactive: bool = True) -> Invocation:
    return parse(line.split(), interactive=interactive)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("claude", Form.SCREEN),
        ("claude hello", Form.SCREEN),
        ("claude --resume", Form.SCREEN),
        ("claude -p hello", Form.ONE_SHOT),
        ("npx -y @anthropic-ai/claude-code@2.1.332 --print hello", Form.ONE_SHOT),
        ("claude --model opus mcp", Form.PLAIN),
        ("claude mcp list", Form.PLAIN),
        ("claude --version", Form.PLAIN),
        ("claude attach abc", Form.REMOTE),
        ("claude --bg hello", Form.REMOTE),
        ("claude --model mcp", Form.SCREEN),
    ],
)
def test_the_form(line: str, form: Form) -> None:
    assert parsed(line).form is form


def test_without_a_terminal_it_prints() -> None:
    assert parsed("claude hello", interactive=False).form is Form.ONE_SHOT


@pytest.mark.parametrize(
    ("line", "prompt", "kept"),
    [
        ("claude -p hello", "hello", ""),
        ("claude hello -p --model opus", "hello", "--model opus"),
        ("claude -p --allowedTools Bash Edit --verbose hello", "hello", "--allowedTools Bash Edit"),
        ("claude -p --allowedTools Bash hello", "", "--allowedTools Bash hello"),
        ("claude -p --resume abc hello", "hello", "--resume abc"),
        ("claude -p -c hello", "hello", "-c"),
        ("claude -p --output-format json --max-turns 3 hello", "hello", "--max-turns 3"),
        ("claude -p --output-format=json hello", "hello", ""),
        ("claude -p --settings={} -- -hello", "-hello", "--settings={}"),
    ],
)
def test_the_prompt_is_taken_out_as_its_own_parser_would(line: str, prompt: str, kept: str) -> None:
    found = parsed(line)
    assert (found.prompt, " ".join(found.kept)) == (prompt, kept)
    assert found.understood
    assert " ".join(found.argv) == line


def test_what_is_to_be_printed() -> None:
    found = parsed("claude -p x --output-format stream-json --verbose --include-partial-messages")
    assert (found.format, found.verbose, found.partial) == (Format.STREAM, True, True)
    assert parsed("claude -p x --output-format=json").format is Format.JSON
    assert parsed("claude -p x --max-turns=3").max_turns == "3"
    assert found.printable
    assert not parsed("claude -p x --output-format stream-json").printable


def test_an_option_of_another_version_is_not_guessed_at() -> None:
    assert not parsed("claude -p --brand-new hello").understood


def test_a_driver_and_missing_hooks_are_told() -> None:
    assert parsed("claude -p --input-format stream-json").streams_in
    assert parsed("claude --bare").bare
    assert parsed("claude --safe-mode").safe
