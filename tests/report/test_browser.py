"""The page in a real browser, where Chromium is installed: its script, its two schemes, its print."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.report import render
from loopguard_cli.store.redaction import Redactor
from loopguard_cli.study.histories import find
from loopguard_cli.study.sources import report_of
from tests.history.stories import Story

LOOK = """
<script>
addEventListener("load", async () => {
  const settled = () => new Promise((done) => setTimeout(done, 50));
  const shown = () => [...document.querySelectorAll("#timeline li:not(.fold)")]
    .filter((one) => one.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})).length;
  const open = () => [...document.querySelectorAll(".fold details")].filter((one) => one.open).length;
  const seen = {filter: !document.querySelector(".filter").hidden, all: shown()};
  const marked = document.getElementById("marked-only"), unfold = document.getElementById("unfold");
  marked.click();
  seen.marked = shown();
  marked.click();
  seen.again = shown();
  seen.folded = open();
  unfold.click();
  seen.unfolded = open(); seen.everything = shown(); seen.label = unfold.textContent;
  unfold.click();
  seen.folded_again = open();
  location.hash = document.querySelector(".fold li[id]").id;
  await settled();
  seen.target = open();
  dispatchEvent(new Event("beforeprint"));
  const contents = [...document.querySelectorAll(".content details")];
  seen.contents = contents.length; seen.printed = contents.filter((one) => one.open).length;
  seen.wide = document.documentElement.scrollWidth <= innerWidth;
  seen.paper = getComputedStyle(document.body).backgroundColor;
  const told = document.createElement("pre");
  told.id = "seen"; told.textContent = JSON.stringify(seen);
  document.body.append(told);
});
</script>
"""
DARK = ("--blink-settings=preferredColorScheme=0",)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a long honest stretch and a loop at its end, with its content."""
    folder = tmp_path_factory.mktemp("page")
    story = Story(folder / "s.jsonl").person("do it")
    for number in range(40):
        story.calls("read", f"line {number}", file=f"{number}.txt")
    for _ in range(5):
        story.calls("bash", "alpha", command="cat a")
    (conversation,) = find(story.says("Done.").write())
    report = report_of(conversation, GuardSettings(), content=Redactor("/home/dev"))
    file = folder / "page.html"
    file.write_text(render(report), "utf-8")
    return file


def browse(page: Path, *flags: str) -> str:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    own = (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--virtual-time-budget=5000", f"--user-data-dir={page.parent / 'profile'}",
    )  # fmt: skip
    argv = [browser, *own, *flags, page.as_uri()]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout


def looked_at(page: Path, *flags: str, size: str = "1100,900") -> dict[str, Any]:
    tried = page.with_name("tried.html")
    tried.write_text(page.read_text("utf-8").replace("</body>", f"{LOOK}</body>"), "utf-8")
    found = re.search(
        r'<pre id="seen">(.*?)</pre>', browse(tried, f"--window-size={size}", "--dump-dom", *flags)
    )
    assert found
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    return seen


@pytest.mark.slow
def test_the_filter_leaves_what_is_marked_and_folds_open_and_close(page: Path) -> None:
    seen = looked_at(page)
    assert seen["filter"], "hidden only where scripts do not run"
    assert 0 < seen["marked"] < seen["all"] == seen["again"] < seen["everything"]
    assert seen["folded"] == seen["folded_again"] == 0 < seen["unfolded"]
    assert seen["label"] == "fold again"
    assert seen["target"] == 1, "a link into a fold opens it"
    assert seen["contents"] == seen["printed"] > 0, "for print, contents are open"


@pytest.mark.slow
def test_it_follows_the_scheme_of_the_browser_and_fits_a_telephone(page: Path) -> None:
    light, dark = looked_at(page, size="500,900"), looked_at(page, *DARK)
    assert light["paper"] != dark["paper"]
    assert light["wide"], "nothing sticks out to the side"


@pytest.mark.slow
def test_it_prints(page: Path) -> None:
    made = page.with_suffix(".pdf")
    browse(page, f"--print-to-pdf={made}")
    assert made.read_bytes().startswith(b"%PDF")
