"""The distributions of import names that differ from them, by our own table."""

import tomllib
from pathlib import Path

# Read at once: a process that parses repositories may open no file later.
_DISTRIBUTIONS: dict[str, str] = tomllib.loads(Path(__file__).with_name("distributions.toml").read_text())[
    "distributions"
]


def distribution_of(name: str) -> str | None:
    """The distribution that provides an import name, by our table; None where the table lacks it."""
    return _DISTRIBUTIONS.get(name)
