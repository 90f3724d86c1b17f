"""What is generated from the code is committed as it would be generated now."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scripts import generate

from loopguard_cli.cli.app import COMMANDS
from loopguard_cli.cli.environment import VARIABLES
from loopguard_cli.cli.lazy import Entry, load
from loopguard_cli.exit_codes import ExitCode


@pytest.fixture(scope="module")
def outputs() -> dict[str, str]:
    return generate.outputs()


def test_committed_files_are_up_to_date(outputs: dict[str, str]) -> None:
    stale = [
        path
        for path, text in outputs.items()
        if not (generate.ROOT / path).exists() or (generate.ROOT / path).read_text(encoding="utf-8") != text
    ]
    assert not stale, "run `make generate`"


def test_there_is_a_page_for_the_program_and_each_command_and_no_other() -> None:
    pages = {page.name for page in (generate.ROOT / "man").iterdir()}
    assert pages == {"loopguard.1", *(f"loopguard-{entry.name}.1" for entry in COMMANDS)}


def test_the_main_page_knows_every_status_and_variable(outputs: dict[str, str]) -> None:
    page = outputs["man/loopguard.1"].replace("\\-", "-")
    for code in ExitCode:
        assert f".B {int(code)}\n" in page
    for name in VARIABLES:
        assert f".B {name}\n" in page


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_a_page_has_every_section_and_option(entry: object, outputs: dict[str, str]) -> None:
    page = outputs[f"man/loopguard-{entry.name}.1"]  # type: ignore[attr-defined]
    for section in (
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "EXAMPLES",
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
    ):
        assert f"\n.SH {section}\n" in page, section


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_pages_are_good_roff(outputs: dict[str, str], tmp_path: Path) -> None:
    for path, text in outputs.items():
        if path.endswith(".1"):
            page = tmp_path / Path(path).name
            page.write_text(text)
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True, check=True
            )
            assert done.stderr == "", path


def _lines(epilog: str | None) -> list[str]:
    lines = (epilog or "").splitlines()
    return [line.strip() for line in lines[lines.index("\b") + 1 :]] if "\b" in lines else []


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_help_is_mirrored_in_the_page(entry: Entry, outputs: dict[str, str]) -> None:
    """Commands below it, options and examples, word for word."""
    page = outputs[f"man/loopguard-{entry.name}.1"].replace("\\-", "-").replace("\\e", "\\")
    command: Any = load(entry)
    parts = [command, *getattr(command, "commands", {}).values()]
    for part in (one for one in parts if not one.hidden):
        examples = _lines(part.epilog)
        assert examples, part.name
        assert [line for line in examples if line not in page] == []
        options = [name for one in part.params if not getattr(one, "hidden", False) for name in one.opts]
        assert [name for name in options if name.startswith("--") and name not in page] == []
