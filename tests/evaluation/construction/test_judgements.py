import pytest

from evaluation.construction.judgements import SETTLED_BY_NONE, Judgement, alpha, collect, figures_of


def judged(item: str, judge: str, verdict: str) -> Judgement:
    return Judgement(question="pair", item=item, judge=judge, verdict=verdict)


def test_the_example_of_krippendorff() -> None:
    # The example is from "Computing Krippendorff's alpha-reliability" (2011), with nominal data from four observers and
    # missing values. Its alpha is 0.743.
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = [[v for v in column if v != "."] for column in zip(*(o.split() for o in observers), strict=True)]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_the_majority_counts_and_a_tie_is_nobodys() -> None:
    verdicts, problems = collect(
        [
            judged("x", "a", "exact"), judged("x", "b", "exact"), judged("x", "c", "wrong"),
            judged("y", "a", "exact"), judged("y", "b", "narrower"),
        ],
        "pair",
        ["x", "y", "z"],
    )  # fmt: skip
    assert problems == []
    assert verdicts.majority() == {"x": "exact", "y": SETTLED_BY_NONE}
    values = {f.name: f.value for f in figures_of(verdicts, {"exact": "exact", "wrong": "wrong"}, {})}
    assert values["exact"] == 0.5
    assert values["wrong"] == 0.0


def test_judgements_that_cannot_be_used_are_counted() -> None:
    verdicts, problems = collect(
        [judged("x", "a", "exact"), judged("x", "a", "wrong"), judged("u", "a", "exact"), judged("x", "b", "fine")],
        "pair",
        ["x"],
    )
    assert verdicts.by_item == {"x": {"a": "exact"}}
    assert [problem.split(": ", 1)[1] for problem in problems] == [
        "judged twice; only the first judgement counts",
        "the graph has no such item",
        "'fine' is none of exact, broader, narrower, wrong",
    ]
