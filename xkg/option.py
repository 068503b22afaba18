"""Marks a field of a typed dictionary as an option of the command line."""

from typing import NamedTuple


class Option(NamedTuple):
    """The help of an option, and its name if that is not the field's, such as `--metric` of `metrics`."""

    help: str
    name: str = ""
