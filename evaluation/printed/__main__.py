"""`python -m evaluation.printed`: see the package."""

import argparse
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
_LONGEST_RUN = 60  # seconds


def printed(folder: Path) -> set[str] | None:
    """The words that TeX prints, None if it does not accept the paper."""
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
    """The words in the parsed paper."""
    document = parse_paper(folder)
    texts = [document.title, document.abstract, *(p.text for p in read_passages(document).listed)]
    texts += [section.title for section in document.walk()]
    return set(_WORD.findall("\n".join(texts)))


def write(made: Paper, folder: Path) -> None:
    for name, content in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def compared(shown: set[str], found: set[str]) -> tuple[set[str], set[str]]:
    """The words that are read but not printed, and those that are printed but not read."""
    return found - shown, {word for word in shown - found if word.startswith("zq")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first paper; the next has the next")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--papers", type=int, default=1_000_000, help="at most")
    parser.add_argument("--keep", type=Path, help="a folder for the papers that do not agree")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    count: Counter[str] = Counter()
    faults, words = Counter[str](), Counter[str]()
    for seed in range(options.seed, options.seed + options.papers):
        if time.monotonic() > end:
            break
        made = paper(seed)
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
        if (extra or missing) and options.keep:
            write(made, options.keep / str(seed))
            (options.keep / str(seed) / "faults.txt").write_text(f"extra {sorted(extra)}\nmissing {sorted(missing)}\n")
    for construct in sorted(faults, key=lambda each: faults[each] / words[each], reverse=True)[:30]:
        print(f"{faults[construct]:5} of {words[construct]:5} words in {' '.join(construct.split())}")
    print(", ".join(f"{name} {number}" for name, number in count.items()))


if __name__ == "__main__":
    run_command(main)
