"""Reads a LaTeX paper's references from the `.bbl` file (BibTeX or biber), a `thebibliography` in the text, or the
cited `.bib` entries."""

import posixpath
import re
from collections.abc import Mapping

from xkg.build.paper.files import PaperFiles
from xkg.build.paper.front_matter import ARXIV
from xkg.build.paper.latex import bibtex
from xkg.build.paper.latex.tex.macros import find_macros
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.reference_text import arxiv_of, doi_of, reference_from_text, year_of
from xkg.errors import InputError
from xkg.model import Reference
from xkg.text.plural import plural

_ITEM = re.compile(r"\\bibitem(?![a-zA-Z])")
_BIB_FILES = re.compile(
    r"\\(?:bibliography|addbibresource|addglobalbib)\s*+(?:\[[^\]]{0,200}\])?\s*+\{([^{}]{1,1000})\}"
)
# Each name in the argument creates a file NAME.bbl.
_NEW_CITES = re.compile(r"\\newcites\s*+(?:\[[^\]]{0,200}\])?\s*+\{([a-zA-Z,\s]{1,200})\}")
_CITE = re.compile(r"\\(?=[a-zA-Z]*?[cC]ite)(?![a-zA-Z]*citestyle)[a-zA-Z]++\*?(?=\s*+[\[{])")
_PARAMETER = re.compile(r"[#\\]")  # found only in definitions of citation commands
_ENTRY = re.compile(r"\\entry\{([^{}]{1,200})\}\{([^{}]*)\}")
_FIELD = re.compile(r"\\(field|strng|list|verb|name)\s*\{([a-zA-Z]+)\}")
_VERB = re.compile(r"\\verb\{(doi|eprint|url)\}\s*\\verb ([^\n]*+)")
_NEWBLOCK = re.compile(r"\\newblock(?![a-zA-Z])")
_INFO_TITLE = re.compile(
    r"\\(?:bibinfo\s*\{(?:title|booktitle)\}|bibfield\s*\{title\}|showarticletitle|BIBentryTitle)\s*(?=\{)"
)
_LONGEST_ITEM = 20_000
_MOST = 5000


def latex_references(files: PaperFiles, main: str, text: str) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
    """Returns the references, in order of appearance, and any warnings."""
    inside = parse_bbl(text) if "\\bibitem" in text else ()
    if inside:
        return inside, ()
    for path in _bbl_paths(main, text):
        content = files.text(path)
        references = parse_bbl(content) if content else ()
        if references:
            return references + _of_multibib(files, main, text), ()
    references, warnings = _from_bib(files, text)
    return (references, warnings) if references else _from_another_bbl(files, text) or (references, warnings)


def _bbl_paths(main: str, text: str) -> list[str]:
    stem = posixpath.splitext(main)[0]
    named = [
        posixpath.splitext(name.strip())[0] + ".bbl" for m in _BIB_FILES.finditer(text) for name in m[1].split(",")
    ]
    return list(dict.fromkeys([stem + ".bbl", *named[:20]]))


def _of_multibib(files: PaperFiles, main: str, text: str) -> tuple[Reference, ...]:
    """Returns the references in additional bibliographies created with the multibib package."""
    names = [name.strip() for match in _NEW_CITES.finditer(text) for name in match[1].split(",")]
    paths = [posixpath.join(posixpath.dirname(main), f"{name}.bbl") for name in dict.fromkeys(names) if name]
    return tuple(reference for path in paths[:20] for reference in parse_bbl(files.text(path) or ""))


def _from_another_bbl(files: PaperFiles, text: str) -> tuple[tuple[Reference, ...], tuple[str, ...]] | None:
    """Returns the references from the `.bbl` file, of any name and in any folder, that covers the most cited works.
    Returns None if no file covers at least half of the cited works."""
    cited = set(cited_keys(text)) - {"*"}
    try:
        names = [name for name in files.names() if name.endswith(".bbl")] if cited else []
    except InputError:  # the folder contains more files than a paper would
        return None
    found = {name: parse_bbl(files.text(name) or "") for name in names[:20]}
    known = {name: len(cited & {r.key for r in references}) for name, references in found.items()}
    best = max(known, key=lambda name: known[name], default="")
    if not best or 2 * known[best] < len(cited):
        return None
    return found[best], (f"the references were read from {best}",)


