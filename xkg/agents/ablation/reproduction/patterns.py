"""A metric's pattern as a model wrote it, made safe to search with: a model, or whoever wrote what it read, could give
one that takes exponential time. Its repetitions become possessive (Python 3.11), so that nothing is tried twice."""

import re
import warnings

from xkg.agents.ablation.task import parse_metric
from xkg.errors import InputError

_LONGEST = 200
_TOKEN = re.compile(
    r"(?P<atom>\\[^\d]|\[\^?\]?(?:\\.|[^\]\[\\&~|-]|-(?!-)){0,80}\]|[^\\\[\](){}*+?|])"
    r"(?P<times>(?:[*+?]|\{\d{0,3}(?:,\d{0,3})?\})?)[?+]?"
    r"|(?P<group>\((?!\?)|\)(?![*+?{]))"
)


def bounded(metric: str) -> str:
    """The same metric with a pattern that cannot backtrack; a file's path or column is returned as it is.

    Raises `InputError` for a pattern with alternatives, look-arounds, back references, repeated groups or `.*`: a few
    words beside one number need none of them."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # sets within sets, which are refused below
        path = parse_metric(metric).path
    if path is not None:
        return metric
    pattern, _, direction = metric.rpartition(":")
    if len(pattern) > _LONGEST:
        raise InputError(f"the metric's pattern has more than {_LONGEST} characters")
    made, position = [], 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            raise InputError(f"the metric's pattern is too general at {pattern[position : position + 20]!a}: {_ADVICE}")
        if token["group"]:
            made.append(token["group"])
        elif token["atom"] == "." and token["times"]:
            raise InputError(f"the metric's pattern holds .{token['times']}: {_ADVICE}")
        else:
            made.append(token["atom"] + (f"{token['times']}+" if token["times"] else ""))
        position = token.end()
    text = f"{''.join(made)}:{direction}"
    parse_metric(text)
    return text


_ADVICE = "give the words beside the number and one group, such as 'test loss: ([0-9.]+)'"
