"""Command lines of Codex that we do not stand in for: started as they are, and told if that matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopguard_cli.agents.base import BridgeAddress, Form, LaunchPlan
from loopguard_cli.agents.plain import Plain


class Unguarded(Plain):
    """``why``: the words that stand against guarding it; empty: it does no work of an agent."""

    name = "codex"

    def __init__(self, argv: Sequence[str], why: str) -> None:
        super().__init__(argv)
        self._why = why

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        remark = f"'codex {self._why}' cannot be guarded, so it runs UNGUARDED"
        remarks = (remark,) if self._why else ()
        return LaunchPlan(argv=self._argv, form=Form.PLAIN, bridged=False, remarks=remarks)
