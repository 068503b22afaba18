from pathlib import Path

from evaluation.printed.__main__ import compared, read, write
from evaluation.printed.grammar import paper


def test_a_seed_gives_one_paper_whose_words_are_unique_and_read(tmp_path: Path) -> None:
    made, other = paper(7), paper(8)
    assert made == paper(7)
    assert made.files != other.files
    write(made, tmp_path)
    words = read(tmp_path)
    assert words
    assert words <= made.constructs.keys()


def test_what_is_read_and_what_is_printed_are_compared() -> None:
    assert compared({"zqbbbbz", "zqbbbcz", "zxbbbdz"}, {"zqbbbcz", "zqbbbez"}) == ({"zqbbbez"}, {"zqbbbbz"})
