"""The few lines of a symbol by which a reader tells what it does."""

import re
import textwrap
from collections.abc import Collection, Mapping

from xkg.build.code_words import stems
from xkg.build.symbol_index import Entry

_DOCSTRING = 160
_SIGNATURE = 160
_LINE = 100
_WHOLE = 3
# A word that was shown tells less when it comes again.
_AGAIN = 0.5
_FORMULA = re.compile(r"[*/@]|\b(?:exp|log|sum|mean|sqrt|norm|softmax|argmax|argmin|min|max|loss)\b|_loss\b")
_TALK = re.compile(r"\s*(?:print|log|logger|logging|warnings|wandb|writer|tqdm)\b[.(]|\s*\w*parser\.add_argument")
_DOCSTRINGS = re.compile(r'^[ \t]*[rRuU]?("""|\'\'\')[\s\S]*?\1', re.MULTILINE)
_HEADER_END = re.compile(r"(?::|\{)\s*(?:(?:#|//).*)?$")
_INNER = re.compile(r"\s*(?:async\s+)?(?:def|class|function|fn)\b")


def excerpt(entry: Entry, about: Collection[str], limit: int, inner: Mapping[tuple[int, int], str]) -> str:
    """Signature, head of the docstring, and at most about `limit` lines of the body: all of a short one, else the
    first and those that share most words with `about` (stems), with `…` where lines are left out. `inner` gives, for
    parts of it that are shown elsewhere (first and last line in the file), what stands for them here."""
    symbol = entry.source.symbol
    docstring = " ".join(entry.source.docstring.split("\n\n")[0].split())
    lines = [] if symbol.kind == "module" else [_cut(" ".join(symbol.signature.split()), _SIGNATURE)]
    if docstring:
        lines.append(f'    """{_cut(docstring, _DOCSTRING)}"""')
    return "\n".join([*lines, *_telling(_body(entry, inner), about, limit)])


def _body(entry: Entry, inner: Mapping[tuple[int, int], str]) -> list[str]:
    text = _DOCSTRINGS.sub(lambda docstring: "\n" * docstring[0].count("\n"), entry.text)
    lines: list[str | None] = [line.rstrip() for line in text.split("\n")]
    if entry.kind != "module":
        # Decorators and a signature of several lines: the signature was said before.
        end = next((i for i, line in enumerate(lines[:40]) if _HEADER_END.search(line or "")), -1)
        lines[: end + 1] = [None] * (end + 1)
    top = entry.source.symbol.start_line
    for (first, last), instead in inner.items():
        was = lines[first - top] or ""
        lines[first - top : last - top + 1] = [None] * (last - first + 1)
        lines[first - top] = was[: len(was) - len(was.lstrip())] + instead
    told = [line for line in lines if line is not None and re.search(r"\w", line) and not _TALK.match(line)]
    dedented = textwrap.dedent("\n".join(told)).split("\n") if told else []
    return [_cut(f"    {line}", _LINE) for line in dedented]


def _telling(body: list[str], about: Collection[str], limit: int) -> list[str]:
    if len(body) <= limit + _WHOLE:
        return body
    said = [set(stems(line)).intersection(about) for line in body]
    worth = dict.fromkeys(about, 1.0)
    kept: set[int] = set()
    for n in range(limit):
        rest = [i for i in range(len(body)) if i not in kept]
        # The first lines say what it starts from.
        chosen = (
            n if n < limit // 4 else max(rest, key=lambda i: (sum(worth[w] for w in said[i]) + _shape(body[i]), -i))
        )
        kept.add(chosen)
        for word in said[chosen]:
            worth[word] *= _AGAIN
    lines: list[str] = []
    last = -1
    for i in sorted(kept):
        if i != last + 1:
            lines.append("    …")
        lines.append(body[i])
        last = i
    return [*lines, *(["    …"] if last != len(body) - 1 else [])]


def _shape(line: str) -> float:
    """What a line tells whatever it is about."""
    if re.match(r"\s*(?:import|from|assert|raise)\b", line):
        return -0.5
    inner = 1.5 if _INNER.match(line) or line.lstrip().startswith("[") else 0.0
    return inner + (0.6 if re.match(r"\s*return\b", line) else 0.0) + (0.5 if _FORMULA.search(line) else 0.0)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
