from pathlib import Path

import pytest

from xkg.commands.batch.paper_list import MOST_LINES, read_list
from xkg.errors import InputError


def listed(folder: Path, text: str) -> tuple[tuple[str, str | None, str | None], ...]:
    path = folder / "list.txt"
    path.write_text(text, encoding="utf-8")
    return tuple((p.paper, p.repository, p.paper_id) for p in read_list(path).papers)


def test_text_columns_and_json_lines_mix(tmp_path: Path) -> None:
    text = (
        "\ufeff# the corpus\n\n1608.04471\n"
        "https://arxiv.org/abs/2006.10726 # tent\n"
        "1203.01234\thttps://github.com/a/b@main\n"
        "2402.17135\t\tarxiv:2402.17135\n"
        '{"paper": "2006.01234", "repository": "https://x.org/r#x", "id": "fre"}\n'
    )
    assert listed(tmp_path, text) == (
        ("1608.04471", None, None),
        ("https://arxiv.org/abs/2006.10726", None, None),
        ("1203.01234", "https://github.com/a/b@main", None),
        ("2402.17135", None, "arxiv:2402.17135"),
        ("2006.01234", "https://x.org/r#x", "fre"),
    )


def test_a_head_of_columns_is_no_paper(tmp_path: Path) -> None:
    assert listed(tmp_path, "paper\trepository\tid\n1608.04471\n") == (("1608.04471", None, None),)


def test_paths_are_those_from_the_list(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "main.tex").touch()
    found = listed(tmp_path, "one/main.tex\tone@0123abc\nelsewhere.tex\n")
    assert found == ((f"{tmp_path}/one/main.tex", f"{tmp_path}/one@0123abc", None), ("elsewhere.tex", None, None))


def test_repeated_and_broken_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(
        '1608.04471\na\tb\tc\td\n1608.04471\n{"paper": 3}\n{\nx\t\tan id\n'
        + "y" * 5000
        + "\n\thttps://github.com/a/b\n \t# nothing\n"
    )
    found = read_list(path)
    assert [p.line for p in found.papers] == [1]
    assert found.repeated == {3: 1}
    assert [(b.line, b.reason.partition(":")[0]) for b in found.broken] == [
        (2, "4 columns, but only three are allowed"),
        (4, "paper"),
        (5, "it is not valid JSON"),
        (6, "'an id' cannot be an id; leave out spaces and '#', as in arxiv"),
        (7, "the line has 5,000 characters; the limit is 4,000"),
        (8, "the paper is missing"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "contains no papers"),
        (b"a\tb\tc\td\n", "line 1: 4 columns"),
        (
            b"2402.17135, https://github.com/o/n\n",
            "line 1: the columns are separated by commas; separate them with tabs",
        ),
        (b"2402.17135 https://github.com/o/n\n", "separated by spaces"),
        (b"paper;repo\nx; https://github.com/o/n\n", "separated by semicolons"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x\n" * (MOST_LINES + 1), "split it"),
    ],
)
def test_an_unusable_list_is_one_line(tmp_path: Path, text: bytes, reason: str) -> None:
    (tmp_path / "list").write_bytes(text)
    with pytest.raises(InputError, match=reason) as refused:
        read_list(tmp_path / "list")
    assert "\n" not in str(refused.value)


def test_a_separator_is_noticed_if_the_list_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("code").mkdir()
    Path("list").write_text("paper.tex,code\n")
    with pytest.raises(InputError, match="separated by commas"):
        read_list(Path("list"))


def test_a_title_may_have_commas_and_spaces(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("Ovens, Bread and a Study of Crust\n")
    assert read_list(tmp_path / "list").papers[0].paper == "Ovens, Bread and a Study of Crust"


def test_other_forms_of_one_paper_are_one_paper_or_a_question(tmp_path: Path) -> None:
    """Of several lines for one paper, xkg builds the most detailed one, wherever it is in the list. If two lines
    differ, a person must choose."""
    (tmp_path / "a.tex").write_text("x")
    listed = tmp_path / "list.tsv"
    listed.write_text(
        "2101.00001\nhttps://arxiv.org/abs/2101.00001v2\thttps://github.com/o/r\narXiv:2101.00001\n"
        "2101.00001v1\thttps://github.com/o/r\n2101.00001v2\thttps://github.com/o/other\n"
        "a.tex\na.tex\t\tarxiv:2101.00009\na.tex\thttps://github.com/o/a\n2101.00001\t\tmy-own\n"
    )
    found = read_list(listed)
    assert [(paper.line, paper.repository) for paper in found.papers] == [
        (2, "https://github.com/o/r"), (7, None), (8, "https://github.com/o/a"), (9, None),
    ]  # fmt: skip
    assert found.repeated == {1: 2, 3: 2, 6: 8}
    assert [broken.line for broken in found.broken] == [4, 5]
    assert "line 2 lists the same paper" in found.broken[0].reason
