"""Numbers of things, as a sentence says them."""


def plural(number: int, one: str, several: str = "") -> str:
    """`1 paper`, `3 papers`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
