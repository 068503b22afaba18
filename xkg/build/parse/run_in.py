"""Run-in headings without markup ("Batch Step. This step …"), told from plain sentences."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _words("""
    a an and as at but by for from in into nor of off on onto or over per s the to up via vs with without under
    using between through
""")
_NOT_FIRST = _words("""
    we our this these those it its they there here in on for if when while as to by since because although however
    moreover furthermore finally first second third firstly secondly thirdly lastly then thus hence therefore note
    let consider suppose assume given recall see use i you he she that what which who each all both some any one
    given specifically similarly additionally next now also so straightforwardly intuitively formally proof theorem
    lemma proposition corollary definition remark assumption claim figure fig table algorithm step q a eq equation
    copyright proceedings correspondence
""")
_FINITE = _words("""
    is are was were be been has have had can could may might will would shall should must does do did cannot show
    shows shown provide provides gives give achieve achieves require requires yield yields makes make we our us i
    means allows allow uses denotes consists follows that which whose who because requries
""")
_DETERMINER = _words("""
    the a an this that these those many several all each both more most our its their no
""")
_STOP = re.compile(r"\$[^$\n]{1,80}\$|(?P<stop>[.?])(?=[ \t]+\S)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[Ee]qs?|[Ee]qns?|[Ff]igs?|[Ss]ecs?|[Tt]ab|vs|al|cf|w\.r\.t|i\.i\.d|i\.e|e\.g|approx|no|resp|St|Dr)|[\s.(-][a-zA-Z])$"
)
_LONGEST_RUN_IN = 110


def run_in(text: str, start: int, end: int) -> tuple[str, int] | None:
    """The short title that begins the paragraph at `start` as a heading of its own ("Batch Step. This step …") and
    where the text after it begins; None for a plain sentence, a caption, a theorem or a proof.

    There is no markup to go by (Mathpix drops bold), so a title must have the shape of a noun phrase: all its words
    capitalised, or few words with no finite verb among them; at least a sentence must follow."""
    if not (text[start].isupper() or text[start].isdigit()):
        return None
    for match in _STOP.finditer(text, start, min(end, start + _LONGEST_RUN_IN)):
        title = text[start : match.start()]
        if match["stop"] is None or title.count("(") != title.count(")") or _ABBREVIATION.search(title):
            continue
        after = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
        if end - after < 40 or not _follows_sentence(text, after) or not is_noun_phrase(title):
            return None
        if text[after] == "$" and len(title.split()) < 2:
            return None
        return title + ("?" if match["stop"] == "?" else ""), after
    return None


def _follows_sentence(text: str, at: int) -> bool:
    return bool(re.compile(r"[A-Z$(\"“'‘0-9\\\[]").match(text, at))


def is_noun_phrase(title: str) -> bool:
    """Whether `title` reads as a heading rather than as a sentence."""
    bare = re.sub(r"\$[^$]*\$", "x", title)
    words = re.findall(r"[^\W_]+(?:[-'’/][^\W_]+)*", bare)
    if not words or len(words) > 12 or re.search(r"\(.{0,80}\b(?:19|20)\d\d", title):
        return False
    if re.match(r"(?:[QA]:|\(?\d+[).]|https?:)", title) or (len(words[-1]) == 1 and "," in title):
        return False
    first, lower = words[0].lower(), [word.lower() for word in words]
    if first in _NOT_FIRST:
        return False
    capital = [w for w in words[1:] if w[0].isupper() or w[0].isdigit() or len(w) == 1]
    content = [w for w in words[1:] if w.lower() not in _SMALL]
    if len(words) > 1 and content and all(w[0].isupper() or not w[0].isalpha() or len(w) == 1 for w in content):
        return not (len(capital) == 0 and len(words) > 4)
    if len(words) > 7 or "," in title or first in ("the", "a", "an") or any(word in _FINITE for word in lower[1:]):
        return False
    return not any(word in _DETERMINER for word in lower[1:3]) or lower[1] in _SMALL
