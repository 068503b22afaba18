"""Compares LaTeX papers as parsed by xkg with TeX's printed output: `python -m evaluation.printed`, or `make
fuzz-papers`.

A grammar generates papers (environments, conditions, inputs, encodings) in which every sentence contains a unique word.
`pdflatex` and `pdftotext` (Debian: `texlive-latex-extra texlive-plain-generic texlive-science lmodern poppler-utils`)
show which words are printed. Words in the passages and headings of the parsed paper count as parsed. A word is `extra`
if it is parsed but not printed, and `missing` if it is printed but not parsed. Float contents other than captions,
tables and algorithms may be missing. Papers without extra or missing words count as `agree`. --keep specifies a folder
for all other papers. Papers that TeX rejects are skipped."""

import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from evaluation.inputs.command import run_command
from evaluation.printed.grammar import Paper, paper
from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.read import parse_paper

_WORD = re.compile(r"z[qx][bcdegkmnoprstuvw]{4}[^\W\d_]?z")
_LONGEST_RUN = 60


def printed(folder: Path) -> set[str] | None:
    """Returns the words that TeX prints, or None if it rejects the paper."""
    command = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "-output-directory=out", "main.tex"]
    for each in folder.rglob("*.tex"):
        (folder / "out" / each.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
    ran = subprocess.run(command, cwd=folder, capture_output=True, timeout=_LONGEST_RUN, check=False)
    if ran.returncode:
        return None
    text = subprocess.run(
        ["pdftotext", "-enc", "UTF-8", "out/main.pdf", "-"],
        cwd=folder,
        capture_output=True,
        timeout=_LONGEST_RUN,
        check=True,
    )
    return set(_WORD.findall(text.stdout.decode()))


def read(folder: Path) -> set[str]:
    document = parse_paper(folder)
    texts = [document.title, document.abstract, *(p.text for p in read_passages(document).listed)]
    texts += [section.title for section in document.walk()]
    return set(_WORD.findall("\n".join(texts)))


def write(made: Paper, folder: Path) -> None:
    for name, content in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def compared(shown: set[str], found: set[str]) -> tuple[set[str], set[str]]:
    """Returns the words parsed but not printed, and those printed but not parsed."""
    return found - shown, {word for word in shown - found if word.startswith("zq")}


def main(*, seed: int = 1, seconds: float = 300, papers: int = 1_000_000, keep: Path | None = None) -> None:
    end = time.monotonic() + seconds
    count: Counter[str] = Counter()
    faults, words = Counter[str](), Counter[str]()
    for number in range(seed, seed + papers):
        if time.monotonic() > end:
            break
        made = paper(number)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(made, folder)
            found = read(folder)
            shown = printed(folder)
        if shown is None:
            count["refused by TeX"] += 1
            continue
        extra, missing = compared(shown, found)
        count.update({"papers": 1, "agree": not (extra or missing), "words": len(shown), "extra": len(extra)})
        count["missing"] += len(missing)
        for word in {*made.constructs, *extra}:
            within = set(made.constructs.get(word, ("another encoding",)))
            words.update(within)
            faults.update(within if word in extra or word in missing else ())
        if (extra or missing) and keep:
            write(made, keep / str(number))
            (keep / str(number) / "faults.txt").write_text(f"extra {sorted(extra)}\nmissing {sorted(missing)}\n")
    for construct in sorted(faults, key=lambda each: faults[each] / words[each], reverse=True)[:30]:
        print(f"{faults[construct]:5} of {words[construct]:5} words in {' '.join(construct.split())}")
    print(", ".join(f"{name} {number}" for name, number in count.items()))


if __name__ == "__main__":
    run_command(main)
