"""Formats counts for sentences."""


def plural(number: int, one: str, several: str = "") -> str:
    """Returns a count with its noun: `1 paper`, `3 papers`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
