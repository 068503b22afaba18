"""New instances for the author task, from the authors' own papers: folders of LaTeX, or Markdown files.

A paper becomes one text with its inputs inlined and without comments. Our own confined parser does this, so
`arxiv-latex-cleaner` is not needed. Papers with the word "ablation" and a section of experiments are kept, and cut
before that section. A model then lists and counts their ablations (`inspect eval …/tasks.py@collect`), and a person
checks them; until then a row has none."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from xkg.build.parsing.parsers import Parsers
from xkg.build.techniques.section_roles import Role, role_of_title
from xkg.errors import XkgError
from xkg.model import slug

_LONGEST_NAME = 80


def construct(papers: Sequence[Path], to: Path) -> tuple[int, Counter[str]]:
    """Writes `to`/full and `to`/cut, one file per paper, `to`/collect.jsonl for the task `collect`, and `to`/rows.jsonl
    for the author task. Returns the number of papers kept, and why others were not."""
    to.mkdir(parents=True, exist_ok=True)
    rows, whole, left_out = [], [], Counter[str]()
    parsers = Parsers()
    try:
        for paper in papers:
            row = _row(parsers, paper, to)
            if isinstance(row, str):
                left_out[row] += 1
            else:
                rows.append({**row, "paper_path": f"cut/{row['id']}", "ablations_in_paper": "[]"})
                whole.append({**row, "paper_path": f"full/{row['id']}"})
    finally:
        parsers.close()
    for name, lines in (("rows.jsonl", rows), ("collect.jsonl", whole)):
        (to / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return len(rows), left_out


def with_collected(rows: Path, plans: Mapping[str, str]) -> Counter[int]:
    """Puts the ablations that a model collected (JSON lines, by paper) into the rows of a file. Returns how many papers
    have how many."""
    counts: Counter[int] = Counter()
    result = []
    for line in rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found = [json.loads(each) for each in plans.get(row["id"], "").splitlines()]
        counts[len(found)] += 1
        result.append({**row, "ablations_in_paper": json.dumps(found)})
    rows.write_text("".join(json.dumps(row) + "\n" for row in result), encoding="utf-8")
    return counts


def _row(parsers: Parsers, paper: Path, to: Path) -> dict[str, object] | str:
    try:
        document = parsers.paper(paper)
    except (XkgError, OSError):
        return "paper that cannot be read"
    if "ablation" not in document.text.casefold():
        return "paper without the word ablation"
    experiments = [s for s in document.sections if s.level == 1 and role_of_title(s.title) is Role.EXPERIMENTS]
    if not experiments:
        return "paper without a section of experiments"
    name = slug(document.title)[:_LONGEST_NAME]
    if (to / "full" / name).exists():
        return "paper of a title that is there already"
    for kind, text in (("full", document.text), ("cut", document.text[: experiments[0].start])):
        folder = to / kind / name
        folder.mkdir(parents=True, exist_ok=True)
        suffix = "tex" if document.format == "latex" else "md"
        (folder / f"paper.{suffix}").write_text(text, encoding="utf-8", errors="replace")
    row = {"id": name, "paper_title": document.title, "paper_abstract": document.abstract or "(none)"}
    return row | ({"year": document.year} if document.year else {})
