"""What was worked out a moment ago and is asked for again, by the same agent or by another."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT = 256
"""Answers of some ten kilobytes each; those that were asked for least lately go first."""


class Remembered(Generic[V]):
    """Values by what they follow from, which their keys must say in full: for an answer, also the generation of the
    graph. Safe to use from several threads; two that ask for the same at once may both work it out."""

    def __init__(self, kept: int = KEPT) -> None:
        self._most = kept
        self._turn = threading.Lock()
        self._kept: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value for `key`, made where it is not known. What `make` raises is raised, and nothing kept."""
        known = self.known([key])
        if not known:
            self.keep(known := {key: make()})
        return known[key]

    def known(self, keys: Iterable[K]) -> dict[K, V]:
        """What is kept for these keys."""
        with self._turn:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
            return found

    def keep(self, made: Mapping[K, V]) -> None:
        """Takes in values, in place of those that were asked for least lately."""
        with self._turn:
            for key, value in made.items():
                self._kept[key] = value
                self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
