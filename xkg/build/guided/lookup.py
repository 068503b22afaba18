"""Shows a model the lines of the repository that it asks to see before it answers. An answer may list places to open
and texts to search for. Places and texts are looked up in the parsed repository in memory, so an answer never causes a
file to be read."""

import textwrap
from itertools import chain

from xkg.build.code.codebase import Codebase, Module, comment_mark
from xkg.build.guided.draft import Draft
from xkg.llm.client import AnswerType, More
from xkg.model import Symbol

_MOST_CHARACTERS = 48_000  # in one reply
_MOST_LINES = 250  # from one place
_MOST_HITS = 30  # from one search
_LONGEST_LINE = 160
_LONGEST_NAME = 300


# An answer that may first ask to see more code. `open` lists places, such as `file.py`, `file.py:10-40`,
# `file.py::Name` or `Name`. `search` lists texts to find in files and configurations.
class Asking(AnswerType):
    open: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


def place_of(symbol: Symbol) -> str:
    """Returns the name by which an answer can open a symbol."""
    return f"{symbol.path}::{symbol.qualified_name}" if symbol.qualified_name else symbol.path


_Place = tuple[Module, int, int]  # a file, and its first and last lines


class Lookup:
    """The parts of a repository shown to the model for one question. `shown` contains their texts, and `symbols`
    contains the ids of the functions, methods and classes that were opened. `searched` is True if the model searched
    for a text."""

    def __init__(self, codebase: Codebase) -> None:
        self.shown: list[str] = []
        self.symbols: list[str] = []
        self.searched = False
        self._codebase = codebase

    def more(self, answer: Asking) -> More | None:
        """Returns the lines that an answer asks for, or None if it asks for none."""
        if not (answer.open or answer.search):
            return None
        parts: list[str] = []
        room = _MOST_CHARACTERS
        for part in chain(map(self._found, answer.search), map(self._opened, answer.open)):
            if len(part) > room:
                parts.append("The rest is not shown, since this reply is full.\n")
                break
            room -= len(part)
            parts.append(part)
            if part not in self.shown:
                self.shown.append(part)
        return More("\n".join(parts))

    def added_to(self, draft: Draft) -> Draft:
        """Adds the shown lines to the source lines of a draft."""
        if not self.shown:
            return draft
        own = draft.own_excerpt or draft.excerpt
        longer = "\n".join([own, *self.shown])
        return draft.model_copy(
            update={
                "own_excerpt": longer if draft.own_excerpt else "",
                "excerpt": longer + draft.excerpt[len(own) :],
                "looked": tuple(dict.fromkeys([*draft.looked, *self.shown])),
                "opened": tuple(dict.fromkeys([*draft.opened, *self.symbols])),
                "searched": draft.searched or self.searched,
            }
        )

    def _opened(self, asked: str) -> str:
        name = asked.strip()[:_LONGEST_NAME]
        place = self._place(name)
        if place is not None:
            module, first, last = place
            end = min(last, first + _MOST_LINES - 1)
            self.symbols += [
                s.symbol.id
                for s in module.symbols
                if s.symbol.kind != "module" and first <= s.symbol.start_line and s.symbol.end_line <= end
            ]
            text = textwrap.dedent("\n".join(module.text.split("\n")[first - 1 : end])).strip("\n")
            mark = comment_mark(module.language)
            more = f"{mark} the file continues to line {last}\n" if end < last else ""
            return f"{mark} --- {module.path}:{first}-{end}\n{text}\n{more}"
        values = [s for s in self._codebase.settings if s.path == name]
        if values:
            lines = [f"# {value.line}: {value.name} = {value.value}" for value in values[:_MOST_LINES]]
            return "\n".join([f"# --- {name}", *lines, ""])
        return f"# --- {name[:_LONGEST_LINE]!a}: no such file, function or class\n"

    def _place(self, asked: str) -> _Place | None:
        """Returns the lines at a place, given as a file, some lines of a file, or a symbol's full or last name."""
        path, mark, name = asked.rpartition("::")
        modules = {module.path: module for module in self._codebase.modules}
        if not mark and asked in modules:
            return modules[asked], 1, modules[asked].text.count("\n") + 1
        file, _, lines = asked.rpartition(":")
        start, _, stop = lines.partition("-")
        if file in modules and start.isdecimal() and (stop or start).isdecimal():
            end = modules[file].text.count("\n") + 1
            first = min(max(1, int(start)), end)
            return modules[file], first, min(max(first, int(stop or start)), end)
        for module in [modules[path]] if path in modules else modules.values() if not mark else ():
            for source in module.symbols:
                qualified = source.symbol.qualified_name
                if name and (qualified == name or qualified.endswith(f".{name}")):
                    return module, source.symbol.start_line, source.symbol.end_line
        return None

    def _found(self, asked: str) -> str:
        text = asked.strip()
        self.searched = True
        hits = [
            f"# {module.path}:{number}: {' '.join(line.split())[:_LONGEST_LINE]}"
            for module in self._codebase.modules
            if text and text in module.text
            for number, line in enumerate(module.text.split("\n"), start=1)
            if text in line
        ]
        values = [(s, f"{s.name} = {s.value}") for s in self._codebase.settings]
        hits += [f"# {s.path}:{s.line}: {line}" for s, line in values if text and text in line]
        more = [f"# and {len(hits) - _MOST_HITS} more lines"] if len(hits) > _MOST_HITS else []
        head = f"# --- lines with {text[:_LONGEST_LINE]!a}"
        return "\n".join([head, *(hits[:_MOST_HITS] or ["# none"]), *more, ""])
