"""Limits how much text a page shows."""

LONGEST = 20_000
"""Maximum number of characters, which takes a quarter of a second if all are formulas."""


def cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def finalized(value: object) -> object:
    """Returns the text that a template inserts for a value. Markup is not cut, since its text was cut when it was
    rendered."""
    return cut(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
