"""Returns the source of guest modules, to be placed in a sandbox."""

import functools
from pathlib import Path


@functools.cache
def guest_source(name: str) -> str:
    """The source of a module of this folder."""
    return Path(__file__).with_name(f"{name}.py").read_text()
