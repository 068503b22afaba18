from xkg.build.grounding.ground import Grounding
from xkg.build.static_stages import describe_grounding
from xkg.model import Location


def _location(technique: str, *, doubtful: bool) -> Location:
    return Location(technique=technique, symbol="local:terns@1#fly.py:fly", score=0.5, rank=1, doubtful=doubtful)


def test_what_is_located_only_doubtfully_is_counted_apart() -> None:
    certain, doubtful = _location("title:terns#fly", doubtful=False), _location("title:terns#land", doubtful=True)
    primaries = {certain.technique: certain.symbol}
    assert describe_grounding(Grounding(locations=(certain,), primaries=primaries), 3) == "1 of 3 techniques located"
    found = Grounding(locations=(certain, doubtful, doubtful), primaries=primaries)
    assert describe_grounding(found, 3) == "1 of 3 techniques located, 1 more doubtfully"
