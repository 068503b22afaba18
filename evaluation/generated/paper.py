"""Generates the input for the speed benchmark: a paper of about 100 KB and a repository of about 20,000 lines.

Words are drawn from a fixed list with a fixed seed, so that every run builds the same graph. The paper and the code
have a realistic structure (sections, equations, algorithms; classes, functions, calls between modules), but nothing is
copied.
"""

import random
from pathlib import Path

ADJECTIVES = ("adaptive sparse robust stochastic latent spectral causal recursive hybrid masked gated sliced").split()
NOUNS = ("gradient kernel particle encoder buffer attention policy schedule residual posterior codebook prompt").split()
ACTS = ("matching clipping restoration pooling routing smoothing distillation projection sampling scaling").split()
VERBS = ("computes updates projects normalises samples scales masks restores weights aggregates").split()


def technique_names(count: int, seed: int = 0) -> list[str]:
    """Returns `count` distinct three-word names."""
    rng = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < count:
        names[f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} {rng.choice(ACTS)}"] = None
    return list(names)


def write_paper(folder: Path, techniques: int = 24, kilobytes: int = 100) -> Path:
    """Writes `paper.tex` and returns its path."""
    rng = random.Random(1)
    names = technique_names(techniques)
    filler = kilobytes * 1180 // (techniques + 8)
    parts = [
        "\\documentclass{article}\n\\newcommand{\\R}{\\mathbb{R}}\n\\title{Generated Networks of Many Parts}\n",
        "\\begin{document}\n\\maketitle\n\\begin{abstract}\nWe propose Generated Networks of Many Parts (GNMP), ",
        "which joins " + ", ".join(names[:4]) + ".\n\\end{abstract}\n",
        "\\section{Introduction}\n" + prose(rng, filler),
        "\\section{Related Work}\n" + prose(rng, filler),
        "\\section{Method}\nGNMP consists of several parts. " + prose(rng, 400),
    ]
    for i, name in enumerate(names):
        parts.append(
            f"\\subsection{{{name.title()}}}\n\\label{{sec:{i}}}\n"
            f"The \\emph{{{name}}} {rng.choice(VERBS)} the {rng.choice(NOUNS)} of each layer from its "
            f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} before the next step.\n"
            "\\begin{equation}\n"
            f" z_{{{i}}} = \\sum_j w_{{ij}} \\, \\phi(x_j), \\quad x \\in \\R^d\n\\end{{equation}}\n"
            + prose(rng, filler - 400)
        )
    parts += [
        "\\begin{algorithm}\n\\caption{GNMP training}\n\\begin{algorithmic}\n",
        "".join(f"\\STATE apply {name}\n" for name in names[:8]),
        "\\end{algorithmic}\n\\end{algorithm}\n",
        "\\section{Experiments}\n" + prose(rng, filler),
        "\\section{Conclusion}\n" + prose(rng, filler // 2) + "\n\\end{document}\n",
    ]
    path = folder / "paper.tex"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(parts))
    return path


def write_repository(folder: Path, lines: int = 20_000, techniques: int = 24) -> Path:
    """Writes packages with modules of about 250 lines each, and returns their folder."""
    rng = random.Random(2)
    names = technique_names(techniques)
    modules = lines // 244
    for m in range(modules):
        package = folder / "gnmp" / f"part{m // 10}"
        package.mkdir(parents=True, exist_ok=True)
        for place in (folder / "gnmp", package):
            (place / "__init__.py").touch()
        (package / f"module{m}.py").write_text(_module(rng, m, names, modules))
    (folder / "requirements.txt").write_text("numpy\n")
    (folder / "README.md").write_text("# gnmp\n\nGenerated Networks of Many Parts.\n")
    return folder


def prose(rng: random.Random, characters: int) -> str:
    """Returns sentences with about this many characters in total."""
    out: list[str] = []
    length = 0
    while length < characters:
        sentence = (
            f"The {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} {rng.choice(VERBS)} each {rng.choice(NOUNS)} "
            f"by {rng.choice(ACTS)} of the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} $x_{{{rng.randrange(9)}}}$. "
        )
        out.append(sentence + ("\n\n" if rng.random() < 0.1 else ""))
        length += len(sentence)
    return "".join(out) + "\n"


def _module(rng: random.Random, m: int, names: list[str], modules: int) -> str:
    lines = ['"""Generated module."""', "", "import numpy as np", ""]
    if m:
        other = rng.randrange(m)
        lines.append(f"from gnmp.part{other // 10}.module{other} import step_{other}_0")
    lines += ["", f"SCALE_{m} = {rng.random():.3f}", ""]
    technique = names[m % len(names)].replace(" ", "_") if m < len(names) else None
    for f in range(14):
        label = technique if technique and f == 3 else f"step_{m}_{f}"
        lines += [
            "",
            f"def {label}(values, {rng.choice(NOUNS)}=1.0):",
            f'    """{rng.choice(VERBS).title()} the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}."""',
            f"    # {rng.choice(ACTS)} of the {rng.choice(NOUNS)}",
            f"    total = np.asarray(values, dtype=float) * SCALE_{m}",
            *(f"    total = total + {rng.random():.3f} * np.tanh(total)" for _ in range(9)),
            f"    return step_{other}_0(total)" if m and f == 0 else "    return total",
            "",
        ]
    lines += ["", f"class Layer{m}:", f'    """{names[m * 7 % len(names)].capitalize()} layer {m} of {modules}."""', ""]
    lines += [
        line for i in range(3) for line in (f"    def apply_{i}(self, x):", f"        return step_{m}_{i}(x)", "")
    ]
    return "\n".join(lines) + "\n"