def _from_bib(files: PaperFiles, text: str) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
    names = list(dict.fromkeys(name.strip() for m in _BIB_FILES.finditer(text) for name in m[1].split(",")))[:20]
    by_key: dict[str, bibtex.Entry] = {}
    warnings: list[str] = []
    for name in names:
        file = name if name.endswith(".bib") else name + ".bib"
        content = files.text(file)
        if content is None:  # TeX's search path may include other folders
            content = files.only(posixpath.basename(file))
        if content is None:
            warnings.append(f"the bibliography {name} was not found")
            continue
        for entry in bibtex.entries(content):
            by_key.setdefault(entry.key, entry)
    cited = cited_keys(text)
    keys = list(by_key) if "*" in cited else [key for key in cited if key in by_key]
    missing = [key for key in cited if key not in by_key and key != "*"]
    if missing and by_key:
        warnings.append(f"not found in any bibliography: {plural(len(missing), 'cited key')}, such as {missing[0]}")
    return tuple(reference_of(by_key[key]) for key in keys[:_MOST]), tuple(warnings)


def cited_keys(text: str) -> list[str]:
    r"""Returns the keys in all `\cite…` and `\nocite` commands, in order and without duplicates."""
    return list(dict.fromkeys(key for _, keys in citations(text) for key in keys))


def citations(text: str) -> list[tuple[int, list[str]]]:
    r"""Returns the offset of each `\cite…` and `\nocite` command, and the keys that it cites."""
    tex = Tex(text)
    found: list[tuple[int, list[str]]] = []
    for match in _CITE.finditer(text):
        group = tex.group(tex.skip_options(match.end()))
        if group is not None and group.end - group.start < 10_000:
            keys = [key.strip() for key in tex.inner(group).split(",")]
            found.append((match.start(), [key for key in keys if key and not _PARAMETER.search(key)]))
    return found


def reference_of(entry: bibtex.Entry) -> Reference:
    """Converts a BibTeX entry to a reference."""
    fields = entry.fields
    title = _line(fields.get("title", "")).rstrip(".") or None
    year = re.search(r"(?:1[89]|20)\d\d", fields.get("year") or fields.get("date") or "")
    named = (_person(name) for name in re.split(r"(?<!\s)\s++and\s+", fields.get("author", ""))[:50])
    authors = [name for name in named if name]
    venue = fields.get("journal") or fields.get("booktitle") or fields.get("howpublished") or ""
    parts = [", ".join(authors), title or "", _line(venue), fields.get("year", "")]
    doi = fields.get("doi", "")
    eprint, identifiers = (
        fields.get("eprint", ""),
        " ".join((venue, fields.get("url", ""), fields.get("note", ""), doi)),
    )
    arxiv = re.fullmatch(r"(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]+/\d{7})(?:v\d+)?", eprint.strip(), re.I | re.A)
    arxiv_mention = ARXIV.search(identifiers + " " + fields.get("volume", ""))
    return Reference(
        title=title,
        text=". ".join(part for part in parts if part) or None,
        cited_as=_cited_as(authors, year[0] if year else ""),
        key=entry.key,
        arxiv_id=arxiv[1] if arxiv else (arxiv_mention["id"] if arxiv_mention else None),
        doi=doi_of(doi.replace("\\_", "_")) or doi_of(fields.get("url", "")),
        year=int(year.group()) if year else None,
    )


def _person(name: str) -> str:
    last, comma, first = _line(name).partition(",")
    return (f"{first.strip()} {last}" if comma else last).strip()


def _line(source: str) -> str:
    return " ".join(latex_text(source[:_LONGEST_ITEM]).split())


def parse_bbl(text: str) -> tuple[Reference, ...]:
    r"""Returns the references in a `.bbl` file or in a text's `thebibliography` environments. Supports biblatex and the
    natbib, plain, IEEE, ACM and REVTeX styles."""
    if "\\entry{" in text and "\\endentry" in text:
        return _parse_biblatex(text)
    own = find_macros(text)
    tex = Tex(text)
    references: list[Reference] = []
    stops = [m.start() for m in _ITEM.finditer(text) if not any(a <= m.start() < b for a, b in own.definitions[:200])]
    for index, start in enumerate(stops[:_MOST]):
        last = stops[index + 1] if index + 1 < len(stops) else text.find("\\end{thebibliography}", start)
        end = min(start + _LONGEST_ITEM, len(text) if last < 0 else last)
        option = tex.option(start + len("\\bibitem"))
        group = tex.group(option.after if option else start + len("\\bibitem"))
        if group is None:
            continue
        label = tex.inner(option) if option else ""
        references.append(_from_item(text[group.after : end], tex.inner(group).strip(), label, own.table))
    return tuple(references)


