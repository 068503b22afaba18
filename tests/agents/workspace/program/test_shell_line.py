import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.workspace.program.shell_line import started
from xkg.errors import InputError


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("python train.py --lr 0.1", [("", "python train.py --lr 0.1")]),
        ("cd a/b && B=1 C=2 python b.py | tee log", [("a/b", "python b.py"), ("a/b", "tee log")]),
        ("(cd a; python b.py) && python c.py", [("a", "python b.py"), ("", "python c.py")]),
        ("cd a && cd .. && python b.py > out.txt 2>&1", [("", "python b.py 2")]),
        ("cd a\npython b.py  # the small one", [("a", "python b.py")]),
        ("python 'my file.py' x=1;python d.py &", [("", "python|my file.py|x=1"), ("", "python d.py")]),
    ],
)
def test_programs_of_a_line_and_their_folders(line: str, programs: list[tuple[str, str]]) -> None:
    wanted = [(folder, tuple(words.split("|" if "|" in words else " "))) for folder, words in programs]
    assert started(line) == wanted


@pytest.mark.parametrize("line", ["", "cd a", "A=1", "python 'b.py", "python b.py\0"])
def test_a_line_that_starts_nothing_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"pass a command|cannot be split"):
        started(line)


@given(st.text(alphabet="ab cd&|;()<>'\"\n#=\\", max_size=40))
def test_any_line_gives_programs_or_is_refused(line: str) -> None:
    try:
        assert all(program.words for program in started(line))
    except InputError:
        return
