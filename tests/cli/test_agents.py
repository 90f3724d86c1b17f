"""``loopguard agents``: every agent of the registry, each form with its own abilities."""

from __future__ import annotations

import json

from tests.cli.conftest import Cli

from loopguard_cli.agents import AGENTS


def test_every_agent_has_a_line_for_each_form(cli: Cli) -> None:
    done = cli("agents")
    assert done.returncode == 0
    for name, known in AGENTS.items():
        rows = [line for line in done.stdout.splitlines() if line.split()[0] == name]
        assert len(rows) == len(known.load().SURFACES)


def test_what_an_agent_cannot_do_is_shown(cli: Cli) -> None:
    head, *rows = cli("agents").stdout.splitlines()
    gate = head.index("asks before a call")
    marks = {row.split()[0]: row[gate] for row in rows if row.split()[0] in AGENTS}
    assert marks["opencode"] == "y"
    assert marks["acp"] == "-"


def test_json_has_all_capabilities(cli: Cli) -> None:
    agents = {one["agent"]: one for one in json.loads(cli("agents", "--json").stdout)}
    assert agents["opencode"]["surfaces"][0]["capabilities"]["gate"] is True
    assert agents["acp"]["surfaces"][0]["capabilities"]["nudge"] is False
