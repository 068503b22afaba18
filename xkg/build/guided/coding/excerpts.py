"""Excerpts of symbols: the few lines that best show their purpose."""

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence

from xkg.build.grounding.index.identifier_words import stems
from xkg.build.grounding.index.symbol_index import Entry

_DOCSTRING = 160
_SIGNATURE = 200
_LINE = 160
_TOLERANCE = 3
# A word loses weight with each line that repeats it.
_REPEAT_FACTOR = 0.5
# Limits the weight of shared words, so that computation counts too.
_MOST_SHARED = 2.0
_CALL = re.compile(r"[\w\])]\(")
_OPERATOR = re.compile(
    r"[\w)\]]\s*(?:\*\*|[-+*/@%])=?\s*[\w(\[]|\.(?:mul|add|sub|div|matmul|mm|bmm|dot|pow|clamp|where)_?\("
)
_FORMULA = re.compile(r"\b(?:exp|log|sum|mean|sqrt|norm|solve|einsum|softmax|argmax|argmin|min|max|loss)\b|_loss\b")
_VALUE = re.compile(r"\s*(?:return|yield)\b|[^=!<>(]*[^=!<>]=(?!=)")
_ASIDE = re.compile(r"\s*(?:(?:import|from|assert|raise|try|except|pass|global|del)\b|//|#)")
# An assignment of a parameter to an attribute, or a return of names only.
_TRIVIAL = re.compile(r"\s*self\.(\w+)\s*=\s*\1\s*$|\s*return\b[\w\s,.()]*$")
_SYMBOL = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_DEVICE = re.compile(
    r"\b(?:DataParallel|DistributedDataParallel|device_count|set_device|num_gpus?|local_rank)\b|\.cuda\("
)
_TALK = re.compile(r"\s*(?:print|log|logger|logging|warnings|wandb|writer|tqdm)\b[.(]|\s*\w*parser\.add_argument")
_DOCSTRINGS = re.compile(r'^[ \t]*[rRuU]?("""|\'\'\')[\s\S]*?\1', re.MULTILINE)
_HEADER_END = re.compile(r"(?::|\{)\s*+(?:(?:#|//)(?s:.*))?$")
_INNER = re.compile(r"\s*(?:async\s+)?(?:def|class|function|fn)\b")


def subject(text: str) -> frozenset[str]:
    """The features that code lines can share with a text: word stems and one-letter symbols."""
    return frozenset(stems(text)) | (frozenset(_SYMBOL.findall(text)) - {"a", "A", "I"})


def excerpt(entry: Entry, about: Collection[str], limit: int, inner: Mapping[tuple[int, int], str]) -> str:
    """The signature, the start of the docstring, and about `limit` lines of the body. A longer body keeps the lines
    that compute most and share most with `about` (a `subject`), with `…` for omissions. `inner` maps parts shown
    elsewhere (first and last line in the file) to their replacement."""
    symbol = entry.source.symbol
    docstring = " ".join(entry.source.docstring.split("\n\n")[0].split())
    lines = [] if symbol.kind == "module" else [_cut(" ".join(symbol.signature.split()), _SIGNATURE)]
    if docstring:
        lines.append(f'    """{_cut(docstring, _DOCSTRING)}"""')
    return "\n".join([*lines, *_selected_lines(_body(entry, inner), about, limit)])


def _body(entry: Entry, inner: Mapping[tuple[int, int], str]) -> list[str | None]:
    """The lines of the body; None for a line that is always omitted."""
    text = _DOCSTRINGS.sub(lambda docstring: "\n" * docstring[0].count("\n"), entry.text)
    lines: list[str | None] = [line.rstrip() for line in text.split("\n")]
    if entry.kind != "module":
        # Omit decorators and signature, which `excerpt` already shows.
        end = next((i for i, line in enumerate(lines[:40]) if _HEADER_END.search(line or "")), -1)
        lines[: end + 1] = [""] * (end + 1)
    top = entry.source.symbol.start_line
    for (first, last), instead in inner.items():
        was = lines[first - top] or ""
        lines[first - top : last - top + 1] = [""] * (last - first + 1)
        lines[first - top] = was[: len(was) - len(was.lstrip())] + instead
    content_lines = [line for line in lines if re.search(r"\w", line or "")]
    dedented = textwrap.dedent("\n".join(line or "" for line in content_lines)).split("\n") if content_lines else []
    return [None if _TALK.match(line) else _cut(f"    {line}", _LINE) for line in dedented]


def _selected_lines(body: Sequence[str | None], about: Collection[str], limit: int) -> list[str]:
    visible = {i: line for i, line in enumerate(body) if line is not None}
    retained = set(visible) if len(visible) <= limit + _TOLERANCE else _best_lines(visible, about, limit)
    lines: list[str] = []
    last = -1
    for i in [*sorted(retained), len(body)]:
        if i != last + 1:
            lines.append("    …")
        lines += [visible[i]] if i in retained else []
        last = i
    return lines


def _best_lines(body: Mapping[int, str], about: Collection[str], limit: int) -> set[int]:
    shared = {i: {*stems(line), *_SYMBOL.findall(line)}.intersection(about) for i, line in body.items()}
    shape = {i: _shape(line) for i, line in body.items()}
    weights = dict.fromkeys(about, 1.0)
    retained: set[int] = set()
    # The first lines show the inputs.
    starting = [i for i in body if shape[i] > 0][: limit // 5]
    for n in range(limit):
        rest = [i for i in body if i not in retained]
        best = (
            starting[n] if n < len(starting) else max(rest, key=lambda i: (_weight(shared[i], weights) + shape[i], -i))
        )
        retained.add(best)
        for word in shared[best]:
            weights[word] *= _REPEAT_FACTOR
    return retained


def _weight(shared: Collection[str], weights: Mapping[str, float]) -> float:
    return min(_MOST_SHARED, sum(weights[word] for word in sorted(shared)))


def _shape(line: str) -> float:
    """The weight of a line regardless of the subject: highest for computation, lowest for imports and assertions."""
    if _INNER.match(line) or line.lstrip().startswith("["):
        return 1.5
    if _ASIDE.match(line) or _DEVICE.search(line):
        return -1.5
    if _TRIVIAL.match(line):
        return -0.5
    computes = 0.0
    if _VALUE.match(line):
        computes = 1.0 if _OPERATOR.search(line) else 0.5 if _CALL.search(line) else 0.0
    return computes + (0.5 if _FORMULA.search(line) else 0.0)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
