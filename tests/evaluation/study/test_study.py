import itertools
import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.results.document import read
from evaluation.study.__main__ import main
from evaluation.study.runs import Run, read_score, run
from evaluation.study.summary import best_at, summarize, table
from tests.evaluation.graphs import stored

PROGRAM = """
import sys
text = open(sys.argv[1]).read() + open(sys.argv[2]).read()
print(("def entropy" in text) + 2 * ("Shannon" in text) + 4 * ("a study of shifts" in text))
"""


def python(program: str, *words: str) -> list[str]:
    return [sys.executable, "-c", program, *words]


def runs(variant: str, paper: str, *scores: float | None) -> list[Run]:
    return [
        Run(variant=variant, paper=paper, number=n, digest="", score=score, problem="" if score is not None else "late")
        for n, score in enumerate(scores, start=1)
    ]


def test_each_variant_leaves_out_what_it_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, command = tmp_path / "r.json", python(PROGRAM, "{planning}", "{implementation}")
    main(command, kg=stored(tmp_path), runs=1, out=tmp_path / "study", json=out)
    scores = {name: next(iter(values.values())) for name, values in read(out, "study").scores.items()}
    assert scores == {
        "full": 7,
        "without paper nodes": 3,
        "without code nodes": 6,
        "without technique nodes": 5,
        "raw code": 6,  # an imported paper has no repository
        "rewritten code": 7,
        "verified code": 6,  # none of its code was run here
        "without a graph": 0,
    }
    printed = capsys.readouterr().out
    assert "raw code: the graph has no code in this form for 1 of 1 papers" in printed
    assert "rewritten code: the graph has no code" not in printed


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ("0.5", 0.5),
        ('step 1\n{"score": 0.25, "n": 3}\nbye\n', 0.25),
        ("1\n2\n", 2.0),
        *((text, None) for text in ("NaN", "score: 3", "", "[" * 5000)),
    ],
)
def test_the_last_line_with_a_number_is_the_score(output: str, score: float | None) -> None:
    assert read_score(output) == score


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "planning.md").write_text("plan")
    (tmp_path / "implementation.md").write_text("12345")
    return tmp_path


def test_a_command_gets_the_files_and_runs_once(context: Path) -> None:
    log = context / "log"
    program = (
        "import os, sys; open(sys.argv[2], 'a').write('x'); "
        "print(len(open(sys.argv[1]).read()) + int(os.environ['XKG_STUDY_RUN']))"
    )

    def ran() -> Run:
        command = python(program, "{implementation}", str(log))
        return run(command, "full", "title:a", 2, context, context / "runs", 60)

    first = ran()
    assert (first.score, ran(), log.read_text()) == (7, first, "x")
    (context / "implementation.md").write_text("1")
    assert (ran().score, log.read_text()) == (3, "xx")


def test_mean_sd_and_best_by_hand() -> None:
    summary = summarize("full", [*runs("full", "title:a", 0.2, 0.4, 0.6), *runs("full", "title:b", 0.4, 0.4, 1.0)])
    assert summary.mean == pytest.approx(0.5)
    assert summary.sd == pytest.approx(statistics.stdev([0.3, 0.4, 0.8]))
    assert summary.best == pytest.approx(0.8)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=7), st.integers(1, 3))
def test_best_is_the_mean_over_all_choices(scores: list[float], k: int) -> None:
    every = [max(choice) for choice in itertools.combinations(scores, k)]
    assert best_at(scores, k) == pytest.approx(statistics.fmean(every), abs=1e-12)


def test_the_table_pairs_runs_with_the_full_graph() -> None:
    made = {
        "full": runs("full", "title:a", 0.5, 0.6, 0.7),
        "without code nodes": runs("without code nodes", "title:a", 0.4, 0.4, 0.4),
    }
    last = table(made).splitlines()[-1].split()
    assert last[last.index("0") + 1] == "-0.200"
    assert last[-1] == "0.250"  # two of the eight sign patterns are as extreme
