from xkg.agents.workspace.program.evaluation import evaluation
from xkg.agents.workspace.program.metric import Metric


def test_the_evaluation_is_found_by_what_it_is_called_and_what_it_prints() -> None:
    metric = Metric.parse(r"test accuracy: ([\d.]+):max")
    files = {
        "train.py": "def validate(m):\n    return 1\n\ndef fit(m):\n    print('epoch')\n\n"
        "print(f'Test accuracy: {1}')\n",
        "tests/test_x.py": "assert True\n",
        "helpers.py": "def score(x):\n    return x\n",
    }
    found = evaluation(files, metric, protect=["helpers.py::score"])
    assert sorted(found) == [
        "helpers.py::score",
        "tests/test_x.py",
        "train.py::(prints the metric)",
        "train.py::validate",
    ]
    moved = {**files, "train.py": "# a comment\n" + files["train.py"].replace("'epoch'", "'other'")}
    assert evaluation(moved, metric, protect=["helpers.py::score"]) == found
