"""Converts pseudocode written with LaTeX packages into readable steps, one per line."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise

from xkg.build.paper.document import Algorithm
from xkg.build.paper.latex.tex.commands import MATH_ENVIRONMENTS
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import VERBATIM, Environment, Tex, environments, outside

LABEL = re.compile(r"\\label\s*\{([^{}]{1,200})\}")
CAPTION = re.compile(r"\\(?:caption|captionof|TitleOfAlgo)\*?(?![a-zA-Z])")
_NUMBERED = re.compile(r"(?i)^(?:algorithm|procedure|listing|alg\.)\s*[\dA-Z]{0,3}(?:\.\d+)?\s*[.:—–-]*\s+")
_LISTING_OPTIONS = re.compile(r"\A[ \t]*+(?:\[(?:[^\]{}]|\{[^{}]{0,500}\}){0,2000}\])?[ \t]*+(?:\{\w{1,20}\})?")
_WORDS = {
    "state": "", "statex": "", "item": "", "require": "Require:", "ensure": "Ensure:",
    "input": "Input:", "output": "Output:", "kwin": "Input:", "kwout": "Output:", "kwdata": "Data:",
    "kwresult": "Result:", "kwinput": "Input:", "kwoutput": "Output:", "return": "return", "kwret": "return",
    "for": "for", "forall": "for all", "lfor": "for", "lforeach": "for each", "lforall": "for all",
    "foreach": "for each", "forpar": "for", "while": "while", "lwhile": "while", "if": "if", "lif": "if", "eif": "if",
    "leif": "if", "uif": "if", "elsif": "else if",
    "elseif": "else if", "uelseif": "else if", "lelseif": "else if", "else": "else", "uelse": "else", "lelse": "else",
    "repeat": "repeat", "until": "until", "switch": "switch", "case": "case", "ucase": "case", "lcase": "case",
    "other": "otherwise", "uother": "otherwise",
    "loop": "loop", "procedure": "procedure", "function": "function", "print": "print", "endfor": "end for",
    "endwhile": "end while", "endif": "end if", "endloop": "end loop", "endprocedure": "end procedure",
    "endfunction": "end function", "begin": "", "initialize": "Initialize:", "initialise": "Initialise:",
}  # fmt: skip
# Maps algorithm2e's block commands to the line that ends the block. A command's last argument is the content of the
# block.
_BLOCKS = {
    "for": "end for", "forall": "end for", "foreach": "end for", "forpar": "end for", "while": "end while",
    "if": "end if", "uif": "", "elseif": "end if", "uelseif": "", "else": "end if", "uelse": "", "eif": "end if",
    "loop": "end loop", "repeat": "end repeat", "switch": "end switch", "case": "", "ucase": "", "other": "",
    "uother": "", "function": "end function", "procedure": "end procedure",
}  # fmt: skip
_BARE_BLOCKS = frozenset(("else", "uelse", "loop", "other", "uother"))  # blocks without a condition
_GIVEN = frozenset(("input", "output", "kwin", "kwout", "kwdata", "kwresult", "kwinput", "kwoutput", "kwret"))
_AT_END = re.compile(r"[ \t]*+\n")
_COMMENTS = frozenset(("comment", "tcp", "tcc", "tcp*", "tcc*", "leftcomment", "rcomment", "lcomment"))
_SETTING = re.compile(r"\\(?:Set[A-Z]|ResetInOut|algrenewcommand|algnewcommand|algsetup|algdef)\w*")
_KEYWORD = re.compile(r"\\SetKw[A-Za-z]*\s*+\{\s*+\\?(?P<name>[a-zA-Z]{1,40})\s*+\}")
_MATH = "|".join(re.escape(name) for name in sorted(MATH_ENVIRONMENTS))
_COMMAND = re.compile(
    r"(?P<math>\$\$?(?:[^$\\]|\\.){1,4000}+\$\$?|\\\((?:[^\\]|\\[^()]){0,4000}+\\\)|\\\[(?:[^\\]|\\[^\[\]]){0,8000}+\\\]"
    rf"|\\begin\{{(?P<display>{_MATH})\}}(?:(?!\\begin\{{(?P=display)\}}).){{0,8000}}?\\end\{{(?P=display)\}})"
    r"|\\(?P<border>begin|end)\s*+\{[^{}]{1,60}\}|\\(?P<word>[a-zA-Z]+\*?)|\\\\\*?(?:\[[^\[\]\n]{0,20}\])?|\\;"
    r"|(?P<brace>[{}])[ \t]*+\n|(?P<escape>\\[^a-zA-Z\\;])",
    re.DOTALL,
)
_PLAIN_WORD = frozenset(["input", "begin", "item", "repeat", "loop", "print", "case", "other", "switch"])
_BREAK = "\n\n"
_MARK = "\ue000"  # a private-use character that never occurs in papers and is not whitespace
_MARKED = re.compile(rf"{_MARK}(\d{{1,6}}){_MARK}")
_BESIDE = re.compile(r"\s*\\label\s*\{([^{}]{1,200})\}")


def latex_algorithms(
    source: str,
    start: int,
    inner: Sequence[Environment],
    macros: Mapping[str, tuple[int, str]],
    defaults: Mapping[str, str],
    title: str = "",
    labels: Mapping[str, str] | None = None,
) -> dict[Algorithm, dict[str, int]]:
    r"""Parses the algorithms in `source`, which starts at offset `start` in the paper and begins with `\begin`.

    Returns each algorithm with the labels of its lines, which are numbered from 1. `inner` contains the `algorithmic`
    environments in `source`. If every `algorithmic` environment has a caption, each is a separate algorithm; otherwise,
    `source` contains a single algorithm. `title` is used if an algorithm has no caption."""
    parts = _parts(source, start, inner)
    found: dict[Algorithm, dict[str, int]] = {}
    for left, right in parts:
        part = source[left:right]
        own, cut = caption(part, macros, defaults)
        label = _own_label(part, cut)
        if listings := [e for e in environments(part) if e.name in VERBATIM and e.closed]:
            body, lines = "\n".join(code(part[e.body_start : e.body_end]) for e in listings), dict[str, int]()
        else:
            body, lines = numbered_steps(outside(part, cut), macros, defaults, labels)
        lines.pop(label or "", None)
        found[
            Algorithm(
                start=start + left,
                end=start + right,
                title=unnumbered(own or (title if len(parts) == 1 else "")),
                body=body,
                label=label,
            )
        ] = lines
    return found


def code(body: str) -> str:
    """Returns the lines of a listing, without options and common indentation."""
    lines = _LISTING_OPTIONS.sub("", body).strip("\n").split("\n")
    return textwrap.dedent("\n".join(line.rstrip() for line in lines if line.strip()))


def _own_label(source: str, captions: Sequence[tuple[int, int]]) -> str | None:
    """Returns the label of the algorithm itself, preferring one in or next to the caption to the first label."""
    for start, end in captions:
        if label := LABEL.search(source, start, end) or _BESIDE.match(source, end):
            return label[1].strip()
    label = LABEL.search(source)
    return label[1].strip() if label else None


def _parts(source: str, start: int, inner: Sequence[Environment]) -> list[tuple[int, int]]:
    captions = [m.start() for m in CAPTION.finditer(source)]
    if len(inner) < 2 or len(captions) != len(inner):
        return [(0, len(source))]
    above = captions[0] < inner[0].start - start
    cuts = captions[1:] if above else [e.start - start for e in inner[1:]]
    edges = [0, *cuts, len(source)]
    spans = list(pairwise(edges))
    return spans if all(a < b for a, b in spans) else [(0, len(source))]


def caption(
    source: str, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> tuple[str, list[tuple[int, int]]]:
    """Returns the first caption in `source` as readable text ("" if there is none), and the spans of all captions."""
    tex = Tex(source)
    title = ""
    spans: list[tuple[int, int]] = []
    for match in CAPTION.finditer(source):
        at = tex.skip_options(match.end())
        group = tex.group(at)
        if group is not None and match.group().endswith("captionof"):
            group = tex.group(group.after)
        if group is not None:
            title = title or latex_text(tex.inner(group), macros, defaults).replace("\n\n", " ")
            spans.append((match.start(), group.after))
    return title, spans


def unnumbered(title: str) -> str:
    """Removes "Algorithm 1:" from the start of a caption."""
    return _NUMBERED.sub("", title).strip()


def numbered_steps(
    source: str,
    macros: Mapping[str, tuple[int, str]],
    defaults: Mapping[str, str],
    labels: Mapping[str, str] | None,
) -> tuple[str, dict[str, int]]:
    """Returns the steps as readable lines, and the 1-based line number of each label."""
    own = {name: value for name, value in macros.items() if name.lower() not in _WORDS}
    written, keywords = _without_settings(source)
    marked: list[str] = []

    def mark(match: re.Match[str]) -> str:
        marked.append(match[1].strip())
        return f"{_MARK}{len(marked) - 1}{_MARK}"

    lines = LABEL.sub(mark, _Lines(written.replace(_MARK, " "), keywords).run())
    text = latex_text(lines, own | keywords, defaults, keep_algorithms=True, labels=labels)
    out: list[str] = []
    numbers: dict[str, int] = {}
    for part in text.split(_BREAK):
        line = _MARKED.sub("", part).strip()
        if re.search(r"\w", line):
            out.append(re.sub(r" {2,}", " ", line))
            numbers |= {marked[int(m[1])]: len(out) for m in _MARKED.finditer(part) if int(m[1]) < len(marked)}
    return "\n".join(out), numbers


def _without_settings(source: str) -> tuple[str, dict[str, tuple[int, str]]]:
    r"""Removes settings such as `\SetKwFunction{FSum}{Sum}` from the source, and returns the words that they define as
    macros."""
    tex = Tex(source)
    keywords: dict[str, tuple[int, str]] = {}
    for match in _KEYWORD.finditer(source):
        text = tex.group(match.end())
        if text is not None and match["name"].lower() not in _WORDS and len(tex.inner(text)) < 200:
            keywords[match["name"]] = (0, tex.inner(text))
    cut = []
    for match in _SETTING.finditer(source):
        after = match.end()
        while group := tex.group(after):
            after = group.after
        cut.append((match.start(), after))
    return outside(source, cut), keywords


class _Lines:
    """Marks the ends of lines and blocks in pseudocode, and replaces commands with the words that they print."""

    def __init__(self, source: str, keywords: Mapping[str, tuple[int, str]]) -> None:
        self.source = source
        self.tex = Tex(source)
        self.ended = "\\;" in source
        self.blocks = keywords.keys()
        self.edits: list[tuple[int, int, str]] = []

    def run(self) -> str:
        for match in _COMMAND.finditer(self.source):
            if match["math"] or match["escape"]:
                continue
            start, end = match.span()
            word = match["word"]
            if match["brace"]:
                if self.ended:
                    self.edits.append((start + 1, start + 1, _BREAK))
            elif match["border"]:
                self.edits.append((start, start, _BREAK))
            elif word is None:
                self.edits.append((start, end, _BREAK))
            else:
                self._command(word, start, end)
        out, at = [], 0
        for left, right, text in sorted(self.edits, key=lambda edit: edit[:2]):
            if left >= at:
                out += [self.source[at:left], text]
                at = right
        return "".join([*out, self.source[at:]])

    def _command(self, word: str, start: int, end: int) -> None:
        known = word.lower()
        if known in _COMMENTS:
            self.edits.append((start, self.tex.skip_options(end), " # "))
            self._ends_line(self.tex.skip_options(end))
            return
        if known == "call":
            self._call(end)
            self.edits.append((start, end, " "))
            return
        if word in self.blocks:
            self._block(end, "", bare=False)
            return
        if known not in _WORDS or (known in _PLAIN_WORD and word == known and known != "item"):
            return
        self.edits.append((start, end, f"{_BREAK}{_WORDS[known]} "))
        if known in ("function", "procedure") and self._call(end):
            return
        if known in _GIVEN:
            self._ends_line(end)
        if known in _BLOCKS:
            self._block(end, _BLOCKS[known], bare=known in _BARE_BLOCKS)

    def _ends_line(self, at: int) -> None:
        """Ends the current step if a source line ends with a braced argument."""
        group = self.tex.group(at)
        if group is not None and _AT_END.match(self.source, group.after):
            self.edits.append((group.after, group.after, _BREAK))

    def _call(self, at: int) -> bool:
        r"""Handles `{name}{arguments}` in a call or function header. Returns False if the braces contain a block."""
        name = self.tex.group(at)
        given = self.tex.group(name.after) if name is not None else None
        if given is None or re.search(r"\\;|\\[A-Z][a-zA-Z]*\s*\{|\n[ \t]*\n", self.tex.inner(given)):
            return False
        self.edits += [(given.start - 1, given.start, "("), (given.end, given.after, ") ")]
        return True

    def _block(self, at: int, ending: str, *, bare: bool) -> None:
        """Marks the line breaks after a block's condition and after its content."""
        at = self.tex.skip_options(at)
        condition = None if bare else self.tex.group(at)
        if condition is None and not bare:
            return
        held = self.tex.group(condition.after if condition is not None else at)
        while held is not None and held.after > held.end:
            following = self.tex.group(held.after)
            self.edits.append((held.start - 1, held.start, _BREAK))
            goes_on = following is not None or re.match(r"\s*\\[ul]?[eE]lse", self.source[held.after : held.after + 40])
            self.edits.append(
                (held.end, held.after, f"{_BREAK}{'else' if following else '' if goes_on else ending}{_BREAK}")
            )
            held = following
