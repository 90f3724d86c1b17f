"""The option that adds a folder of cases: ``pytest tests/scenarios --cases DIR``."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", action="append", default=[], metavar="DIR", help="further goal cases to run")
