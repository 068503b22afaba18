"""Finds the end of the author list in a bibliography entry from the format of the names."""

import re

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_PARTICLE = r"(?i:al|bin|da|de|del|den|der|di|dos|du|el|la|las|le|los|ten|ter|van|von)"
_GIVEN = rf"{_CAPITAL}[\w'’`´¨\-]{{1,40}}+"
_SURNAME = rf"(?:{_PARTICLE}\s){{0,3}}(?!{_CAPITAL}{{1,3}}(?![\w'’`´¨])){_GIVEN}"
_INITIALS = rf"{_CAPITAL}[^\W\d_]?\.(?:[ ~-]?[^\W\d_]\.){{0,8}}+"
_BARE = rf"{_CAPITAL}(?:[ -]?{_CAPITAL}){{0,3}}(?!\w)"  # initials without full stops, as in "Lee AB"
_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_STOPS = rf"(?=[,.:;]|\s(?:and|&|\(|et\s|{_YEAR}))"
# Formats of author names, which are the same for all names in a list.
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_SURNAME}(?:\s{_SURNAME})?,\s{_INITIALS}(?!\s{_GIVEN}\s{_GIVEN},)",
        rf"{_SURNAME},\s{_GIVEN}(?:\s(?:{_INITIALS}|{_BARE}|{_GIVEN}(?=[,.;]|\s(?:and|{_BARE})))){{0,3}}",
        rf"(?:{_INITIALS}|{_BARE})\s?{_SURNAME}(?:\s{_GIVEN})?{_STOPS}",
        rf"(?:{_INITIALS}\s)?{_GIVEN}(?:\s(?:{_INITIALS}|{_BARE}|{_GIVEN})){{0,3}}?\s{_SURNAME}{_STOPS}",
        rf"{_SURNAME}\s(?:{_INITIALS}|{_BARE}){_STOPS}",
    )
)
_BETWEEN = re.compile(r"[,;]?\s(?:and|&)\s|[,;]\s")
_AFTER = re.compile(
    r"(?:,?\s(?:and\s|&\s)?(?:et\sal|(?:\d+\s)?[Oo]thers)\b|,?\s[JS]r\b)?(?:\s?\([Ee]ds?\.?\))?[.,:;]*+"
    rf"(?:\s*+[(\[]?{_YEAR}(?:,?\s[A-Z][a-z]+\.?(?:\s\d+)?)?[)\]]?[.,:;]*+)?\s++"
)
_ODD = re.compile(r"[^,;:]{1,40},\s(?:and\s)?")  # a name in a different format
_CUT = re.compile(r"\w\.,")  # a full stop and a comma after an initial
# Matches text that follows a comma but still belongs to the list of names.
_NO_TITLE = re.compile(r"(?:and|&)\s|(?:\S{1,40}\s)?[A-Z][^\s.,]{0,40}[.,]\s|(?:[^.:]|\b[A-Z]\.){0,300},\s(?:and|&)\s")
_ET_AL = re.compile(r",?\s(?:and\s)?et\sal\b")


def authors_end(text: str) -> int | None:
    """Returns the offset of the title after the authors and any year, or None if the text does not start with an author
    list."""
    for form in _FORMS:
        at = end = 0
        between = None
        while name := form.match(text, at) or ((odd := _ODD.match(text, at)) and form.match(text, odd.end())):
            end = name.end()
            between = _BETWEEN.match(text, end)
            if between is None:
                break
            at = between.end()
        after = _AFTER.match(text, end) if end else None
        if after is None or not (after[0].strip() or text[end - 1] == ".") or _CUT.match(text, after.end()):
            continue
        if between is None or "et al" in after[0] or not _NO_TITLE.match(text, after.end()):
            return after.end()
    others = _ET_AL.search(text)
    after = _AFTER.match(text, others.start()) if others else None
    return after.end() if after else None
