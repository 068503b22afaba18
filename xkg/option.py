"""Marks a typed dictionary's field as a command-line option."""

from typing import NamedTuple


class Option(NamedTuple):
    """An option's help text, and its name if it differs from the field's name, such as `--metric` for `metrics`."""

    help: str
    name: str = ""
