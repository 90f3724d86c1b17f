"""What must hold in every scenario after every step, whatever it is about."""

from __future__ import annotations

import re

from loopguard_cli.goal.escape import FRAMES
from loopguard_cli.testing.scenarios.engine import Engine

_OUR_TAGS = re.compile(rf"</?(?:{'|'.join(FRAMES)})>")
_FOREIGN = re.compile(r"</|<\s*(?:system|human|assistant|instructions|prompt)\b", re.IGNORECASE)


def broken(engine: Engine) -> list[str]:
    """The rules that do not hold."""
    found: list[str] = []
    if engine.goals is None:
        return found  # the next process is started by whatever needs it
    for name, host in engine.hosts.items():
        book = engine.book(name)
        found += (
            [f"{name}: two goals have one id"] if len({g.id for g in book.goals}) != len(book.goals) else []
        )
        if book.focus and book.focused is None:
            found.append(f"{name}: the focus is no live goal")
        found += [f"{name}: a goal without focus runs" for g in book.goals if g.active and g.id != book.focus]
        texts = [*(p.text for p in host.prompts), host.system, host.compaction]
        found += [f"{name}: unescaped {text!r}" for text in texts if _FOREIGN.search(_OUR_TAGS.sub("", text))]
        by_objective: dict[str, set[str]] = {}
        for system in host.systems:
            if "Keep working" in system:
                by_objective.setdefault(system.partition("</goal_objective>")[0], set()).add(system)
        found += [f"{name}: the standing text changed" for seen in by_objective.values() if len(seen) > 1]
        stopped = book.focused is not None and not book.focused.active
        if stopped and "<goal_objective>" in host.system:
            found.append(f"{name}: the standing text of a stopped goal shows the objective")
    return found
