"""Computes upper bounds on the results of Cypher functions from the bounds of their arguments."""

from collections.abc import Sequence

from xkg.store.cypher.tokens import refused
from xkg.store.cypher.value_bounds import SCALAR, STORED, ValueBounds, collected, either_of, item_of, of_operands

REPEATING = frozenset(["repeat", "lpad", "rpad"])
"""Functions whose second argument determines the length of the result."""

_SCALAR_FUNCTIONS = frozenset(
    "count exists id size length char_length character_length isempty sum avg stdev stdevp percentilecont "
    "percentiledisc abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp factorial floor gamma haversin "
    "isnan lgamma ln log log10 log2 negate pi pow radians rand random round sign sin sqrt tan e tointeger "
    "tointegerornull tofloat tofloatornull toboolean tobooleanornull date datetime localdatetime localtime time "
    "timestamp duration point".split()
)
_KEEP = frozenset(["tail", "reverse", "list_distinct", "list_reverse", "list_sort"])
_OF_ENTITY = frozenset(["labels", "keys", "nodes", "relationships", "rels", "properties", "start_node", "startnode"])


def function_bounds(name: str, arguments: Sequence[ValueBounds], length: int | None) -> ValueBounds:
    """Returns the bounds of a function's result. `length` is the maximum value of the second argument of a `REPEATING`
    function. Raises `QueryRefusedError` if `length` is required but None (unbounded)."""
    first = arguments[0] if arguments else SCALAR
    alone = len(arguments) == 1
    if name in _SCALAR_FUNCTIONS:
        return SCALAR
    if name == "collect":
        return collected(first)
    if alone and (name in _KEEP or name in ("min", "max")):
        return first
    if alone and name in ("head", "last"):
        return item_of(first)
    if name in _OF_ENTITY and first.stored:
        return STORED
    if name == "coalesce":
        return either_of(arguments)
    if name in ("replace", "regexp_replace") and len(arguments) > 2:
        size = first.size * max(1, arguments[2].size)
        return ValueBounds(size, size, size)
    if name in ("concat_ws", "list_to_string") and len(arguments) > 1:
        size = sum(value.size for value in arguments) + first.size * max(value.items for value in arguments[1:])
        return ValueBounds(size, size)
    if name in REPEATING and len(arguments) > 1:
        if length is None:
            raise refused(f"{name}()", "needs a number or a parameter for the length of its result")
        size = sum(value.size for value in arguments) * max(1, length)
        return ValueBounds(size, size)
    if name in ("split", "str_split", "string_split", "string_to_array"):
        return ValueBounds(max(first.items, first.size), 2 * first.size, first.size)
    if all(value.scalar for value in arguments) and name in ("tostring", "tostringornull", "string"):
        return ValueBounds(25, 25)
    return of_operands(arguments, {"+"})
