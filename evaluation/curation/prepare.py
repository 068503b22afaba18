"""Fills a folder for `evaluation.curation` from targets, graphs and git mirrors on this machine."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.curation.world import lines, write_lines
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories.licenses import FILE_NAME, UNKNOWN, spdx
from xkg.model import Reference
from xkg.text.titles import same_title

GOLD = Path(__file__).parents[1] / "gold" / "curation"
_README = re.compile(r"(?i)readme(\.md|\.rst|\.txt)?")
_MADE_UP = 90_000
_ONLINE_SINCE = 2010
"""Publications from earlier years are assumed not to be on arXiv."""


def prepare(folder: Path, papers: Path, graphs: Path, mirrors: Path) -> None:
    """Writes the folder. A paper's id is taken from the paper's entry or from the gold list. If both lack an id, one is
    made up. The date is taken from the id if possible, and is otherwise the middle of the year."""
    folder.mkdir(parents=True, exist_ok=True)
    works = _Works()
    for known in lines(GOLD / "papers.jsonl"):
        works.add(known["title"], known["arxiv_id"], known["authors"])
    for path in sorted(graphs.glob("*.json")):
        graph = json.loads(path.read_text("utf-8"))
        works.add(graph["paper_title"], abstract=graph.get("paper_abstract") or "")
    with Parsers() as parsers:
        for target in lines(GOLD / "targets.jsonl"):
            place = folder / "targets" / target["name"]
            place.mkdir(parents=True, exist_ok=True)
            source = papers / target["name"]
            for name in ("paper.md", "blacklist.txt"):
                (place / name).write_bytes((source / name).read_bytes())
            (place / "expected.txt").write_text("".join(f"{title}\n" for title in target["expected"]), "utf-8")
            for reference in parsers.paper(place / "paper.md").references:
                works.cite(reference)
    for path in sorted(graphs.glob("*.json")):
        for title in json.loads(path.read_text("utf-8")).get("paper_references") or ():
            works.add(title)
    write_lines(folder / "papers.jsonl", works.values())
    repositories = [found for path in sorted(mirrors.iterdir()) if (found := _repository(path)) is not None]
    write_lines(folder / "repositories.jsonl", repositories)
    print(f"{len(works.known)} papers, {len(repositories)} repositories, {folder}")


class _Works:
    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}

    def add(
        self,
        title: str,
        arxiv_id: str | None = None,
        authors: Sequence[str] = (),
        abstract: str = "",
        year: int | None = None,
    ) -> None:
        title = " ".join(title.split())
        name = same_title(title)
        if not name:
            return
        work = self.known.setdefault(name, {"title": title})
        new = {"number": arxiv_id, "authors": list(authors), "abstract": " ".join(abstract.split()), "year": year}
        work |= {field: value for field, value in new.items() if value and not work.get(field)}

    def cite(self, reference: Reference) -> None:
        if reference.title:
            names = _authors(reference.text or "", reference.title)
            self.add(reference.title, reference.arxiv_id, names, year=reference.year)

    def values(self) -> Iterator[dict[str, Any]]:
        taken = {work["number"] for work in self.known.values() if "number" in work}
        numbers: set[str] = set()
        for count, work in enumerate(self.known.values()):
            year = work.get("year") or 2018
            number = work.get("number") or f"{max(year, 2007) % 100:02}06.{_MADE_UP - count:05}"
            if number in numbers or (number in taken and "number" not in work):
                continue  # if two titles have the same id, keep the first
            numbers.add(number)
            match = re.fullmatch(r"(\d\d)(\d\d)\.\d{4,5}", number) if "number" in work else None
            yield {
                "number": number,
                "title": work["title"],
                "authors": work.get("authors", []),
                "abstract": work.get("abstract", ""),
                "published": f"20{match[1]}-{match[2]}-15" if match else f"{year}-06-15",
                "listed": match is not None or year >= _ONLINE_SINCE,
            }


def _authors(text: str, title: str) -> list[str]:
    """Returns the authors before the title, with each `Archer, A.` rewritten as `A. Archer`."""
    head = text[: text.lower().find(title.lower()[:20])] if title.lower()[:20] in text.lower() else ""
    return [f"{initials} {name}" for name, initials in re.findall(r"([^\W\d_][\w'-]+), ((?:[A-Z]\.-?\s?){1,3})", head)]


def _repository(mirror: Path) -> dict[str, Any] | None:
    folder = next(
        (place for place in (mirror / "repo", mirror / "repo" / ".git") if (place / "objects").is_dir()), None
    )
    if folder is None or "+" not in mirror.name:
        return None
    head = _git(folder, "log", "-1", "--format=%H %cs", "HEAD").split()
    if len(head) != 2:
        return None
    files = _git(folder, "ls-tree", "--name-only", "HEAD").splitlines()
    readme = next((name for name in files if _README.fullmatch(name)), None)
    licence = next((name for name in files if FILE_NAME.match(name)), None)
    known = spdx(_git(folder, "cat-file", "blob", f"HEAD:{licence}")) if licence else UNKNOWN
    first = _git(folder, "log", "--max-parents=0", "--format=%cs", "HEAD").split()
    branch = _git(folder, "symbolic-ref", "--short", "HEAD").strip()
    packs = sum(path.stat().st_size for path in (folder / "objects").rglob("*") if path.is_file())
    return {
        "full_name": mirror.name.replace("+", "/", 1),
        "readme": _git(folder, "cat-file", "blob", f"HEAD:{readme}")[:200_000] if readme else None,
        "stars": 0,
        "license": None if known == UNKNOWN else known,
        "size": packs // 1024 + 1,
        "created": min(first, default=head[1]),
        "pushed": head[1],
        "branch": branch or "main",
        "commit": head[0],
        "committers": list(dict.fromkeys(_git(folder, "log", "-100", "--format=%an", "HEAD").splitlines())),
    }


def _git(folder: Path, *arguments: str) -> str:
    """Runs git on a mirror, ignoring the mirror's own configuration."""
    done = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "--git-dir", str(folder), *arguments],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/"},
    )
    return done.stdout.decode("utf-8", "replace")
