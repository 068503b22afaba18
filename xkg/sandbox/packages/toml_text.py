"""Parses untrusted TOML. The standard parser takes quadratic time in the number of parts in a key, so text that could
contain long keys is rejected before parsing."""

import tomllib
from typing import Any

_LONGEST = 300_000  # characters
_MOST_DOTS = 400  # maximum number of dots in a line, because a key cannot span lines


def read_toml(text: str, longest: int = _LONGEST) -> dict[str, Any]:
    """Parses TOML text of at most `longest` characters. Raises `ValueError` for text that is not valid TOML, is nested
    too deeply, or is unreasonably large."""
    if len(text) > longest:
        raise ValueError(f"TOML of {len(text):,} characters is too large")
    if text.count(".") > _MOST_DOTS and any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"TOML has a line with more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("TOML is nested too deeply") from error
