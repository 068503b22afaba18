"""Translates Neo4j's Cypher to LadybugDB's dialect as far as possible.

The translation covers functions with different names, procedures that list the schema, and `labels` as a list. The
translation also covers `COUNT { … }` and `EXISTS { … }` without MATCH or with RETURN. List indexes, which start at 1 in
LadybugDB and at 0 in openCypher, are adjusted."""

from collections.abc import Sequence

from xkg.store.cypher import suggestions
from xkg.store.cypher.token_tree import TokenTree
from xkg.store.cypher.tokens import Token, mark_at, tokenize

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
    clauses that read."""
    tree = _tree(statement)
    tokens = tree.tokens
    written: list[str] = []
    lists: set[int] = set()
    skipped = 0
    for i, token in enumerate(tokens):
        if i < skipped:
            continue
        text = token.text
        called = tree.mark(i + 1) == "(" and tree.mark(i - 1) not in (".", ":")
        if token.word == "CALL" and (end := _listing(tokens, i)):
            text, skipped = _names(tokens, i, end), end
        elif token.word == "LABELS" and called:
            text = "[label"
            lists.add(tree.closing[i + 1])
        elif token.word in _FUNCTIONS and called:
            text = _FUNCTIONS[token.word]
        elif token.word in ("COUNT", "EXISTS") and tree.mark(i + 1) == "{":
            text += " {" + ("" if tokens[i + 2].word == "MATCH" else " MATCH")
            skipped = i + 2
        elif token.word == "RETURN" and (end := _end_of_subquery(tree, i)):
            text, skipped = "", end
        elif _is_index(tokens, i):
            text = str(int(text) + 1)
        written.append((" " if token.gap else "") + text + ("]" if i in lists else ""))
    return "".join(written).strip()


def heads(statement: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of a result's columns. As in Neo4j, a column without AS is named after the text of its
    expression."""
    tree = _tree(statement)
    start = tree.find(0, len(tree.tokens), "RETURN") + 1
    start += tree.words[start : start + 1] == ["DISTINCT"]
    end = next(iter(tree.clauses(start, len(tree.tokens))), len(tree.tokens))
    items = [tree.tokens[first:stop] for first, stop in tree.parts(start, end)]
    if len(items) != len(columns):
        return tuple(columns)
    return tuple(
        column
        if len(item) == 1 or "AS" in (token.word for token in item[-2:])
        else "".join(" " * token.gap + token.text for token in item).strip()
        for item, column in zip(items, columns, strict=True)
    )


def _tree(statement: str) -> TokenTree:
    tokens = tokenize(statement)
    return TokenTree(tokens, ["" if mark_at(tokens, i - 1) == "." else token.word for i, token in enumerate(tokens)])


def _listing(tokens: Sequence[Token], i: int) -> int:
    """Returns the index of the token after a call such as `CALL db.labels()` and its YIELD. Returns 0 for any other
    call."""
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


def _end_of_subquery(tree: TokenTree, i: int) -> int:
    """Returns the end of the `COUNT { … }` or `EXISTS { … }` around the RETURN at token i. Returns 0 if the RETURN is
    not in such a subquery, or if it changes the number of rows."""
    start = tree.enclosing(i)
    word = tree.words[start - 1] if tree.mark(start) == "{" else ""
    if word not in ("COUNT", "EXISTS"):
        return 0
    changes = _CHANGE_ROWS - {"DISTINCT"} if word == "EXISTS" else _CHANGE_ROWS
    end = tree.closing[start]
    return 0 if changes & {token.word for token in tree.tokens[i:end]} else end


def _is_index(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether the token is the number in `list[0]` or the first number in `list[0..2]`. The second number stays
    the same, because ranges include their end in LadybugDB."""
    if not tokens[i].text.isdigit() or mark_at(tokens, i - 1) != "[" or i < 2:
        return False
    before = tokens[i - 2]
    is_list = before.text in (")", "]") or (before.kind in ("word", "quoted") and before.word not in ("IN", "RETURN"))
    return is_list and mark_at(tokens, i + 1) in ("]", "..")
