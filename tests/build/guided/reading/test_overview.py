from typing import Any

import pytest

from tests.build.guided.fake_model import FakeModel
from tests.build.slicing.test_slice import codebase_of
from xkg.build.code.codebase import Codebase
from xkg.build.guided.reading.overview import overview, static_overview, symbol_list
from xkg.errors import AnswerError

FILES = {
    "README.md": (
        "# Echo\n\n[![badge](https://x.y/b.svg)](https://x.y)\n<img src='a.png'>\n\n"
        "Echoes of spectra are kept in a memory of slots, and the nearest one is read.\n"
    ),
    "echo/memory.py": '"""Slots."""\nclass Memory:\n    """Keeps echoes. And more."""\n    def read(self): return 1\n',
    "tests/test_memory.py": "def test_it(): pass\n",
    "data/a.csv": "1,2\n",
}


def answer(**change: Any) -> dict[str, Any]:
    right = {
        "purpose": "Echo memory\nin numpy.",
        "parts": [{"path": "echo/memory.py", "does": "Memory keeps echoes."}],
        "entry_points": ["python -m echo"],
    }
    return right | change


@pytest.fixture
def codebase() -> Codebase:
    return codebase_of(FILES)


def test_an_overview_says_purpose_parts_and_how_it_is_run(codebase: Codebase) -> None:
    text = overview(codebase, FakeModel({"overview": [answer()]}))
    assert text == "Echo memory in numpy.\n\n- `echo/memory.py`: Memory keeps echoes.\n\nRun: python -m echo"


def test_the_question_holds_readme_tree_and_signatures(codebase: Codebase) -> None:
    model = FakeModel({"overview": [answer()]})
    overview(codebase, model)
    inputs = model.requests[0][2]
    assert "nearest one is read" in inputs["readme"]
    assert "badge" not in inputs["readme"]
    assert "img" not in inputs["readme"]
    assert inputs["tree"].split("\n") == [
        "./: README.md",
        "data/: 1 files",
        "echo/: memory.py",
        "tests/: test_memory.py",
    ]
    assert inputs["symbols"].split("\n")[:3] == [
        "echo/memory.py  # Slots.",
        "  class Memory  # Keeps echoes.",
        "    methods: read",
    ]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"parts": [{"path": "echo/nothing.py", "does": ""}]}, "echo/nothing.py"),
        ({"parts": []}, "at least one file"),
        ({"purpose": " "}, "what the repository is for"),
    ],
)
def test_missing_files_are_sent_back_to_the_model(codebase: Codebase, wrong: Any, complaint: str) -> None:
    model = FakeModel({"overview": [answer(**wrong), answer()]})
    overview(codebase, model)
    assert complaint in str(model.requests[0][3])


def test_folders_and_a_leading_dot_are_fine(codebase: Codebase) -> None:
    parts = [{"path": "./echo/memory.py", "does": "a"}, {"path": "echo/", "does": "b"}]
    text = overview(codebase, FakeModel({"overview": [answer(parts=parts)]}))
    assert "- `echo/memory.py`: a\n- `echo/`: b" in text


def test_no_usable_answer_is_raised_and_the_static_overview_needs_none(codebase: Codebase) -> None:
    with pytest.raises(AnswerError):
        overview(codebase, FakeModel({"overview": AnswerError("no")}))
    assert static_overview(codebase).split("\n") == [
        "Echoes of spectra are kept in a memory of slots, and the nearest one is read.",
        "",
        "- `echo/memory.py`: Memory",
        "- `tests/test_memory.py`: test_it",
    ]


def test_a_huge_repository_gives_a_question_of_bounded_length() -> None:
    files = {
        f"pkg{i}/mod{j}.py": "\n".join(f"def f{k}(a, b): ..." for k in range(20)) for i in range(60) for j in range(3)
    }
    model = FakeModel({"overview": [answer(parts=[{"path": "pkg0/mod0.py", "does": "a"}])]})
    overview(codebase_of({**files, "README.md": "word " * 9000}), model)
    inputs = model.requests[0][2]
    assert sum(len(text) for text in inputs.values()) < 25_000
    assert "more files" in inputs["symbols"]
    assert "more folders" in inputs["tree"]
    assert "(cut)" in inputs["readme"]


def test_a_docstring_is_cut_at_a_word() -> None:
    source = f'def f():\n    """{"word " * 40}end."""\n    return 1\n'
    [_, line] = symbol_list(codebase_of({"a.py": source})).split("\n")
    assert line.endswith("word …")
