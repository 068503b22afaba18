"""Computes upper bounds on the size of values in a query, and on their number of items."""

from collections.abc import Sequence
from typing import Any, NamedTuple

STORED_ITEMS = 100
COLLECTED_ITEMS = 30_000
STORED_SIZE = 20
COMPARISONS = frozenset("AND OR XOR NOT IN STARTS ENDS CONTAINS IS = < > ~".split())
ARITHMETIC = frozenset("-*/%^")


class ValueBounds(NamedTuple):
    """Upper bounds on a value. `items` is the length of a list, `size` the total number of characters and items, and
    `each` the size of one item. A `scalar` value is neither a list nor a string, and a `flat` value is a list of
    scalars. A `stored` value comes from the graph."""

    items: int
    size: int
    each: int = 1
    scalar: bool = False
    flat: bool = False
    stored: bool = False


SCALAR = ValueBounds(1, 1, 1, scalar=True, flat=True)
NUMBERS = ValueBounds(COLLECTED_ITEMS, COLLECTED_ITEMS, flat=True)
STORED = ValueBounds(STORED_ITEMS, STORED_SIZE, STORED_SIZE, stored=True)
UNKNOWN = ValueBounds(COLLECTED_ITEMS, STORED_SIZE, STORED_SIZE)


def item_of(value: ValueBounds) -> ValueBounds:
    if value.stored:
        return STORED
    return SCALAR if value.flat else ValueBounds(value.each, value.each, value.each)


def property_of(value: ValueBounds) -> ValueBounds:
    if value.stored:
        return STORED
    return value if value.scalar else ValueBounds(value.size, value.size, value.size)


def of_operands(values: Sequence[ValueBounds], operators: set[str]) -> ValueBounds:
    """Returns the bounds of an expression that applies these operators to these operands."""
    if operators & COMPARISONS:
        return SCALAR
    if len(values) == 1 and not operators:
        return values[0]
    if all(value.scalar for value in values) or (operators & ARITHMETIC and not operators & {"+", "|"}):
        return SCALAR
    return ValueBounds(
        sum(value.items for value in values),
        sum(value.size for value in values),
        max(max(value.each, value.size if value.scalar else 1) for value in values),
        flat=all(value.flat for value in values),
    )


def either_of(values: Sequence[ValueBounds]) -> ValueBounds:
    """Returns bounds that hold for every one of these values."""
    if not values:
        return SCALAR
    return ValueBounds(
        max(value.items for value in values),
        max(value.size for value in values),
        max(value.each for value in values),
        scalar=all(value.scalar for value in values),
        flat=all(value.flat for value in values),
        stored=all(value.stored for value in values),
    )


def collected(value: ValueBounds) -> ValueBounds:
    size = COLLECTED_ITEMS * min(value.size, STORED_SIZE)
    return ValueBounds(COLLECTED_ITEMS, size, value.size, flat=value.scalar, stored=value.stored)


def of_parameter(value: Any) -> ValueBounds:
    if isinstance(value, str):
        return ValueBounds(len(value), len(value))
    if isinstance(value, (list, tuple)):
        sizes = [len(item) if isinstance(item, str) else 1 for item in value]
        flat = not any(isinstance(item, str) for item in value)
        return ValueBounds(len(value), len(value) + sum(sizes), max(sizes, default=1), flat=flat)
    return SCALAR
