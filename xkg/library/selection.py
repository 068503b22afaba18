"""Selects papers from a library by name, topic or level, or selects the newest papers."""

import re
from collections.abc import Iterable, Sequence

from xkg.errors import AmbiguousIdError, UnknownIdError
from xkg.library.layout import Files, Head, Row, rank_of
from xkg.model import Level, paper_id, slug
from xkg.text.arxiv_id import arxiv_id
from xkg.text.doi import canonical_doi


def named(files: Files, head: Head, name: str, place: str) -> Row:
    """Returns the paper with the given id, arXiv id, DOI or title. The title may omit the part after a colon. Raises
    `UnknownIdError`, or `AmbiguousIdError` if there are several such papers."""
    keys = [name] if re.match("(arxiv|doi|title):", name) else []
    if (known := arxiv_id(name)) is not None:
        keys.append(f"arxiv:{known.number}")
    elif (doi := canonical_doi(name)) is not None:
        keys.append(paper_id("", doi=doi))
    elif not keys:
        keys = [f"title:{slug(name)}"]
    for key in keys:
        found = files.find(head, key)
        if len(found) > 1:
            ids = [row.paper for row in found]
            raise AmbiguousIdError(f"{name!a} matches several papers in {place}: {', '.join(ids[:5])}", ids)
        if found:
            return found[0]
    raise UnknownIdError(f"{place} has no paper {name!a}; use an id, arXiv id or title")


def newest(rows: Iterable[Row]) -> list[Row]:
    """Returns only the last entry for each paper."""
    return list({row.paper: row for row in rows}.values())


def chosen(rows: Sequence[Row], topic: str = "", level: Level | None = None) -> list[Row]:
    """Returns the papers with every word of `topic` in their title or technique names, and with code whose claimed
    level is `level` or above."""
    words = frozenset(slug(topic).split("-")) if topic.strip() else frozenset()
    return [
        row
        for row in rows
        if (not words or words <= {word for text in (row.title, *row.names) for word in slug(text).split("-")})
        and (level is None or any(rank_of(name) >= level.rank for name in row.versions[0].levels))
    ]
