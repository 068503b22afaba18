"""Finds bold or italic titles at the start of a paragraph, such as "**Batch step.** This step …" or "_Model._—We take
…"."""

import re

from xkg.build.paper.headings import is_noun_phrase

_PARAGRAPH_START = re.compile(
    r"(?:\A|\n[ \t]*\n|\\par(?![a-zA-Z])|\\end\{[^{}]{1,40}\}[ \t]*\n?|\}[ \t]*\n|\\(?:small|med|big)skip(?![a-zA-Z])"
    r"|\\\\[ \t]*\n|\n[ \t]*(?=\\noindent(?![a-zA-Z])))"
    r"\s*(?:\\(?:noindent|indent|(?:small|med|big)skip|par|[vh]space\*?\s*\{[^{}]{0,20}\}|vskip\s*\S{1,12})\s*)*"
    r"(?P<number>\(?(?:\d{1,2}|[ivx]{1,4}|[a-h])[.)]\s*)?\{?$"
)
# Physics journals put a dash after a title that begins a paragraph: `\\emph{Model.}---We take`.
DASH = re.compile(r"[.:]?(?:[ \t~]|\\[,;])*+(?:-{2,3}|[—―–]|\\textemdash(?![a-zA-Z]))(?:[ \t~]|\\[,;])*+\n?")
ENDS = " .:—―-–"
_SENTENCE = re.compile(r"[ \t~]*+(?:(?<=[ \t~])|\n[ \t]*+(?:\\[a-z]{1,20}\{\s*+)?)(?=[A-Z])")
# Matches if no text or formula follows a title.
_NO_TEXT = re.compile(
    r"[ \t]*+\n[ \t]*+\n|\s*+\\(?:begin(?!\{(?:equation|align|gather|multline|eqnarray))|item|end|section)"
)
_PROVES = re.compile(r"(?i)(proof|theorem|lemma)\b")
_MOST_WORDS = 12


def run_in(text: str, span: tuple[int, int], style: str, printed: str, earliest: int) -> tuple[str, int, int] | None:
    """Returns the title at the start of a paragraph, its offset, and the offset of the text that follows. Returns None
    if the emphasised text in `span` is not a title.

    A title must be followed by a full stop, a colon or a dash. A bold title may instead be followed by a new sentence.
    The paragraph starts at `earliest` or later."""
    start, end = span
    follows = text[end : end + 1]
    stopped = printed.endswith((".", ":", "?", "—", "―"))
    title = printed.rstrip(ENDS)
    dash = DASH.match(text, end)
    before_dash = stopped or follows in ".:"
    if dash and not before_dash and (text[dash.end() : dash.end() + 1].islower() or len(dash[0].strip()) == 2):
        return None  # the text is a remark between dashes, or a range
    noun_phrase = is_noun_phrase(title)
    set_off = style == "bold" and noun_phrase and _SENTENCE.match(text, end)
    if not title or style == "monospace" or len(title.split()) > _MOST_WORDS:
        return None
    if not (stopped or dash or follows in ".:" or set_off):
        return None
    is_head = printed.endswith(("—", "―")) or (dash and before_dash)
    if not (is_head or noun_phrase or (style == "bold" and not _PROVES.match(title))):
        return None
    before = max(earliest, start - 200)
    begins = _PARAGRAPH_START.search(text[before:start])
    after = dash.end() if dash else end if stopped or follows not in ".:" else end + 1
    if begins is None or _NO_TEXT.match(text, after, after + 200):
        return None
    return title, before + begins.start("number") if begins["number"] else start, after
