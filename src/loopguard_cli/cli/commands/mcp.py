"""``loopguard mcp``: the tools for the agent, as an MCP server on standard input and output."""

from __future__ import annotations

from loopguard_cli.cli import live

EXAMPLES = (
    "loopguard mcp",
    "loopguard mcp --run 3f9c1a2b",
)


def command(run: live.RunOption = "", session: live.SessionOption = "") -> None:
    """Serve the guard's and the goals' tools to an agent over the Model Context Protocol.

    Agents start this themselves, by their own configuration or by what 'loopguard run' adds to it. The tools
    ask the live run of this folder. What comes in here is the model's word, never a person's.
    """
    import sys

    from loopguard_cli.runtime.control import mcp

    of_run, word = mcp.take_word()
    server = mcp.Server(lambda: live.choose(run or of_run), word=word, session=session)
    server.serve(sys.stdin.buffer, sys.stdout.buffer)
