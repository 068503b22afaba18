"""Parses a LaTeX paper into a `Document`, starting at the main file."""

import re
from collections.abc import Mapping

from xkg.build.paper.document import Document
from xkg.build.paper.files import PaperFiles
from xkg.build.paper.front_matter import arxiv_id_in, doi_in, first_year, venue_year
from xkg.build.paper.headings import numbered, tree
from xkg.build.paper.latex.asides import AsideReader
from xkg.build.paper.latex.authors import authors_in, title_page
from xkg.build.paper.latex.bibliography import latex_references
from xkg.build.paper.latex.structure import Scan
from xkg.build.paper.latex.tex.commands import SWITCHES
from xkg.build.paper.latex.tex.flatten import flatten
from xkg.build.paper.latex.tex.labels import printed, theorems_in
from xkg.build.paper.latex.tex.macros import Macros, find_macros, label_macros
from xkg.build.paper.latex.tex.text import latex_text
from xkg.text.unicode import one_line

_TITLES = re.compile(r"\\(?:title|titulo)\*?(?![a-zA-Z])")
_AUTHORS = re.compile(r"\\(?:authors?|Author|name|IEEEauthorblockN|autor)\*?(?![a-zA-Z])")
_MAKETITLE = re.compile(r"\\maketitle(?![a-zA-Z])")
# These come from other document classes and are used only if the paper contains none of the commands above.
_OTHER_TITLES, _OTHER_AUTHORS = (
    re.compile(
        rf"\\(?!run|short|sub|toc|head|pdf|page|sec|chap|frame|print|make|the(?!sis)|format|set|show|cover|journal|book"
        rf"|corresp|orcid)[a-zA-Z]{{0,15}}{word}(?![a-zA-Z])"
    )
    for word in ("[tT]itle", "[aA]uthor")
)
_NAME_IN_PARTS = re.compile(
    r"\\(?:name|Author)\*?\s*+(?:\[[^][]{0,200}\]\s*+){1,2}\{([^{}]{1,60})\}\s*+\{([^{}]{1,60})\}"
)  # used by Interspeech and Copernicus
_STYLE_FILES = re.compile(r"\\(?:usepackage|RequirePackage)\s*+(?:\[[^\]]{0,400}\]\s*+)?\{([^{}]{1,400})\}")


def parse_latex(files: PaperFiles, main: str) -> Document:
    """Parses the paper whose main file is `main`. Raises `InputError` if the paper has no text."""
    flat = flatten(files, main)
    text = flat.text
    own = find_macros(text)
    table, defaults = _with_styles(files, text, own)
    macros = Macros(table, defaults, own.definitions)
    scan = Scan(text, macros)
    structure = scan.run()
    title_group = _printed_title(scan) or scan.first_group(_OTHER_TITLES)
    title = one_line(scan.readable(*title_group)) if title_group else ""
    authors = authors_in(
        [f"{given} {family}" for given, family in _NAME_IN_PARTS.findall(text)]
        or [text[a:b] for a, b in scan.groups(_AUTHORS) or scan.groups(_OTHER_AUTHORS)],
        table,
        defaults,
    )
    before = [h.start for h in structure.headings[:1]] + [a for a, _ in [structure.abstract or (0, 0)] if a]
    if before and not title:
        title, by = title_page(text[scan.start : min(before)], table, defaults)
        authors = authors or by
    front = text[: structure.headings[0].start if structure.headings else 20_000][:60_000]
    references, warnings = latex_references(files, main, text)
    arxiv_id, doi = arxiv_id_in(front), doi_in(front)
    cited_as = {r.key: r.cited_as for r in references if r.key and r.cited_as}
    theorems = theorems_in(text)
    names = printed(
        text,
        scan.start,
        scan.end,
        scan.environment_list,
        theorems,
        scan.heading_aliases,
        label_macros(table),
        scan.numbers.labels,
    )
    structure.algorithms = scan.algorithms(names.labels)

    def render(source: str, inside: bool) -> str:
        return latex_text(source, table, defaults, keep_algorithms=inside, cited_as=cited_as, labels=names.labels)

    read_from = structure.abstract[0] if structure.abstract else scan.start
    asides = AsideReader(
        text,
        (read_from, scan.end),
        scan.environment_list,
        structure.algorithms,
        theorems,
        names,
        macros.definitions,
        render,
    ).asides()
    document = Document(
        format="latex",
        title=title,
        abstract="",
        abstract_span=structure.abstract,
        text=text,
        authors=authors,
        year=venue_year(front) or _date(scan) or first_year(arxiv_id),
        arxiv_id=arxiv_id,
        doi=doi,
        sections=tree(numbered(structure.headings), scan.end),
        equations=tuple(structure.equations),
        algorithms=tuple(structure.algorithms),
        asides=tuple(asides),
        labels=names.labels,
        emphases=tuple(structure.emphases),
        references=references,
        macros=dict(table),
        macro_defaults=dict(defaults),
        spans=flat.spans,
        warnings=(*files.warnings, *flat.warnings, *structure.warnings, *warnings),
        source_sha256=files.digest(),
    )
    if document.abstract_span is None:
        return document
    return document.model_copy(update={"abstract": readable_latex(document, *document.abstract_span)})


def _with_styles(files: PaperFiles, text: str, own: Macros) -> tuple[dict[str, tuple[int, str]], dict[str, str]]:
    """Returns the paper's macros, including those that it uses from its own style files."""
    table, defaults = dict(own.table), dict(own.defaults)
    used = {match[1] for match in re.finditer(r"\\([a-zA-Z]+)", text)}
    names = [name.strip() for match in _STYLE_FILES.finditer(text) for name in match[1].split(",")][:100]
    for name in dict.fromkeys(names):
        style = files.text(name + ".sty") if re.fullmatch(r"[\w./-]+", name) else None
        if style is None:
            continue
        found = find_macros(re.sub(r"(?<!\\)%[^\n]*", "", style))
        for macro in used & found.table.keys() - table.keys() - SWITCHES:
            table[macro] = found.table[macro]
            if macro in found.defaults:
                defaults[macro] = found.defaults[macro]
    return table, defaults


def _printed_title(scan: Scan) -> tuple[int, int] | None:
    r"""Returns the last title before `\maketitle`, as TeX does, because a template's title may come first."""
    groups = scan.groups(_TITLES)
    printed = _MAKETITLE.search(scan.text, scan.start)
    end = printed.start() if printed else 0
    return max((group for group in groups if group[1] <= end), default=next(iter(groups), None))


def _date(scan: Scan) -> int | None:
    group = scan.first_group(re.compile(r"\\date(?![a-zA-Z])"))
    year = re.search(r"\b(?:19|20)\d\d\b", scan.text[group[0] : group[1]]) if group else None
    return int(year.group()) if year else None


def readable_latex(document: Document, start: int, end: int) -> str:
    """Converts part of a LaTeX document to readable text. Implements `plain` for LaTeX."""
    macros: Mapping[str, tuple[int, str]] = document.macros
    text = document.text[start:end]
    cited_as = {r.key: r.cited_as for r in document.references if r.key and r.cited_as} if "ite" in text else {}
    return latex_text(text, macros, document.macro_defaults, cited_as=cited_as, labels=document.labels)
