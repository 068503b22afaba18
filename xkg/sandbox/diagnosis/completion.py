"""Finds packages that turn out to be missing only at run time, such as a library's lazily imported dependencies, or
modules with computed names."""

from collections.abc import Callable, Sequence

from xkg.sandbox.evidence.failure_causes import missing_packages
from xkg.sandbox.runner import Environment

_MOST = 3


class Completion:
    """Adds modules that were missing in failed runs, at most three times. `make` returns an environment that also
    contains the given modules. `modules` lists the modules added so far."""

    def __init__(self, make: Callable[[Sequence[str]], Environment], modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._make = make
        self._left = _MOST

    def after(self, output: str, environment: Environment) -> Environment | None:
        """Returns an environment in which to retry a failed run, or None if a retry would not help. `output` and
        `environment` are from the failed run."""
        for module in missing_packages(output):
            if not self._left or module in environment.provided or module in self.modules:
                continue
            self._left -= 1
            made = self._make((*self.modules, module))
            if module in made.provided:
                self.modules = (*self.modules, module)
                return made
        return None
