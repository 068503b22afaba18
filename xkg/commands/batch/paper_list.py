"""Reads lists of papers to build. A list is either a file with one paper per line (text, tab-separated columns, or JSON
lines) or a bibliography."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from xkg.build.curation.curated_set import RepositoryRecord
from xkg.commands.batch.reference_lists import named_papers
from xkg.commands.build import require_paper_id
from xkg.errors import InputError
from xkg.files import read_regular
from xkg.text.address import repository_address
from xkg.text.arxiv_id import arxiv_id
from xkg.value import Value

MOST_BYTES = 32_000_000
MOST_LINES = 100_000
_LONGEST = 4_000  # characters per line
_HEADS = {"paper", "repository", "repo", "id"}


class ListedPaper(Value):
    """A paper in a list. `paper` is a path, an arXiv id, an address or a title. `repository` and `paper_id` are None if
    the list does not specify them. `line` is 1-based. `record` contains facts about the repository from a curation. See
    `xkg.commands.published.Unpublished` for `keep_proven`, and `xkg.model.Paper` for `packages` and `cpu`."""

    line: int
    paper: str
    repository: str | None = None
    paper_id: str | None = None
    keep_proven: bool = False
    record: RepositoryRecord | None = None
    packages: tuple[str, ...] = ()
    cpu: bool = False


class BrokenLine(Value):
    """A line in a list that does not specify a paper, with the reason."""

    line: int
    text: str
    reason: str


class PaperList(Value):
    """The unique papers in a list, in order. `repeated` maps each duplicate line to the line with the same paper. A
    less specific line (without a repository or version) is also a duplicate."""

    papers: tuple[ListedPaper, ...] = ()
    broken: tuple[BrokenLine, ...] = ()
    repeated: Mapping[int, int] = {}


class _Fields(Value):
    paper: str = Field(min_length=1)
    repository: str | None = None
    id: str | None = None


def read_list(path: Path) -> PaperList:
    """Reads the papers from a file. `#` begins a comment. The columns are paper, repository and id; only the paper is
    required. Paths are relative to the list's folder. In a bibliography (BibTeX, CSL-JSON), `line` counts entries.
    Raises `InputError` if the file cannot be read or contains no papers."""
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"the list {path} cannot be read ({reason}); use a text file with one paper per line"
        ) from error
    try:
        works = named_papers(text, path.parent)
    except InputError as error:
        raise InputError(f"the list {path} cannot be read ({error}); export it again") from error
    lines = text.splitlines() if works is None else [json.dumps({"paper": paper or ""}) for paper in works]
    if len(lines) > MOST_LINES:
        raise InputError(
            f"the list {path} has {len(lines):,} lines; split it into lists of at most {MOST_LINES:,} lines"
        )
    papers: list[ListedPaper] = []
    broken: list[BrokenLine] = []
    repeated: dict[int, int] = {}
    first: dict[tuple[str, str | None], int] = {}  # maps to indexes in `papers`
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        if not bare or bare.startswith("#") or (not papers and not broken and _is_head(bare)):
            continue
        try:
            # A leading tab means that the first column is empty.
            listed = _parsed(bare if bare.startswith("{") else line.rstrip().lstrip(" "), number, path.parent)
        except InputError as error:
            broken.append(BrokenLine(line=number, text=bare[:200], reason=str(error)))
            continue
        at = first.setdefault((_work(listed.paper)[0], listed.paper_id), len(papers))
        if at == len(papers):
            papers.append(listed)
            continue
        earlier = papers[at]
        if _says_all(earlier, listed):
            repeated[number] = earlier.line
        elif _says_all(listed, earlier):
            papers[at] = listed
            repeated = {line: number if of == earlier.line else of for line, of in repeated.items()}
            repeated[earlier.line] = number
        else:
            reason = f"line {earlier.line} lists the same paper with a different version or repository; keep only one"
            broken.append(BrokenLine(line=number, text=bare[:200], reason=reason))
    if not papers:
        bad = f"; line {broken[0].line}: {broken[0].reason}" if broken else ""
        raise InputError(f"the list {path} contains no papers{bad}")
    papers.sort(key=lambda listed: listed.line)
    return PaperList(papers=tuple(papers), broken=tuple(broken), repeated=repeated)


NamedPaper = tuple[str, str | None, str | None, RepositoryRecord | None]
"""A paper, its repository, its id, and information about the repository."""


def paper_list(papers: Iterable[NamedPaper]) -> PaperList:
    """Creates a list of unique papers that does not come from a file. If the user also listed a curated paper (one with
    a record), the user's entry takes precedence. Raises `InputError` if a paper has two repositories."""
    listed: dict[str, ListedPaper] = {}
    for paper, repository, paper_id, record in papers:
        line = len(listed) + 1
        new = ListedPaper(line=line, paper=paper, repository=repository, paper_id=paper_id, record=record)
        known = listed.setdefault(_work(paper)[0], new)
        if record is None and _source(known.repository) != _source(repository):
            raise InputError(f"{paper} is listed with two repositories; keep only one of them")
    return PaperList(papers=tuple(listed.values()))


