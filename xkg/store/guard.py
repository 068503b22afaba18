"""Which Cypher statements of strangers may run: one statement that only reads the graph, on LadybugDB and on Neo4j.

A read-only handle is no guard: on one, LadybugDB's `LOAD FROM` reads files of the system, `COPY … TO` and `EXPORT
DATABASE` write them, and Neo4j's `LOAD CSV` and `apoc.*` reach files and network. So a statement is split into tokens
as both engines' grammars do it, and passes only if every clause, procedure and function in it is on a list. Nothing new
can open a clause: a word that is no listed keyword never follows a finished expression.

What runs is written anew from those tokens, without comments, so the engine reads what was checked. Where the engines
could still split it differently, it is refused: escapes that Neo4j decodes before it looks for quotes, letters glued to
numbers, letters that fold into those of a keyword, characters that neither grammar knows, comments ending in `**/`
(LadybugDB reads on).
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from xkg.errors import QueryRefusedError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LONGEST_STATEMENT = 20_000
DEEPEST_NESTING = 60

CLAUSES = _words("MATCH OPTIONAL UNWIND WITH RETURN CALL ORDER SKIP LIMIT UNION YIELD")
"""What may open a clause; WHERE too, which also stands inside patterns and comprehensions."""

PROCEDURES = _words(
    "show_tables table_info show_connection show_functions show_indexes db_version "
    "db.labels db.relationshiptypes db.propertykeys db.schema.visualization db.schema.nodetypeproperties "
    "db.schema.reltypeproperties db.ping dbms.components"
)

FUNCTIONS = _words(
    # aggregates, predicates and what is common to both engines
    "count collect sum avg min max stdev stdevp percentilecont percentiledisc exists all any none single coalesce "
    "nullif id elementid label labels type keys properties nodes relationships rels length size head last tail reverse "
    "range reduce startnode start_node endnode end_node shortestpath allshortestpaths isempty valuetype typeof cast "
    "offset is_trail is_acyclic cost list_creation struct_pack struct_extract map map_extract element_at map_keys "
    "map_values cardinality ifnull constant_or_null count_if histogram hash md5 sha256 array_value greatest least "
    # numbers
    "abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial floor gamma haversin isnan lgamma "
    "ln log log10 log2 negate pi pow radians rand random round sign sin sqrt tan e "
    "bitshift_left bitshift_right bitwise_and bitwise_or bitwise_xor "
    # text
    "btrim char_length character_length concat concat_ws contains ends_with starts_with prefix suffix initcap lcase "
    "left levenshtein lower lpad ltrim normalize octet_length regexp_extract regexp_extract_all regexp_full_match "
    "regexp_matches regexp_replace regexp_split_to_array repeat replace right rpad rtrim split split_part str_split "
    "string_split string_to_array substr substring tolower toupper trim ucase upper encode decode "
    # conversions
    "blob bool string to_bool to_blob to_double to_float to_int8 to_int16 to_int32 to_int64 to_int128 to_string "
    "to_uint8 to_uint16 to_uint32 to_uint64 toboolean tobooleanornull tofloat tofloatornull tointeger tointegerornull "
    "tostring tostringornull tobooleanlist tofloatlist tointegerlist tostringlist "
    # dates
    "century current_date current_timestamp date date_part datepart date_trunc datetrunc datetime dayname duration "
    "epoch_ms interval last_day localdatetime localtime make_date monthname time timestamp to_date to_days to_epoch_ms "
    "to_hours to_interval to_microseconds to_milliseconds to_minutes to_months to_seconds to_timestamp to_years "
    "time_bucket "
    # lists and arrays
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
    **dict.fromkeys(_words("BEGIN COMMIT ROLLBACK CHECKPOINT"), "steers transactions"),
    **dict.fromkeys(_words("EXPLAIN PROFILE USE USING CYPHER"), "changes how the engine runs a statement"),
    **dict.fromkeys(_words("SHOW TERMINATE GRANT DENY REVOKE ANALYZE"), "administers the database"),
}
_FILLERS = _words(
    "WHERE AND OR XOR NOT IN STARTS ENDS CONTAINS IS AS DISTINCT CASE WHEN THEN ELSE BY ALL ANY SHORTEST TRAIL ACYCLIC "
    "WSHORTEST"
)
_FINISHED_WORDS = _words("END NULL TRUE FALSE ASC DESC ASCENDING DESCENDING")
_KEYWORDS = CLAUSES | _FILLERS | _FINISHED_WORDS
_SUBQUERIES = frozenset(["EXISTS", "COUNT", "COLLECT"])
_STARTERS = _words("MATCH OPTIONAL UNWIND WITH RETURN CALL")

_SPACES = " \t\n\v\f\r\x1c-\x1f\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u00a0"
_TOKEN = re.compile(
    rf"""
      (?P<space>[{_SPACES}]+ | //[^\n\r]* | /\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<quoted>(?:`[^`]*`)+)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)? | \.\d+(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>\.\. | /(?!\*) | [()\[\]{{}},:;.=<>+\-*%^|&!$~])
    """,
    re.VERBOSE | re.DOTALL,
)
_DECODED = re.compile(r"\\[uU]+([0-9a-fA-F]{4,8})")
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    """`text` as written; `word` in capitals for an unquoted word, else empty; `gap` says that space stood before it."""

    kind: Literal["string", "quoted", "number", "word", "mark"]
    text: str
    word: str
    gap: bool


def guard(statement: str) -> str:
    """The statement as it may run: comments gone, each space one blank, no final semicolon.

    Raises `QueryRefusedError` that names the token it stops at.
    """
    tokens = tokenize(statement)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        raise QueryRefusedError("the statement is empty; give one that starts with MATCH and ends with RETURN")
    _Reader(tokens).check()
    return "".join((" " if token.gap else "") + token.text for token in tokens).strip()


def tokenize(statement: str) -> list[Token]:
    """The tokens of a statement without space and comments. Raises `QueryRefusedError` for text that cannot be split,
    or that another lexer could split in another way."""
    if len(statement) > LONGEST_STATEMENT:
        raise QueryRefusedError(
            f"the statement has over {LONGEST_STATEMENT:,} characters; pass long values as parameters"
        )
    for char in statement:
        if char == "\0" or "\ud800" <= char <= "\udfff":
            raise _refused(f"character U+{ord(char):04X}", "cannot stand in a statement")
    tokens: list[Token] = []
    position, gap = 0, False
    while position < len(statement):
        match = _TOKEN.match(statement, position)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise _unreadable(statement, position)
        text, position = match.group(), match.end()
        _check_escapes(kind, text)
        if kind == "space":
            if text.startswith("/*") and text.endswith("**/") and text != "/**/":
                raise _refused("a comment that ends in '**/'", "is read differently by the engines; end it with ' */'")
            gap = True
            continue
        if kind == "number" and position < len(statement) and re.match(r"\w", statement[position]):
            raise _refused(repr(text + statement[position]), "glues a letter to a number; put a space between them")
        word = _keyword(text) if kind == "word" else ""
        tokens.append(Token(kind, text, word, gap))  # type: ignore[arg-type]
        gap = False
    return tokens


def _unreadable(statement: str, position: int) -> QueryRefusedError:
    rest = statement[position:]
    for opener, name in (("'", "string"), ('"', "string"), ("`", "backticked name"), ("/*", "comment")):
        if rest.startswith(opener):
            return _refused(f"a {name} at character {position + 1}", "is never closed; close it")
    return _refused(f"{rest[0]!r} (U+{ord(rest[0]):04X})", "is no Cypher outside a string; remove it")


def _check_escapes(kind: str, text: str) -> None:
    for match in _DECODED.finditer(text):
        # Neo4j decodes these before it looks for quotes and comment marks, four digits at a time
        if kind != "string" or chr(int(match[1][:4], 16)) in "'\"`\\\n\r" or "U" in match[0]:
            raise _refused(repr(match[0]), "hides a character from the engines' lexers; write the character itself")
        if 0xD800 <= int(match[1][:4], 16) <= 0xDFFF:
            raise _refused(repr(match[0]), "is half a character; write the character itself")


def _keyword(text: str) -> str:
    upper = text.upper()
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", text)
        for form in (folded.upper(), folded.casefold().upper(), folded.lower().upper()):
            if form in _FORBIDDEN or form in _KEYWORDS:
                raise _refused(repr(text), f"folds into the keyword {form}; put a name in backticks")
        if not text.isidentifier():
            raise _refused(repr(text), "is no name; put it in backticks")
    return upper


def _refused(what: str, why: str) -> QueryRefusedError:
    return QueryRefusedError(f"query refused: {what} {why}")


class _Reader:
    """One pass over the tokens. `nesting` holds the open brackets, a subquery's brace as its keyword."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.nesting: list[str] = []
        self.names: list[bool] = []

    def at(self, i: int) -> Token | None:
        return self.tokens[i] if 0 <= i < len(self.tokens) else None

    def mark(self, i: int) -> str:
        token = self.at(i)
        return token.text if token and token.kind == "mark" else ""

    def keyword(self, i: int) -> str:
        """The keyword that token i is, or nothing where it is a name."""
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
                raise _refused(repr(token.text), "cannot start a query; start with MATCH, UNWIND, WITH, RETURN or CALL")
        if self.nesting:
            raise _refused(f"a {self.nesting[-1].split()[-1]!r}", "is never closed; close it")

    def _is_name(self, i: int) -> bool:
        """Whether the place alone makes word i a name in every grammar, whatever it spells."""
        before, after = self.mark(i - 1), self.mark(i + 1)
        inside = self.nesting[-1] if self.nesting else ""
        if before == "$" or (before == "." and self._is_lookup(i - 1)):
            return True
        if i and after == "." and before not in (".", ".."):
            return True
        if inside in ("(", "[", "{") and after == ":" and self.mark(i + 2) != ":" and before in ("(", "[", "{", ","):
            return True
        if self._is_label(i - 1):
            return True
        return self.keyword(i - 1) == "AS" and self._is_finished(i - 2)

    def _is_lookup(self, dot: int) -> bool:
        before = self.at(dot - 1)
        return before is not None and before.kind != "number" and self._is_finished(dot - 1)

    def _is_label(self, separator: int) -> bool:
        """Whether this is a `:`, `|` or `&` before a label: `(:A`, `(n:A|B`, `[:R|S`."""
        while (mark := self.mark(separator)) in (":", "|", "&"):
            before = self.tokens[separator - 1] if separator else None
            if before is None or (before.kind not in ("word", "quoted") and before.text not in ("(", "[")):
                return False
            if mark == ":":
                return True
            separator -= 2
        return False

    def _is_finished(self, i: int) -> bool:
        """Whether token i ends an expression or a pattern, so that only a keyword or a mark may follow."""
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
            raise _refused("a second statement after ';'", "is not run; send one statement at a time")
        if token.text == "~" and (self.mark(i - 1) != "=" or token.gap):
            raise _refused("'~'", "is no operator; use =~ for regular expressions")
        if token.text == "$" and ((after := self.at(i + 1)) is None or after.gap or after.kind in ("mark", "string")):
            raise _refused("'$'", "must be followed by the name of a parameter")
        if token.text in "([{":
            subquery = token.text == "{" and self.keyword(i - 1) in _SUBQUERIES
            self.nesting.append(f"{self.keyword(i - 1)} {{" if subquery else token.text)
            if len(self.nesting) > DEEPEST_NESTING:
                raise _refused("the statement", f"is nested deeper than {DEEPEST_NESTING} brackets; simplify it")
            if subquery and ((first := self.at(i + 1)) is None or first.word not in _STARTERS):
                raise _refused(f"{self.keyword(i - 1)} {{", "must hold a query that starts with MATCH")
        elif token.text in _PAIRS and (not self.nesting or self.nesting.pop()[-1] != _PAIRS[token.text]):
            raise _refused(repr(token.text), "closes nothing that is open; balance the brackets")

    def _check_word(self, i: int, token: Token) -> None:
        word = self.keyword(i)
        if word in _FORBIDDEN:
            raise _refused(word, f"{_FORBIDDEN[word]}; put it in backticks if it is a name")
        if word in CLAUSES:
            self._check_clause(i, word)
        elif word not in _KEYWORDS and self._is_finished(i - 1):
            raise _refused(repr(token.text), "is no clause of a reading query; put it in backticks if it is a name")
        if self.mark(i + 1) == "(" and not (word in _KEYWORDS and word not in ("ALL", "ANY")):
            self._check_call(i)

    def _check_clause(self, i: int, word: str) -> None:
        if word == "WITH" and self.keyword(i - 1) in ("STARTS", "ENDS"):
            return
        if self.nesting and " " not in self.nesting[-1]:
            raise _refused(word, "cannot stand inside brackets; put it in backticks if it is a name")
        following = (self.at(i + 1) or Token("mark", "", "", False)).word
        if word == "OPTIONAL" and following != "MATCH":
            raise _refused("OPTIONAL", "must be followed by MATCH")
        if word == "ORDER" and following != "BY":
            raise _refused("ORDER", "must be followed by BY")
        if word == "CALL":
            self._check_procedure(i + 1)

    def _dotted(self, i: int) -> tuple[str, int]:
        """The dotted name that starts at token i, in lower case, and the index after it."""
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
        if name not in PROCEDURES or self.mark(end) != "(":
            shown = name or (self.at(i) or self.tokens[-1]).text
            raise _refused(f"CALL {shown}", "is not allowed; allowed are " + ", ".join(sorted(PROCEDURES)))

    def _check_call(self, i: int) -> None:
        start = i
        while self.mark(start - 1) == "." and start >= 2:
            start -= 2
        name, _ = self._dotted(start)
        called = self.keyword(start - 1) == "CALL" and name in PROCEDURES
        if not called and name not in FUNCTIONS:
            raise _refused(f"function {name}()", "is not one that a reading query may call")


_STAR_AFTER = frozenset(["RETURN", "WITH", "DISTINCT"])
