"""Limits the length of text on a page."""

LONGEST = 20_000
"""Maximum number of characters. A text of this length that consists only of formulas takes a quarter of a second to
render."""


def cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def finalized(value: object) -> object:
    """Cuts text before a template inserts it. Markup is left unchanged, because its text was cut during rendering."""
    return cut(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
