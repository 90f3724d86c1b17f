"""The documentation says what the program does, and nothing that it does not."""

from __future__ import annotations

import pkgutil
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from loopguard_cli import cli
from loopguard_cli.cli.app import command_tree
from loopguard_cli.cli.environment import INTERNAL, VARIABLES
from loopguard_cli.config import schema
from loopguard_cli.config.replaced import PI_VARIABLES, PLUGINS
from loopguard_cli.config.sources import variables
from loopguard_cli.errors import LoopguardError
from loopguard_cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _heading_anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            assert anchor in _heading_anchors(file.read_text(encoding="utf-8")), target


def test_every_setting_and_exit_status_and_variable_is_documented() -> None:
    configuration, statuses = read("docs/configuration.md"), read("docs/exit-codes.md")
    assert [key for key in schema.leaves() if f"`{key}`" not in configuration] == []
    assert [name for name in VARIABLES if f"`{name}`" not in configuration] == []
    assert [code for code in ExitCode if f"| {int(code)} |" not in statuses] == []


def test_every_variable_of_ours_in_the_code_is_known() -> None:
    known = {*VARIABLES, *variables(), *INTERNAL}
    for file in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"\"(LOOPGUARD_[A-Z_]+[A-Z])\"", file.read_text(encoding="utf-8")):
            assert name in known, (file, name)


def test_every_option_and_variable_of_the_replaced_plugins_is_mapped() -> None:
    page = read("docs/migrating.md")
    names = [*PI_VARIABLES, *(name for plugin in PLUGINS for name in (*plugin.options, *plugin.dropped))]
    assert [name for name in names if f"`{name}`" not in page] == []


def _kinds(kind: type[LoopguardError]) -> list[type[LoopguardError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _kinds(child))]


def test_every_kind_of_error_is_explained() -> None:
    for module in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        import_module(module.name)  # Errors are declared where they are raised.
    page = read("docs/errors.md")
    assert [kind.slug for kind in _kinds(LoopguardError) if f"## {kind.slug}\n" not in page] == []


def _commands() -> list[tuple[str, str]]:
    """Command lines of ours in fenced blocks, and where they stand."""
    found = []
    for page in PAGES:
        for block in re.findall(
            r"```(?:sh|console)?\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL
        ):
            for line in block.replace("\\\n", " ").splitlines():
                line = line.strip().removeprefix("$ ")
                if line.startswith("loopguard "):
                    found.append((page.name, re.sub(r"\s+#.*", "", line)))
    return found


@pytest.mark.parametrize(("page", "line"), _commands())
def test_command_lines_in_the_documentation_are_right(page: str, line: str) -> None:
    """Command and options exist; what they would do is not done."""
    words = shlex.split(re.split(r" [|>&] ", line)[0])[1:]
    tree: Any = command_tree()
    context = tree.make_context("loopguard", list(words), resilient_parsing=True)
    while words and hasattr(tree, "list_commands"):
        name = words[0]
        if name.startswith("-"):
            return
        assert name in tree.list_commands(context), (page, line)
        tree, words = tree.get_command(context, name), words[1:]
        context = typer.Context(tree, info_name=name, parent=context)
    if "--" in words:
        words = words[: words.index("--")]
    known = {
        option
        for parameter in tree.get_params(context)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known, (page, line)


def test_the_map_of_the_code_names_files_that_exist() -> None:
    package = ROOT / "src" / "loopguard_cli"
    named = set(re.findall(r"`([a-z_]+/[a-z_/.]*)`", read("CONTRIBUTING.md")))
    assert len(named) > 20
    assert [name for name in named if not (package / name).exists() and not (ROOT / name).exists()] == []


def test_the_readme_names_the_two_commands_that_make_knows() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    readme = read("README.md")
    for command in ("demo", "test"):
        assert f"make {command}" in readme
    assert (
        set(re.findall(r"(?:^|`)make ([a-z-]+)", readme + read("CONTRIBUTING.md"), flags=re.MULTILINE))
        <= targets
    )


def test_the_cost_of_a_gate_in_the_faq_is_what_was_measured() -> None:
    """Its words hold as long as the figures of the benchmarks stay within them."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) ms \|", read("docs/benchmarks.md"), flags=re.MULTILINE)
    measured = {what: float(figure) for what, figure in rows}
    page = " ".join(read("docs/faq.md").split())
    assert "three milliseconds at the median and less than twenty at the 99th percentile" in page
    assert measured["gate round trip inside OpenCode, p50"] < 3.5
    assert measured["gate round trip inside OpenCode, p99"] < 20
    assert measured["question and result before it, p50"] < 0.6
