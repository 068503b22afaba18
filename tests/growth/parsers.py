"""Maps the name of each parser of untrusted text to a function that parses a text. Documented errors are ignored."""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import BaseModel
from tree_sitter import Language, Node

from xkg.agents.workspace.files.edits import EditError, FileEdit, applied
from xkg.build.code.fingerprint import fingerprinted
from xkg.build.code.languages import python as python_code
from xkg.build.code.languages import symbols as other_code
from xkg.build.code.languages.grammars import grammars_of
from xkg.build.code.languages.notebook import notebook_source, python_cell
from xkg.build.code.languages.python import analyse
from xkg.build.code.languages.symbols import outline
from xkg.build.code.languages.syntax_nodes import SECONDS, syntax_root
from xkg.build.code.settings import settings_in
from xkg.build.curation.repository_links import links_in
from xkg.build.guided.checking.run_report import steady
from xkg.build.guided.reading.definition_check import foreign_numbers
from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.document import Document
from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.latex.bibliography import parse_bbl
from xkg.build.paper.latex.bibtex import entries
from xkg.build.paper.latex.document import parse_latex
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.markdown.document import parse_markdown
from xkg.build.paper.pdf_html.html import parse_html
from xkg.build.paper.plain import plain
from xkg.build.paper.reference_text import reference_from_text
from xkg.build.repositories import git_directory
from xkg.build.repositories.licenses import spdx
from xkg.build.requirements import declared_packages, read_requirements, without_versions
from xkg.build.techniques.extract import extract
from xkg.errors import XkgError
from xkg.llm.parse_answer import UnusableError, read_answer
from xkg.model import Evidence, Level, Paper, Reference
from xkg.sandbox.evidence.failure_causes import last_error
from xkg.sandbox.packages.requirement_hints import repository_sources, version_hints
from xkg.serve.answers.quoting import fenced, framed
from xkg.serve.context.parts import first_words, inline
from xkg.serve.search.candidates import parts
from xkg.serve.verification.find_implementations import by_structure
from xkg.store import bundles
from xkg.store.concepts.citations import works_and_citations
from xkg.store.concepts.names import names
from xkg.store.cypher.guard import guard
from xkg.store.indexes.text import words
from xkg.store.peer_format import read_peer
from xkg.web.rendering.formulas import formulas
from xkg.web.rendering.source_lines import highlighted


class _Answer(BaseModel):
    said: str


def _read(document: Document) -> None:
    plain(document, 0, len(document.text))
    for section in document.walk()[:20]:
        plain(document, section.body_start, section.end)


def latex(text: str) -> None:
    _read(parse_latex(PaperFiles(MemoryReader({"main.tex": text.encode("utf-8", "replace")})), "main.tex"))


def latex_bibliography(text: str) -> None:
    main = b"\\documentclass{article}\\begin{document}A\\cite{a}.\\bibliography{refs}\\end{document}"
    parse_latex(PaperFiles(MemoryReader({"main.tex": main, "refs.bib": text.encode("utf-8", "replace")})), "main.tex")


def markdown(text: str) -> None:
    _read(parse_markdown(PaperFiles(MemoryReader({"main.md": text.encode("utf-8", "replace")})), "main.md"))


def html(text: str) -> None:
    _read(parse_html(text.encode("utf-8", "replace"), Path("paper.html")))


def techniques_of_latex(text: str) -> None:
    files = PaperFiles(MemoryReader({"main.tex": text.encode("utf-8", "replace")}))
    document = parse_latex(files, "main.tex")
    extract(document, "paper")
    read_passages(document)


def techniques_of_markdown(text: str) -> None:
    files = PaperFiles(MemoryReader({"main.md": text.encode("utf-8", "replace")}))
    document = parse_markdown(files, "main.md")
    extract(document, "paper")
    read_passages(document)


def source(ending: str, text: str) -> None:
    fingerprinted(outline(f"a.{ending}", text, grammars_of(ending, text)))


def python(text: str) -> None:
    fingerprinted(analyse("a.py", text).module)


def notebook(text: str) -> None:
    cell = {"cell_type": "code", "source": text}
    notebook_source(json.dumps({"cells": [cell], "metadata": {}}).encode("utf-8", "replace"))
    python_cell(text)


def notebook_json(text: str) -> None:
    with suppress(ValueError):  # the text is not a notebook
        notebook_source(text.encode("utf-8", "replace"))


def requirements(name: str, text: str) -> None:
    without_versions(read_requirements({name: text}).lines)
    declared_packages({name: text})


def settings(name: str, text: str) -> None:
    settings_in({name: text})


def package_lines(text: str) -> None:
    version_hints(text.splitlines())
    repository_sources(text.splitlines())


