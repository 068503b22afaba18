"""Descriptions of functions: one line each, written once by a model and stored by the function's content, with results
of experiments. They can be searched by words.

    folder/<2 hex>/<24 hex of the sha256 over name and source>.json
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from xkg.agents.ablation.parsing import Function
from xkg.files import private_folder, write_whole
from xkg.serve.verification.code_excerpt import nearness
from xkg.store.indexes.text import query_terms
from xkg.value import Value

_MOST_SHOWN = 8


class Described(Value):
    """`shown` are results of experiments, one line each, the newest last."""

    text: str
    shown: tuple[str, ...] = ()


class FunctionRecords(Value):
    """Descriptions by `key_of`, as of the start of a run."""

    known: dict[str, Described]


class FunctionStore:
    """Descriptions in a folder that the runs of one graph share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, functions: Iterable[Function]) -> FunctionRecords:
        known = {}
        for function in functions:
            key = key_of(function)
            try:
                known[key] = Described.model_validate_json(self._path(key).read_bytes())
            except (OSError, ValidationError):
                continue  # missing or damaged: the function is described again
        return FunctionRecords(known=known)

    def add(self, key: str, text: str) -> None:
        if not self._path(key).exists():
            self._write(key, Described(text=text))

    def add_shown(self, key: str, line: str) -> None:
        """Adds the result of an experiment, unless it is there."""
        try:
            known = Described.model_validate_json(self._path(key).read_bytes())
        except (OSError, ValidationError):
            return
        if line not in known.shown:
            self._write(key, known.model_copy(update={"shown": (*known.shown, line)[-_MOST_SHOWN:]}))

    def _write(self, key: str, described: Described) -> None:
        private_folder(self._folder)
        private_folder(self._path(key).parent)
        write_whole(self._path(key), described.model_dump_json().encode("utf-8", "replace"))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def key_of(function: Function) -> str:
    text = f"{function.name}\0{function.source}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class FunctionIndex:
    """The functions of a working copy with everything known about them."""

    def __init__(self, functions: Sequence[Function], known: Mapping[str, Described]) -> None:
        self.functions = functions
        self._known = known
        self._texts = [self._searched(function) for function in functions]

    def line(self, function: Function) -> str:
        """One line for a prompt."""
        known = self._known.get(key_of(function))
        at = f"{function.path}:{function.start_line}-{function.end_line} {function.name}"
        return f"{at}: {known.text}" if known else at

    def listing(self, characters: int) -> str:
        lines = []
        for number, function in enumerate(self.functions):
            line = self.line(function)
            characters -= len(line) + 1
            if characters < 0:
                lines.append(f"… and {len(self.functions) - number} more, which searches find")
                break
            lines.append(line)
        return "\n".join(lines) or "(none)"

    def shown(self) -> list[str]:
        """Results of experiments, by function."""
        found = []
        for function in self.functions:
            known = self._known.get(key_of(function))
            found += [f"{function.path} {function.name}: {line}" for line in (known.shown if known else ())]
        return found

    def search(self, words: str, count: int = 3) -> list[Function]:
        """The functions with that name, otherwise those that match the words best."""
        bare = words.strip().removesuffix("()")
        named = [f for f in self.functions if bare in (f.name, f.name.rpartition(".")[2], f"{f.path}:{f.name}")]
        if named:
            return named[:count]
        wanted = dict.fromkeys(query_terms(words), 1.0)
        scores = nearness(self._texts, wanted) if wanted and self._texts else [0.0] * len(self._texts)
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        return [self.functions[n] for n in order if scores[n] > 0][:count]

    def _searched(self, function: Function) -> str:
        known = self._known.get(key_of(function))
        described = " ".join((known.text, *known.shown)) if known else ""
        return f"{function.path} {function.name} {described} {function.source[:4000]}"
