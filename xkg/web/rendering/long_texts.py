"""How much of a text a page shows."""

LONGEST = 20_000
"""Characters: a quarter of a second, if all are formulas."""


def cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def finalized(value: object) -> object:
    """The text that a template inserts for a value. Markup stays whole, since its text was cut when it was made."""
    return cut(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
