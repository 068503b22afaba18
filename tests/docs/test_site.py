"""Tests the built site, and the links in the README and the files next to it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import lxml.html
import pytest

from tests.conftest import ROOT

BESIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "cypher/README.md",
    "evaluation/README.md",
    "examples/README.md",
)
MOST_LINES = 150


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the pages strictly, so that a broken link to a page or heading ends the build. A dead proxy makes
    downloads fail."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(settings.replace('"storage/site"', '"pages"'), encoding="utf-8")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **nowhere}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "pages"


def test_each_page_can_be_found(site: Path) -> None:
    listed = set(_listed(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    assert listed == {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert all((site / name).with_suffix(".html").is_file() for name in listed)


def _listed(entries: object) -> Iterator[str]:
    match entries:
        case str():
            yield entries
        case list():
            for entry in entries:
                yield from _listed(entry)
        case dict():
            yield from _listed(list(entries.values()))


def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = lxml.html.fromstring(path.read_bytes())
        loaded = page.xpath("//script/@src | //link[@rel='stylesheet' or @rel='preconnect']/@href | //img/@src")
        assert [link for link in loaded if urlsplit(link).netloc] == []


@pytest.mark.parametrize("name", BESIDE)
def test_links_of_files_beside_the_site_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    local = {link: urlsplit(link) for link in links if not urlsplit(link).scheme}
    places = {link: page.parent / (parts.path or name) for link, parts in local.items()}
    assert [link for link, place in places.items() if not place.exists()] == []
    fragments = {link: parts.fragment for link, parts in local.items() if parts.fragment}
    assert [link for link, fragment in fragments.items() if fragment not in _headings(places[link])] == []


def _headings(page: Path) -> set[str]:
    """Returns the link fragments that a code host creates for a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES
