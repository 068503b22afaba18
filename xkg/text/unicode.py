"""Text that UTF-8 can encode, and lines that are safe on a terminal."""


def encodable(text: str) -> str:
    """`text` with `?` for lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """`text` with one space for each run of white space, line ends included."""
    return " ".join(text.split())


def printable_line(text: str) -> str:
    """`text` in one line, with `?` for characters that are not printable: names come from papers and models, and must
    hold no control sequences for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in one_line(text))
