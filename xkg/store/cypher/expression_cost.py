"""An upper bound of what one evaluation of a statement's expressions costs, computed from its text before it runs.

Neo4j looks whether a transaction's time is over between two rows, and nowhere within one expression: `single(x IN
range(1, 9000000000000000) WHERE x < 0)` keeps a core of the server busy for months, and doubling a string forty times
ends the server for want of memory. So the statement is read with an upper bound for each value: how many items it can
be gone through for, and how large it can be. Rows are not counted, since the server stops between them; `UNWIND` is the
way to go through what is long.

What comes from the graph has no bound in the text. A property or the nodes of a path count as `STORED_ITEMS` items, and
what `collect` brings together as `COLLECTED_ITEMS`, or as the rows that `UNWIND range(…)` made.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xkg.store.cypher.tokens import Token, refused
from xkg.store.cypher.value_bounds import (
    ARITHMETIC,
    COLLECTED_ITEMS,
    SCALAR,
    STORED,
    STORED_SIZE,
    UNKNOWN,
    ValueBounds,
    collected,
    either_of,
    item_of,
    of_operands,
    of_parameter,
    property_of,
)

MOST_ITERATIONS = 10_000_000
"""Items that lists inside of one another may be gone through for, in all."""

LARGEST_VALUE = 10_000_000
"""Characters and items that one value may have."""

MOST_WORK = 100_000_000
"""Operands that one row may be evaluated for; 64 characters or items of a large one count as one more."""

_UNCOUNTED = 10**18
_DOUBLINGS = 64
_MOST_READ = 100_000
_COPYING = 32

_CLAUSES = frozenset("MATCH OPTIONAL UNWIND WITH RETURN CALL ORDER SKIP LIMIT UNION YIELD".split())
_SUBQUERIES = frozenset(["EXISTS", "COUNT", "COLLECT"])
_SEPARATE = frozenset("AND OR XOR NOT WHERE WHEN THEN ELSE , | :".split())
_LITERALS = frozenset(["NULL", "TRUE", "FALSE"])

_SCALAR_FUNCTIONS = frozenset(
    "count exists id size length char_length character_length isempty sum avg stdev stdevp percentilecont "
    "percentiledisc abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial floor gamma haversin "
    "isnan lgamma ln log log10 log2 negate pi pow radians rand random round sign sin sqrt tan e tointeger "
    "tointegerornull tofloat tofloatornull toboolean tobooleanornull date datetime localdatetime localtime time "
    "timestamp duration point".split()
)
_KEEP = frozenset(["tail", "reverse", "list_distinct", "list_reverse", "list_sort"])
_ONE_OF = frozenset(["head", "last", "min", "max"])
_OF_ENTITY = frozenset(["labels", "keys", "nodes", "relationships", "rels", "properties", "start_node", "startnode"])
_AGGREGATES = frozenset("count collect sum avg min max stdev stdevp percentilecont percentiledisc".split())
_REPEATING = {"repeat": 1, "lpad": 1, "rpad": 1}


Names = dict[str, ValueBounds]


def check_evaluation(tokens: Sequence[Token], is_keyword: Callable[[int], bool], parameters: Mapping[str, Any]) -> None:
    """Raises `QueryRefusedError` for a statement that goes through too much within one expression, can make a value
    too large, or matches a regular expression with what is no property. The brackets of the tokens are balanced;
    `is_keyword` distinguishes a keyword from a name that is spelled like one."""
    _Estimate(tokens, is_keyword, parameters).query(0, len(tokens), {}, 1)


class _Estimate:
    def __init__(
        self, tokens: Sequence[Token], is_keyword: Callable[[int], bool], parameters: Mapping[str, Any]
    ) -> None:
        self.tokens = tokens
        self.parameters = parameters
        self.work = 0
        self.read = 0
        self.ease = 1
        self.words = [token.word if is_keyword(i) else "" for i, token in enumerate(tokens)]
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for i in range(len(tokens)):
            if self.mark(i) in ("(", "[", "{"):
                opened.append(i)
            elif self.mark(i) in (")", "]", "}"):
                self.closing[opened.pop()] = i

    # ---- tokens

    def mark(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) and self.tokens[i].kind == "mark" else ""

    def name(self, i: int) -> str:
        """The name that token i is; else nothing."""
        if not 0 <= i < len(self.tokens) or self.words[i] or self.tokens[i].kind not in ("word", "quoted"):
            return ""
        return self.tokens[i].text.strip("`")

    def tops(self, start: int, end: int) -> Iterator[int]:
        """The tokens of a part that stand in none of its brackets, an opening one for all that it holds."""
        i = start
        while i < end:
            yield i
            i = self.closing.get(i, i) + 1

    def parts(self, start: int, end: int, mark: str = ",") -> list[tuple[int, int]]:
        """The part, split at a mark that stands in none of its brackets."""
        cuts = [i for i in self.tops(start, end) if self.mark(i) == mark]
        starts, ends = [start, *(cut + 1 for cut in cuts)], [*cuts, end]
        return [(one, other) for one, other in zip(starts, ends, strict=True) if one < other]

    def find(self, start: int, end: int, word: str) -> int:
        """The first such keyword or mark outside of brackets, or `end`; `||` is no `|`."""
        for i in self.tops(start, end):
            if word in (self.words[i], self.mark(i)) and not (
                word == "|" and "|" in (self.mark(i - 1), self.mark(i + 1))
            ):
                return i
        return end

    # ---- bounds

    def charge(self, value: ValueBounds, times: int) -> ValueBounds:
        if value.size > LARGEST_VALUE:
            raise refused(
                "an expression", f"can grow beyond {LARGEST_VALUE:,} characters or items; double less, or write UNWIND"
            )
        self.work += times * (1 + (value.items // 64 + value.size // 2048) // self.ease)
        if self.work > MOST_WORK:
            raise refused(
                "an expression", "does too much for one row; go through long lists with UNWIND, which can be stopped"
            )
        return value

    def loop(self, items: ValueBounds, times: int) -> int:
        """How often what is done for each of the items is done in all."""
        product = times * items.items
        if product > MOST_ITERATIONS:
            raise refused(
                "a list",
                f"is gone through for more than {MOST_ITERATIONS:,} items, with the lists around it; "
                "write UNWIND or a longer MATCH in its place, which can be stopped",
            )
        self.charge(SCALAR, product)
        return product

    # ---- clauses

    def query(self, start: int, end: int, outer: Names, times: int) -> tuple[int, ValueBounds]:
        """The most rows that `UNWIND` makes of one, and a value that is returned."""
        names, rows, last = dict(outer), 1, SCALAR
        within: Names = names
        cuts = [i for i in self.tops(start, end) if self.words[i] in _CLAUSES and not self.is_operator(i)]
        for clause, stop in zip(cuts, [*cuts[1:], end], strict=False):
            match self.words[clause]:
                case "UNION":
                    names = within = dict(outer)
                    rows = 1
                case "MATCH" | "CALL" | "YIELD":
                    self.bind(clause + 1, stop, names)
                    self.value(clause + 1, stop, names, times)
                    within = names
                case "UNWIND":
                    cut = self.find(clause + 1, stop, "AS")
                    items = self.unwound(clause + 1, cut, names, times)
                    rows = min(_UNCOUNTED, rows * max(1, items.items))
                    names[self.name(cut + 1)] = item_of(items)
                    within = names
                case "WITH" | "RETURN":
                    made, last, grouped = self.projected(clause + 1, stop, names, rows, times)
                    names, within = made, {**names, **made}  # ORDER BY may name what stood before
                    rows = 1 if grouped else rows
                case "LIMIT":
                    most = self.number(clause + 1, stop, names, times)
                    rows = rows if most is None else min(rows, max(0, most[0]))
                case _:
                    self.value(clause + 1, stop, within, times)
        if not cuts:
            self.bind(start, end, names)
            self.value(start, end, names, times)
        return rows, last

    def is_operator(self, i: int) -> bool:
        return self.words[i] == "WITH" and i > 0 and self.words[i - 1] in ("STARTS", "ENDS")

    def bind(self, start: int, end: int, names: Names) -> None:
        """The names that a pattern, or YIELD, gives to what the graph holds."""
        for i in range(start, end):
            before = self.mark(i - 1) in ("(", "[") or self.words[i - 1] in ("YIELD", "AS") or i == start
            if (name := self.name(i)) and (before or self.mark(i - 1) == "," or self.mark(i + 1) == "="):
                names.setdefault(name, STORED)

    def unwound(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        """A list that UNWIND takes. The server makes no list of `range(…)` there."""
        if start + 1 < end and self.name(start).lower() == "range" and self.closing.get(start + 1) == end - 1:
            found = self.range(start + 2, end - 1, names, times)
            return ValueBounds(_UNCOUNTED if found is None else found, 1, 1, flat=True)
        return self.value(start, end, names, times)

    def projected(self, start: int, end: int, names: Names, rows: int, times: int) -> tuple[Names, ValueBounds, bool]:
        """The names after WITH or RETURN, a value among them, and whether all rows become one."""
        where = self.find(start, end, "WHERE")
        made: Names = {}
        value, grouped = SCALAR, True
        for one, stop in self.parts(start + (self.words[start] == "DISTINCT" if start < end else 0), where):
            if self.mark(one) == "*" and stop == one + 1:
                made.update(names)
                grouped = False
                continue
            cut = self.find(one, stop, "AS")
            value = self.value(one, cut, names, times, rows)
            grouped = grouped and any(
                self.name(i).lower() in _AGGREGATES and self.mark(i + 1) == "(" for i in range(one, cut)
            )
            made[self.name(cut + 1) if cut < stop else self.name(one) if stop == one + 1 else ""] = value
        self.value(where, end, {**names, **made}, times)
        return made, value, grouped

    # ---- expressions

    def value(self, start: int, end: int, names: Names, times: int, rows: int = 1) -> ValueBounds:
        """The bounds of an expression that is evaluated so often; of several parts, of all of them together."""
        operands: list[ValueBounds] = []
        operators: set[str] = set()
        compared = 0  # the operands before this one stand in an earlier comparison
        computed = False
        i = start
        while i < end:
            found = self.operand(i, end, names, times, rows)
            if found is not None:
                value, i = found
                operands.append(self.charge(value, times))
                continue
            operator = self.words[i] or self.mark(i)
            if operator == "~" and (len(operands) != compared + 1 or computed or not operands[-1].stored):
                raise refused("'=~'", "may look at a property alone, as in n.name =~ '(?i).*word.*'; or use CONTAINS")
            if operator in _SEPARATE:
                compared, computed = len(operands), False
            elif operator in ARITHMETIC or operator == "+":
                computed = True
            operators.add(operator)
            i += 1
        return self.charge(of_operands(operands, operators), times)

    def operand(self, i: int, end: int, names: Names, times: int, rows: int) -> tuple[ValueBounds, int] | None:
        """The bounds of the operand that starts at token i, and where it ends; None for an operator."""
        self.read += 1
        if self.read > _MOST_READ:  # a reduce inside of another is read again for each step that is tried
            raise refused("the statement", "nests too much to be judged; write it with UNWIND and WITH")
        token = self.tokens[i]
        if token.kind == "string":
            value, after = ValueBounds(len(token.text), len(token.text)), i + 1
        elif token.kind == "number" or self.words[i] in _LITERALS:
            value, after = SCALAR, i + 1
        elif self.mark(i) == "$":
            value, after = of_parameter(self.parameters.get(self.tokens[i + 1].text.strip("`"))), i + 2
        elif self.words[i] == "CASE":
            value, after = self.case(i + 1, end, names, times)
        elif self.mark(i) in ("(", "[", "{"):
            value, after = self.bracket(i, names, times, rows), self.closing[i] + 1
        elif self.mark(i + 1) == "{" and token.word in _SUBQUERIES and self.name(i):
            value, after = self.subquery(i, names, times), self.closing[i + 1] + 1
        elif self.name(i) or (self.words[i] in ("ANY", "ALL") and self.mark(i + 1) == "("):
            value, after = self.named(i, names, times, rows)
        else:
            return None
        return self.continued(value, after, end, names, times)

    def continued(self, value: ValueBounds, i: int, end: int, names: Names, times: int) -> tuple[ValueBounds, int]:
        """`.name`, `[0]`, `[1..3]`, `{.name, other: …}` after an operand."""
        while i < end:
            if self.mark(i) == "." and i + 1 < end:
                value, i = property_of(value), i + 2
            elif self.mark(i) in ("[", "{") and self.mark(i - 1) not in ("-", "*"):
                inside, close = i + 1, self.closing[i]
                if self.mark(i) == "{":
                    value = of_operands([value, self.map(inside, close, names, times)], {"+"})
                else:
                    sliced = self.find(inside, close, "..") < close or self.find(inside, close, ":") < close
                    self.value(inside, close, names, times)
                    value = value if sliced else item_of(value)
                i = close + 1
            else:
                break
        return value, i

    def case(self, start: int, end: int, names: Names, times: int) -> tuple[ValueBounds, int]:
        """`CASE … END`: the largest of what it can give."""
        cuts, depth, stop = [start - 1], 0, end
        for i in self.tops(start, end):
            word = self.words[i]
            depth += (word == "CASE") - (word == "END")
            if depth < 0:
                stop = i
                break
            if depth == 0 and word in ("WHEN", "THEN", "ELSE"):
                cuts.append(i)
        given = []
        for cut, after in zip(cuts, [*cuts[1:], stop], strict=True):
            value = self.value(cut + 1, after, names, times)
            if self.words[cut] in ("THEN", "ELSE"):
                given.append(value)
        return either_of(given), min(stop + 1, end)

    def bracket(self, i: int, names: Names, times: int, rows: int) -> ValueBounds:
        start, end = i + 1, self.closing[i]
        if self.mark(i) == "{":
            return self.map(start, end, names, times)
        if self.mark(i) == "(":
            return of_operands([self.value(*part, names, times, rows) for part in self.parts(start, end)], {"+"})
        if self.name(start) and self.words[start + 1 : start + 2] == ["IN"]:
            return self.comprehension(start, end, names, times)
        bar = self.find(start, end, "|")
        if bar < end and (self.mark(start) == "(" or self.mark(start + 1) == "="):
            names = dict(names)
            self.bind(start, bar, names)
            self.value(start, bar, names, times)
            each = self.value(bar + 1, end, names, times)
            return ValueBounds(
                COLLECTED_ITEMS, COLLECTED_ITEMS * min(each.size, STORED_SIZE), each.size, stored=each.stored
            )
        listed = [self.value(*part, names, times) for part in self.parts(start, end)]
        return ValueBounds(
            len(listed),
            len(listed) + sum(value.size for value in listed),
            max((value.size for value in listed), default=1),
            flat=all(value.scalar for value in listed),
        )

    def map(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        size = 1
        for one, stop in self.parts(start, end):
            colon = self.find(one, stop, ":")
            size += self.value(colon + 1 if colon < stop else one, stop, names, times).size
        return ValueBounds(size, size, size)

    def comprehension(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        """`x IN list WHERE … | …`"""
        where, bar = self.find(start, end, "WHERE"), self.find(start, end, "|")
        items = self.value(start + 2, min(where, bar), names, times)
        inside = {**names, self.name(start): item_of(items)}
        product = self.loop(items, times)
        self.value(min(where + 1, bar), bar, inside, product)
        if bar == end:
            return items
        each = self.value(bar + 1, end, inside, product)
        size = items.items * min(each.size, STORED_SIZE if each.stored else each.size)
        return ValueBounds(items.items, items.items + size, each.size, flat=each.scalar, stored=each.stored)

    def subquery(self, i: int, names: Names, times: int) -> ValueBounds:
        rows, returned = self.query(i + 2, self.closing[i + 1], names, times)
        return collected(returned, rows) if self.tokens[i].word == "COLLECT" else SCALAR

    def named(self, i: int, names: Names, times: int, rows: int) -> tuple[ValueBounds, int]:
        """A variable, or a call."""
        after, parts = i + 1, [self.name(i) or self.words[i]]
        while self.mark(after) == "." and self.tokens[after + 1 : after + 2]:
            parts.append(self.tokens[after + 1].text.strip("`"))
            after += 2
        if self.mark(after) == "(":
            called = ".".join(parts).lower()
            return self.call(called, after + 1, self.closing[after], names, times, rows), self.closing[after] + 1
        return names.get(parts[0], UNKNOWN), i + 1

    def call(self, name: str, start: int, end: int, names: Names, times: int, rows: int) -> ValueBounds:
        if name == "range":
            return self.listed(start, end, names, times)
        if name == "reduce":
            return self.reduced(start, end, names, times)
        if self.name(start) and self.words[start + 1 : start + 2] == ["IN"]:
            self.comprehension(start, end, names, times)
            return SCALAR
        parts = self.parts(start + (start < end and self.words[start] == "DISTINCT"), end)
        for one, stop in parts[1:]:
            if (body := self.lambda_body(one, stop)) is not None:
                return self.mapped(parts[0], (one, body, stop), names, times)
        given = [self.value(*part, names, times, rows) for part in parts]
        return self.result(name, given, parts, names, times, rows)

    def result(
        self, name: str, given: list[ValueBounds], parts: list[tuple[int, int]], names: Names, times: int, rows: int
    ) -> ValueBounds:
        """What a function can give, from what it is given."""
        first = given[0] if given else SCALAR
        if name in _SCALAR_FUNCTIONS:
            return SCALAR
        if name == "collect":
            return collected(first, rows)
        if name in _KEEP and len(given) == 1:
            return first
        if name in _ONE_OF and len(given) == 1:
            return first if name in ("min", "max") else item_of(first)
        if name in _OF_ENTITY and first.stored:
            return STORED
        if name == "coalesce":
            return either_of(given)
        if name in ("replace", "regexp_replace") and len(given) > 2:
            size = first.size * max(1, given[2].size)
            return ValueBounds(size, size, size)
        if name in ("concat_ws", "list_to_string") and len(given) > 1:
            size = sum(value.size for value in given) + given[0].size * max(value.items for value in given[1:])
            return ValueBounds(size, size)
        if name in _REPEATING and len(parts) > 1:
            count = self.number(*parts[1], names, times)
            if count is None:
                raise refused(f"{name}()", "wants a number or a parameter for how long it becomes")
            size = sum(value.size for value in given) * max(1, count[0])
            return ValueBounds(size, size)
        if name in ("split", "str_split", "string_split", "string_to_array"):
            return ValueBounds(max(first.items, first.size), 2 * first.size, first.size)
        if all(value.scalar for value in given) and name in ("tostring", "tostringornull", "string"):
            return ValueBounds(25, 25)
        return of_operands(given, {"+"})

    def listed(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        found = self.range(start, end, names, times)
        if found is None:
            raise refused(
                "range()",
                "wants whole numbers, parameters that are such, or size(…) as its bounds here; "
                "write UNWIND range(…) AS x, which can be stopped",
            )
        return ValueBounds(found, found, 1, flat=True)

    def range(self, start: int, end: int, names: Names, times: int) -> int | None:
        """The most items of `range(…)`, None where they have no bound."""
        bounds = [self.number(one, stop, names, times) for one, stop in self.parts(start, end)]
        if not 2 <= len(bounds) <= 3:
            return None
        low, high, step = [*bounds, (1, True)][:3]
        if low is None or high is None or step is None or not step[1] or not low[1]:
            return None
        if step[0] < 0 and not high[1]:
            return None
        return max(0, (high[0] - low[0]) // step[0] + 1) if step[0] else 0

    def number(self, start: int, end: int, names: Names, times: int) -> tuple[int, bool] | None:
        """The most that a whole number, a parameter, or a `size(…)` less a number can be; and whether it is that."""
        sign = -1 if self.mark(start) == "-" else 1
        start += sign < 0
        token = self.tokens[start] if start < end else None
        if token is not None and token.kind == "number" and end == start + 1 and token.text.isdigit():
            return sign * int(token.text), True
        if self.mark(start) == "$" and end == start + 2:
            value = self.parameters.get(self.tokens[start + 1].text.strip("`"))
            whole = isinstance(value, int) and not isinstance(value, bool)
            return (sign * value, True) if whole and value is not None else None
        called = self.name(start).lower() in ("size", "length") and self.mark(start + 1) == "("
        close = self.closing.get(start + 1, end)
        less = close + 3 == end and self.mark(close + 1) == "-" and self.tokens[close + 2].kind == "number"
        if sign > 0 and called and (close + 1 == end or less):
            value = self.value(start + 2, close, names, times)
            return value.items - (int(float(self.tokens[close + 2].text)) if less else 0), False
        return None

    def reduced(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        """`total = 0, x IN list | …`: how large the total becomes is tried for the first steps, then goes on so."""
        equals, comma, bar = (self.find(start, end, mark) for mark in ("=", ",", "|"))
        if not equals < comma < bar < end:
            return of_operands([self.value(*part, names, times) for part in self.parts(start, end)], {"+"})
        total = self.value(equals + 1, comma, names, times)
        items = self.value(comma + 3, bar, names, times)
        product = self.loop(items, times)
        inside = {**names, self.name(comma + 1): item_of(items)}
        spent = self.work
        for _ in range(min(items.items, _DOUBLINGS)):
            before = total
            total = self.value(bar + 1, end, {**inside, self.name(start): total}, 1)
            if total.size <= before.size:
                break
        else:
            if items.items > _DOUBLINGS:
                size = total.size + (total.size - before.size) * (items.items - _DOUBLINGS)
                total = total._replace(items=max(total.items, size), size=size)
        self.work = spent
        self.charge(total, times)
        total = total._replace(stored=False)
        # to copy a text costs much less than to look at each of its characters, and it is half as long on average
        ease, self.ease = self.ease, _COPYING
        self.value(bar + 1, end, {**inside, self.name(start): total}, product)
        self.ease = ease
        return total

    def lambda_body(self, start: int, end: int) -> int | None:
        """Where the body of LadybugDB's `x -> …` or `(x, y) -> …` starts."""
        arrow = start + 1 if self.name(start) else self.closing.get(start, end) + 1
        return arrow + 2 if arrow + 2 < end and self.mark(arrow) == "-" and self.mark(arrow + 1) == ">" else None

    def mapped(self, items: tuple[int, int], part: tuple[int, int, int], names: Names, times: int) -> ValueBounds:
        """`list_transform(list, x -> …)` and its like."""
        start, body, end = part
        listed = self.value(*items, names, times)
        inside = {**names, **{self.name(i): item_of(listed) for i in range(start, body - 2) if self.name(i)}}
        each = self.value(body, end, inside, self.loop(listed, times))
        return ValueBounds(listed.items, listed.items * (1 + each.size), each.size, flat=each.scalar)
