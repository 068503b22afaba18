from pathlib import Path

import pytest

from xkg.commands.graph.open import open_service
from xkg.config import LlmSettings, ServeSettings, Settings
from xkg.errors import InputError, QueryRefusedError


def settings(published: Path, exclude: Path) -> Settings:
    return Settings(kg=published, llm=LlmSettings(model="none"), serve=ServeSettings(exclude=exclude))


@pytest.fixture
def blacklist(tmp_path: Path) -> Path:
    path = tmp_path / "blacklist.txt"
    path.write_text("1608.04471  # the example\n")
    return path


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
