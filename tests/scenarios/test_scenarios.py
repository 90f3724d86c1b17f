"""Every case of `cases/`, of folders given with ``--cases``, and of the shared folder where it exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.testing.scenarios.cases import Case, read_cases

HERE = Path(__file__).parent
OWN = HERE / "cases"
SHARED = Path(__file__).parents[2].parent / "shared" / "cases" / "goal"

DECLINED: dict[str, str] = {}
"""Cases of strength ``may`` that we decide against, with the reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = [Path(folder) for folder in metafunc.config.getoption("--cases", default=[])]
    folders = [OWN, *given, *([SHARED] if SHARED.is_dir() else [])]
    cases = [case for folder in folders for case in read_cases(folder)]
    metafunc.parametrize("case", cases, ids=[f"{case.file.parent.name}/{case.id}" for case in cases])


def test_case(case: Case) -> None:
    if case.strength == "may" and case.id in DECLINED:
        pytest.skip(DECLINED[case.id])
    problems = case.run()
    assert not problems, "\n".join(problems)