def _from_item(body: str, key: str, label: str, macros: Mapping[str, tuple[int, str]]) -> Reference:
    identifiers = body.replace("\\_", "_").replace("\\-", "")
    urls = " ".join(re.findall(r"\\(?:href|url|doi|path|eprint|arxiv)\s*\{([^{}]{1,500})\}", identifiers))
    readable = latex_text(re.sub(r"\\(?:url|path|doi|nolinkurl|href@noop)(?![a-zA-Z])", " ", body), macros)
    plain = " ".join(readable.split())
    reference = reference_from_text(plain, key)
    doi = doi_of(re.sub(r"[{}]", " ", identifiers))
    return reference.model_copy(
        update={
            "title": _item_title(body, macros) or reference.title,
            "arxiv_id": reference.arxiv_id or arxiv_of(urls),
            "doi": reference.doi or doi,
            "year": _label_year(label) or reference.year,
            "cited_as": _label_text(label),
        }
    )


def _label_year(label: str) -> int | None:
    match = re.search(r"\(((?:1[89]|20)\d\d)[a-z]?\)", label.replace("{", "").replace("}", ""))
    return int(match[1]) if match else None


def _label_text(label: str) -> str | None:
    """Returns the text that natbib prints for `\\citet`. For the label "Liu and Wang(2016)Liu, Wang", this is "Liu and
    Wang (2016)"."""
    readable = _line(re.sub(r"\\citenamefont(?![a-zA-Z])", "", label))
    match = re.match(r"([^()]{2,100})\(((?:1[89]|20)\d\d[a-z]?)\)", readable)
    return f"{match[1].strip()} ({match[2]})" if match else None


def _cited_as(authors: list[str], year: str) -> str | None:
    surnames = [author.split()[-1] for author in authors]
    if not surnames or not year:
        return None
    if len(surnames) > 2 or surnames[-1] == "others":
        return f"{surnames[0]} et al. ({year})"
    return f"{' and '.join(surnames)} ({year})"


def _item_title(body: str, macros: Mapping[str, tuple[int, str]]) -> str | None:
    marked = _INFO_TITLE.search(body)
    if marked:
        tex = Tex(body)
        group = tex.group(marked.end())
        if group is not None and (title := " ".join(latex_text(tex.inner(group), macros).split())):
            return title.rstrip(".,")
    blocks = _NEWBLOCK.split(body)
    if len(blocks) < 2:
        return None
    title = " ".join(latex_text(blocks[1], macros).split())
    title = re.sub(r"[,.]?\s*\(?(?:1[89]|20)\d\d[a-z]?\)?\W*$", "", title).rstrip(" .,")
    return title or None


def _parse_biblatex(text: str) -> tuple[Reference, ...]:
    tex = Tex(text)
    stops = list(_ENTRY.finditer(text))
    references: dict[str, Reference] = {}
    for index, match in enumerate(stops[:_MOST]):
        end = stops[index + 1].start() if index + 1 < len(stops) else len(text)
        fields: dict[str, str] = {}
        for part in _FIELD.finditer(text, match.end(), end):
            group = tex.group(part.end())
            if part[1] == "field" and group is not None:
                fields.setdefault(part[2], tex.inner(group))
        fields |= {name: value.strip() for name, value in _VERB.findall(text, match.end(), end)}
        names = re.findall(r"(family|given)=\{((?:[^{}]|\{[^{}]*\}){1,200})\}", text[match.end() : end])
        title = ": ".join(fields[name] for name in ("title", "subtitle") if fields.get(name))
        venues = (fields.get(name, "") for name in ("journaltitle", "booktitle", "eprinttype"))
        fields |= {"author": _biblatex_names(names), "title": title, "journal": next(filter(None, venues), "")}
        fields["year"] = fields.get("year") or fields.get("date") or str(year_of(fields["journal"]) or "")
        if title:
            references.setdefault(match[1], reference_of(bibtex.Entry("", match[1], fields)))
    return tuple(references.values())


def _biblatex_names(parts: list[tuple[str, str]]) -> str:
    """Joins names into one string, as in a BibTeX file."""
    names: list[str] = []
    for kind, value in parts[:100]:
        if kind == "family":
            names.append(value)
        elif names:
            names[-1] = f"{value} {names[-1]}"
    return " and ".join(names)
