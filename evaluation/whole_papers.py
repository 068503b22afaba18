"""Measures how much of a LaTeX paper's source is in the passages that prompts are built from: `python -m
evaluation.whole_papers FILE…`.

This module splits the source with simple patterns, independently of the parser. The items are equations, inline
formulas, algorithm lines, table rows, and sentences (including captions and footnotes). Items that are not in any
passage are counted as lost. `leaks` counts the LaTeX commands, lengths and layout options that remain in the passages.
`--examples N` prints N errors for each paper."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from evaluation.inputs.command import run_command
from xkg.build.guided.reading.paper_text import rendered
from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.document import Document
from xkg.build.paper.latex.tex.macros import expand, unprinted
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.read import parse_paper

_DISPLAY = re.compile(
    r"\\begin\{((?:equation|align|gather|multline|eqnarray|flalign|displaymath|dmath)\*?)\}(.*?)\\end\{\1\}"
    r"|\\\[(.*?)\\\]|\$\$(.*?)\$\$",
    re.DOTALL,
)
_INLINE = re.compile(r"(?<!\\)\$((?:[^$\\]|\\.)+?)\$|\\\((.*?)\\\)", re.DOTALL)
_ALGORITHMIC = re.compile(r"\\begin\{(algorithmic\*?)\}(.*?)\\end\{\1\}", re.DOTALL)
_ALGORITHM = re.compile(r"\\begin\{(algorithm\*?|algorithm2e|procedure)\}(.*?)\\end\{\1\}", re.DOTALL)
_TABULAR = re.compile(
    r"\\begin\{(tabular[*xy]?|longtable)\}((?:(?!\\begin\{(?:tabular|longtable)).)*?)\\end\{\1\}", re.DOTALL
)
_UNREAD = re.compile(
    r"\\begin\{(tikzpicture|thebibliography|comment|CCSXML|ack|acks|IEEEkeywords|keywords|lstlisting|verbatim|minted|"
    r"axis|picture)\*?\}.*?\\end\{\1\*?\}",
    re.DOTALL,
)
_REFERENCE = re.compile(
    r"\\(?:[a-zA-Z]*?[cC]ite[a-zA-Z]*|[a-zA-Z]*?[rR]ef|crefrange|label|input|include|includegraphics|bibliography\w*|"
    r"[vh]space|hypersetup|captionsetup|pagestyle|thispagestyle|setlength|addtolength|setcounter|definecolor|color|"
    r"graphicspath|vskip|hskip|renewcommand|newcommand|providecommand|DeclareMathOperator|todo|url|href|nocite|rule|"
    r"resizebox|scalebox|rotatebox|fontsize|cmidrule|cline|addlinespace|icmlauthor|icmlaffiliation|"
    r"icmlcorrespondingauthor|icmlkeywords|icmltitle|icmltitlerunning|title|author|date|affiliation|"
    r"address|email|thanks|appendixtitle|newacronym|newtheorem|pgfplotsset|tikzset|multirow|multicolumn|"
    r"linespread|addcontentsline|lstset|lstinputlisting|printAffiliationsAndNotice|SetKw[a-zA-Z]*|SetCommentSty)\*?"
    r"(?![a-zA-Z])"
    r"(?:\s*(?:\[[^\[\]]*\]|\([^()\n]{0,60}\)))*(?:\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}){0,4}"
)
_KEEPS_LAST = re.compile(
    r"\\(?:textcolor|multirow|multicolumn|resizebox|scalebox|parbox|href)\*?(?:\[[^\]]*\])*((?:\s*\{(?:[^{}]|\{(?:[^{}]|"
    r"\{[^{}]*\})*\})*\})+)"
)
_MARKUP = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]*\}(?:\s*(?:\[[^\[\]]*\]))*(?:\s*\{[^{}]*\})*|\\[a-zA-Z@]+\*?(?:\[[^\[\]]*\])?|\\."
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_LINE = re.compile(
    r"\\(?:State|STATE|Statex|For|FOR|FORALL|ForAll|ForEach|While|WHILE|If|IF|Else|ELSE|ElsIf|ELSIF|EndFor|EndWhile|EndIf|"
    r"ENDFOR|ENDWHILE|ENDIF|Require|REQUIRE|Ensure|ENSURE|Return|RETURN|KwIn|KwOut|KwData|KwResult|Input|Output|INPUT|"
    r"OUTPUT|Repeat|Until|Function|Procedure|EndFunction|EndProcedure|Comment|COMMENT|caption|"
    r"begin|end)\*?(?![a-zA-Z])|\\tc[pc]\*?(?:\[[^\[\]]{0,9}\])?|\\;|\\\\|\n[ \t]*\n"
)
_LEAK = re.compile(
    r"\\[a-zA-Z@]+|(?<![\w.])-?\d*\.?\d+\s?(?:pt|em|ex|bp|mm|cm)(?![a-z])(?!\s+[a-z]{2,})|\b\w+=[\d.]*\\?\w*width|"
    r"\[[!htbpH]{1,5}\]|(?<![\w.,=<>±(/-])0\.\d{1,3}(?=[A-Za-z$\\])|@\{\}|(?<= )[lcr](?:\|[lcr]+)+"
)
_BACK = re.compile(
    r"(?:\\(?:section|subsection)\*?\{(?:Acknowledg|Checklist|NeurIPS Paper Checklist|Broader Impact)[^}]*\}"
    r"|\\acknowledge?ments?(?![a-zA-Z]))"
    r".*?(?=\\section|\\appendix|\\bibliography|\Z)",
    re.DOTALL,
)
_REFERENCES = re.compile(
    r"(?:^#+\s*References\s*$|^\\section\*?\{References\}).*?(?=^#+ |^\\section|\Z)", re.MULTILINE | re.DOTALL
)
_SHOWN_FORMULA = re.compile(r"(?<!\\)\$(?:[^$\\\n]|\\.)*(?<!\\)\$")
_WITHOUT_SPACES = re.compile(r"[\u3000-\u9fff]")


KINDS = ("equations", "formulas", "lines", "rows", "sentences")


def bare(text: str, document: Document) -> str:
    """Reduces text to its letters and digits, with macros expanded and without commands, references or citations."""
    text = re.sub(r"\\includegraphics\*?\s*(?:\[[^\[\]]*\])?\s*\{[^{}]*\}", " ", text)
    text = expand(text, document.macros, document.macro_defaults)
    text = re.sub(r"\\(?:text|mbox|textrm|mathrm)\s*\{([^{}$]*)\$([^$]*)\$", r"\1\2", text)
    text = _KEEPS_LAST.sub(lambda m: re.findall(r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", m[1])[-1], text)
    text = re.sub(
        r"\\(?:tag|hskip|vskip|kern|mkern)\*?\s*(?:\{[^{}]*\}|-?[\d.]*\s*(?:pt|em|ex|mu|cm|mm|in))", " ", text
    )
    text = _MARKUP.sub(" ", _REFERENCE.sub(" ", text))
    return "".join(c for c in text if c.isalnum())


def body_of(document: Document) -> str:
    """Returns the part of the source to compare, without preamble, authors, pictures or bibliography."""
    text = document.text
    start = text.find("\\begin{document}")
    text = text[start + len("\\begin{document}") if start >= 0 else 0 :]
    text = text.partition("\\end{document}")[0]
    text = _printed(re.sub(r"(?<!\\)%[^\n]*", "", text), document)
    if document.format != "latex":
        text = _REFERENCES.sub(" ", text)
    abstract = re.search(r"\\begin\{abstract\}|\\abstract\{", text)
    text = text[abstract.end() :] if abstract else text
    text = _BACK.sub(" ", _UNREAD.sub(" ", text))
    # The argument of `\fig{compare}`, a macro for `Figure \ref{compare}`, is not a word of the sentence.
    pointing = {name: macro for name, macro in document.macros.items() if "ref" in expand(macro[1], document.macros)}
    return expand(text, pointing, document.macro_defaults)


def _printed(text: str, document: Document) -> str:
    r"""Returns the text without the arguments of macros that print nothing: ` ewcommand{\cut}[1]{}`."""
    tex, out, at = Tex(text), [], 0
    for name in unprinted(document.macros):
        for match in re.finditer(rf"\\{name}(?![a-zA-Z])", text):
            group = tex.group(match.end())
            out += [(match.start(), group.after)] if group else []
    pieces = []
    for start, end in sorted(out):
        pieces.append(text[at:start] if start > at else "")
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def read_text(document: Document) -> tuple[str, str]:
    """Returns all passages as they appear in prompts, and their text without headings or numbers."""
    passages = read_passages(document)
    chosen = {p.number: set(range(len(p.pieces))) for p in passages.listed}
    return rendered(passages, chosen), "\n\n".join(p.text for p in passages.listed)


def equations_in(body: str) -> Iterator[str]:
    for match in _DISPLAY.finditer(body):
        yield match[2] or match[3] or match[4] or ""


def lines_in(body: str) -> Iterator[str]:
    inside = [m[2] for m in _ALGORITHMIC.finditer(body)]
    inside += [m[2] for m in _ALGORITHM.finditer(body) if "algorithmic}" not in m[2]]
    for source in inside:
        yield from _LINE.split(source)


def rows_in(body: str) -> Iterator[str]:
    for match in _TABULAR.finditer(body):
        source = match[2]
        for _ in range(2 if match[1] in ("tabular*", "tabularx", "tabulary") else 1):
            source = re.sub(r"^\s*(?:\[[^\]]*\])?\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", "", source)
        for row in re.split(r"\\\\(?:\[[^\]]*\])?", source):
            yield re.sub(
                r"\\(?:hline|toprule|midrule|bottomrule|cmidrule|cline)\b(?:\([a-z]*\))?(?:\{[\d-]*\})?", " ", row
            )


def sentences_in(body: str) -> Iterator[tuple[str, ...]]:
    text = _ALGORITHM.sub("\n\n", _TABULAR.sub("\n\n", body))
    text = _ALGORITHMIC.sub("\n\n", text)
    text = re.sub(r"\\(?:footnote|footnotetext|caption|captionof\{\w+\})\s*(?:\[[^\]]*\])?", " . ", text)
    text = _INLINE.sub(" ", _DISPLAY.sub(" ", text))
    text = _MARKUP.sub(
        " ",
        _REFERENCE.sub(
            " ", re.sub(r"\\(?:begin|end|item|par|section|subsection|subsubsection|paragraph)\b", r". \g<0>", text)
        ),
    )
    for part in re.split(r"[.!?;:()]|\n\s*\n", text):
        words = tuple(_WORD.findall(part))
        if len(words) >= 5 and not _WITHOUT_SPACES.search(part):
            yield words


def measure(document: Document) -> tuple[Counter[str], list[str]]:
    """Returns the counts for one paper (each of `KINDS`, `<kind>_lost` and so on), and examples of errors."""
    body = body_of(document)
    shown, text = read_text(document)
    remarks: list[str] = []
    read = bare(re.sub(r"^\d+: ", "", shown, flags=re.MULTILINE), document)
    out: Counter[str] = Counter()

    def count(kind: str, source: str) -> None:
        needle = bare(source, document)
        out[kind] += bool(needle)
        if needle and needle not in read:
            remarks.append(f"{kind} lost: {' '.join(source.split())[:150]}")
            out[f"{kind}_lost"] += 1

    for equation in equations_in(body):
        count("equations", equation)
    outside = _DISPLAY.sub(" ", body)
    for match in _INLINE.finditer(outside):
        count("formulas", match[1] or match[2])
    for line in lines_in(body):
        count("lines", line)
    for row in rows_in(body):
        count("rows", row)
    prose = _SHOWN_FORMULA.sub(" ", shown)
    pairs = set(pairwise(_WORD.findall(prose)))
    for sentence in sentences_in(body):
        own = list(pairwise(sentence))
        out["sentences"] += 1
        if sum(pair in pairs for pair in own) < 0.6 * len(own):
            out["sentences_lost"] += 1
            remarks.append(f"sentence lost: {' '.join(sentence)[:150]}")
    text = _SHOWN_FORMULA.sub("M", text)
    for match in _LEAK.finditer(text):
        out["leaks"] += 1
        remarks.append(f"leak: {text[max(0, match.start() - 40) : match.end() + 30]!r}")
    out["characters"] = len(shown)
    return out, remarks


def main(papers: Sequence[Path], *, examples: int = 0) -> None:
    total: Counter[str] = Counter()
    for path in papers:
        count, remarks = measure(parse_paper(path))
        total += count
        print(f"{path}: {described(count)}", flush=True)
        for remark in remarks[:examples]:
            print(f"    {remark}")
    print(f"all: {described(total)}")


def described(count: Counter[str]) -> str:
    lost = "; ".join(f"{kind} {count[kind]}: {count[f'{kind}_lost']} lost" for kind in KINDS)
    return f"{lost}; leaks {count['leaks']}; {count['characters']} characters"


if __name__ == "__main__":
    run_command(main)
