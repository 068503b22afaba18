"""New instances from papers."""

import json
from pathlib import Path

from evaluation.ablation_bench.instances.construct import construct, with_collected
from evaluation.ablation_bench.instances.rows import load

MAIN = """\\documentclass{article}
\\title{Crust by Steam}
\\begin{document}
\\maketitle
\\begin{abstract}
Steam makes a soft crust.
\\end{abstract}
\\section{Method} % TODO: nobody must read this
\\input{steam}
\\section{Experiments}
In an ablation we bake without steam.
\\end{document}
"""


def test_papers_are_cleaned_filtered_and_cut(tmp_path: Path) -> None:
    latex = tmp_path / "latex"
    latex.mkdir()
    (latex / "main.tex").write_text(MAIN)
    (latex / "steam.tex").write_text("Pour water on hot iron.\n")
    plain = tmp_path / "plain.md"
    plain.write_text("# Soup\n\n## Experiments\n\nWe cook.\n")
    endless = tmp_path / "endless.md"
    endless.write_text("# Stew\n\n## Method\n\nAn ablation of salt.\n")
    out = tmp_path / "out"
    count, left_out = construct([latex, plain, endless, tmp_path / "none.md", latex], out)
    assert count == 1
    assert left_out == {
        "paper without the word ablation": 1,
        "paper without a section of experiments": 1,
        "paper that cannot be read": 1,
        "paper of a title that is there already": 1,
    }
    text = (out / "cut" / "crust-by-steam" / "paper.tex").read_text()
    assert "Pour water on hot iron." in text
    assert "Experiments" not in text
    assert "nobody" not in text
    assert "In an ablation" in (out / "full" / "crust-by-steam" / "paper.tex").read_text()
    assert [instance.id for instance in load(out / "collect.jsonl", "collect").instances] == ["crust-by-steam"]
    assert load(out / "rows.jsonl", "author").problems == {"paper without ablations": 1}
    entry = {"name": "No steam", "ablated_part": "steam", "action": "REMOVE", "metrics": ["height"]}
    assert with_collected(out / "rows.jsonl", {"crust-by-steam": json.dumps(entry)}) == {1: 1}
    (instance,) = load(out / "rows.jsonl", "author").instances
    assert [gold.name for gold in instance.golds] == ["No steam"]
