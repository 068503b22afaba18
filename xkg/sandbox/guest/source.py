"""Provides the source of guest modules for copying into a sandbox."""

import functools
from pathlib import Path


@functools.cache
def guest_source(name: str) -> str:
    """Returns the source of a module in this folder."""
    return Path(__file__).with_name(f"{name}.py").read_text()
