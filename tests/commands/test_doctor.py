from pathlib import Path

import pytest

from xkg.commands import doctor
from xkg.config import EmbeddingSettings, LlmSettings, Settings
from xkg.sandbox.guest import landlock


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(doctor.socket, "create_connection", refuse)


def by_name(report: doctor.Report, start: str) -> doctor.Check:
    return next(finding for finding in report.findings if finding.name.startswith(start))


def test_what_works_is_one_line_each(published: Path) -> None:
    report = doctor.examine(Settings(kg=published))
    assert by_name(report, "embedding").ok
    assert by_name(report, "vector").ok
    assert by_name(report, "graph").seen == "papers: 5, generation 2"
    lines = str(report).splitlines()
    first = [line for line in lines if not line.startswith(" ")]
    assert len(first) == len(report.findings)
    assert all(line.startswith(("ok        ", "optional  ", "not ok    ")) for line in first)
    optional = {finding.name for finding in report.findings if finding.optional}
    assert {"sentence-transformers", "language model"} <= optional
    assert "not ok    sentence" not in str(report)


@pytest.mark.usefixtures("untried_sandbox")
def test_what_is_missing_says_its_cost_and_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    report = doctor.examine(Settings(kg=tmp_path / "new", embedding=EmbeddingSettings(weights=tmp_path)))
    for name in ("git", "embedding", "package registry", "graph"):
        finding = by_name(report, name)
        assert not finding.ok
        assert finding.cost
        assert finding.remedy
        flat = " ".join(str(finding).split())
        assert flat.startswith(f"not ok {finding.name}")
        assert f"without it: {finding.cost} remedy: {finding.remedy}" in flat
    assert "apt-get install git" in str(report)
    assert not (tmp_path / "new").exists()


def test_a_damaged_graph_is_a_finding_and_no_error(graph: Path) -> None:
    (graph / "CURRENT").write_text("{")
    finding = by_name(doctor.examine(Settings(kg=graph)), "graph")
    assert not finding.ok
    assert "`xkg index rebuild`" in finding.seen


def test_the_language_model_is_named_with_what_it_lacks_and_never_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Settings(kg=tmp_path)
    without = by_name(doctor.examine(chosen), "language model")
    assert not without.ok
    assert "OPENAI_API_KEY" in without.remedy
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    report = doctor.examine(chosen)
    assert by_name(report, "language model").seen == "o4-mini at api.openai.com, with a key; not asked"
    assert "sk-0123456789" not in str(report)
    assert by_name(doctor.examine(Settings(kg=tmp_path, llm=LlmSettings(model="none"))), "language model").ok


def test_what_confines_the_parsers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(kg=tmp_path)
    assert f"Landlock ABI {landlock.version()}" in by_name(doctor.examine(settings), "parsing").seen
    monkeypatch.setattr("xkg.sandbox.isolation.confined_worker.walls", tuple)
    finding = by_name(doctor.examine(settings), "parsing")
    assert (finding.ok, finding.seen) == (False, "in a process with resource limits only")
