"""Looks for evidence that a name in a paper denotes a technique, such as actions in the section named after it and
mentions in the text. Also recognises the names of data sets."""

import re
from collections.abc import Sequence

from xkg.build.techniques.definitions import Reader, mentions, pattern
from xkg.build.techniques.names import is_proper, key
from xkg.build.techniques.section_roles import Part

_NOT_DONE = (
    r"(?:(?:show|find|report|compar|discuss|describ|observ|not|bas|relat|evaluat|collect|requir|expect|limit|need|motivat|"
    r"inspir|believ|argu|refer|review|conclud|hop|demonstrat|prov)(?:e|es|s|d|ed|n|ing)?|known|see|can|may|will|have|has|"
    r"is|are|was|do)\b"
)
_DOES = (
    r"(?:appl(?:y|ie)|train|compute|construct|sample|find|search|extract|select|measure|update|initiali[sz]e|optimi[sz]e|"
    r"minimi[sz]e|maximi[sz]e|add|choose|set|adapt|estimate|draw|replace|encode|decode|map|project|learn|predict|generate|"
    r"split|combine|multiplie|take|return)s"
)
# Matches actions such as "we pool the eggs", "it maps the size" or "eggs are pooled by size". The pattern does not
# match results or opinions.
_ACTS = re.compile(
    rf"\b(?:we (?:(?:\w+ly|also|then|first|next|further) )?(?!{_NOT_DONE})[a-z]{{3,}}"
    rf"|(?:it|this|which|that) {_DOES}"
    rf"|(?:is|are|was|were) (?:\w+ly )?(?:given|drawn|set|built|split|sent|chosen|(?!{_NOT_DONE})\w{{3,}}ed)(?!\.))\b",
    re.IGNORECASE,
)
_DATA = r"(?:data ?sets?|benchmarks?|corpus|corpora|leaderboard)"
_COUNTED = re.compile(r"\s(?:\w+\s)?(?:has|have|contains?|consists? of|comprises?|includes?)\s(?:[\w,.]+\s){0,2}?\d")


def shows(reader: Reader, part: Part) -> bool:
    """Returns whether a part displays an equation or contains an algorithm, outside the parts nested in it."""
    inner = [(child.start, child.end) for child in part.children]
    listed = [a.start for a in reader.document.algorithms if part.start <= a.start < part.end]
    own = any(not any(start <= at < end for start, end in inner) for at in listed)
    return own or any(reader.sentences[i].display for i in part.sentences)


def acts(reader: Reader, sentences: Sequence[int]) -> int:
    """Returns the number of actions that these sentences describe."""
    return len(_ACTS.findall(reader.text(sentences)))


def is_used(reader: Reader, name: str) -> bool:
    """Returns whether the running text contains the name."""
    return bool(mentions([name], reader))


def is_spoken_of(reader: Reader, name: str) -> bool:
    """Returns whether any sentence contains at least two thirds of the words in the name."""
    stems = key(name)
    least = max(1, -(-2 * len(stems) // 3))
    near = {i for stem in stems for i in reader.having([stem])}
    return any(len(set(stems) & reader.stems(i)) >= least for i in near)


def is_data(reader: Reader, name: str) -> bool:
    """Returns whether the text uses the name X for data, as in "the X dataset", "trained on X" and "X has 10
    classes"."""
    if not is_proper(name) and not any(c.isupper() for c in name[1:]) and not any(c.isdigit() for c in name):
        return False
    found = pattern((name,))
    called, on, every = 0, 0, 0
    for i in mentions([name], reader):
        text = reader.sentences[i].text
        for match in found.finditer(text):
            before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 80]
            called += bool(re.match(rf"[\s-]+(?:\w+\s)?{_DATA}\b", after, re.IGNORECASE) or _COUNTED.match(after))
            on += bool(re.search(r"\b(?:on|from)\s(?:the\s)?(?:[\w-]+(?:,|\sand|,\sand)\s){0,3}$", before))
            every += 1
    return called > 1 or (called == 1 and 3 * (called + on) > every) or (on > 1 and 2 * on > every)
