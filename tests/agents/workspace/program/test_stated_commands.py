import pytest

from xkg.agents.workspace.program.stated_commands import require_script, stated_commands
from xkg.errors import InputError

README = """\
# Rings
Install with `pip install -r requirements.txt`, then

```bash
git clone https://example.org/rings.git
cd rings
python prepare.py
python train.py --data /datasets/rings
python train.py --epochs 1 \\
    --seed 0
python train.py --checkpoint <path>
python absent.py
```

~~~
$ cd tasks/copying
$ CUDA_VISIBLE_DEVICES=0 python run.py | tee log
~~~

Evaluate by `python -m tools.evaluate`, or as below::

    python tools/evaluate.py $1
"""
TEXTS = {
    "README.md": README,
    "run_all.sh": "#!/bin/bash\nfor seed in 0 1; do\npython train.py --seed $seed\ndone\npython train.py --all\n",
    "train.py": "print('test loss:', 1)\n",
    "prepare.py": "",
    "tasks/copying/run.py": "",
    "tools/evaluate.py": "",
}


def test_commands_that_start_a_file_of_the_repository_are_ranked() -> None:
    assert stated_commands(TEXTS, TEXTS.keys(), ["test loss"]) == [
        "python train.py --epochs 1 --seed 0",
        "python train.py --all",
        "python train.py --data /datasets/rings",
        "python prepare.py",
        "cd tasks/copying && CUDA_VISIBLE_DEVICES=0 python run.py | tee log",
        "python -m tools.evaluate",
    ]


SPOKEN = """\
Usage: python main.py [arguments], or
* python fit.py --epochs 1
> $ LR=0.1 python3 fit.py

  python3 -O figure.py
1. ./all.sh

```
python3 -m pip install -r requirements.txt
python fit.py --help
python lonely.py
python twice.py
python fit.py --seed {SEED}
```
"""


def test_commands_stand_in_text_too_and_start_the_one_file_of_their_name() -> None:
    paths = {"main.py", "fit.py", "all.sh", "src/figure.py", "nets/lonely.py", "a/twice.py", "b/twice.py"}
    assert stated_commands({"README": SPOKEN}, paths | {"requirements.txt"}, []) == [
        "cd nets && python lonely.py",
        "python fit.py --epochs 1",
        "LR=0.1 python3 fit.py",
        "cd src && python3 -O figure.py",
        "./all.sh",
    ]


def test_variables_and_folders_hold_for_the_lines_below_in_a_block() -> None:
    block = """```
export CUDA_VISIBLE_DEVICES=0
LR="0.1"
pushd experiments/one
PYTHONPATH=../.. python main.py --lr $LR | tee ${LR}.log
python main.py --lr $UNKNOWN
```
"""
    assert stated_commands({"README.md": block}, {"experiments/one/main.py"}, []) == [
        "export CUDA_VISIBLE_DEVICES=0 && cd experiments/one && PYTHONPATH=../.. python main.py --lr 0.1 | tee 0.1.log",
    ]


def test_files_that_a_readme_names_are_offered_where_it_states_no_command() -> None:
    texts = {"README.md": "Run [fit.py](https://example.org/fit.py), then `draw.py` for the figure; see setup.py."}
    assert stated_commands(texts, {"fit.py", "src/draw.py"}, []) == ["python fit.py", "cd src && python draw.py"]
    texts = {"README.md": "```\ncd models/<name>\npython fit.py\n```"}
    paths = {"models/b/fit.py", "models/a c/fit.py"}
    assert stated_commands(texts, paths, []) == ["cd 'models/a c' && python fit.py", "cd models/b && python fit.py"]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("uv run --python 3.11 python -m rings.fit --epochs 1", ["python -m rings.fit --epochs 1"]),
        ("PYTHONPATH=src python -m moons.fit --epochs 1", ["PYTHONPATH=src python -m moons.fit --epochs 1"]),
        ("python fit.py --seed 0   # two minutes", ["python fit.py --seed 0"]),
        ("cd rings && poetry run python fit.py", ["cd rings && python fit.py"]),
        ("Figures are drawn by [fit](./fit.py), losses by `./loss.py`", ["./loss.py"]),
        ("python setup.py develop", []),
        ("python fit.py --dry-run", ["python fit.py"]),
        ("python fit.py --data DATA_FILE", ["python fit.py"]),
        ("python fit.py --data [MNIST/CIFAR10]", ["python fit.py"]),
        ("python fit.py --device CPU; [ -f log ] && cat log", ["python fit.py --device CPU; [ -f log ] && cat log"]),
    ],
)
def test_launchers_and_comments_are_left_out_and_placeholders_start_nothing(line: str, commands: list[str]) -> None:
    texts = dict.fromkeys(("fit.py", "setup.py", "rings/fit.py", "src/moons/fit.py"), "")
    texts |= {"README.md": line, "loss.py": "#!/usr/bin/env python3\n"}
    assert stated_commands(texts, texts.keys(), [])[:1] == commands


TREE = {"train_models.py", "nets/main.py", "a/twice.py", "b/twice.py", "run.sh"}


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("python train_model.py -e 1", r"the closest match is: train_models\.py"),
        ("python -W ignore main.py | tee log", r"the closest match is: nets/main\.py; .*`cd nets && …`"),
        ("LR=1 python3 twice.py", r"the closest matches are: a/twice\.py, b/twice\.py"),
        ("cd nets && bash run.sh", r"starts nets/run\.sh, .*: run\.sh$"),
        ("python zzz.py", r"which is not in the repository$"),
    ],
)
def test_a_script_that_is_not_there_is_refused_with_the_nearest(line: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        require_script(line, TREE)


@pytest.mark.parametrize(
    "line",
    [
        "cd nets && python main.py x.py",
        "python -m nets.main",
        "python -c 1",
        "make && python made.py",
        "python /d/x.py",
    ],
)
def test_what_may_be_there_when_it_is_started_is_not_refused(line: str) -> None:
    require_script(line, TREE)
