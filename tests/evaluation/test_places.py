import json
import math
from pathlib import Path

import pytest

from evaluation.places import Answer, Figures, Labelled, figures, read_places
from xkg.model import Technique

GOLD = Path(__file__).parents[2] / "evaluation" / "gold" / "places"


def lines(path: str, first: int, last: int) -> frozenset[tuple[str, int]]:
    return frozenset((path, line) for line in range(first, last + 1))


def labelled(first: int, last: int) -> Labelled:
    technique = Technique(id="g#0", name="Loss")
    return Labelled(technique=technique, repository="r", main=True, places=lines("a.py", first, last))


def test_a_symbol_that_holds_the_place_is_a_hit_though_its_focus_misses() -> None:
    whole, focus = lines("a.py", 1, 100), lines("a.py", 50, 59)
    found = figures([(labelled(10, 19), Answer(whole=(whole,), focus=(focus,)))])
    assert (found.place_at, found.lines_at) == ((1.0, 1.0), (0.0, 0.0))
    assert all(math.isnan(value) for value in found.share)


def test_the_share_is_of_the_lines_that_are_given() -> None:
    focus = (lines("b.py", 1, 5), lines("a.py", 10, 17))
    found = figures([(labelled(10, 13), Answer(focus, focus, certain=True)), (labelled(1, 2), Answer((), ()))])
    assert found == Figures(
        count=2,
        place_at=(0.0, 0.5),
        lines_at=(0.0, 0.5),
        share=(pytest.approx(0.5), pytest.approx(0.5)),
        certain=0.5,
        right=0.0,
        called=pytest.approx(float("nan"), nan_ok=True),
    )


@pytest.mark.parametrize("half", ["open", "closed"])
def test_the_labels_are_of_two_readers_in_eight_repositories(half: str) -> None:
    path = GOLD / f"{half}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(read_places(path)) == len(rows) >= 100
    assert len({row["repository"] for row in rows}) == 8
    assert all({place["reader"] for place in row["places"]} == {1, 2} for row in rows)
    assert all(place["start"] <= place["end"] for row in rows for place in row["places"])


def test_no_repository_is_both_fitted_on_and_measured() -> None:
    rows = {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in GOLD.glob("*.jsonl")}
    repositories = {name: {row["repository"].lower() for row in found} for name, found in rows.items()}
    assert (len(repositories["third_fitted"]), len(repositories["third_closed"])) == (159, 64)
    measured = repositories["closed"] | repositories["third_closed"]
    assert not measured & (repositories["third_fitted"] | repositories["open"] | repositories["first_seen"])
    assert all(
        1 <= place["start"] <= place["end"] for found in rows.values() for row in found for place in row["places"]
    )


def test_techniques_that_are_not_in_their_repository_have_no_lines() -> None:
    absent = [one for one in read_places(GOLD / "third_closed.jsonl") if not one.places]
    assert len(absent) == 70