def git_files(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / ".git"
        inside.mkdir()
        for name in ("objects", "refs"):
            (inside / name).mkdir()
        (inside / "HEAD").write_text("ref: refs/heads/main\n")
        for name in ("config", "packed-refs"):
            (inside / name).write_bytes(text.encode("utf-8", "replace"))
        if found := git_directory.find(Path(folder)):
            found.commit("main")
            assert isinstance(found.origin, str)


def edits(text: str) -> None:
    applied({"a.py": text}, [FileEdit(file="a.py", kind="function", target="f", text="def f():\n    pass\n")])


def page(text: str) -> None:
    formulas(text)
    highlighted(text, "python")


def bundle(text: str) -> None:
    payload = text.encode("utf-8", "replace")
    digest = hashlib.sha256(payload).hexdigest().encode("ascii")
    bundles.parse(bundles._HEAD + digest + bundles._MIDDLE + payload + b"}\n", Path("bundle.json"))


def answer(text: str) -> None:
    read_answer(text, _Answer)


def peer_file(text: str) -> None:
    _peer(text.encode("utf-8", "replace"))


def peer_texts(text: str) -> None:
    code = {"implementation": text, "test": text, "documentation": text, "package": [text]}
    technique = {"name": text or "x", "description": text, "code": code, "components": []}
    file = {"paper_title": text or "x", "paper_abstract": text, "paper_references": [text], "findings": [text]}
    _peer(json.dumps({**file, "techniques": [technique]}).encode("utf-8", "replace"))


def _peer(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        path.write_bytes(data)
        read_peer(path, lambda _: Evidence(level=Level.PARSED))


def citations(text: str) -> None:
    references = (Reference(title=text), Reference(title="b", text=text))
    works_and_citations([Paper(id="title:a", title=text or "x", origin="import", references=references)])


def stored_words(text: str) -> None:
    words(text)
    names(text, [text])


def shown(text: str) -> None:
    framed(text)
    fenced(text, text)
    inline(text, 200)
    first_words(text, 200)


def question(text: str) -> None:
    parts(text)
    by_structure(text)


def run_output(text: str) -> None:
    steady(text)
    last_error(text)


def symbols(text: str) -> None:
    foreign_numbers(text, Document(format="markdown", title="", abstract="", text=text))


def without_grammars() -> Callable[[], float]:
    """Starts counting the processor time that grammars take in this process. Grammars try several ways to read broken
    text until a time limit stops them."""
    spent = 0.0

    def timed(language: Language, source: bytes) -> Node | None:
        nonlocal spent
        started = time.process_time()
        try:
            return syntax_root(language, source)
        finally:
            spent += min(time.process_time() - started, SECONDS + 1)

    python_code.syntax_root = timed  # type: ignore[attr-defined]
    other_code.syntax_root = timed  # type: ignore[attr-defined]
    return lambda: spent


class _ReadError(Exception):
    """Raised when a grammar has read a text, to stop any further work on it."""


def grammars_alone() -> None:
    """Makes parsers in this process stop as soon as the grammar has read the code."""

    def read(language: Language, source: bytes) -> Node | None:
        syntax_root(language, source)
        raise _ReadError

    python_code.syntax_root = read  # type: ignore[attr-defined]
    other_code.syntax_root = read  # type: ignore[attr-defined]


def _tolerant(action: Callable[[str], object]) -> Callable[[str], None]:
    def apply(text: str) -> None:
        with suppress(XkgError, UnusableError, EditError, _ReadError):
            action(text)

    return apply


_ENDINGS = ("js", "ts", "tsx", "c", "h", "cpp", "cu", "jl", "rs")
WITH_GRAMMARS = frozenset({*_ENDINGS, "python"})
_SETTINGS = ("settings.json", "settings.yaml", "settings.toml", "settings.gin", "settings.ini", "settings.conf")
_REQUIREMENTS = ("requirements.txt", "pyproject.toml", "Pipfile", "setup.cfg", "setup.py", "environment.yml")
PARSERS: dict[str, Callable[[str], None]] = {
    name: _tolerant(action)
    for name, action in {
        "latex": latex,
        "techniques of latex": techniques_of_latex,
        "readable latex": latex_text,
        "bibtex in latex": latex_bibliography,
        "bibtex": entries,
        "bbl": parse_bbl,
        "reference": reference_from_text,
        "markdown": markdown,
        "techniques of markdown": techniques_of_markdown,
        "html": html,
        "python": python,
        **{ending: partial(source, ending) for ending in _ENDINGS},
        "notebook": notebook,
        "notebook JSON": notebook_json,
        **{name: partial(requirements, name) for name in _REQUIREMENTS},
        **{name: partial(settings, name) for name in _SETTINGS},
        "package lines": package_lines,
        "git files": git_files,
        "licence": spdx,
        "repository links": links_in,
        "edits": edits,
        "page": page,
        "bundle": bundle,
        "answer": answer,
        "cypher": guard,
        "peer file": peer_file,
        "peer texts": peer_texts,
        "citations": citations,
        "stored words": stored_words,
        "shown": shown,
        "question": question,
        "run output": run_output,
        "symbols": symbols,
    }.items()
}
