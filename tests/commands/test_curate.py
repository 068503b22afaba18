import json
import re
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.build.arxiv_server import says
from tests.build.curation.conftest import TARGET
from tests.build.scholarly_stand_in import Scholarly, StandInPaper, StandInRepository
from tests.clock import TurnedClock
from tests.command import run as xkg
from tests.llm_endpoint import ScriptedEndpoint
from xkg import api
from xkg.build.curation.curated_set import CuratedSet, RepositoryRecord
from xkg.build.repositories.checkout import fetch_repository
from xkg.cli.curate import table
from xkg.commands.batch.build_papers import BuildPapers
from xkg.commands.batch.paper_list import paper_list
from xkg.commands.batch.run import BatchReport, run
from xkg.commands.build import build as build_by_clock
from xkg.commands.curate import curate as curate_by_clock
from xkg.commands.graph.open import open_store
from xkg.commands.published import OwnGraph, Unpublished
from xkg.config import ArxivSettings, CurationSettings, EnvironmentSettings, LlmSettings, Settings
from xkg.engine.engine import Site
from xkg.errors import InputError
from xkg.llm.open_questions import OpenQuestions
from xkg.llm.programs.program import conversation

CLOCK = TurnedClock()
build, curate = partial(build_by_clock, clock=CLOCK), partial(curate_by_clock, clock=CLOCK)
IDENTITY = "arxiv:2402.00001"
RECORD = RepositoryRecord(
    is_official=True, commit="a" * 40, license="MIT", stars=3, archived=False, default_branch="main"
)


