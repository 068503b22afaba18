"""Places that are found after the first."""

from xkg.build.grounding.ground import Grounding
from xkg.build.guided.reading.added_places import with_places
from xkg.model import Location, Technique

A, B = Technique(id="p#a", name="A"), Technique(id="p#b", name="B")


def test_added_places_come_last_and_are_at_most_five_in_all() -> None:
    before = Grounding(
        locations=tuple(Location(technique=A.id, symbol=f"s{n}", score=0.9, rank=n) for n in range(1, 4)),
        primaries={A.id: "s1"},
    )
    after = with_places(before, [A, B], {A.id: ["s2", "n1", "n2", "n3"], B.id: ["n1"]})
    assert [place.symbol for place in after.of(A.id)] == ["s1", "s2", "s3", "n1", "n2"]
    assert [place.rank for place in after.of(A.id)] == [1, 2, 3, 4, 5]
    assert after.of(A.id)[3].score < 0.9
    assert [place.symbol for place in after.of(B.id)] == ["n1"]
    assert after.primaries == {A.id: "s1", B.id: "n1"}
