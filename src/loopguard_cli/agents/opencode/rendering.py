"""What the agent gets from us, in the form that OpenCode wants."""

from __future__ import annotations

from typing import Any

import msgspec

from loopguard_cli.agents.tools import AgentTool
from loopguard_cli.core.effects import Respond


def rendered(tool: AgentTool) -> dict[str, Any]:
    """A tool as the bridge registers it. OpenCode requires every argument, so optional ones may be null."""
    return {
        "name": tool.name,
        "description": tool.description,
        "args": {n: _nullable(s) if n in tool.optional else s for n, s in tool.args.items()},
        "patience_ms": int(tool.patience * 1000),
    }


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    said = schema.get("description", "")
    nullable = {**schema, "type": [schema["type"], "null"], "description": f"{said} May be null.".lstrip()}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def readable(answer: Respond) -> str:
    """An answer as text, for a model or a toast."""
    if answer.text or not answer.data:
        return answer.text or answer.code
    return "\n".join(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in answer.data.items())
