"""Converts the definitions in a file to `SourceSymbol`s. Works for all languages."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xkg.build.code.codebase import SourceSymbol
from xkg.model import Symbol, symbol_id

Kind = Literal["module", "class", "function", "method", "constant"]


@dataclass
class Definition:
    """A symbol that is being built. `start` and `end` are byte offsets. `parent` is an index into the list of
    definitions."""

    name: str
    kind: Kind
    start: int
    end: int
    signature: str = ""
    docstring: str = ""
    parent: int | None = None
    comments: list[str] = field(default_factory=list)


def source_symbols(
    path: str, repository: str, source: bytes, definitions: Sequence[Definition]
) -> tuple[SourceSymbol, ...]:
    """Returns the symbols for the definitions in line order. The first symbol is the file itself."""
    counts: Counter[str] = Counter()
    ids: list[str] = []
    for definition in definitions:
        base = symbol_id(repository, path, definition.name)
        counts[base] += 1
        ids.append(base if counts[base] == 1 else f"{base}-{counts[base]}")
    breaks = line_breaks(source)
    symbols = []
    for identity, definition in zip(ids, definitions, strict=True):
        last = max(definition.end - 1, definition.start)
        if definition.kind == "module":
            last = max(len(source.rstrip()) - 1, 0)
        symbols.append(
            SourceSymbol(
                symbol=Symbol(
                    id=identity,
                    repository=repository,
                    path=path,
                    qualified_name=definition.name,
                    kind=definition.kind,
                    start_line=bisect_left(breaks, definition.start) + 1,
                    end_line=bisect_left(breaks, last) + 1,
                    signature=definition.signature,
                ),
                docstring=definition.docstring,
                comments="\n".join(definition.comments),
                parent=None if definition.parent is None else ids[definition.parent],
            )
        )
    return tuple(symbols)


def line_breaks(source: bytes) -> list[int]:
    """Returns the offsets of all line ends."""
    return [match.start() for match in re.finditer(rb"\n", source)]
