"""Computes an upper bound on the cost of evaluating a statement's expressions once, based only on its text.

Neo4j checks a transaction's time limit only between rows. `single(x IN range(1, 9000000000000000) WHERE x < 0)` would
keep one of the server's cores busy for months. Doubling a string forty times would exhaust the server's memory. This
module therefore computes upper bounds on the size of each value and on the number of its items. Rows are not counted,
because the server can stop between rows. Long lists should be processed with `UNWIND`.

The text alone gives no bounds for values stored in the graph. Properties and the nodes of a path are assumed to have
`STORED_ITEMS` items, and the result of `collect` is assumed to have `COLLECTED_ITEMS` items. Functions with lambdas are
treated like other functions, because only LadybugDB supports lambdas, and its process can be killed."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from xkg.store.cypher.function_bounds import REPEATING, function_bounds
from xkg.store.cypher.token_tree import TokenTree
from xkg.store.cypher.tokens import SUBQUERIES, Token, refused
from xkg.store.cypher.value_bounds import (
    ARITHMETIC,
    COLLECTED_ITEMS,
    NUMBERS,
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
"""Maximum total number of iterations in nested loops over lists."""

LARGEST_VALUE = 10_000_000
"""Maximum size of a value, in characters and items."""

MOST_WORK = 100_000_000
"""Maximum number of operands evaluated per row. A large operand counts as several operands."""

_MOST_OPERANDS = 100_000
_SEPARATE = frozenset("AND OR XOR NOT WHERE WHEN THEN ELSE , | :".split())
_LITERALS = frozenset(["NULL", "TRUE", "FALSE"])

Names = dict[str, ValueBounds]


def check_evaluation(tokens: Sequence[Token], words: Sequence[str], parameters: Mapping[str, Any]) -> None:
    """Raises `QueryRefusedError` if an expression has too many iterations, could produce too large a value, or matches
    a regular expression against anything but a property. `words` contains each token's keyword, or ''. Brackets must be
    balanced."""
    _Estimate(tokens, words, parameters).query(0, len(tokens), {}, 1)


class _Estimate(TokenTree):
    """Computes an upper bound on the work per row while the statement is parsed."""

    def __init__(self, tokens: Sequence[Token], words: Sequence[str], parameters: Mapping[str, Any]) -> None:
        super().__init__(tokens, words)
        self.parameters = parameters
        self.work = 0
        self.operands_read = 0

    def charge(self, value: ValueBounds, times: int) -> ValueBounds:
        if value.size > LARGEST_VALUE:
            raise refused(
                "an expression",
                f"can grow beyond {LARGEST_VALUE:,} characters or items; double the value less often, or use UNWIND",
            )
        self.work += times * (1 + value.items // 64 + value.size // 2048)
        if self.work > MOST_WORK:
            raise refused(
                "an expression", "does too much work for one row; process long lists with UNWIND, which can be stopped"
            )
        return value

    def loop(self, items: ValueBounds, times: int) -> int:
        product = times * items.items
        if product > MOST_ITERATIONS:
            raise refused(
                "a list",
                f"loops over more than {MOST_ITERATIONS:,} items in total, including enclosing lists; use UNWIND or "
                "a longer MATCH instead, which can be stopped",
            )
        self.charge(SCALAR, product)
        return product

    def query(self, start: int, end: int, outer: Names, times: int) -> ValueBounds:
        names, last = dict(outer), SCALAR
        within: Names = names
        cuts = self.clauses(start, end)
        for clause, stop in zip(cuts, [*cuts[1:], end], strict=False):
            match self.words[clause]:
                case "UNION":
                    names = within = dict(outer)
                case "MATCH" | "CALL" | "YIELD":
                    self.bind(clause + 1, stop, names)
                    self.value(clause + 1, stop, names, times)
                    within = names
                case "UNWIND":
                    cut = self.find(clause + 1, stop, "AS")
                    names[self.name(cut + 1)] = item_of(self.unwound(clause + 1, cut, names, times))
                    within = names
                case "WITH" | "RETURN":
                    projected, last = self.projection(clause + 1, stop, names, times)
                    names, within = projected, {**names, **projected}  # ORDER BY may still use earlier names
                case _:
                    self.value(clause + 1, stop, within, times)
        if not cuts:
            self.bind(start, end, names)
            self.value(start, end, names, times)
        return last

    def bind(self, start: int, end: int, names: Names) -> None:
        """Adds the names bound by a pattern or YIELD. The values of these names come from the graph."""
        for i in range(start, end):
            before = self.mark(i - 1) in ("(", "[") or self.words[i - 1] in ("YIELD", "AS") or i == start
            if (name := self.name(i)) and (before or self.mark(i - 1) == "," or self.mark(i + 1) == "="):
                names.setdefault(name, STORED)

    def unwound(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        """Returns the bounds of the list in an UNWIND. The server does not materialise a `range(…)` in an UNWIND."""
        if start + 1 < end and self.name(start).lower() == "range" and self.closing.get(start + 1) == end - 1:
            for part in self.parts(start + 2, end - 1):
                self.value(*part, names, times)
            return NUMBERS
        return self.value(start, end, names, times)

    def projection(self, start: int, end: int, names: Names, times: int) -> tuple[Names, ValueBounds]:
        where = self.find(start, end, "WHERE")
        projected: Names = {}
        value = SCALAR
        for first, stop in self.parts(start + (self.words[start] == "DISTINCT" if start < end else 0), where):
            if self.mark(first) == "*" and stop == first + 1:
                projected.update(names)
                continue
            cut = self.find(first, stop, "AS")
            value = self.value(first, cut, names, times)
            projected[self.name(cut + 1) if cut < stop else self.name(first) if stop == first + 1 else ""] = value
        self.value(where, end, {**names, **projected}, times)
        return projected, value

    def value(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        operands: list[ValueBounds] = []
        operators: set[str] = set()
        compared = 0  # operands before this index belong to an earlier comparison
        computed = False
        i = start
        while i < end:
            operand = self.operand(i, end, names, times)
            if operand is not None:
                value, i = operand
                operands.append(self.charge(value, times))
                continue
            operator = self.words[i] or self.mark(i)
            if operator == "~" and (len(operands) != compared + 1 or computed or not operands[-1].stored):
                raise refused("'=~'", "may only match a property, as in n.name =~ '(?i).*word.*'; or use CONTAINS")
            if operator in _SEPARATE:
                compared, computed = len(operands), False
            elif operator in ARITHMETIC or operator == "+":
                computed = True
            operators.add(operator)
            i += 1
        return self.charge(of_operands(operands, operators), times)

    def operand(self, i: int, end: int, names: Names, times: int) -> tuple[ValueBounds, int] | None:
        """Returns the bounds of the operand that starts at token i, and the index after it. Returns None for an
        operator."""
        self.operands_read += 1
        if self.operands_read > _MOST_OPERANDS:  # the body of a reduce is parsed twice
            raise refused("the statement", "is nested too deeply to be checked; rewrite it using UNWIND and WITH")
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
            value, after = self.bracket(i, names, times), self.closing[i] + 1
        elif self.mark(i + 1) == "{" and token.word in SUBQUERIES and self.name(i):
            after = self.closing[i + 1] + 1
            returned = self.query(i + 2, after - 1, names, times)
            value = collected(returned) if token.word == "COLLECT" else SCALAR
        elif self.name(i) or (self.words[i] in ("ANY", "ALL") and self.mark(i + 1) == "("):
            value, after = self.named(i, names, times)
        else:
            return None
        return self.continued(value, after, end, names, times)

    def continued(self, value: ValueBounds, i: int, end: int, names: Names, times: int) -> tuple[ValueBounds, int]:
        """Returns the bounds after applying any `.name`, `[0]`, `[1..3]` or `{.name, other: …}` to an operand."""
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
        cuts, depth, stop = [start - 1], 0, end
        for i in self.tops(start, end):
            word = self.words[i]
            depth += (word == "CASE") - (word == "END")
            if depth < 0:
                stop = i
                break
            if depth == 0 and word in ("WHEN", "THEN", "ELSE"):
                cuts.append(i)
        branches = []
        for cut, after in zip(cuts, [*cuts[1:], stop], strict=True):
            value = self.value(cut + 1, after, names, times)
            if self.words[cut] in ("THEN", "ELSE"):
                branches.append(value)
        return either_of(branches), min(stop + 1, end)

    def bracket(self, i: int, names: Names, times: int) -> ValueBounds:
        start, end = i + 1, self.closing[i]
        if self.mark(i) == "{":
            return self.map(start, end, names, times)
        if self.mark(i) == "(":
            return of_operands([self.value(*part, names, times) for part in self.parts(start, end)], {"+"})
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
        for first, stop in self.parts(start, end):
            colon = self.find(first, stop, ":")
            size += self.value(colon + 1 if colon < stop else first, stop, names, times).size
        return ValueBounds(size, size, size)

    def comprehension(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        """Returns the bounds of `x IN list WHERE … | …`."""
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

    def named(self, i: int, names: Names, times: int) -> tuple[ValueBounds, int]:
        after, parts = i + 1, [self.name(i) or self.words[i]]
        while self.mark(after) == "." and self.tokens[after + 1 : after + 2]:
            parts.append(self.tokens[after + 1].text.strip("`"))
            after += 2
        if self.mark(after) == "(":
            called = ".".join(parts).lower()
            close = self.closing[after]
            return self.call(called, after + 1, close, names, times), close + 1
        return names.get(parts[0], UNKNOWN), i + 1

    def call(self, name: str, start: int, end: int, names: Names, times: int) -> ValueBounds:
        if name == "range":
            return self.listed(start, end, names, times)
        if name == "reduce":
            return self.reduced(start, end, names, times)
        if self.name(start) and self.words[start + 1 : start + 2] == ["IN"]:
            self.comprehension(start, end, names, times)
            return SCALAR
        parts = self.parts(start + (start < end and self.words[start] == "DISTINCT"), end)
        arguments = [self.value(*part, names, times) for part in parts]
        length = self.number(*parts[1], names, times) if name in REPEATING and len(parts) > 1 else None
        return function_bounds(name, arguments, None if length is None else length[0])

    def listed(self, start: int, end: int, names: Names, times: int) -> ValueBounds:
        items = self.range(start, end, names, times)
        if items is None:
            raise refused(
                "range()",
                "needs whole numbers, parameters with whole numbers, or size(…) as its bounds here; use UNWIND "
                "range(…) AS x, which can be stopped",
            )
        return ValueBounds(items, items, 1, flat=True)

    def range(self, start: int, end: int, names: Names, times: int) -> int | None:
        """Returns the maximum number of items in `range(…)`, or None if it is unbounded."""
        bounds = [self.number(*part, names, times) for part in self.parts(start, end)]
        if not 2 <= len(bounds) <= 3:
            return None
        low, high, step = [*bounds, (1, True)][:3]
        if low is None or high is None or step is None:
            return None
        if not step[1] or not low[1] or (step[0] < 0 and not high[1]):
            return None
        return max(0, (high[0] - low[0]) // step[0] + 1) if step[0] else 0

    def number(self, start: int, end: int, names: Names, times: int) -> tuple[int, bool] | None:
        """Returns the maximum value of an integer, a parameter, or `size(…)` minus a number, and whether it is exact.
        Returns None for any other expression."""
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
        """Returns the bounds of `reduce(total = 0, x IN list | …)`."""
        equals, comma, bar = (self.find(start, end, mark) for mark in ("=", ",", "|"))
        if not equals < comma < bar < end:
            return of_operands([self.value(*part, names, times) for part in self.parts(start, end)], {"+"})
        first = self.value(equals + 1, comma, names, times)
        items = self.value(comma + 3, bar, names, times)
        product = self.loop(items, times)
        steps = [either_of([first, item_of(items)])]
        for _ in range(2):
            inside = {**names, self.name(comma + 1): item_of(items), self.name(start): steps[-1]}
            steps.append(self.value(bar + 1, end, inside, product))
        growth = [max(0, after.size - before.size) for before, after in pairwise(steps)]
        if growth[1] > growth[0]:
            raise refused("reduce()", "makes its total grow faster with each step; use UNWIND, and collect or sum")
        size = steps[-1].size + growth[1] * items.items
        self.work += product * (size // 2048)  # a string is copied at each step
        return self.charge(steps[-1]._replace(items=max(steps[-1].items, size), size=size, stored=False), times)
