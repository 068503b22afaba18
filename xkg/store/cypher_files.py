"""Where the `.cypher` files are: beside this module in a wheel, at the root of a checkout."""

from pathlib import Path


def folder() -> Path:
    """The folder `cypher/`."""
    packaged = Path(__file__).parent / "cypher"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "cypher"


def embedded_schema() -> str:
    """The statements that make the tables of an embedded graph."""
    return (folder() / "schema" / "embedded.cypher").read_text(encoding="utf-8")
