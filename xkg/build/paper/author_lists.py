"""Finds the end of the list of authors in a bibliography entry, by the form of the names."""

import re

_BETWEEN = re.compile(r",? (?:and|&) |, ")
_CAPITAL = r"[^\W\d_a-z]"
_PARTICLES = r"(?:(?i:al|bin|da|de|del|den|der|di|dos|du|el|la|le|ten|ter|van|von)\s+)*+"
_SURNAME = re.compile(rf"{_PARTICLES}{_CAPITAL}[\w'’`´\-]++$")
_FULL_GIVEN_NAME = re.compile(
    rf"(?:{_CAPITAL}\s)?{_CAPITAL}[\w'’\-]++(?:\s{_CAPITAL}[\w'’\-]++)?(?:[\s.]++{_CAPITAL}\b\.?){{0,3}}$"
)
_GIVEN_AND_SURNAME = re.compile(rf"(?:{_CAPITAL}[\w'’\-]*+\.?\s+){{1,4}}{_PARTICLES}{_CAPITAL}[\w'’\-]+$")
_INITIALS_AND_SURNAME = rf"(?:{_CAPITAL}\.[ -]?)++{_PARTICLES}{_CAPITAL}[\w'’\-]++(?:\s{_CAPITAL}[\w'’\-]++)?"
_INITIALS_FIRST = re.compile(
    rf"{_INITIALS_AND_SURNAME}(?:,\s{_INITIALS_AND_SURNAME})*+"
    rf"(?:,?\s(?:and|&)\s{_INITIALS_AND_SURNAME}|,?\set\sal\.)?,\s(?={_CAPITAL})(?!{_CAPITAL}\.)"
)
_MORE_NAMES = re.compile(r"(?:[^.,]|,(?!\s(?:and|&)\s))*+,\s(?:and|&)\s")
_NO_TITLE = re.compile(r"\(|(?:1[89]|20)\d\d|\w\.|(?:and|&|et)\s")  # a year, one more initial, one more name
_LONGEST = 1000


def full_names_end(text: str) -> int | None:
    """The offset at which a list like "Neal, Radford M and Zemel, Richard S." ends and the title starts; None for other
    lists."""
    for match in re.finditer(r"\.\s+", text[:_LONGEST]):
        if _NO_TITLE.match(text, match.end()):
            continue
        parts = _BETWEEN.split(text[: match.start()])
        surnames, given = parts[::2], parts[1::2]
        if (
            len(surnames) == len(given)
            and all(_SURNAME.match(name) for name in surnames)
            and all(_FULL_GIVEN_NAME.match(name) for name in given)
        ):
            return match.end()
    return None


def initials_first_end(text: str) -> int | None:
    """The offset at which a list like "G. Neal and F. L. Zemel," ends and the title starts; None for other lists."""
    match = _INITIALS_FIRST.match(text[:_LONGEST])
    return match.end() if match and not _MORE_NAMES.match(text, match.end()) else None


def are_names(head: str) -> bool:
    """Whether the names in a list end with the surname: "Philip Neal, R. Devon Hall, and William Zemel"."""
    parts = _BETWEEN.split(head.rstrip(" .,"))
    return all(_GIVEN_AND_SURNAME.match(part) or part == "et al" for part in parts)
