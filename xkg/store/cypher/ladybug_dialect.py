"""Translates Neo4j's Cypher to LadybugDB's dialect as far as possible.

The translation covers functions with different names, `COUNT { … }` and `EXISTS { … }` without MATCH or with RETURN,
procedures that list the schema, and `labels` as a list. The translation also covers list indexes, which start at 1 in
LadybugDB and at 0 in openCypher."""

from collections.abc import Sequence

from xkg.store.cypher import suggestions
from xkg.store.cypher.tokens import CLAUSES, Token, mark_at, tokenize

_FUNCTIONS = {
    "TYPE": "label",
    "ELEMENTID": "id",
    "STARTNODE": "start_node",
    "ENDNODE": "end_node",
    "TOSTRING": "string",
    "TOINTEGER": "to_int64",
    "TOFLOAT": "to_double",
    "DATETIME": "current_timestamp",
}
_LISTED = {"labels": "label", "relationshiptypes": "relationshipType", "propertykeys": "propertyKey"}
_CHANGE_ROWS = frozenset("DISTINCT LIMIT SKIP COUNT COLLECT SUM AVG MIN MAX".split())
_LISTS = frozenset("db.labels db.relationshiptypes db.propertykeys".split())


def for_ladybug(statement: str) -> str:
    """Returns the statement in LadybugDB's dialect. The statement must have passed the guard. The translation only adds
    reads."""
    tokens = tokenize(statement)
    written: list[str] = []
    lists: set[int] = set()
    skipped = 0
    for i, token in enumerate(tokens):
        if i < skipped:
            continue
        text = token.text
        if token.word == "CALL" and (end := _listing(tokens, i)):
            text, skipped = _names(tokens, i, end), end
        elif token.word == "LABELS" and mark_at(tokens, i + 1) == "(" and mark_at(tokens, i - 1) not in (".", ":"):
            text = "[label"
            lists.add(_closing(tokens, i + 2))
        elif token.word in _FUNCTIONS and mark_at(tokens, i + 1) == "(" and mark_at(tokens, i - 1) not in (".", ":"):
            text = _FUNCTIONS[token.word]
        elif token.word in ("COUNT", "EXISTS") and mark_at(tokens, i + 1) == "{":
            text += " {" + ("" if tokens[i + 2].word == "MATCH" else " MATCH")
            skipped = i + 2
        elif token.word == "RETURN" and _ends_subquery(tokens, i):
            skipped = _closing(tokens, i)
            text = ""
        elif _is_index(tokens, i):
            text = str(int(text) + 1)
        written.append((" " if token.gap else "") + text + ("]" if i in lists else ""))
    return "".join(written).strip()


def heads(statement: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of a result's columns. As in Neo4j, a column without AS is named after the text of its
    expression."""
    items: list[list[Token]] = []
    depth = 0
    tokens = tokenize(statement)
    for i, token in enumerate(tokens):
        mark = mark_at(tokens, i)
        depth += (mark in ("(", "[", "{")) - (mark in (")", "]", "}"))
        name = depth > 0 or mark_at(tokens, i - 1) == "."
        if not items:
            items = [[]] if token.word == "RETURN" and not name else []
        elif mark == "," and not name:
            items.append([])
        elif token.word in CLAUSES and not name and tokens[i - 1].word not in ("STARTS", "ENDS"):
            break
        elif token.word != "DISTINCT" or items != [[]]:
            items[-1].append(token)
    if len(items) != len(columns):
        return tuple(columns)
    return tuple(
        column
        if len(item) == 1 or "AS" in (token.word for token in item[-2:])
        else "".join(" " * token.gap + token.text for token in item).strip()
        for item, column in zip(items, columns, strict=True)
    )


def _listing(tokens: Sequence[Token], i: int) -> int:
    """Returns the index after a call such as `CALL db.labels()`, including its YIELD, or 0 for any other call."""
    called = "".join(token.text for token in tokens[i + 1 : i + 4]).lower()
    if called not in _LISTS or [mark_at(tokens, i + 4), mark_at(tokens, i + 5)] != ["(", ")"]:
        return 0
    end = i + 6
    if end < len(tokens) and tokens[end].word == "YIELD":
        end += 4 if end + 2 < len(tokens) and tokens[end + 2].word == "AS" else 2
    return end


def _names(tokens: Sequence[Token], i: int, end: int) -> str:
    listed = _LISTED[tokens[i + 3].text.lower()]
    nodes, edges, columns = suggestions.names()
    names = {"label": nodes, "relationshipType": edges}.get(listed, columns)
    variable = tokens[end - 1].text if end > i + 6 else listed
    clause = "RETURN" if end == len(tokens) else "WITH"
    return f"UNWIND [{', '.join(map(repr, names))}] AS {variable} {clause} {variable}"


def _ends_subquery(tokens: Sequence[Token], i: int) -> bool:
    """Whether the RETURN has no effect, because it is inside a `COUNT { … }` or `EXISTS { … }` and does not change the
    number of rows."""
    depth = 0
    for j in range(i - 1, -1, -1):
        mark = mark_at(tokens, j)
        depth += (mark in (")", "]", "}")) - (mark in ("(", "[", "{"))
        if depth < 0:
            changed = _CHANGE_ROWS & {token.word for token in tokens[i : _closing(tokens, i)]}
            if tokens[j - 1].word == "EXISTS":
                changed -= {"DISTINCT"}
            return mark == "{" and tokens[j - 1].word in ("COUNT", "EXISTS") and not changed
    return False


def _closing(tokens: Sequence[Token], i: int) -> int:
    depth = 0
    for j in range(i, len(tokens)):
        mark = mark_at(tokens, j)
        depth += (mark in ("(", "[", "{")) - (mark in (")", "]", "}"))
        if depth < 0:
            return j
    return len(tokens)


def _is_index(tokens: Sequence[Token], i: int) -> bool:
    """Whether the token is the number in `list[0]` or the first number in `list[0..2]`. The second number needs no
    change, because LadybugDB's ranges include their end."""
    if not tokens[i].text.isdigit() or mark_at(tokens, i - 1) != "[" or i < 2:
        return False
    before = tokens[i - 2]
    is_list = before.text in (")", "]") or (before.kind in ("word", "quoted") and before.word not in ("IN", "RETURN"))
    return is_list and mark_at(tokens, i + 1) in ("]", "..")
