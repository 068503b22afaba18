"""Text that UTF-8 can carry."""


def encodable(text: str) -> str:
    """`text` with `?` for what has no UTF-8: lone surrogates."""
    return text.encode("utf-8", "replace").decode()
