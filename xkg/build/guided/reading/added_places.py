"""Joins what is located at several times: the places of techniques, and those that are found after them."""

from collections.abc import Mapping, Sequence

from xkg.build.grounding.ground import Grounding
from xkg.model import Location, Technique

_MOST_PLACES = 5
# Below what a model is sure of, since it saw a signature alone.
_SCORE = 0.7
_STEP = 0.02


def with_places(
    grounding: Grounding, techniques: Sequence[Technique], places: Mapping[str, Sequence[str]]
) -> Grounding:
    """The grounding with these symbols (technique → ids) after the places that techniques have, at most five in all."""
    added: list[Location] = []
    primaries: dict[str, str] = {}
    for technique, symbols in places.items():
        before = grounding.of(technique)
        known = {location.symbol for location in before}
        lowest = min([_SCORE + _STEP, *(location.score for location in before)])
        new = [symbol for symbol in symbols if symbol not in known][: max(0, _MOST_PLACES - len(before))]
        for n, symbol in enumerate(new, start=1):
            score = round(max(0.0, lowest - _STEP * n), 4)
            added.append(Location(technique=technique, symbol=symbol, score=score, rank=len(before) + n))
        if new and technique not in grounding.primaries:
            primaries[technique] = new[0]
    return merged([grounding, Grounding(locations=tuple(added), primaries=primaries)], techniques)


def merged(groundings: Sequence[Grounding], techniques: Sequence[Technique]) -> Grounding:
    """All locations in the order of the techniques, and by rank; those of other techniques are left out."""
    locations = [
        location
        for technique in techniques
        for location in sorted((x for each in groundings for x in each.of(technique.id)), key=lambda x: x.rank)
    ]
    primaries = {technique: symbol for each in groundings for technique, symbol in each.primaries.items()}
    return Grounding(locations=tuple(locations), primaries=primaries)
