"""Adds the places found together with definitions to the places of techniques."""

from collections.abc import Mapping, Sequence

from xkg.build.grounding.ground import Grounding
from xkg.model import Location, Technique

_MOST_PLACES = 5
# Lower than a place that the model is sure of, since it saw only a signature.
_SCORE = 0.7
_STEP = 0.02


def with_places(
    grounding: Grounding, techniques: Sequence[Technique], places: Mapping[str, Sequence[str]]
) -> Grounding:
    """The grounding with these symbols (technique → ids) after the existing places of each technique, at most five in
    all."""
    locations: list[Location] = []
    primaries = dict(grounding.primaries)
    for technique in techniques:
        before = sorted(grounding.of(technique.id), key=lambda location: location.rank)
        known = {location.symbol for location in before}
        lowest = min([_SCORE + _STEP, *(location.score for location in before)])
        new = [symbol for symbol in places.get(technique.id, ()) if symbol not in known]
        locations += before
        for n, symbol in enumerate(new[: max(0, _MOST_PLACES - len(before))], start=1):
            score = round(max(0.0, lowest - _STEP * n), 4)
            locations.append(Location(technique=technique.id, symbol=symbol, score=score, rank=len(before) + n))
            primaries.setdefault(technique.id, symbol)
    return Grounding(locations=tuple(locations), primaries=primaries)
