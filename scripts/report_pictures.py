"""Takes the pictures of docs/report.md: a report of a recorded session, in a real browser.

``make pictures`` takes them. Needs chromium (Debian: ``apt-get install chromium``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.report import render
from loopguard_cli.study.histories import find
from loopguard_cli.study.sources import report_of

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SESSION = (
    ROOT / "tests/history/fixtures/claude/2.1.332/-home-dev-shop/11111111-2222-4333-8444-555555555555.jsonl"
)
DARK = (
    "--force-dark-mode",
    "--enable-features=WebContentsForceDark",
    "--blink-settings=preferredColorScheme=0",
)
PICTURES: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("report-light.png", 1100, 1250, ()),
    ("report-dark.png", 1100, 1250, DARK),
    ("report-narrow.png", 420, 1250, ()),
)


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no chromium found", file=sys.stderr)
        return 1
    (conversation,) = find(SESSION)
    report = report_of(conversation, GuardSettings())
    report.source = conversation.path.name
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(render(report), "utf-8")
        profile = f"--user-data-dir={folder}/profile"
        for name, width, height, flags in PICTURES:
            subprocess.run(
                [
                    browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                    "--disable-background-networking", "--hide-scrollbars", profile,
                    *flags, f"--window-size={width},{height}", f"--screenshot={IMAGES / name}", page.as_uri(),
                ],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            print(f"written {(IMAGES / name).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
