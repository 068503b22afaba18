import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.text.arxiv_id import arxiv_id


@pytest.mark.parametrize(
    ("spec", "number", "version"),
    [
        ("2401.01234", "2401.01234", ""),
        ("2401.01234v2", "2401.01234", "v2"),
        ("0704.0001", "0704.0001", ""),
        ("arXiv:2401.01234V12", "2401.01234", "v12"),
        ("cs/0112017", "cs/0112017", ""),
        ("math.GT/0309136v1", "math/0309136", "v1"),
        ("cond-mat.mes-hall/0309136", "cond-mat/0309136", ""),
        (" https://arxiv.org/abs/2401.01234v2 ", "2401.01234", "v2"),
        ("http://www.arxiv.org/pdf/2401.01234.pdf", "2401.01234", ""),
        ("https://export.arxiv.org/html/2401.01234v1#S2", "2401.01234", "v1"),
        ("https://ar5iv.labs.arxiv.org/html/2401.01234", "2401.01234", ""),
        ("https://doi.org/10.48550/arXiv.2401.01234", "2401.01234", ""),
        ("https://huggingface.co/papers/2401.01234", "2401.01234", ""),
        ("https://www.alphaxiv.org/abs/2401.01234v2", "2401.01234", "v2"),
    ],
)
def test_names_of_papers(spec: str, number: str, version: str) -> None:
    assert arxiv_id(spec) == (number, version)


@pytest.mark.parametrize(
    "spec",
    ["", "paper.tex", "https://huggingface.co/o/2401.01234",
     "2401.01234v0", "2401.012345x", "240.01234", "https://arxiv.org/list/cs", "x/2401.01234/a.tex",
     "https://example.org/abs/2401.01234", "https://arxiv.org.example.org/abs/2401.01234", "cs/011201",
     "٢٤٠١.٠١٢٣٤", "2401.0123４", "2401.01234v１"],
)  # fmt: skip
def test_what_names_none(spec: str) -> None:
    assert arxiv_id(spec) is None


@given(st.text(st.sampled_from("arxiv.:/0123456789v-htpsbd cs"), max_size=40))
def test_a_name_is_read_once_and_for_all(spec: str) -> None:
    found = arxiv_id(spec)
    assert found is None or arxiv_id(str(found)) == found