def _work(paper: str) -> tuple[str, str]:
    """Returns a version-independent key for a paper, and its version ('' if there is none)."""
    known = None if Path(paper).exists() else arxiv_id(paper)
    return (paper, "") if known is None else (f"arxiv:{known.number}", known.version)


def _source(repository: str | None) -> tuple[str, str]:
    """Returns a key for a repository that is the same for all forms of its address, and its commit, branch or tag (''
    if there is none)."""
    known = None if repository is None or Path(repository).exists() else repository_address(repository)
    return (repository or "", "") if known is None else (known.name, known.reference)


def _says_all(one: ListedPaper, other: ListedPaper) -> bool:
    """Returns whether one line about a paper contains all the information in another."""
    same = other.repository is None or _source(one.repository) == _source(other.repository)
    return same and _work(other.paper)[1] in ("", _work(one.paper)[1])


def _is_head(line: str) -> bool:
    columns = [column.strip().casefold() for column in line.split("\t")]
    return columns[0] == "paper" and set(columns) <= _HEADS


def _parsed(line: str, number: int, folder: Path) -> ListedPaper:
    if len(line) > _LONGEST:
        raise InputError(f"the line has {len(line):,} characters; the limit is {_LONGEST:,}")
    if line.startswith("{"):
        try:
            fields = _Fields.model_validate(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(_json_reason(error)) from error
        columns = [fields.paper, fields.repository or "", fields.id or ""]
    else:
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) > 3:
            raise InputError(f"{len(columns)} columns, but only three are allowed: paper, repository and id")
        # A space must precede a comment after text, because an address may contain "#".
        columns[-1] = columns[-1].partition(" #")[0].strip()
    paper, repository, paper_id = [*columns, "", ""][:3]
    if not paper:
        raise InputError("the paper is missing")
    if not repository and (between := _other_separator(paper, folder)):
        raise InputError(f"the columns are separated by {between}; separate them with tabs")
    if paper_id:
        require_paper_id(paper_id)
    return ListedPaper(
        line=number,
        paper=_from(folder, paper),
        repository=_from(folder, repository) if repository else None,
        paper_id=paper_id or None,
    )


def _other_separator(line: str, folder: Path) -> str:
    """Returns the separator between a paper and its repository, if a line uses something other than a tab. Returns ''
    if the line contains only a paper."""
    first, *rest = re.split(r"\s*[,;]\s*|\s+", line)
    others = [word for word in rest if "://" in word or _existing(folder, word)]
    is_head = {first.casefold(), *(word.casefold() for word in rest)} <= _HEADS
    if not rest or _existing(folder, line) or not (others or is_head):
        return ""
    mark = line[len(first) :].lstrip()[0]
    return {",": "commas", ";": "semicolons"}.get(mark, "spaces")


def _json_reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}; the fields are paper, repository and id"
    return "it is not valid JSON"


def _from(folder: Path, name: str) -> str:
    """Resolves a path that is relative to the list's folder. Returns any other text unchanged."""
    return _existing(folder, name) or name


def _existing(folder: Path, name: str) -> str | None:
    """Resolves a path that is relative to the list's folder. Returns None if it does not exist."""
    path, at, commit = name.rpartition("@")
    for candidate, suffix in ((name, ""), (path, f"{at}{commit}")):
        try:
            if candidate and "://" not in candidate and (folder / candidate).exists():
                return f"{folder / candidate}{suffix}"
        except OSError:  # the name is too long
            continue
    return None
