"""Generates short papers like those in a batch. Each paper has five pages of LaTeX, six techniques, and a repository
with a few files that import only each other and Python's standard library. Each paper's words are drawn with a separate
seed, so paper n is the same in every list."""

import random
from pathlib import Path

from evaluation.generated.paper import ACTS, ADJECTIVES, NOUNS, VERBS, prose, technique_names

TECHNIQUES = 6
_SECTION = 1700  # six techniques and four sections of this length fill about five pages
_WORKS = 12


def write_short_paper(folder: Path, number: int) -> tuple[Path, Path]:
    """Writes `paper.tex` and the folder `code` next to each other, and returns both paths."""
    words = random.Random(number)
    names = technique_names(TECHNIQUES, number)
    folder.mkdir(parents=True)
    paper, code = folder / "paper.tex", folder / "code"
    paper.write_text(_latex(words, names, f"{words.choice(ADJECTIVES)} {words.choice(NOUNS)} study {number}".title()))
    package = code / "method"
    package.mkdir(parents=True)
    (code / "README.md").write_text("# Method\n\nThe code of the paper.\n")
    (package / "__init__.py").touch()
    for index, name in enumerate(names):
        (package / f"{name.replace(' ', '_')}.py").write_text(_module(words, name, names[:index]))
    return paper, code


def _latex(words: random.Random, names: list[str], title: str) -> str:
    cited = [f"work{n}" for n in range(_WORKS)]
    parts = [
        "\\documentclass{article}\n\\usepackage{amsmath,algorithm,algorithmic}\n\\newcommand{\\R}{\\mathbb{R}}\n",
        f"\\title{{{title}}}\n\\begin{{document}}\n\\maketitle\n\\begin{{abstract}}\n",
        f"We join {names[0]} with {names[1]}. "
        + prose(words, 600)
        + "\\end{abstract}\n\\section{Introduction}\n"
        + prose(words, _SECTION),
        "Our contributions are:\n\\begin{itemize}\n",
        *(f"\\item {name}, which {words.choice(VERBS)} each {words.choice(NOUNS)};\n" for name in names[:3]),
        "\\end{itemize}\n\\section{Related Work}\n" + prose(words, _SECTION),
        *(f"Others {words.choice(VERBS)} a {words.choice(NOUNS)} \\cite{{{key}}}. " for key in cited),
        "\n\\section{Method}\n" + prose(words, 500),
    ]
    for index, name in enumerate(names):
        parts.append(
            f"\\subsection{{{name.title()}}}\n\\label{{sec:{index}}}\n"
            f"The \\emph{{{name}}} {words.choice(VERBS)} the {words.choice(NOUNS)} of each layer from its "
            f"{words.choice(ADJECTIVES)} {words.choice(NOUNS)} before the next step.\n"
            f"\\begin{{equation}}\nz_{{{index}}} = \\sum_j w_{{ij}} \\, \\phi(x_j), \\quad x \\in \\R^d\n"
            "\\end{equation}\n" + prose(words, _SECTION)
        )
    parts += [
        "\\begin{algorithm}\n\\caption{Training}\n\\begin{algorithmic}\n",
        *(f"\\STATE apply {name}\n" for name in names),
        "\\end{algorithmic}\n\\end{algorithm}\n\\section{Experiments}\n" + prose(words, _SECTION),
        "\\section{Conclusion}\n" + prose(words, 600) + "\\begin{thebibliography}{99}\n",
        *(
            f"\\bibitem{{{key}}} A. Author. {words.choice(ADJECTIVES).title()} {words.choice(NOUNS)} "
            f"{words.choice(ACTS)}. Journal of Methods, {2000 + index}.\n"
            for index, key in enumerate(cited)
        ),
        "\\end{thebibliography}\n\\end{document}\n",
    ]
    return "".join(parts)


def _module(words: random.Random, name: str, before: list[str]) -> str:
    function, layer = name.replace(" ", "_"), name.title().replace(" ", "")
    lines = [f'"""{name.capitalize()}."""', "", "import math", "from dataclasses import dataclass", ""]
    if before:
        other = words.choice(before).replace(" ", "_")
        lines += [f"from method.{other} import {other}", ""]
    lines += ["", f"def {function}(values, scale={words.random():.3f}):"]
    lines += [f'    """{words.choice(VERBS).title()} each {words.choice(NOUNS)}, scaled by its mean."""']
    lines += [
        "    mean = sum(values) / len(values)",
        "    total = [scale * math.tanh(value - mean) for value in values]",
    ]
    lines += [f"    total = [{words.random():.3f} * math.tanh(value) for value in total]" for _ in range(8)]
    lines += [f"    return {other}(total)" if before else "    return total", "", ""]
    for index in range(3):
        verb, noun = words.choice(VERBS), words.choice(NOUNS)
        lines += [f"def {verb}_{noun}_{index}(values):", f'    """{verb.title()} the {noun}."""']
        lines += [f"    return [max(value, {words.random():.3f}) ** 2 for value in values]", "", ""]
    lines += ["@dataclass", f"class {layer}:", f'    """A layer of {name}."""', "", "    scale: float = 1.0", ""]
    lines += ["    def apply(self, values):", f"        return {function}(values, self.scale)", ""]
    return "\n".join(lines)
