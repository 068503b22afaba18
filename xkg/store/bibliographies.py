"""Exports a graph's papers for reference managers, as BibTeX or CSL-JSON
(https://citeproc-js.readthedocs.io/en/latest/csl-json)."""

import json
import re
from collections.abc import Iterable

from xkg.model import Paper, slug
from xkg.store.index_entries import encodable

_TEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {char: f"\\{char}" for char in "&%$#_"}


def bibtex(papers: Iterable[Paper]) -> str:
    """Returns BibTeX with an `@misc` entry for each paper, because the graph does not record where papers were
    published. Keys are unique."""
    entries, keys = [], set[str]()
    for paper in papers:
        first = key = _key(paper)
        number = 1
        while key in keys:
            number += 1
            key = f"{first}-{number}"
        keys.add(key)
        fields = {
            "title": f"{{{_tex(paper.title)}}}",
            "author": " and ".join(f"{{{_tex(name)}}}" if "," in name else _tex(name) for name in paper.authors),
            "year": str(paper.year or ""),
            "eprint": paper.arxiv_number or "",
            "archiveprefix": "arXiv" if paper.arxiv_number else "",
            "doi": paper.doi or "",
            "url": _url(paper),
            "abstract": _tex(paper.abstract),
        }
        lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
        entries.append(f"@misc{{{key},\n{''.join(lines)}}}\n")
    return "\n".join(entries)


def csl_json(papers: Iterable[Paper]) -> str:
    """Returns CSL-JSON with an item for each paper. The item's id is the paper's id in the graph."""
    items = []
    for paper in papers:
        item: dict[str, object] = {"id": paper.id, "type": "article", "title": paper.title}
        if paper.authors:
            item["author"] = [_named(name) for name in paper.authors]
        if paper.year is not None:
            item["issued"] = {"date-parts": [[paper.year]]}
        if paper.arxiv_number:
            item |= {"publisher": "arXiv", "number": f"arXiv:{paper.arxiv_number}"}
        item |= {"DOI": paper.doi} if paper.doi else {}
        item |= {"URL": _url(paper)} if _url(paper) else {}
        item |= {"abstract": paper.abstract} if paper.abstract else {}
        items.append(item)
    return encodable(json.dumps(items, ensure_ascii=False, indent=1)) + "\n"


def _named(name: str) -> dict[str, str]:
    given, _, family = name.rpartition(" ")
    return {"family": family, "given": given} if given and "," not in name else {"literal": name}


def _url(paper: Paper) -> str:
    if paper.arxiv_number:
        return f"https://arxiv.org/abs/{paper.arxiv_number}"
    return f"https://doi.org/{paper.doi}" if paper.doi else ""


def _key(paper: Paper) -> str:
    family = slug(paper.authors[0].split()[-1]) if paper.authors and paper.authors[0].split() else ""
    words = [word for word in slug(paper.title).split("-") if len(word) > 3]
    key = re.sub(r"[^a-z0-9]", "", f"{family}{paper.year or ''}{words[0] if words else ''}")
    return key or "paper"


def _tex(text: str) -> str:
    return " ".join("".join(_TEX.get(char, char) for char in encodable(text)).split())
