import json
import subprocess
from pathlib import Path

import pytest

from evaluation.curation.__main__ import main
from evaluation.curation.prepare import GOLD, prepare
from evaluation.curation.world import lines, targets
from tests.build.curation.conftest import TARGET
from xkg.errors import InputError


def write(path: Path, values: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "world" / "targets" / "tides"
    place.mkdir(parents=True)
    (place / "paper.tex").write_bytes(TARGET)
    titles = ["Wave Transport for Particle Sampling", "The Reef Sampler: Sampling by Growth", "Nobody Has This One"]
    (place / "expected.txt").write_text("\n".join(titles))
    papers = [
        {"number": "2001.00001", "title": titles[0], "authors": ["A. Sea"], "published": "2020-01-05"},
        {"number": "1803.00003", "title": titles[1], "authors": ["D. Coral"], "published": "2018-03-01"},
    ]
    write(tmp_path / "world" / "papers.jsonl", papers)
    readme = "# Wave Transport for Particle Sampling\nCode of our paper."
    write(tmp_path / "world" / "repositories.jsonl", [{"full_name": "asea/waves", "readme": readme}])
    return tmp_path / "world"


def test_it_says_what_was_found_and_where_the_others_were_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    main([str(folder)])
    printed = capsys.readouterr().out
    assert "recall@10 1 of 3; of those that it cites 1 of 2" in printed
    assert "https://github.com/asea/waves" in printed
    assert "missed (cited): The Reef Sampler" in printed
    assert "no repository was found for it" in printed
    assert "not in the folder" in printed
    with pytest.raises(InputError, match="one folder"):
        main(["one", "two"])


def test_a_folder_is_made_from_targets_graphs_and_mirrors(tmp_path: Path) -> None:
    for target in lines(GOLD / "targets.jsonl"):
        place = tmp_path / "papers" / target["name"]
        place.mkdir(parents=True)
        (place / "paper.md").write_text("# A title\n\n# References\n\nSea, A. Waves of the sea. 2020.\n")
        (place / "blacklist.txt").write_text("https://github.com/a/b\n")
    (tmp_path / "graphs").mkdir()
    graph = {"paper_title": "Moon Kernels", "paper_abstract": "Of the moon.", "paper_references": ["Waves of the land"]}
    (tmp_path / "graphs" / "one.json").write_text(json.dumps(graph))
    mirror = tmp_path / "mirrors" / "asea+waves" / "repo"
    mirror.mkdir(parents=True)
    for command in (
        ["init", "-q", "-b", "trunk"],
        ["-c", "user.name=Ada Sea", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-C", str(mirror), *command], check=True)
    prepare(tmp_path / "made", tmp_path / "papers", tmp_path / "graphs", tmp_path / "mirrors")
    found = {paper["title"]: paper for paper in lines(tmp_path / "made" / "papers.jsonl")}
    assert found["Moon Kernels"]["abstract"] == "Of the moon."
    assert "Waves of the land" in found
    [repository] = lines(tmp_path / "made" / "repositories.jsonl")
    assert (repository["full_name"], repository["branch"]) == ("asea/waves", "trunk")
    assert {target.name for target in targets(tmp_path / "made")} >= {"bam", "fre"}


def test_the_list_of_pairs_names_each_once() -> None:
    papers = list(lines(GOLD / "papers.jsonl"))
    assert len({paper["arxiv_id"] for paper in papers}) == len(papers)
    assert sum(paper["repository"] is not None for paper in papers) >= 30
    known = {paper["title"] for paper in papers}
    assert all(set(target["expected"]) <= known for target in lines(GOLD / "targets.jsonl"))
