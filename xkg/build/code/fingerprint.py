"""Computes fingerprints of code bodies for estimating how similar two bodies are. A fingerprint has 64 hexadecimal
digits.

Applies MinHash (Broder, "On the resemblance and containment of documents", SEQUENCES 1997) to runs of three tokens and
keeps four bits of each minimum (Li and König, "b-Bit minwise hashing", WWW 2010). Ignores comments, docstrings and
layout."""

import re
import zlib
from collections.abc import Mapping, Sequence
from operator import eq

import numpy as np
from numpy.typing import NDArray

from xkg.build.code.codebase import CommentMark, Module, comment_mark

DIGITS = 64
_RUN = 3
# Shorter bodies, such as "return self.x", are often similar by chance.
_FEWEST_RUNS = 12

_REST = rb"""
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | [A-Za-z_\x80-\xff][\w\x80-\xff]* | \d[\w.]* | [^\s\w\x80-\xff]
"""
_SKIPPED: Mapping[CommentMark, bytes] = {
    "#": rb'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|\#[^\n]*',
    "//": rb"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)",
    "%": rb"%[^\n]*",
}
_TOKENS = {mark: re.compile(b"(?P<skip>" + skipped + b")" + _REST, re.VERBOSE) for mark, skipped in _SKIPPED.items()}

_SEEDS = np.random.default_rng(1997).integers(1, 2**63, size=DIGITS, dtype=np.uint64)


def fingerprinted(module: Module) -> Module:
    """Returns the module with `fingerprint` set for every symbol except constants. The fingerprint of a very short body
    is ''."""
    runs, lines = _runs(module)
    symbols = list(module.symbols)
    spans: dict[int, tuple[int, int]] = {}
    for i, source in enumerate(symbols):
        first = int(np.searchsorted(lines, source.symbol.start_line, "left"))
        end = int(np.searchsorted(lines, source.symbol.end_line, "right")) - _RUN + 1
        if source.symbol.kind != "constant" and end - first >= _FEWEST_RUNS:
            spans[i] = first, end
    for i, sketch in zip(spans, _sketches(runs, list(spans.values())), strict=True):
        symbol = symbols[i].symbol.model_copy(update={"fingerprint": sketch})
        symbols[i] = symbols[i].model_copy(update={"symbol": symbol})
    return module.model_copy(update={"symbols": tuple(symbols)})


def similarity(one: str, other: str) -> float:
    """Estimates the Jaccard similarity (0 to 1) of two bodies' token runs. The standard deviation is at most 0.07."""
    equal: float = sum(map(eq, one, other)) / DIGITS
    return max(0.0, (equal - 1 / 16) / (15 / 16))


def _runs(module: Module) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Returns a hash of the run that starts at each token, and the 1-based line of each token."""
    pattern = _TOKENS[comment_mark(module.language)]
    text = module.text.encode("utf-8", "surrogatepass")
    starts, hashes = [], []
    for match in pattern.finditer(text):
        if match.lastgroup is None:
            starts.append(match.start())
            hashes.append(zlib.crc32(match[0]))
    breaks = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    lines = np.searchsorted(breaks, np.array(starts, dtype=np.int64), "right") + 1
    tokens = np.array(hashes, dtype=np.uint64)
    runs = np.zeros(max(0, len(tokens) - _RUN + 1), dtype=np.uint64)
    for i in range(_RUN):
        runs = _mixed(runs + tokens[i : len(tokens) - _RUN + 1 + i])
    return runs, lines


def _sketches(runs: NDArray[np.uint64], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Returns a MinHash signature for each span. For each hash function, the signature contains the last digit of the
    smallest hash in the span.

    Hashes every run of tokens only once, because nested symbols and symbols on the same line share tokens."""
    if not spans:
        return []
    bounds = np.array(spans).ravel()
    padded = np.append(runs, np.uint64(0))  # a span may end after the last run
    minima = [np.minimum.reduceat(_mixed(padded ^ seed), bounds)[::2] for seed in _SEEDS]
    digits = (np.stack(minima, axis=1) & np.uint64(15)).tolist()
    return ["".join(f"{digit:x}" for digit in each) for each in digits]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies the SplitMix64 finaliser (Steele, Lea and Flood, OOPSLA 2014) to mix all bits."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
