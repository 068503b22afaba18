"""Indexes a repository's symbols as documents. A document has fields for BM25F and a short text for embedding."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from xkg.build.code.codebase import Codebase, CommentMark, LanguageName, SourceSymbol, comment_mark
from xkg.build.grounding.index.blocks import Block, blocks
from xkg.build.grounding.index.fielded_index import FieldedIndex, FieldWeight
from xkg.build.grounding.index.identifier_words import Vocabulary, stem, stems, words
from xkg.build.grounding.index.numbered import references
from xkg.build.grounding.index.working_lines import made_attributes, working_ranges

# Long bodies mention many unrelated words. Long names and docstrings are specific.
_FIELDS: Mapping[str, FieldWeight] = {
    "name": FieldWeight(weight=4.0, length=0.5),
    "joined": FieldWeight(weight=4.0, length=0.0),  # `ExtraGradient` is also indexed as "extragradient"
    "owner": FieldWeight(weight=2.0, length=0.3),
    "prose": FieldWeight(weight=2.0, length=0.5),
    "signature": FieldWeight(weight=1.0, length=0.5),
    "body": FieldWeight(weight=0.6, length=0.8),
}

_BODY_CHARACTERS = 20_000
_MOST_JOINED = 3  # the maximum number of joined words
_MOST_EMBEDDED = 45  # the maximum number of embedded words
_LONG = 60  # lines; blocks in longer functions are also indexed as documents
_NOT_CODE: Mapping[CommentMark, re.Pattern[str]] = {
    "#": re.compile(r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|#[^\n]*'),
    "//": re.compile(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"),
    "%": re.compile(r"%[^\n]*"),
}

_PACKAGING = frozenset({"setup.py", "conftest.py", "conf.py", "versioneer.py"})

# These methods do a class's actual work. Other dunder methods only support the class.
FORWARD_METHODS = frozenset({"__call__", "forward"})


@dataclass(frozen=True)
class Entry:
    """A symbol in the search index, or the part of a symbol on lines `at`. `fields` maps field names to stems. `lines`
    is the number of lines in the symbol. `inner` is the number of lines in its members."""

    source: SourceSymbol
    fields: Mapping[str, tuple[str, ...]]
    members: tuple[str, ...] = ()
    prose: str = ""
    lines: int = 0
    language: LanguageName = "python"
    text: str = field(default="", repr=False)
    at: Block | None = None
    inner: int = 0

    @property
    def id(self) -> str:
        within = f"@{self.at.first}-{self.at.last}" if self.at else ""
        return self.source.symbol.id + within

    @property
    def kind(self) -> str:
        return self.source.symbol.kind

    @property
    def short_name(self) -> str:
        return self.source.symbol.qualified_name.rpartition(".")[2] or PurePosixPath(self.source.symbol.path).stem

    @property
    def is_script(self) -> bool:
        """Returns whether this is a file with most of its code outside functions and classes."""
        return self.kind == "module" and 2 * self.inner < self.lines

    @property
    def supports(self) -> bool:
        """Returns whether this is a special method that only supports its class, such as `__init__`."""
        name = self.short_name
        return name.startswith("__") and name.endswith("__") and name not in FORWARD_METHODS


class SymbolIndex(FieldedIndex):
    """Indexes the functions, methods, classes and modules in a codebase. Constants are not indexed.

    `titled` contains the stems of the repository's own name. Document frequency counts only outermost functions and
    methods, because classes, modules and functions repeat their members' words."""

    def __init__(self, codebase: Codebase) -> None:
        self.entries: dict[str, Entry] = {entry.id: entry for entry in _entries(codebase)}
        self.parts: dict[str, Entry] = {part.id: part for entry in self.entries.values() for part in _parts(entry)}
        self.vocabulary = Vocabulary({stem for entry in self.entries.values() for stem in _named(entry)})
        self.titled = frozenset(stems(_repository_name(codebase.repository.id)))
        documents = {entry.id: entry.fields for entry in self.entries.values()}
        parts = {part.id: part.fields for part in self.parts.values()}
        counted = {entry.id for entry in self.entries.values() if not self._repeats(entry)}
        super().__init__(documents, _FIELDS, counted, parts)

    def search(self, query: Mapping[str, float]) -> dict[str, float]:
        """Works like `search_parts`, but returns only whole symbols."""
        return {identity: score for identity, score in self.search_parts(query).items() if identity in self.entries}

    def search_parts(self, query: Mapping[str, float]) -> dict[str, float]:
        """Scores whole and partial symbols that contain any stem in `query`, best first. `query` maps stems to
        weights."""
        return super().search(query)

    def document(self, identity: str) -> Entry:
        """Returns the symbol or part with this id from `search_parts`."""
        return self.entries.get(identity) or self.parts[identity]

    def symbol_of(self, identity: str) -> str:
        """Returns the id of the symbol that this document covers fully or in part."""
        return self.document(identity).source.symbol.id

    def _repeats(self, entry: Entry) -> bool:
        """Returns whether other documents also contain this symbol's words, as for an inner function or a class with
        members."""
        above = self.entries.get(entry.source.parent or "")
        inside = above is not None and above.kind in ("function", "method")
        return inside or (bool(entry.members) and entry.kind in ("class", "module"))


