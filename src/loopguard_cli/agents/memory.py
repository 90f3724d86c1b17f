"""A dictionary that forgets its oldest entries: nothing in an adapter grows with the run."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class Recent(Generic[K, V]):
    """At most ``limit`` entries; setting one makes it the newest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def get(self, key: K, default: D) -> V | D:
        return self._entries.get(key, default)

    def pop(self, key: K) -> V | None:
        return self._entries.pop(key, None)

    def items(self) -> list[tuple[K, V]]:
        return list(self._entries.items())

    def values(self) -> list[V]:
        return list(self._entries.values())

    def clear(self) -> None:
        self._entries.clear()
