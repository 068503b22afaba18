"""Generated repositories with known truth, whose code is actually run (`evaluation.ablation.switches`).

A repository trains a number in a moment: 9 to 15 parts each lower its error by a known factor, as functions that are
called one after the other or as options with a weight. About a third are inert (below .4 %). The seed changes the error
by .2 to 1 %. The difficulties of real repositories are drawn with equal chance:

- README: correct; data must be made first, as only its prose says; it names a script that was renamed; the result is in
  a file, and the last number of the output is a duration.
- Leftovers: none; the first half of the parts is cached in a file that later runs use; a checkpoint that later runs
  continue.

Everything is determined by the seed. SEEDS were fixed before any arm was run."""

import math
import random
from dataclasses import dataclass
from pathlib import Path

from evaluation.ablation.generator import known_beforehand
from xkg.agents.ablation.candidates import Component, Place

SEEDS = range(3000, 3008)
_WORDS = (
    "gate mixing pooling whitening shrinkage smoothing masking routing folding damping lifting pruning warping "
    "blending sharpening centering"
).split()
_READMES = ("right", "data first", "renamed script", "result in a file")
_LEFTOVERS = ("none", "cache", "checkpoint")


@dataclass(frozen=True)
class Part:
    """A component with the truth: it multiplies the error by `factor`, and `lines` are its place in train.py."""

    name: str
    factor: float
    option: bool
    lines: tuple[Place, ...]
    weight: float

    @property
    def change(self) -> float:
        """The relative change of the metric without it."""
        return 1 / self.factor - 1


@dataclass(frozen=True)
class Repository:
    seed: int
    parts: tuple[Part, ...]
    readme: str
    leftovers: str
    run: str
    setup: str | None
    metric: str
    base: float
    noise: float

    def value(self, seed: int, without: str | None = None) -> float:
        """The metric of a run in a fresh tree."""
        drawn = random.Random(seed).gauss(0, self.noise)
        return self.base * (1 + drawn) * math.prod(part.factor for part in self.parts if part.name != without)

    def part_of(self, component: Component) -> Part | None:
        """The part that a component corresponds to, None if there is none or more than one."""
        found = [
            part
            for part in self.parts
            if part.name in component.name or any(place.holds(own) for place in part.lines for own in component.places)
        ]
        return found[0] if len(found) == 1 else None

    def techniques(self) -> list[Component]:
        """A graph's knowledge: names, places, and weights that partly agree with the truth."""
        return [
            Component(id=f"t:{p.name}", name=p.name, places=p.lines, technique=f"t:{p.name}", weight=p.weight, order=i)
            for i, p in enumerate(self.parts)
        ]


def write(seed: int, folder: Path) -> Repository:
    """A repository in `folder`."""
    draw = random.Random(f"repository:{seed}")
    names = draw.sample(_WORDS, draw.randint(9, 15))
    factors = {name: _factor(draw) for name in names}
    options = set(draw.sample(names, len(names) // 3))
    weights = known_beforehand(draw, names, {name: 1 / factors[name] - 1 for name in names}, 0.5)
    readme, leftovers = draw.choice(_READMES), draw.choice(_LEFTOVERS)
    base, noise = draw.uniform(0.5, 5), draw.uniform(0.002, 0.01)
    lines = ["import argparse", "import json", "import os", "import random", "import time", ""]
    for name in names:
        if name not in options:
            lines += ["", f"def {name}(error):", f"    return error * {factors[name]:.4f}", ""]
    lines += _training(names, options, factors, readme, leftovers, base, noise)
    places = {
        name: tuple(
            Place(path="train.py", start_line=n, end_line=n, symbol="train")
            for n, line in enumerate(lines, 1)
            if f"--{name}" in line
            or f"args.{name} " in line
            or (f"{name}(error)" in line and not line.startswith("def "))
            or lines[n - 2] == f"def {name}(error):"
        )
        for name in names
    }
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("\n".join([*lines, ""]))
    if readme == "data first":
        (folder / "make_data.py").write_text('with open("data.txt", "w") as file:\n    file.write("1.0")\n')
    (folder / "README.md").write_text(_readme(readme))
    parts = tuple(Part(n, round(factors[n], 4), n in options, places[n], weights[n]) for n in names)
    return Repository(
        seed, parts, readme, leftovers, "python train.py --seed {seed}",
        "python make_data.py" if readme == "data first" else None,
        "results.json:test.error:min" if readme == "result in a file" else "error ([0-9.]+):min", base, noise,
    )  # fmt: skip


def _factor(draw: random.Random) -> float:
    change = draw.uniform(0, 0.004) if draw.random() < 0.35 else math.exp(draw.uniform(math.log(0.03), math.log(0.5)))
    return 1 / (1 + change)


def _training(
    names: list[str],
    options: set[str],
    factors: dict[str, float],
    readme: str,
    leftovers: str,
    base: float,
    noise: float,
) -> list[str]:
    half = len(names) // 2
    lines = ["", "def train(args):", "    random.seed(args.seed)"]
    lines += (
        ['    with open("data.txt") as file:', "        scale = float(file.read())"] if readme == "data first" else []
    )
    scale = " * scale" if readme == "data first" else ""
    start = f"    error = {base!r}{scale} * (1 + random.gauss(0, {noise!r}))"
    resume = ['    if os.path.exists("checkpoint.json"):', '        error *= 0.9 * json.load(open("checkpoint.json"))']
    lines += [start, *(resume if leftovers == "checkpoint" else [])]
    first = [_step(name, options, factors) for name in names[:half]]
    if leftovers == "cache":
        # Stored relative to the initial value: the cache serves every seed.
        lines += ['    if os.path.exists("cache.json"):', '        error *= json.load(open("cache.json"))', "    else:"]
        lines += ["        before = error", *(f"    {line}" for line in first)]
        lines += ['        json.dump(error / before, open("cache.json", "w"))']
    else:
        lines += first
    lines += [_step(name, options, factors) for name in names[half:]]
    lines += ['    json.dump(1.0, open("checkpoint.json", "w"))'] if leftovers == "checkpoint" else []
    lines += ["    return error", "", "", "def main():", "    parser = argparse.ArgumentParser()"]
    lines += ['    parser.add_argument("--seed", type=int, default=0)']
    lines += [f'    parser.add_argument("--{name}", type=float, default=1.0)' for name in names if name in options]
    lines += ["    args = parser.parse_args()", "    began = time.time()", "    error = train(args)"]
    if readme == "result in a file":
        lines += ['    with open("results.json", "w") as file:', '        json.dump({"test": {"error": error}}, file)']
        lines += ['    print("done in", time.time() - began)']
    else:
        lines += ['    print("error", error)']
    return [*lines, "", "", "main()"]


def _step(name: str, options: set[str], factors: dict[str, float]) -> str:
    if name in options:
        return f"    error = error * (1 - args.{name} * {1 - round(factors[name], 4):.4f})"
    return f"    error = {name}(error)"


def _readme(kind: str) -> str:
    script = "main.py" if kind == "renamed script" else "train.py"
    before = {
        "data first": "The data are made by `make_data.py`, once, before anything else.\n\n",
        "result in a file": "What counts is `test.error` in `results.json`; less is better.\n\n",
    }.get(kind, "It prints the error on the test set; less is better.\n\n")
    return f"# A method\n\n{before}```\npython {script} --seed 0\n```\n"