@pytest.fixture
def commands_in_world(world: Scholarly, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connects the commands to the imitated services, and replaces the clock."""
    monkeypatch.setenv("XKG_ARXIV__URL", world.url)
    monkeypatch.setenv("XKG_CURATION__OPENALEX", world.openalex)
    monkeypatch.setenv("XKG_CURATION__GITHUB", world.github)
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setattr("xkg.commands.curate.curate", curate)
    monkeypatch.setattr("xkg.commands.batch.run.run", partial(run, clock=CLOCK))


def settings(server: Scholarly, folder: Path) -> Settings:
    return Settings(
        kg=folder / "graph",
        llm=LlmSettings(model="none"),
        arxiv=ArxivSettings(url=server.url),
        curation=CurationSettings(openalex=server.openalex, github=server.github),
    )


def chosen(curated: CuratedSet) -> dict[str | None, str]:
    return {paper.arxiv_id: paper.repository.url for paper in curated.papers if paper.repository is not None}


def test_a_target_is_curated_from_its_latex(world: Scholarly, tmp_path: Path) -> None:
    curated = curate(settings(world, tmp_path), "2402.00001")
    assert curated.target == IDENTITY
    assert chosen(curated) == {
        "2001.00001": "https://github.com/asea/wave-transport",
        "1905.00002": "https://github.com/cluna/kernels",
        "2305.00005": "https://github.com/ivyflow/currents",
    }
    by_id = {paper.arxiv_id: paper for paper in curated.papers}
    assert by_id["2001.00001"].identified == "the entry contains arXiv:2001.00001"
    assert "DOI 10.1234/moon.7" in by_id["1905.00002"].identified
    assert by_id["2305.00005"].origin == "search"
    assert by_id["2001.00001"].score > by_id["2305.00005"].score
    [wave] = [m for m in by_id["2001.00001"].mentions if m.role == "method"]
    assert wave.sentence.startswith("We use wave transport")
    records = {(paper, repository): record for paper, repository, record in curated.pairs()}
    assert records["arxiv:2001.00001", f"https://github.com/asea/wave-transport@{'a' * 40}"] == RECORD


def test_a_repository_of_its_authors_is_known_by_their_commits(world: Scholarly, tmp_path: Path) -> None:
    readme = "# A sampler\nThe Reef Sampler: Sampling by Growth"
    world.host(StandInRepository("oceanlab/sampler", readme, created="2018-06-01"))
    assert "oceanlab/sampler" not in str(chosen(curate(settings(world, tmp_path), "2402.00001")))
    world.host(StandInRepository("oceanlab/sampler", readme, created="2018-06-01", committers=("bot", "Di Coral")))
    found = chosen(curate(settings(world, tmp_path / "other"), "2402.00001"))
    assert "https://github.com/oceanlab/sampler" in found.values()


def test_sources_that_fail_are_named_and_the_others_go_on(world: Scholarly, tmp_path: Path) -> None:
    world.faults += [("/openalex", says(b"<html>a page</html>"))] * 50
    curated = curate(settings(world, tmp_path), "2402.00001")
    assert "2001.00001" in chosen(curated)
    assert any(note.startswith("OpenAlex was not") for note in curated.notes)


def test_without_any_network(world: Scholarly, tmp_path: Path) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_bytes(TARGET)
    away = settings(world, tmp_path).model_copy(
        update={
            "arxiv": ArxivSettings(url="http://127.0.0.1:9"),
            "curation": CurationSettings(openalex="http://127.0.0.1:9", github="http://127.0.0.1:9"),
        }
    )
    curated = curate(away, str(paper), paper_id=IDENTITY)
    assert curated.papers == ()
    assert any("cannot be reached" in note for note in curated.notes)
    assert "no paper with its own repository" in table(curated)
    assert all("could not be searched" in (paper.dropped or "") for paper in curated.dropped)


def test_what_github_did_not_answer_is_not_called_absent(world: Scholarly, tmp_path: Path) -> None:
    world.limit = 0
    curated = curate(settings(world, tmp_path), "2402.00001")
    reasons = [paper.dropped or "" for paper in curated.dropped if paper.arxiv_id is not None]
    assert "no repository was found for it" not in reasons
    assert sum("GITHUB_TOKEN" in reason for reason in reasons) >= 3
    assert any(
        note.startswith("could not search for repositories of ") and "GITHUB_TOKEN" in note for note in curated.notes
    )


@pytest.mark.usefixtures("commands_in_world")
def test_a_target_that_cannot_be_curated_does_not_keep_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper, empty = tmp_path / "paper.tex", tmp_path / "empty.tex"
    paper.write_bytes(TARGET)
    empty.write_text("\\documentclass{article}\\title{Hm}\\begin{document}Nothing.\\end{document}")
    command = ["--kg", str(tmp_path / "kg"), "build", "--llm", "none", "--curate", "--json"]
    assert xkg(*command, "--paper", empty, "--paper", paper) == 3
    report = BatchReport.model_validate_json(capsys.readouterr().out)
    assert [row.name for row in report.rows[:2]] == [str(empty), str(paper)]
    assert len(report.rows) == 5
    assert report.notes[0].startswith(f"nothing was curated around {empty}: no technique was found")


@pytest.mark.usefixtures("commands_in_world")
def test_a_curation_that_is_built_prints_one_report_and_keeps_the_choice(
    world: Scholarly, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chosen papers are stored in the graph's folder."""
    paper = tmp_path / "paper.tex"
    paper.write_bytes(TARGET)
    chosen_settings = settings(world, tmp_path)
    command = ["--kg", str(chosen_settings.kg), "curate", str(paper), "--llm", "none", "--json"]
    assert xkg(*command, "--build") == 3
    printed = capsys.readouterr()
    report = BatchReport.model_validate_json(printed.out)
    assert len(report.rows) == 3  # nothing is fetched, because the host does not exist
    assert "Tidal Sampling of Posterior Fields" in printed.err
    [kept] = (chosen_settings.kg / "curation").glob("title-tidal-sampling*.json")
    assert str(kept) in printed.err
    assert len(CuratedSet.model_validate_json(kept.read_bytes()).papers) == len(report.rows)


def test_a_paper_s_own_repository_is_offered_and_taken(
    world: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def stopped(spec: str, *_: object) -> None:
        taken.append(spec)
        raise InputError(f"{spec} would be fetched")

    chosen_settings = settings(world, tmp_path).model_copy(update={"environment": EnvironmentSettings(max_mb=0)})
    alone = build(chosen_settings, "2402.00001", None)
    assert any("the paper mentions https://github.com/niaward/tidal; add --repo" in note for note in alone.notes)
    with pytest.raises(InputError, match="deleted or is private"):
        build(chosen_settings, "2402.00001", "auto")
    world.host(StandInRepository("niaward/tidal", "# Tidal"))
    monkeypatch.setattr("xkg.build.pipeline.fetch_repository", stopped)
    with pytest.raises(InputError, match="would be fetched"):
        build(chosen_settings, "2402.00001", "auto")
    assert taken == [f"https://github.com/niaward/tidal@{'a' * 40}"]
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tidal.py").write_text("def moon_kernel(distance):\n    return 1 / (1 + distance)\n")
    here = partial(fetch_repository, str(tmp_path / "code"))
    monkeypatch.setattr("xkg.build.pipeline.fetch_repository", lambda _, *rest: here(*rest))
    built = build(chosen_settings, "2402.00001", "auto")
    graph = "MATCH (r:Repository) RETURN r.is_official, r.license, r.stars, r.archived, r.default_branch"
    with open_store(chosen_settings) as store, store.snapshot() as snapshot:
        [repository] = snapshot.bundle(built.paper).repositories
        assert store.query(graph).rows == ((True, "MIT", 3, False, "main"),)
    assert (repository.is_official, repository.stars, repository.default_branch) == (True, 3, "main")
    with api.open(chosen_settings.kg) as graph_of_it:
        plan = str(graph_of_it.context(built.paper, view="planning"))
    assert "the authors' own, 3 stars on GitHub" in plan


def test_what_a_curation_records_is_built_into_the_graph(world: Scholarly, tmp_path: Path) -> None:
    chosen_settings = settings(world, tmp_path).model_copy(update={"environment": EnvironmentSettings(max_mb=0)})
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tidal.py").write_text("def moon_kernel(distance):\n    return 1 / (1 + distance)\n")
    (tmp_path / "paper.tex").write_bytes(TARGET)
    named = (str(tmp_path / "paper.tex"), str(tmp_path / "code"), IDENTITY)
    [listed] = paper_list([(*named, RECORD)]).papers
    with BuildPapers.of(chosen_settings, [listed]).open(Site()) as one:
        built = one(listed)
    assert isinstance(built, Unpublished)
    OwnGraph(chosen_settings).publish(built)
    build(chosen_settings, named[0], named[1], paper_id=IDENTITY)  # sends no requests to GitHub
    with open_store(chosen_settings) as store, store.snapshot() as snapshot:
        [repository] = snapshot.bundle(IDENTITY).repositories
    assert (repository.is_official, repository.stars, repository.archived) == (True, 3, False)


def test_a_blacklist_keeps_papers_and_repositories_out(world: Scholarly, tmp_path: Path) -> None:
    blacklist = tmp_path / "blacklist.txt"
    blacklist.write_text("Wave Transport for Particle Sampling\nhttps://localhost:9/no/where\n")
    world.host(StandInRepository("copycat/kernels", "# Moon", fork="cluna/kernels"))
    curated = curate(settings(world, tmp_path), "2402.00001", blacklist=blacklist)
    assert "2001.00001" not in chosen(curated)
    reasons = {paper.arxiv_id: paper.dropped for paper in curated.dropped}
    assert reasons["2001.00001"] == "the blacklist contains the title 'Wave Transport for Particle Sampling'"
    blacklist.write_text("github.com/cluna/kernels\n")
    curated = curate(settings(world, tmp_path), "2402.00001", blacklist=blacklist)
    assert "1905.00002" not in chosen(curated)


def test_a_model_reads_the_titles_that_parsing_cannot_tell(
    world: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the titles that cannot be parsed are sent to the model. An answer that does not occur in the entry is
    rejected."""
    asked: list[str] = []
    odd = b"\\bibitem{reef} coral d 2018 the reef sampler: sampling by growth"
    plain = rb"\bibitem{reef} D. Coral. \newblock The Reef Sampler: Sampling by Growth. \newblock 2018."
    (tmp_path / "paper.tex").write_bytes(TARGET.replace(plain, odd))

    def answer(request: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in request["messages"])
        if "entries of a paper's bibliography" in text:
            asked.append(text)
            titles = [{"entry": 1, "title": asked_title}]
            return json.dumps({"titles": titles})
        return "none"

    monkeypatch.setenv("OPENAI_API_KEY", "key")
    cited: dict[str, set[str | None]] = {}
    for asked_title in ("The Reef Sampler: Sampling by Growth", "The Coral Sampler: Sampling by Wishes"):
        with ScriptedEndpoint(answer) as endpoint:
            llm = LlmSettings(model="o4-mini", base_url=endpoint.url)
            guided = settings(world, tmp_path / asked_title[4:8]).model_copy(update={"llm": llm})
            curated = curate(guided, str(tmp_path / "paper.tex"))
        both = (*curated.papers, *curated.dropped)
        cited[asked_title] = {paper.arxiv_id for paper in both if paper.origin == "reference"}
    assert ["1803.00003" in ids for ids in cited.values()] == [True, False]
    assert "[1] coral d 2018 the reef sampler" in asked[0]
    assert "[2]" not in asked[0]
    assert "Wave Transport" not in asked[0]


UNCITED = StandInPaper("2406.00006", "Harbour Flows in Closed Form", "Flows.", ("Quin Quay",), "2024-06-01")
FINDS = [
    {"title": "Harbour Flows in Closed Form", "arxiv_id": "arXiv:2406.00006v2", "repository": "github.com/qquay/flows"},
    {"title": "The Reef Sampler: Sampling by Growth", "arxiv_id": "1803.00003"},  # the target already cites this paper
    {"title": "An Invented Paper of the Model", "arxiv_id": "2406.99999"},
    {"title": "Quite Another Title", "arxiv_id": "2305.00009"},  # the id belongs to another work
    {"title": "Wave Transport Kept Out", "arxiv_id": "2407.00007", "repository": "https://github.com/qquay/kept"},
]
"""An agent's findings on the web. Only the first finding is right. The checks must reject the rest."""


def agent(instructions: str, prompt: str) -> dict[str, Any]:
    """Returns an agent's answer to each question that a curation of `world` asks."""
    if "You name the techniques" in instructions:
        return {"techniques": [{"name": "Wave transport", "definition": "Moves particles.", "why": "The method."}]}
    if "Search the web" in instructions:
        empty = {"arxiv_id": None, "doi": None, "repository": None, "why": "It moves particles, too."}
        return {"works": [{**empty, **work} for work in FINDS]}
    if "You choose which papers" in instructions:
        numbers = re.findall(r"^\[(\d+)\]", prompt, re.M)
        return {"chosen": [{"candidate": int(n), "technique": 1, "why": "It fits."} for n in numbers]}
    return {"own": False, "why": "Nothing shows it."}


def with_the_uncited(world: Scholarly, folder: Path) -> Path:
    """Adds the works from `FINDS` that are not invented. Returns the path of a blacklist that names one of them."""
    world.add(UNCITED, StandInPaper("2407.00007", "Wave Transport Kept Out", "", ("Quin Quay",), "2024-07-01"))
    heading = "# Harbour Flows in Closed Form\nOfficial code for our paper."
    world.host(StandInRepository("qquay/flows", heading, created="2024-06-02"))
    (folder / "blacklist.txt").write_text("2407.00007\n")
    return folder / "blacklist.txt"


def test_what_the_caller_finds_on_the_web_is_checked_like_any_candidate(
    world: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XKG_JOB", "7")
    monkeypatch.setattr("xkg.llm.caller._TICK_SECONDS", 0.01)
    called = settings(world, tmp_path).model_copy(update={"llm": LlmSettings(model="caller")})
    blacklist = with_the_uncited(world, tmp_path)
    asked: list[str] = []
    ended = threading.Event()

    def answering() -> None:
        questions = OpenQuestions(called.kg)
        while not ended.wait(0.01):
            for question in questions.waiting(7):
                asked.append(question.prompt)
                instructions, prompt = conversation(question.messages)
                questions.answer(7, question.id, json.dumps(agent(instructions, prompt)))

    caller = threading.Thread(target=answering)
    caller.start()
    try:
        curated = curate(called, "2402.00001", blacklist=blacklist)
        assert curate(called, "2402.00001", blacklist=blacklist) == curated
    finally:
        ended.set()
        caller.join()
    assert asked.count("uncited_works") == 1, "the answer is stored"
    [found] = [paper for paper in curated.papers if paper.origin == "model"]
    assert (found.arxiv_id, chosen(curated)["2406.00006"]) == ("2406.00006", "https://github.com/qquay/flows")
    assert found.repository is not None
    assert found.repository.found == "caller found it on the web"
    dropped = {paper.title: paper.dropped or "" for paper in curated.dropped if paper.origin == "model"}
    assert set(dropped) == {"An Invented Paper of the Model", "Quite Another Title", "Wave Transport Kept Out"}
    assert "not found on arXiv" in dropped["An Invented Paper of the Model"]
    assert "not found on arXiv" in dropped["Quite Another Title"]
    assert "the blacklist contains" in dropped["Wave Transport Kept Out"]


def test_a_model_names_techniques_and_chooses_papers(
    world: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(request: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in request["messages"])
        assert "Search the web" not in text, "a model behind an endpoint cannot"
        if "You name the techniques" in text:
            asked.append("techniques")
            named = {"name": "Wave transport", "definition": "Moves particles.", "why": "It is the method."}
            return json.dumps({"techniques": [named]})
        if "You choose which papers" in text:
            asked.append("papers")
            numbers = {title: int(n) for n, title in re.findall(r"\[(\d+)\] ([^(]+) \(", text)}
            words = {"candidate": numbers["The Reef Sampler: Sampling by Growth"], "technique": 1, "why": "A baseline."}
            moon = {"candidate": numbers["Moon Kernels for Neighbour Weighing"], "technique": 1, "why": "The kernel."}
            return json.dumps({"chosen": [words, moon]})
        asked.append("repository")
        return json.dumps({"own": False, "why": "It is a list."})

    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with ScriptedEndpoint(answer) as endpoint:
        llm = LlmSettings(model="o4-mini", base_url=endpoint.url)
        guided = settings(world, tmp_path).model_copy(update={"llm": llm})
        curated = curate(guided, "2402.00001")
        first = list(asked)
        assert curate(guided, "2402.00001") == curated
    assert curated.by == "o4-mini"
    assert [technique.name for technique in curated.techniques] == ["Wave transport"]
    assert [(paper.arxiv_id, paper.why) for paper in curated.papers] == [("1905.00002", "The kernel.")]
    assert {paper.dropped for paper in curated.dropped if paper.arxiv_id == "2001.00001"} == {
        "o4-mini preferred other papers"
    }
    assert asked == first  # every answer was stored
