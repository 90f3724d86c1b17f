"""A hundred completions that are none, and as many ways to say a true one."""

from __future__ import annotations

import pytest

from loopguard_cli.goal.markers import Signal, read
from loopguard_cli.testing.scenarios.engine import Engine

EVIDENCE = "[goal:evidence] make test: 118 passed"
DONE = "[goal:complete]"

NOT_LAST = [
    f"{EVIDENCE}\n{DONE}\n{tail}"
    for tail in (
        "Let me know if anything is missing.",
        "- done",
        "```",
        "Next I will run the linter.",
        "_",
        ".",
        "✅",
        "[goal:evidence] and more",
        "(end)",
        "---",
        "</goal_continuation>",
        "> quoted",
        "TODO: docs",
    )
]
DECORATED = [
    f"{EVIDENCE}\n{marker}"
    for marker in (
        f"**{DONE}**",
        f"`{DONE}`",
        f"> {DONE}",
        f"- {DONE}",
        f"* {DONE}",
        f"1. {DONE}",
        f"# {DONE}",
        f"{DONE}.",
        f"{DONE}!",
        f"{DONE} ✅",
        f"~~{DONE}~~",
        f"<b>{DONE}</b>",
        f"| {DONE} |",
        f'"{DONE}"',
        f"({DONE})",
        "[goal:complete",
        "goal:complete]",
        "[goal: complete]",
        "[ goal:complete ]",
        "[goal:completed]",
        "[goal-complete]",
        "[goal complete]",
        "goal:complete:",
        "[[goal:complete]]",
        "[goal:complete](x)",
        f"{DONE} {DONE}",
        f"I write {DONE}",
        "[goal:done]",
        "[Goal]:complete",
        "<!-- [goal:complete] -->",
    )
]
IN_PROSE = [
    "The goal is complete.",
    "Goal complete",
    "All done!",
    "TASK COMPLETE",
    "<promise>DONE</promise>",
    "Das Ziel ist erreicht.",
    "目标已完成。",
    "Objectif atteint.",
    "L'objectif est terminé : goal complete.",
    f"When I am done I will write {DONE}",
    f"I must not write {DONE} yet.",
    "status: complete",
    "I called goal_complete.",
    "EXIT_SIGNAL: true",
    "Completed: 100 %",
]
FENCED = [
    f"The format is:\n```\n{EVIDENCE}\n{DONE}\n```",
    f"The format is:\n```\n{EVIDENCE}\n{DONE}",
    f"The format is:\n~~~text\n{EVIDENCE}\n{DONE}",
    f"cat NOTES.md prints:\n```md\n# Notes\n{EVIDENCE}\n{DONE}\n```",
    f"cat NOTES.md prints:\n````\n```\n{EVIDENCE}\n{DONE}",
    f"   ```\nlog\n{EVIDENCE}\n{DONE}",
    f"```py\nprint(1)\n```\nand then\n```\n{EVIDENCE}\n{DONE}",
    f"~~~\n```\n{EVIDENCE}\n{DONE}",
    f"Reminder to myself:\n```\n{EVIDENCE}\n\n{DONE}",
    f"> ```\n> {EVIDENCE}\n> {DONE}",
]
NO_EVIDENCE = [
    f"{above}\n{DONE}"
    for above in (
        "",
        "Everything passes.",
        "evidence: make test passed",
        "[evidence] make test passed",
        "[goal:evidence]",
        "[goal:evidence]:",
        "[goal:evidence] -",
        "[goal:evidence] ...",
        "[goal:evidence] ✅",
        "[goal:evidence] n/a",
        "[goal:evidence] none",
        "[goal:evidence] TODO",
        "[goal:evidence] not verified",
        "[goal:evidence] untested",
        "[goal:evidence] <commands run and their results, files checked>",
        "[goal:evidence] [goal:complete]",
        "[goal:evidence]\n[goal:evidence]",
        "[goal:evidence]\n```",
        "[goal:evidence]\n---",
        "goal:evidence-based work",
        f"{EVIDENCE}\n",
        f"{EVIDENCE}\nand one more remark",
        f"- {EVIDENCE}",
        f"> {EVIDENCE}",
        f"**{EVIDENCE}**",
        f"`{EVIDENCE}`",
        "[goal:evidence]make test passed",
        "[goal:evidence]\nline one\nline two",
        "[goal:evidence]\n\nmake test passed",
        "goal evidence: make test passed",
        "[goal:blocked]",
        f"{EVIDENCE}\n[goal:blocked]",
    )
]
FALSE = [*NOT_LAST, *DECORATED, *IN_PROSE, *FENCED, *NO_EVIDENCE]

TRUE = [
    f"{start}{evidence}{end}{marker}{tail}"
    for start in ("", "All of it is done.\n", "```sh\nmake test\n```\n", "Long text.\n\n\n")
    for evidence, end in (
        (EVIDENCE, "\n"),
        ("goal:evidence: make test: 118 passed", "\n"),
        ("[GOAL:EVIDENCE] 118 passed", "\r\n"),
        ("[goal:evidence]\nmake test: 118 passed", "\n"),
        ("  [goal:evidence]\t0 failures  ", "\n"),
        ("[goal:evidence] 測試 118 項通過", "\n"),
        ("[goal:evidence] - 118 passed", "\n"),
    )
    for marker in (DONE, "goal:complete", "[GOAL:COMPLETE]", "  [goal:complete]  ")
    for tail in ("", "\n\n")
]


def accepted(text: str) -> bool:
    claim = read(text)
    return claim.signal is Signal.COMPLETE and claim.accepted


def test_there_are_a_hundred_of_each() -> None:
    assert len(set(FALSE)) >= 100
    assert len(set(TRUE)) >= 100


@pytest.mark.parametrize("text", FALSE)
def test_what_is_no_proof_is_refused(text: str) -> None:
    assert not accepted(text)


def test_no_true_completion_is_missed() -> None:
    assert [text for text in TRUE if not accepted(text)] == []


def _outcome(*texts: str, check: str = "") -> list[str]:
    """Objectives that were archived after the turns."""
    engine = Engine({})
    engine.step({"do": "command", "text": f"repair the build {check}".strip()})
    for text in texts:
        engine.step({"do": "assistant_turn", "text": text})
        engine.step({"do": "idle"})
    return [result.objective for result in engine.book("s1").archive]


def test_stale_evidence_of_an_earlier_turn_does_not_count() -> None:
    assert _outcome(EVIDENCE, "Now it is done.\n" + DONE) == []


def test_evidence_counts_in_the_turn_that_claims() -> None:
    assert _outcome("Working.", f"{EVIDENCE}\n{DONE}") == ["repair the build"]


def test_a_claim_with_a_check_waits_for_the_check() -> None:
    assert _outcome(f"{EVIDENCE}\n{DONE}", check='--check "make test"') == []
