"""Turns references to equations and algorithms into search terms. For example, a comment with "Eq. (8)" refers to the
technique near equation 8 in the paper."""

import re
from collections.abc import Iterator

_NUMBER = r"(?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,3})?[a-z]?"
_REFERENCE = re.compile(
    rf"\b(?P<kind>eqs?|eqns?|equations?|algs?|algorithms?)\b\.?[\s~#]*+(?P<numbers>[(\[]?{_NUMBER}\b[)\]]?"
    rf"(?:\s?(?:,|and|&|-|–|to|/)\s?[(\[]?{_NUMBER}\b[)\]]?){{0,5}})",
    re.IGNORECASE,
)
_EACH = re.compile(rf"(?P<to>(?:-|–|to)\s?[(\[]?)?(?P<number>{_NUMBER})\b", re.IGNORECASE)
_LONGEST_RANGE = 12


def references(text: str) -> Iterator[str]:
    """Yields the equations and algorithms that a text refers to, as `eq:8` or `alg:2`. Expands ranges of numbers."""
    for match in _REFERENCE.finditer(text):
        kind = "eq" if match["kind"][0] in "eE" else "alg"
        last = ""
        for each in _EACH.finditer(match["numbers"]):
            number = each["number"].casefold()
            if each["to"] and last.isdigit() and number.isdigit() and int(number) - int(last) <= _LONGEST_RANGE:
                yield from (f"{kind}:{n}" for n in range(int(last) + 1, int(number)))
            yield f"{kind}:{number}"
            last = number
