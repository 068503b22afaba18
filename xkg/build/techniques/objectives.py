"""Names of displayed equations, from the words that introduce or follow them: "the ranking loss is defined as …"."""

import re
from collections.abc import Iterator

from xkg.build.paper.document import Document
from xkg.build.paper.sentences import Sentence
from xkg.build.techniques.names import is_name, words
from xkg.build.techniques.noun_phrases import Term, noun_phrase, short_after

_KIND = (
    r"(?:loss(?:es)?|objectives?|regulari[sz]ers?|regulari[sz]ation|penalty|penalties|divergence|rewards?|"
    r"estimators?|updates?|score|criterion|Lagrangian|energy|kernel|operator|bonus|constraint|"
    r"reparametri[sz]ation|recursion|dynamics|step|rule)"
)
_NAMED = re.compile(
    rf"\b(?:[Tt]he|[Aa]n?|[Oo]ur|[Ff]ollowing|[Tt]his|[Ee]ach|[Nn]ew|(?:minimi|maximi|optimi)[sz](?:e|es|ing))\s+"
    rf"((?:(?!(?:an?|the)\s)[^\W\d_][\w-]*\s+){{1,4}}?{_KIND}(?:\s+(?:function|term|rule|step|estimator|problem))?)\b"
)
_OF_KIND = re.compile(rf"\b{_KIND}(?:\s+(?:function|term|rule|step|estimator|problem))?$", re.IGNORECASE)
# A further clause has its own subject: "the operator is linear, so that … is given by".
_FURTHER = re.compile(r",\s*(?:so|thus|hence|then|therefore)\b")
# What leads from a name to its formula.
_LINK = re.compile(
    r":$|\b(?:is|are|be|as|by|reads?|becomes?|yields?|gives?|follows|takes the form|computes?|obtain(?:ed)?|"
    r"writ(?:es|ten)|equals?|with|via|via the formula|using)\b[^.;]{0,40}$|^ ?(?:\$[^$]{1,80}\$)? ?,?$",
    re.IGNORECASE,
)
_PART_OF = re.compile(
    r"\b(?:gradients?|derivatives?|minimi[sz]ers?|solutions?|optimum|expectation|value|bound|variance|rate|choice|"
    r"proof|properties) (?:of|for|on)\s+$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r" ?,? ?(?:where |and )?(?:which |this )?"
    r"(?:is|defines|we call|is called|is known as|is referred to as) (?:the|our|an?) "
)
_LOSS = r"(?:loss|regulari[sz]er|regulari[sz]ation|penalty)(?: (?:function|term))?"
# "where $L_c$ is a contrastive loss", "the reconstruction loss $\\mathcal{L}_r$".
_SYMBOL_OF = re.compile(
    rf"\$[^$]{{1,60}}\$ (?:is|denotes|represents) (?:the|an?|our) (?P<name>(?:[^\W\d_][\w-]* ){{1,4}}?{_LOSS})\b"
    rf"|\b(?:the|an?|our) (?P<symbol>(?:[^\W\d_][\w-]* ){{1,4}}?{_LOSS}) \$(?:\\mathcal ?\{{? ?[LRJ]|\\ell|[LJR])"
)
# "we train the classifier with a dice loss"
_TRAINED = re.compile(
    r"\b[Ww]e (?:\w+ )?(?:train(?:ed)?|optimi[sz]e[ds]?|fine-tune[ds]?|supervise[ds]?) [^.;]{3,80}? "
    rf"(?:using|with|by|via) (?:the |an? |our )?(?P<trained>(?:[^\W\d_][\w-]* ){{1,3}}?{_LOSS})\b"
)
_PLAIN = re.compile(
    r"^(?:(?:standard|usual|classical|conventional|vanilla|resulting|final|overall|total|full|above|following|same|new|"
    r"corresponding) )+"
)
# What every paper has one of is named after the paper's method.
_WHOLE = re.compile(
    r"^(?:total|overall|full|final|joint|combined|training|learning|optimization) (?:loss|objective)(?: function)?$"
)
_OF_MATHEMATICS = re.compile(
    r"(?:chain|product|sum|quotient|Bayes(?:'s?|ian)?) rule|scalar (?:loss|function)(?: function)?", re.IGNORECASE
)
_LONGEST_LINK = 140
_LONGEST_INTRODUCTION = 400


def equation_names(document: Document, sentence: Sentence) -> Iterator[Term]:
    """The names that a sentence gives to the equations displayed in it, and to losses by their symbols."""
    yield from _by_symbol(sentence.text)
    if sentence.display:
        yield from _displayed(document, sentence)


def _by_symbol(text: str) -> Iterator[Term]:
    for match in (*_SYMBOL_OF.finditer(text), *_TRAINED.finditer(text)):
        group = match.lastgroup or "name"
        name, end = noun_phrase(text, match.start(group))
        if end >= match.end(group) and _is_specific(name) and re.search(rf"\b{_LOSS}$", name):
            yield Term(name, "define", match.start(group), short_after(text, end))


def _displayed(document: Document, sentence: Sentence) -> Iterator[Term]:
    text = sentence.text
    at = 0
    for equation in document.equations[_first(document, sentence.start) :]:
        if equation.start >= sentence.end:
            break
        formula = f"${equation.latex}$"
        start = text.find(formula, at)
        if start < 0:
            continue
        yield from _introduced(text, max(at, start - _LONGEST_INTRODUCTION), start)
        at = start + len(formula)
        if after := _AFTER.match(text, at):
            name, end = noun_phrase(text, after.end())
            if _OF_KIND.search(name) and _is_specific(name):
                yield Term(name, "define", after.end(), short_after(text, end))


def _first(document: Document, offset: int) -> int:
    """The index of the first equation at or after an offset."""
    low, high = 0, len(document.equations)
    while low < high:
        middle = (low + high) // 2
        if document.equations[middle].start < offset:
            low = middle + 1
        else:
            high = middle
    return low


def _introduced(text: str, start: int, formula: int) -> Iterator[Term]:
    """The name of the formula at `formula` in the words from `start` on, the last one where there are several."""
    found: Term | None = None
    for match in _NAMED.finditer(text, start, formula):
        name, end = noun_phrase(text, match.start(1))
        if end < match.end(1):
            continue
        link = text[end:formula].rstrip()
        if _FURTHER.search(link):
            continue
        if len(link) > _LONGEST_LINK or not _LINK.search(link) or _PART_OF.search(text[: match.start()] + " "):
            continue
        name = re.split(r"\sof\s", name)[0]
        if _WHOLE.match(name.casefold()):
            found = Term(name, "whole", match.start(1))
            continue
        name = _PLAIN.sub("", name)
        if _is_specific(name) and _OF_KIND.search(name):
            found = Term(name, "define", match.start(1), short_after(text, end))
    if found is not None:
        yield found


def _is_specific(name: str) -> bool:
    return is_name(name) and len(words(name)) > 1 and not _OF_MATHEMATICS.fullmatch(name)
