"""Reads bibliographies in Zotero's export formats as lists of papers."""

import json
from pathlib import Path

import pytest

from xkg.commands.batch.paper_list import read_list
from xkg.errors import InputError

BIBTEX = r"""
@misc{liu_stein_2019,
	title = {Stein {Variational} {Gradient} {Descent}},
	url = {http://arxiv.org/abs/1608.04471},
	doi = {10.48550/arXiv.1608.04471},
	publisher = {arXiv},
	author = {Liu, Qiang and Wang, Dilin},
	file = {Preprint PDF:files/2/Liu.pdf:application/pdf},
}
@inproceedings{wang_tent_2021,
	title = {Tent: {Fully} test-time adaptation},
	eprint = {2006.10726},
	archiveprefix = {arXiv},
}
@article{local, title = {A paper that lies here}, file = {Full Text:files/7/here.pdf:application/pdf}}
@article{titled, title = {Kalman\'s \emph{filter}, again}, year = 1960}
@article{nothing, year = 1999}
"""


def test_bibtex_names_papers_by_arxiv_id_file_or_title(tmp_path: Path) -> None:
    (tmp_path / "files/7").mkdir(parents=True)
    (tmp_path / "files/7/here.pdf").touch()
    (tmp_path / "refs.bib").write_text(BIBTEX)
    found = read_list(tmp_path / "refs.bib")
    here = str(tmp_path / "files/7/here.pdf")
    assert [paper.paper for paper in found.papers[:3]] == ["1608.04471", "2006.10726", here]
    assert "filter, again" in found.papers[3].paper
    assert [broken.line for broken in found.broken] == [5]


def test_csl_json_does_too(tmp_path: Path) -> None:
    items = [
        {
            "id": "a",
            "type": "article",
            "title": "SVGD",
            "number": "arXiv:1608.04471",
            "URL": "http://arxiv.org/abs/1608.04471",
        },
        {"id": "b", "type": "article-journal", "title": "Only a title, in a journal"},
        {"id": "c", "type": "article", "title": "SVGD again", "DOI": "10.48550/arXiv.1608.04471"},
    ]
    (tmp_path / "refs.json").write_text(json.dumps(items, indent=1))
    found = read_list(tmp_path / "refs.json")
    assert [paper.paper for paper in found.papers] == ["1608.04471", "Only a title, in a journal"]
    assert found.repeated == {3: 1}
    (tmp_path / "refs.json").write_text("[{")
    with pytest.raises(InputError, match=r"refs\.json cannot be read .*not valid JSON"):
        read_list(tmp_path / "refs.json")
