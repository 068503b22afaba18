"""Text that UTF-8 can carry, and a line that a terminal can show."""


def encodable(text: str) -> str:
    """`text` with `?` for what has no UTF-8: lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """`text` with one space for each run of white space, line ends included."""
    return " ".join(text.split())


def printable_line(text: str) -> str:
    """`text` in one line, with `?` for what is nothing to see: names come from papers and models, and a terminal must
    find nothing in them to obey."""
    return "".join(c if c.isprintable() else "?" for c in one_line(text))
