import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.study.runs import Run
from evaluation.study.summary import best_at, summarize, table


def runs(variant: str, paper: str, *scores: float | None) -> list[Run]:
    return [
        Run(variant=variant, paper=paper, number=n, digest="", score=score, problem="" if score is not None else "late")
        for n, score in enumerate(scores, start=1)
    ]


def test_mean_sd_and_best_by_hand() -> None:
    summary = summarize("full", [*runs("full", "title:a", 0.2, 0.4, 0.6), *runs("full", "title:b", 0.4, 0.4, 1.0)])
    assert summary.mean == pytest.approx(0.5)
    assert summary.sd == pytest.approx(statistics.stdev([0.3, 0.4, 0.8]))
    assert summary.best == pytest.approx(0.8)


def test_best_of_three_of_four() -> None:
    # of the four choices of three, three hold 4 and one has 3 as its best
    assert best_at([4, 1, 3, 2]) == pytest.approx(3.75)
    assert best_at([4, 1]) is None


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=7), st.integers(1, 3))
def test_best_is_the_mean_over_all_choices(scores, k) -> None:
    every = [max(choice) for choice in itertools.combinations(scores, k)]
    assert best_at(scores, k) == pytest.approx(statistics.fmean(every), abs=1e-12)


def test_a_run_that_failed_is_counted_and_not_averaged() -> None:
    summary = summarize("full", runs("full", "title:a", 0.5, None, 0.7))
    assert (summary.runs, summary.failed, summary.best) == (2, 1, None)
    assert summary.mean == pytest.approx(0.6)
    assert summarize("full", runs("full", "title:a", None)).mean is None


def test_the_table_pairs_runs_with_the_full_graph() -> None:
    made = {
        "full": runs("full", "title:a", 0.5, 0.6, 0.7),
        "without code nodes": runs("without code nodes", "title:a", 0.4, 0.4, 0.4),
    }
    last = table(made).splitlines()[-1].split()
    assert last[last.index("0") + 1] == "-0.200"
    assert last[-1] == "0.250"  # two of the eight patterns of signs are as far out