def _repository_name(repository: str) -> str:
    """Extracts `name` from `host/owner/name@commit` or `local:name@hash`."""
    return re.split(r"[/:]", repository.rpartition("@")[0] or repository)[-1]


def rendering(entry: Entry) -> str:
    """Returns up to 45 words to embed for a symbol: its name as words, its docstring and comments, and the names that
    it uses. With 90 words, embedding was slower and distinguished symbols less well."""
    symbol = entry.source.symbol
    head = " ".join(words(symbol.qualified_name or entry.short_name))
    identifiers = " ".join(dict.fromkeys(words(strip_comments(entry.text, entry.language)[:2000])))
    body = f"{head}. {entry.prose[:300]} {' '.join(words(symbol.signature)[:12])} {identifiers}"
    return " ".join(body.split()[:_MOST_EMBEDDED])


def _entries(codebase: Codebase) -> Iterable[Entry]:
    for module in codebase.modules:
        if PurePosixPath(module.path).name in _PACKAGING:
            continue
        lines = module.text.split("\n")
        members: dict[str, list[SourceSymbol]] = {}
        for source in module.symbols:
            if source.parent is not None and source.symbol.kind != "constant":
                members.setdefault(source.parent, []).append(source)
        for source in module.symbols:
            symbol = source.symbol
            if symbol.kind == "constant":
                continue
            inner = members.get(symbol.id, [])
            owner, _, name = symbol.qualified_name.rpartition(".")
            path = PurePosixPath(symbol.path)
            file_stem = path.parent.name if path.stem == "__init__" else path.stem
            text = "\n".join(lines[symbol.start_line - 1 : symbol.end_line])
            # A class's text includes its members' docstrings and comments.
            prose = " ".join(_prose(s) for s in ((source, *inner) if symbol.kind == "class" else (source,))).strip()
            code = strip_comments(text, module.language)
            yield Entry(
                source=source,
                fields={
                    "name": tuple(stems(name or file_stem)),
                    "joined": _joined(words(name or file_stem)),
                    "owner": tuple(stems(f"{owner} {file_stem if name else path.parent.name}")),
                    "prose": (*stems(prose), *references(prose)),
                    "signature": tuple(stems(_parameters(symbol.signature) if symbol.kind != "class" else "")),
                    "body": tuple(stems(code[:_BODY_CHARACTERS])),
                },
                members=tuple(s.symbol.id for s in inner),
                prose=prose,
                lines=symbol.end_line - symbol.start_line + 1,
                language=module.language,
                text=text,
                inner=sum(s.symbol.end_line - s.symbol.start_line + 1 for s in inner),
            )


def _parts(entry: Entry) -> Iterable[Entry]:
    """Yields the blocks in a long function, or the attribute assignments in a constructor."""
    if entry.kind not in ("function", "method"):
        return
    lines = entry.text.split("\n")
    owner = entry.fields["owner"]
    if entry.lines > _LONG:
        for block in blocks(lines, 1, len(lines), mark=comment_mark(entry.language)):
            text = "\n".join(lines[block.first - 1 : block.last])
            if working_ranges(lines, block.first, block.last, mark=comment_mark(entry.language), signed={1}):
                yield _part(entry, block, text, (), (*owner, *entry.fields["name"]))
    elif entry.short_name in ("__init__", "constructor"):
        for first, last, text in made_attributes(lines, mark=comment_mark(entry.language)):
            yield _part(entry, Block(first, last), "\n".join(lines[first - 1 : last]), tuple(stems(text)), owner)


def _part(entry: Entry, block: Block, text: str, name: tuple[str, ...], owner: tuple[str, ...]) -> Entry:
    first = entry.source.symbol.start_line
    prose = comments_of(text, entry.language)
    return Entry(
        source=entry.source,
        fields={
            "name": name,
            "joined": (),
            "owner": owner,
            "prose": (*stems(prose), *references(prose)),
            "signature": (),
            "body": tuple(stems(strip_comments(text, entry.language))),
        },
        lines=block.lines,
        language=entry.language,
        text=text,
        at=Block(block.first + first - 1, block.last + first - 1),
    )


def _joined(parts: Sequence[str]) -> tuple[str, ...]:
    return (stem("".join(parts)),) if 1 < len(parts) <= _MOST_JOINED else ()


def strip_comments(text: str, language: LanguageName = "python") -> str:
    """Removes comments and docstrings from the source. Keeps other strings, because settings and messages may contain
    names."""
    return _NOT_CODE[comment_mark(language)].sub("", text)


def comments_of(text: str, language: LanguageName = "python") -> str:
    """Returns the comments and docstrings in the source as prose. Removes comment marks."""
    found = _NOT_CODE[comment_mark(language)].findall(text)
    return " ".join(re.sub(r"[#/%*\"']+", " ", comment).strip() for comment in found)


def _named(entry: Entry) -> Iterable[str]:
    return (word for name in ("name", "owner", "signature", "body") for word in entry.fields[name])


def _prose(source: SourceSymbol) -> str:
    return f"{source.docstring} {source.comments}".strip()


def _parameters(signature: str) -> str:
    first, last = signature.find("("), signature.rfind(")")
    return signature[first + 1 : last] if 0 <= first < last else ""
