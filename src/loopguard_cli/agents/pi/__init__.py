"""pi, reached by an extension that it loads for us."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.pi.adapter import Pi, capabilities

_BY = "bridge (an extension, by -e)"

SURFACES = (
    Surface(form=Form.SCREEN, example="pi", reached=_BY, capabilities=capabilities(Form.SCREEN)),
    Surface(
        form=Form.ONE_SHOT, example='pi -p "PROMPT"', reached=_BY, capabilities=capabilities(Form.ONE_SHOT)
    ),
    Surface(form=Form.SERVER, example="pi --mode rpc", reached=_BY, capabilities=capabilities(Form.SERVER)),
)


def make(setup: Setup) -> Adapter:
    return Pi(setup)
