"""Pictures of the terminal: well-formed, self-contained, and of what the program prints today."""

from __future__ import annotations

import html
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

IMAGES = Path(__file__).parents[2] / "docs" / "images"
NAMESPACE = "{http://www.w3.org/2000/svg}"

SEEN = {
    "demo.svg": ("A call that repeats", "opencode run", "[ANTI-LOOP]", "third identical call was not run"),
    "watch.svg": ("loopguard status --watch", "repeat-call", "Goal 1", "continuations", "Latest", "-> block"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_a_picture_shows_what_it_should_and_loads_nothing(name: str) -> None:
    file = IMAGES / name
    root = ET.parse(file).getroot()
    text = " ".join(html.unescape("".join(element.itertext())) for element in root.iter(f"{NAMESPACE}text"))
    text = re.sub(r"\s+", " ", text)
    for words in SEEN[name]:
        assert words in text
    assert "FAIL" not in text
    assert re.findall(r"https?://(?!www\.w3\.org/)", file.read_text()) == []


def test_pages_show_them() -> None:
    readme = (IMAGES.parents[1] / "README.md").read_text()
    assert "docs/images/demo.svg" in readme
    assert "docs/images/watch.svg" in readme
