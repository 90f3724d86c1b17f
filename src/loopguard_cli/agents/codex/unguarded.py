"""Command lines of Codex that we do not stand in for: started as they are, and told if that matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopguard_cli.agents.base import BridgeAddress, Form, LaunchPlan
from loopguard_cli.agents.plain import Plain

NO_TERMINAL = "without a terminal, nothing but 'codex exec' is guarded, so this runs UNGUARDED"


class Unguarded(Plain):
    """``remark``: what the person has to know; empty: it does no work of an agent."""

    name = "codex"

    def __init__(self, argv: Sequence[str], remark: str) -> None:
        super().__init__(argv)
        self._remark = remark

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        remarks = (self._remark,) if self._remark else ()
        return LaunchPlan(argv=self._argv, form=Form.PLAIN, bridged=False, remarks=remarks)


def because_of(words: str) -> str:
    """The remark for ``words`` on the command line that stand against guarding it."""
    return f"'codex {words}' cannot be guarded, so it runs UNGUARDED" if words else ""
