"""Makes text encodable as UTF-8, and lines safe to print on a terminal."""


def encodable(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode, with `?`."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """Replaces each run of whitespace, including line breaks, with one space."""
    return " ".join(text.split())


def printable_line(text: str) -> str:
    """Returns `text` as one line, with `?` for unprintable characters. Names come from papers and models, and must not
    contain terminal control sequences."""
    return "".join(c if c.isprintable() else "?" for c in one_line(text))
