from xkg.agents.workspace.stated_commands import stated_commands

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


def test_without_a_readme_nothing_is_stated() -> None:
    assert stated_commands({"train.py": "python train.py"}, {"train.py"}, []) == []
