"""Decides which untrusted Cypher may run on LadybugDB or Neo4j. Only single, read-only statements are accepted.

Opening the database read-only is not enough. LadybugDB's `LOAD FROM` can still read system files, and `COPY … TO` and
`EXPORT DATABASE` can write files. Neo4j's `LOAD CSV` and `apoc.*` can access files and the network. The guard therefore
splits a statement into tokens according to both engines' grammars. The guard accepts the statement only if every
clause, procedure and function is on an allowlist. A word that follows a complete expression must be an allowed keyword,
so no other word can start a clause.

The engine receives new text generated from the tokens, without comments, so it runs exactly the statement that was
checked. `xkg.store.cypher.tokens` rejects text that the engines might split differently. `xkg.store.cypher.bounds` and
`xkg.store.cypher.expression_cost` reject work that cannot be interrupted by a timeout. Although LadybugDB runs in a
process that can be killed, the same rules apply to both engines, so that both accept the same statements."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from xkg.errors import QueryRefusedError
from xkg.store.cypher.bounds import check_logic, check_patterns
from xkg.store.cypher.expression_cost import check_evaluation
from xkg.store.cypher.tokens import CLAUSES, SUBQUERIES, Token, mark_at, refused, tokenize


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEEPEST_NESTING = 20
"""Maximum nesting depth of brackets. Neo4j takes hours to plan `NOT (… OR NOT (… OR …))` nested 40 levels deep, and
cannot be interrupted."""

PROCEDURES = _words(
    "show_tables table_info show_connection show_functions show_indexes db_version "
    "db.labels db.relationshipTypes db.propertyKeys db.schema.visualization db.schema.nodeTypeProperties "
    "db.schema.relTypeProperties db.ping"
)
_PROCEDURES = frozenset(name.lower() for name in PROCEDURES)

FUNCTIONS = _words(
    # aggregates, predicates and functions common to both engines
    "count collect sum avg min max stdev stdevp percentilecont percentiledisc exists all any none single coalesce "
    "nullif id elementid label labels type keys properties nodes relationships rels length size head last tail reverse "
    "range reduce startnode start_node endnode end_node shortestpath allshortestpaths isempty valuetype typeof cast "
    "offset is_trail is_acyclic cost list_creation struct_pack struct_extract map map_extract element_at map_keys "
    "map_values cardinality ifnull constant_or_null count_if histogram hash md5 sha256 array_value greatest least "
    # functions on numbers
    "abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial floor gamma haversin isnan lgamma "
    "ln log log10 log2 negate pi pow radians rand random round sign sin sqrt tan e "
    "bitshift_left bitshift_right bitwise_and bitwise_or bitwise_xor "
    # functions on text
    "btrim char_length character_length concat concat_ws contains ends_with starts_with prefix suffix initcap lcase "
    "left levenshtein lower lpad ltrim normalize octet_length regexp_extract regexp_extract_all regexp_full_match "
    "regexp_matches regexp_replace regexp_split_to_array repeat replace right rpad rtrim split split_part str_split "
    "string_split string_to_array substr substring tolower toupper trim ucase upper encode decode "
    # functions that convert values
    "blob bool string to_bool to_blob to_double to_float to_int8 to_int16 to_int32 to_int64 to_int128 to_string "
    "to_uint8 to_uint16 to_uint32 to_uint64 toboolean tobooleanornull tofloat tofloatornull tointeger tointegerornull "
    "tostring tostringornull tobooleanlist tofloatlist tointegerlist tostringlist "
    # functions on dates
    "century current_date current_timestamp date date_part datepart date_trunc datetrunc datetime dayname duration "
    "epoch_ms interval last_day localdatetime localtime make_date monthname time timestamp to_date to_days to_epoch_ms "
    "to_hours to_interval to_microseconds to_milliseconds to_minutes to_months to_seconds to_timestamp to_years "
    "time_bucket date.realtime date.statement date.transaction date.truncate datetime.fromepoch "
    "datetime.fromepochmillis datetime.realtime datetime.statement datetime.transaction datetime.truncate "
    "duration.between duration.indays duration.inmonths duration.inseconds localdatetime.truncate localtime.truncate "
    "time.truncate "
    # functions on points and vectors
    "point point.distance point.withinbbox vector.similarity.cosine vector.similarity.euclidean "
    # functions on lists and arrays
    "array_append array_cat array_concat array_contains array_cosine_similarity array_cross_product array_distance "
    "array_dot_product array_extract array_has array_indexof array_inner_product array_position array_prepend "
    "array_push_back array_push_front array_slice array_squared_distance list_any_value list_append list_cat "
    "list_concat list_contains list_distinct list_element list_extract list_filter list_has list_has_all list_has_any "
    "list_indexof list_max list_min list_position list_prepend list_product list_reduce list_reverse list_reverse_sort "
    "list_slice list_sort list_sum list_to_string list_transform list_unique"
)

_FORBIDDEN = {
    **dict.fromkeys(_words("CREATE MERGE SET DELETE REMOVE DETACH DROP ALTER INSERT FOREACH"), "changes the graph"),
    **dict.fromkeys(_words("COPY LOAD EXPORT IMPORT ATTACH"), "reads or writes files"),
    **dict.fromkeys(_words("INSTALL UNINSTALL MACRO"), "changes the database"),
    **dict.fromkeys(_words("BEGIN COMMIT ROLLBACK CHECKPOINT"), "controls transactions"),
    **dict.fromkeys(_words("EXPLAIN PROFILE USE USING CYPHER"), "changes how the engine runs a statement"),
    **dict.fromkeys(_words("SHOW TERMINATE GRANT DENY REVOKE ANALYZE"), "administers the database"),
}
_FILLERS = _words(
    "WHERE AND OR XOR NOT IN STARTS ENDS CONTAINS IS AS DISTINCT CASE WHEN THEN ELSE BY ALL ANY SHORTEST TRAIL ACYCLIC "
    "WSHORTEST TYPED"
)
_FINISHED_WORDS = _words("END NULL TRUE FALSE ASC DESC ASCENDING DESCENDING")
_KEYWORDS = CLAUSES | _FILLERS | _FINISHED_WORDS
_STARTERS = _words("MATCH OPTIONAL UNWIND WITH RETURN CALL")

_PAIRS = {")": "(", "]": "[", "}": "{"}


def guard(statement: str, parameters: Mapping[str, Any] | None = None) -> str:
    """Returns the statement to run, which has no comments, no final semicolon and only single spaces.

    If the statement is not allowed, raises `QueryRefusedError` with the offending token."""
    tokens = tokenize(statement)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        raise QueryRefusedError("the statement is empty; pass one that starts with MATCH and ends with RETURN")
    for token in tokens:
        if token.kind == "word" and not token.text.isascii():
            _check_folding(token.text)
    reader = _Reader(tokens)
    reader.check()
    words = [reader.keyword(i) for i in range(len(tokens))]
    check_logic(words, tokens)
    check_patterns(tokens, parameters or {})
    check_evaluation(tokens, [word if word in _KEYWORDS else "" for word in words], parameters or {})
    return "".join((" " if token.gap else "") + token.text for token in tokens).strip()


def _check_folding(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text)
    for form in (text.upper(), folded.upper(), folded.casefold().upper(), folded.lower().upper()):
        if form in _FORBIDDEN or form in _KEYWORDS:
            raise refused(repr(text), f"case-folds to the keyword {form}; if it is a name, put it in backticks")
    if not text.isidentifier():
        raise refused(repr(text), "is not a name; put it in backticks")


class _Reader:
    """Checks the tokens in one pass. `nesting` lists the open brackets. For a subquery, the opening brace is stored
    together with the keyword."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.nesting: list[str] = []
        self.names: list[bool] = []

    def at(self, i: int) -> Token | None:
        return self.tokens[i] if 0 <= i < len(self.tokens) else None

    def mark(self, i: int) -> str:
        return mark_at(self.tokens, i)

    def keyword(self, i: int) -> str:
        token = self.at(i)
        return "" if token is None or self.names[i] else token.word

    def check(self) -> None:
        for i, token in enumerate(self.tokens):
            self.names.append(token.kind == "word" and self._is_name(i))
            if token.kind == "mark":
                self._check_mark(i, token)
            elif token.kind in ("word", "quoted"):
                self._check_word(i, token)
            if i == 0 and self.keyword(0) not in _STARTERS:
                raise refused(repr(token.text), "cannot start a query; start with MATCH, UNWIND, WITH, RETURN or CALL")
        if self.nesting:
            raise refused(f"a {self.nesting[-1].split()[-1]!r}", "is never closed; add the closing bracket")

    def _is_name(self, i: int) -> bool:
        """Returns whether the word at token i must be a name in both grammars because of its position, even if it is
        spelled like a keyword."""
        before, after = self.mark(i - 1), self.mark(i + 1)
        inside = self.nesting[-1] if self.nesting else ""
        if before == "$" or (before == "." and self._is_lookup(i - 1)):
            return True
        if self.tokens[i].word == "ORDER" and (self.at(i + 1) or _NOTHING).word != "BY":
            return True  # xkg's own graph has the properties `order` and `commit`
        if self.tokens[i].word == "COMMIT" and i and not self._is_finished(i - 1):
            return True
        if i and after == "." and before not in (".", ".."):
            return True
        if inside in ("(", "[", "{") and after == ":" and self.mark(i + 2) != ":" and before in ("(", "[", "{", ","):
            return True
        if self._is_label(i - 1):
            return True
        return self.keyword(i - 1) == "AS" and self._is_finished(i - 2)

    def _is_lookup(self, dot: int) -> bool:
        """Returns whether the token is the dot in `n.name` or `n {.name}`."""
        before = self.at(dot - 1)
        if self.nesting and self.nesting[-1] == "{" and self.mark(dot - 1) in ("{", ","):
            return True
        return before is not None and before.kind != "number" and self._is_finished(dot - 1)

    def _is_label(self, separator: int) -> bool:
        """Returns whether the token is a `:`, `|` or `&` before a label, as in `(:A`, `(n:A|B` or `[:R|S`."""
        while (mark := self.mark(separator)) in (":", "|", "&"):
            before = self.tokens[separator - 1] if separator else None
            if before is None or (before.kind not in ("word", "quoted") and before.text not in ("(", "[")):
                return False
            if mark == ":":
                return not self._is_entry(separator)
            separator -= 2
        return False

    def _is_entry(self, colon: int) -> bool:
        """Returns whether the token is the colon of a map entry, which is followed by an expression, as in `{id: …`."""
        inside = self.nesting[-1] if self.nesting else ""
        return inside == "{" and self.mark(colon - 2) in ("{", ",")

    def _is_finished(self, i: int) -> bool:
        """Returns whether token i ends an expression or pattern, so that it may only be followed by a keyword or
        punctuation."""
        token = self.at(i)
        if token is None:
            return False
        if token.kind == "mark":
            star = token.text == "*" and (self.mark(i - 1) in (",", ".") or self.keyword(i - 1) in _STAR_AFTER)
            return token.text in (")", "]", "}") or star
        if token.kind == "word" and not self.names[i]:
            return token.word not in _KEYWORDS or token.word in _FINISHED_WORDS
        return True

    def _check_mark(self, i: int, token: Token) -> None:
        if token.text == ";":
            raise refused("a second statement after ';'", "is not allowed; send one statement at a time")
        if token.text == "~" and (self.mark(i - 1) != "=" or token.gap):
            raise refused("'~'", "is not an operator; use =~ for regular expressions")
        if token.text == "$" and ((after := self.at(i + 1)) is None or after.gap or after.kind in ("mark", "string")):
            raise refused("'$'", "must be followed by the name of a parameter")
        if token.text in "([{":
            subquery = token.text == "{" and self.keyword(i - 1) in SUBQUERIES
            self.nesting.append(f"{self.keyword(i - 1)} {{" if subquery else token.text)
            if len(self.nesting) > DEEPEST_NESTING:
                raise refused("the statement", f"is nested deeper than {DEEPEST_NESTING} brackets; simplify it")
            if subquery and not (self.mark(i + 1) == "(" or (self.at(i + 1) or _NOTHING).word in _STARTERS):
                raise refused(f"{self.keyword(i - 1)} {{", "must contain a query that starts with MATCH")
        elif token.text in _PAIRS and (not self.nesting or self.nesting.pop()[-1] != _PAIRS[token.text]):
            raise refused(repr(token.text), "has no matching opening bracket; balance the brackets")

    def _check_word(self, i: int, token: Token) -> None:
        word = self.keyword(i)
        if word in _FORBIDDEN:
            raise refused(word, f"{_FORBIDDEN[word]}; put it in backticks if it is a name")
        if word in CLAUSES:
            self._check_clause(i, word)
        elif word not in _KEYWORDS and self._is_finished(i - 1):
            raise refused(repr(token.text), "is not a clause of a read-only query; put it in backticks if it is a name")
        if self.mark(i + 1) == "(" and not (word in _KEYWORDS and word not in ("ALL", "ANY")):
            self._check_call(i)

    def _check_clause(self, i: int, word: str) -> None:
        if word == "WITH" and self.keyword(i - 1) in ("STARTS", "ENDS"):
            return
        if self.nesting and " " not in self.nesting[-1]:
            raise refused(
                word, "is not allowed inside brackets; close them before it, or put it in backticks if it is a name"
            )
        following = (self.at(i + 1) or _NOTHING).word
        if word == "OPTIONAL" and following != "MATCH":
            raise refused("OPTIONAL", "must be followed by MATCH")
        if word == "ORDER" and following != "BY":
            raise refused("ORDER", "must be followed by BY")
        if word == "UNION":
            following = (self.at(i + 2) or _NOTHING).word if following in ("ALL", "DISTINCT") else following
            if following not in _STARTERS:
                raise refused("UNION", "must be followed by a query that starts with MATCH")
        if word == "CALL":
            self._check_procedure(i + 1)

    def _dotted(self, i: int) -> tuple[str, int]:
        parts = []
        while (token := self.at(i)) is not None and token.kind in ("word", "quoted"):
            parts.append(token.text.strip("`").lower())
            i += 1
            if self.mark(i) != ".":
                break
            i += 1
        return ".".join(parts), i

    def _check_procedure(self, i: int) -> None:
        name, end = self._dotted(i)
        if name not in _PROCEDURES or self.mark(end) != "(":
            procedure = name or (self.at(i) or self.tokens[-1]).text
            raise refused(f"CALL {procedure}", "is not allowed; allowed are " + ", ".join(sorted(PROCEDURES)))

    def _check_call(self, i: int) -> None:
        start = i
        while self.mark(start - 1) == "." and start >= 2:
            start -= 2
        name, _ = self._dotted(start)
        called = self.keyword(start - 1) == "CALL" and name in _PROCEDURES
        if not called and name not in FUNCTIONS:
            raise refused(f"function {name}()", "is not allowed in a read-only query")


_NOTHING = Token("mark", "", "", False)
_STAR_AFTER = frozenset(["RETURN", "WITH", "DISTINCT"])
