"""Reads the papers to build from a bibliography in BibTeX or CSL-JSON, as Zotero exports it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xkg.build.paper.latex import bibtex
from xkg.build.paper.latex.bibliography import reference_of
from xkg.errors import InputError
from xkg.text.arxiv_id import arxiv_id

_READ = (".pdf", ".tex", ".html", ".htm", ".md")


def named_papers(text: str, folder: Path) -> list[str | None] | None:
    """Returns a name for each entry's paper: its arXiv id, an existing file, or its title. If an entry has none of
    these, its name is None. Returns None instead of a list if the text is in another format. Raises `InputError` if the
    text is a JSON array but not CSL-JSON."""
    if text.lstrip().startswith("["):
        return list(_csl(text, folder))
    return list(_bibtex(text, folder)) if re.match(r"\s*(?:%[^\n]*\n\s*)*@\w+\s*[{(]", text) else None


def _bibtex(text: str, folder: Path) -> Iterator[str | None]:
    for entry in bibtex.entries(text):
        work = reference_of(entry)
        # Zotero writes `title:path:type;…` and escapes the separators with a backslash.
        files = re.split(r"(?<!\\)[:;]", entry.fields.get("file", ""))
        paths = [file.replace("\\", "") for file in files]
        yield _named([work.arxiv_id or "", work.doi or ""], paths, work.title or "", folder)


def _csl(text: str, folder: Path) -> Iterator[str | None]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"it starts like CSL-JSON but is not valid JSON ({str(error)[:80]})") from error
    for item in items:
        fields: Mapping[str, Any] = item if isinstance(item, dict) else {}
        ids = [str(fields.get(name, "")) for name in ("number", "DOI", "URL", "note", "archive_location")]
        yield _named(ids, [], str(fields.get("title", "")), folder)


def _named(ids: Sequence[str], files: Sequence[str], title: str, folder: Path) -> str | None:
    for text in ids:
        if text and (found := arxiv_id(text)):
            return str(found)
    for file in files:
        if file.lower().endswith(_READ) and (path := folder / file).is_file():
            return str(path)
    return " ".join(title.split()) or None
