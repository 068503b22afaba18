"""Maps import names to distributions with different names."""

import tomllib
from pathlib import Path

# The table is read on import, because a process that parses repositories cannot open files later.
_DISTRIBUTIONS: dict[str, str] = tomllib.loads(Path(__file__).with_name("distributions.toml").read_text())[
    "distributions"
]


# setuptools 82 removed pkg_resources: https://setuptools.pypa.io/en/latest/history.html
LAST_WITH = {"pkg_resources": "setuptools<82"}
"""Modules that were dropped from later versions of their distributions, mapped to requirements for versions that still
include them."""


def distribution_of(name: str) -> str | None:
    """Returns the distribution that provides an import name, or None if the table does not list it."""
    return _DISTRIBUTIONS.get(name)
