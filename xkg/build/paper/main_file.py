"""Finds the main file of a LaTeX paper."""

import posixpath
import re
from collections.abc import Mapping, Sequence

import yaml
from pydantic_core import from_json

from xkg.build.paper.files import PaperFiles, inside

LATEX = (".tex", ".ltx", ".latex")
_CLASS = re.compile(r"^[^%\n]{0,200}\\document(?:class|style)\b(?:\s*\[[^\]]{0,500}\])?\s*\{([^{}]*)\}", re.MULTILINE)
_NO_PAPER = re.compile(r"standalone|beamer|letter|poster|subfiles|minimal")
_FAVOURED = re.compile(r"(?i)^(main|paper|ms|article|manuscript|root|arxiv|camera[_-]?ready|final)")
# Names and titles of files that accompany a paper, such as template samples and letters to editors and reviewers.
_ASIDE = re.compile(
    r"(?i)(?<![a-z])(?:sample(?:s|_?paper)?|templates?|how_?to|examples?|reference|instructions?|guide(?:lines)?|repl(?:y|ies)"
    r"|responses?|rebuttal|cover|checklist|si|supp(?:l|lementa(?:l|ry)|lement|orting)?|appendi(?:x|ces)|diff|proposal|bare|old"
    r"|backup)(?![a-z])"
)
_ASIDE_TITLE = re.compile(
    r"(?i)\b(?:instructions|guidelines)\s+(?:for|to)\b|^\W*(?:\\[a-z]+\W+){0,3}(?:how to use\b"
    r"|the name of the title is hope|(?:(?:paper|insert|your|my|contribution) )?title(?: (?:of|here|goes)\b|$)"
    r"|(?:a )?(?:sample|template|demonstration)\b|(?:responses?|reply) to\b|cover letter|support(?:ing)? information"
    r"|supplement(?:ary|al)?\b|(?:online )?appendix\b|reproducibility checklist)"
)
_TELLS_AUTHORS = re.compile(
    r"(?i)style files?\b|hippocampus|firstname1|lorem ipsum|basic paper template|(?:formatting|submission) instructions"
    r"|this document is a model and instructions|given name surname"
    r"|camera[- ]ready (?:copy|copies|papers?|version)|\bauthors (?:must|should|are required)\b"
)
_TITLE = re.compile(r"\\(?:icml|paper)?title\*?\s*+(?:\[[^\]]{0,300}\]\s*+)?\{([^}]{0,300})")
_INPUT = re.compile(r"^[^%\n]{0,200}\\(?:input|include|subfile)\s*+\{?\s*+([^{}\s%]{1,200})", re.MULTILINE)
_MOST = 2000
_LONGEST_STATEMENT = 100_000

Rank = tuple[bool, bool, bool, bool, bool, bool, int, int, str]


def is_sample(title: str, text: str) -> bool:
    """Whether a document is a template's sample, judging by its title and its instructions to authors."""
    return _ASIDE_TITLE.search(title) is not None and _TELLS_AUTHORS.search(text[:20_000]) is not None


def looks_like_latex(text: str) -> bool:
    """Whether a text is a complete LaTeX document rather than part of one."""
    return _CLASS.search(text) is not None or "\\begin{document}" in text


def favoured(name: str) -> bool:
    """Whether a file has a name that is common for papers."""
    return _FAVOURED.match(name) is not None


class MainFiles:
    """The LaTeX files in a folder, most likely main file first.

    The file specified in arXiv's 00README comes first, followed by files with a document class, title and body. Among
    these, template samples, responses, cover letters and supplements come last."""

    def __init__(self, files: PaperFiles, names: Sequence[str]) -> None:
        latex = [name for name in names if name.lower().endswith(LATEX)][:_MOST]
        usage = _stated(files)
        named = [name for name, use in usage.items() if use == "toplevel" and name in latex]
        self.stated, self.also = named[0] if named else None, named[1:]
        texts = {name: files.text(name) or "" for name in latex if usage.get(name) != "ignore"}
        bibliographies = {posixpath.splitext(name)[0] for name in names if name.endswith(".bbl")}
        self._ranked = sorted(((_rank(name, texts, bibliographies), name) for name in texts), reverse=True)

    def best(self) -> str | None:
        """The main file, or None if no file is a complete document."""
        return self.stated or next((name for rank, name in self._ranked if rank[0]), None)

    def fragment(self) -> str | None:
        """The highest-ranked file that is not empty, even if it is not a complete document."""
        return next((name for rank, name in self._ranked if rank[-2]), None)

    def others(self, read: set[str]) -> list[str]:
        """The other papers in the folder, except files in `read`. If 00README specifies the main file, these are the
        other main files that it lists."""
        return self.also if self.stated else [name for rank, name in self._ranked if all(rank[:3]) and name not in read]


def _rank(name: str, texts: Mapping[str, str], bibliographies: set[str]) -> Rank:
    """The sort key for a file, highest for the main file.

    A main file is a complete document, but not a figure, slide or letter. It has front matter, a bibliography generated
    by TeX and a typical name. It is at the top of the folder and is long, including its inputs."""
    text, (stem, _) = texts[name], posixpath.splitext(name)
    file = posixpath.basename(stem)
    kind = _CLASS.search(text)
    whole = kind is not None and "\\begin{document}" in text
    front = "\\begin{abstract}" in text or "\\abstract" in text or "\\maketitle" in text or "\\title" in text
    title = _TITLE.search(text)
    aside = _ASIDE.search(file.replace("_", " ")) or (title and _ASIDE_TITLE.search(title[1]))
    aside = aside or _TELLS_AUTHORS.search(text[:20_000])
    return (
        whole,
        whole and kind is not None and not _NO_PAPER.search(kind[1]),
        front,
        not aside,
        stem in bibliographies,
        favoured(file),
        -name.count("/"),
        len(text.strip()) + sum(_inputs(name, text, texts)),
        name,
    )


def _inputs(name: str, text: str, texts: Mapping[str, str]) -> list[int]:
    """The lengths of the files that a file inputs from its own folder or below."""
    named = {posixpath.join(posixpath.dirname(name), match[1]) for match in _INPUT.finditer(text)}
    paths = {path if path in texts else f"{path}.tex" for path in map(posixpath.normpath, named)}
    return [len(texts[path]) for path in paths if path in texts and path != name]


def _stated(files: PaperFiles) -> dict[str, str]:
    """The use of each file according to arXiv's 00README, keyed by path: "toplevel", "ignore", …
    (<https://info.arxiv.org/help/00README.html>; the older format has one file and one word per line)."""
    for name in ("00README.json", "00README.yaml", "00README.yml"):
        if text := files.text(name):
            return _usage(text[:_LONGEST_STATEMENT], name)
    lines = (files.text("00README.XXX") or files.text("00README") or "")[:_LONGEST_STATEMENT].split("\n")
    pairs = [line.split() for line in lines]
    return {inside(p[0]) or "": "toplevel" if p[1] == "toplevelfile" else p[1] for p in pairs if len(p) == 2}


def _usage(text: str, name: str) -> dict[str, str]:
    try:
        sources = (from_json(text) if name.endswith(".json") else yaml.safe_load(text))["sources"]
        return {inside(each["filename"]) or "": str(each.get("usage")) for each in sources}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
        return {}
