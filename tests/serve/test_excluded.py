from pathlib import Path

import pytest

from tests.conftest import EXAMPLE_ID
from xkg.commands.graph.open import open_service
from xkg.config import LlmSettings, ServeSettings, Settings
from xkg.errors import InputError, QueryRefusedError, UnknownIdError
from xkg.serve.service import Service


def settings(published: Path, exclude: Path | None) -> Settings:
    return Settings(kg=published, llm=LlmSettings(model="none"), serve=ServeSettings(exclude=exclude))


@pytest.fixture
def blacklist(tmp_path: Path) -> Path:
    path = tmp_path / "blacklist.txt"
    path.write_text("1608.04471  # the example\n")
    return path


def everything(service: Service) -> str:
    """All that the tools say of the example's subject."""
    answers = [service.search(query, 20) for query in ("Stein variational gradient descent", "kernel", "particles")]
    answers.append(service.locate("Stein variational gradient"))
    return "\n".join(answer.model_dump_json() for answer in answers) + str([p.id for p in service.papers()])


def test_no_answer_holds_what_is_excluded(published: Path, blacklist: Path) -> None:
    with open_service(settings(published, None)) as service:
        assert EXAMPLE_ID in everything(service)
        papers = service.state()[1]
        technique = service.search("Stein variational gradient descent", 1).rows[0].id
    with open_service(settings(published, blacklist)) as service:
        assert EXAMPLE_ID not in everything(service)
        assert "svgd" not in everything(service).lower()
        assert service.state()[1] == papers - 1
        for ask in (service.paper, service.technique, service.code):
            with pytest.raises(UnknownIdError) as raised:
                ask(technique if ask == service.technique else EXAMPLE_ID)
            assert "stein" not in str(raised.value).lower().replace(technique.lower(), "")
        with pytest.raises(UnknownIdError):
            service.context(EXAMPLE_ID, 2000)
        with pytest.raises(UnknownIdError):
            service.related(EXAMPLE_ID, 5)


def test_cypher_is_off_while_the_graph_holds_any(published: Path, blacklist: Path) -> None:
    with open_service(settings(published, blacklist)) as service, pytest.raises(QueryRefusedError, match="xkg remove"):
        service.cypher("MATCH (p:Paper) RETURN p.id", {}, 10)
    blacklist.write_text("2402.99999\n")
    with open_service(settings(published, blacklist)) as service:
        assert service.cypher("MATCH (p:Paper) RETURN count(p) AS n", {}, 10).rows


def test_a_file_that_is_gone_lets_nothing_out(published: Path, blacklist: Path) -> None:
    blacklist.unlink()
    with open_service(settings(published, blacklist)) as service, pytest.raises(InputError, match="cannot be read"):
        service.search("kernel", 3)


def test_papers_of_an_excluded_repository(published: Path, tmp_path: Path) -> None:
    with open_service(settings(published, None)) as service:
        table = service.cypher("MATCH (p:Paper)-[:HAS_REPOSITORY]->(r:Repository) RETURN p.id, r.id", {}, 10)
    assert table.rows  # the example's repository is a folder, which no address names
    path = tmp_path / "list.txt"
    path.write_text("https://github.com/dilinwang820/Stein-Variational-Gradient-Descent\n")
    with open_service(settings(published, path)) as service:
        assert EXAMPLE_ID in [paper.id for paper in service.papers()]
