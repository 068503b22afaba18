from tests.build.codebases import codebase_of
from xkg.build.guided.reading.overview import overview
from xkg.build.guided.reading.public_code import public_code

README = (
    "A title in capital letters that is long enough to be taken for prose\n====\n\n"
    "[![badge](https://x.y/b.svg)](https://x.y)\n<img src='a.png'>\n\n"
    "Echoes of spectra are kept in a memory of slots, and the nearest one is read.\n\nInstall it.\n"
)
FILES = {
    "README.md": README,
    "echo/memory.py": '"""Slots."""\nclass Memory:\n    """Keeps echoes."""\n    def read(self):\n        return 1\n',
    "echo/a_script.py": "from echo.memory import Memory\ndef run():\n    m = Memory()\n    m.read()\n    return m\n",
    "tests/test_memory.py": "from echo.memory import Memory\ndef test_it(): pass\n",
    "data/a.csv": "1,2\n",
}


def test_an_overview_has_the_prose_of_the_readme_and_what_files_define_the_most_imported_first() -> None:
    assert overview(codebase_of(FILES)).split("\n") == [
        "Echoes of spectra are kept in a memory of slots, and the nearest one is read.",
        "",
        "- `echo/memory.py`: Memory",
        "- `echo/a_script.py`: run",
        "- `tests/test_memory.py`: test_it",
    ]


def test_files_that_define_the_same_are_listed_once() -> None:
    files = {f"runs/{n}.py": "def run(): ...\ndef plot(): ...\n" for n in range(5)}
    assert overview(codebase_of({**files, "a.py": "def f(): ...\n"})).split("\n") == [
        "- `a.py`: f",
        "- `runs/0.py`: run, plot (so do 4 other files)",
    ]


def test_the_overview_of_a_huge_repository_is_short() -> None:
    files = {f"pkg{i}/mod{j}.py": f"def f{i}_{j}(a, b): ..." for i in range(60) for j in range(3)}
    text = overview(codebase_of({**files, "README.md": "word " * 9000}))
    assert len(text) < 2_100
    assert text.endswith("- and more files")


def test_public_code_lists_what_others_import_first_and_copies_once() -> None:
    copy = "def run():\n    a = 1\n    b = 2\n    return a + b\n"
    listed = public_code(codebase_of({**FILES, "runs/1.py": copy, "runs/2.py": copy}))
    assert [each.text for each in listed] == [
        "echo/memory.py: class Memory  # Keeps echoes.",
        "echo/a_script.py: def run()",
    ]
