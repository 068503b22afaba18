"""Tests how the files of a list are sent to another machine."""

from pathlib import Path

import pytest

from xkg.commands.batch import carried_files
from xkg.commands.batch.carried_files import Carried, Files, local_paths, pack
from xkg.commands.batch.paper_list import ListedPaper
from xkg.errors import InputError


class Home:
    """Imitates the machine that holds the files, without using a network."""

    def __init__(self, papers: list[ListedPaper]) -> None:
        self._files = Files(local_paths(papers))
        self.calls: list[str] = []

    def call(self, service: str, method: str, *arguments: object) -> object:
        assert service == "files"
        self.calls.append(method)
        return getattr(self._files, method)(*arguments)


def carried(tmp_path: Path, paper: Path | str, repository: str | None = None) -> Carried:
    listed = ListedPaper(line=1, paper=str(paper), repository=repository)
    return Carried(Home([listed]), tmp_path / "node")  # type: ignore[arg-type]


def test_a_latex_file_comes_with_what_it_includes(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    (folder / "sections").mkdir(parents=True)
    (folder / "main.tex").write_text("\\input{sections/method}")
    (folder / "sections" / "method.tex").write_text("We filter.")
    (folder / "data.bin").write_bytes(b"0" * 100)
    place = Path(carried(tmp_path, folder / "main.tex").place(str(folder / "main.tex")))
    assert place.read_text() == "\\input{sections/method}"
    assert (place.parent / "sections" / "method.tex").read_text() == "We filter."
    assert not (place.parent / "data.bin").exists()


def test_a_repository_comes_whole_and_at_its_commit(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (clone / "weights.bin").write_bytes(b"1")
    (clone / "link").symlink_to("weights.bin")
    (clone / "outside").symlink_to("/etc/passwd")
    path, _, commit = carried(tmp_path, "2001.00001", f"{clone}@main").place(f"{clone}@main").rpartition("@")
    assert commit == "main"
    assert Path(path).name == "clone"
    assert (Path(path) / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert (Path(path) / "link").readlink() == Path("weights.bin")
    assert not (Path(path) / "outside").is_symlink()


def test_what_the_list_does_not_name_stays_at_home(tmp_path: Path) -> None:
    secret = tmp_path / "secret.pdf"
    secret.write_bytes(b"%PDF")
    assert carried(tmp_path, "1608.04471").place(str(secret)) == str(secret)
    assert not (tmp_path / "node").exists()
    assert carried(tmp_path, "1608.04471").place("https://github.com/a/b@v1") == "https://github.com/a/b@v1"


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried_files, "MOST_BYTES", 1000)
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "data").write_bytes(b"0" * 1001)
    with pytest.raises(InputError, match="--engine local"):
        pack(tmp_path / "repository")


def test_a_repository_of_many_papers_is_sent_to_a_node_once(tmp_path: Path) -> None:
    for name in ("code", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "filter.py").write_text(f"# {name}")
    home = Home([ListedPaper(line=1, paper=str(tmp_path / "code"), repository=str(tmp_path / "other"))])
    one, same_node = (Carried(home, tmp_path / "node") for _ in range(2))  # type: ignore[arg-type]
    places = {carried.place(str(tmp_path / "code")) for carried in (one, same_node, one)}
    assert len(places) == 1
    assert home.calls.count("packed") == 1
    assert Path(one.place(str(tmp_path / "other")), "filter.py").read_text() == "# other"
    another_node = Carried(home, tmp_path / "another")  # type: ignore[arg-type]
    assert Path(another_node.place(str(tmp_path / "code")), "filter.py").read_text() == "# code"
    assert home.calls.count("packed") == 3
