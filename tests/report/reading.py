"""Reads a page as a browser would, as far as tests need it."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

VOID = frozenset(["meta", "br", "input", "img", "link", "hr"])


class Page(HTMLParser):
    """The elements of a page; raises ValueError where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        if self._open:
            raise ValueError(f"never closed: {self._open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            raise ValueError(f"<{tag}> has an attribute twice: {names}")
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise ValueError(f"</{tag}> closes nothing that is open")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data

    def ids(self) -> Counter[str]:
        return Counter(attrs["id"] for _, attrs in self.elements if "id" in attrs)

    def links(self) -> set[str]:
        return {attrs["href"] for _, attrs in self.elements if "href" in attrs}

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attrs for name, attrs in self.elements if name == tag]
