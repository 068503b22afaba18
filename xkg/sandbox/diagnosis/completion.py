"""Packages of modules that are missing only when code runs: an optional dependency that a library imports late, or a
name that is put together."""

from collections.abc import Callable, Sequence

from xkg.sandbox.evidence.failure_causes import missing_packages
from xkg.sandbox.runner import Environment

_MOST = 3


class Completion:
    """Adds modules that failed runs miss, at most three times. `make` gives the environment that has `modules` beside
    what it has anyway; `modules` are those that were added."""

    def __init__(self, make: Callable[[Sequence[str]], Environment], modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._make = make
        self._left = _MOST

    def after(self, output: str, environment: Environment) -> Environment | None:
        """The environment in which a failed run can be tried again, by its output and the environment that it had; None
        where that would change nothing."""
        for module in missing_packages(output):
            if not self._left or module in environment.provided or module in self.modules:
                continue
            self._left -= 1
            made = self._make((*self.modules, module))
            if module in made.provided:
                self.modules = (*self.modules, module)
                return made
        return None
