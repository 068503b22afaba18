import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.requirements import requirement_lines, without_versions

FILES = {
    "requirements.txt": "numpy>=1.20  # pinned\n\n-r other.txt\n--index-url https://x\ntorch==2.0\n",
    "dev/requirements-dev.in": "black\n",
    "pyproject.toml": """
[project]
dependencies = ["scipy<2", "attrs"]
[project.optional-dependencies]
plots = ["matplotlib"]
[tool.poetry.dependencies]
python = "^3.9"
einops = "^0.6"
rich = {version = "13.1", extras = ["all"]}
local = {path = "../local"}
lml = {git = "https://example.org/lml"}
any = "*"
""",
    "setup.cfg": "[options]\ninstall_requires =\n    pandas\n    tqdm>=4\n[options.extras_require]\nx = absl-py\n",
    "setup.py": "needs = ['gym==0.21']\nsetup(install_requires=needs)\nsetup(install_requires=['h5py', *more()])\n",
    "env/environment.yml": """
channels: [conda-forge]
dependencies:
  - python=3.9
  - pytorch=1.13
  - conda-forge::jax=0.4.14
  - jaxlib=0.4.14=*cuda*
  - scikit-learn==1.2.0
  - numba>=0.5,<0.6
  - scipy 1.9.*
  - pip
  - pip: [wandb==0.15, -r requirements.txt]
""",
    "Pipfile": '[packages]\nrequests = "*"\nflask = "==2.0"\n',
}


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("requirements.txt", ["numpy>=1.20", "torch==2.0"]),
        ("dev/requirements-dev.in", ["black"]),
        (
            "pyproject.toml",
            ["scipy<2", "attrs", "matplotlib", "einops>=0.6", "rich==13.1", "lml @ git+https://example.org/lml", "any"],
        ),
        ("setup.cfg", ["pandas", "tqdm>=4", "absl-py"]),
        ("setup.py", ["gym==0.21", "h5py"]),
        (
            "env/environment.yml",
            [
                "torch==1.13.*",
                "jax==0.4.14.*",
                "jaxlib==0.4.14.*",
                "scikit-learn==1.2.0",
                "numba>=0.5,<0.6",
                "scipy",
                "wandb==0.15",
            ],
        ),
        ("Pipfile", ["requests", "flask==2.0"]),
    ],
)
def test_every_kind_of_file_that_states_requirements(path: str, lines: list[str]) -> None:
    assert requirement_lines({path: FILES[path]}) == lines


def test_the_outermost_files_first_and_those_for_tests_last() -> None:
    paths = ["requirements.txt", "a/requirements.txt", "a/b/requirements.txt", "docs/requirements.txt"]
    files = {path: f"p=={paths.index(path)}" for path in sorted(paths)}
    assert requirement_lines(files) == [f"p=={n}" for n in range(4)]


def test_what_is_from_elsewhere_keeps_its_place() -> None:
    text = "git+https://example.org/a/b.git#egg=b\n-e git+https://example.org/c\nd @ git+https://example.org/d\n"
    assert requirement_lines({"requirements.txt": text + "-e .\n./local\n../up\n/tmp/x\n-r more.txt\n"}) == [
        "git+https://example.org/a/b.git#egg=b",
        "git+https://example.org/c",
        "d @ git+https://example.org/d",
    ]


def test_lists_in_setup_that_are_added_and_extras() -> None:
    text = "setup(install_requires=base + ['a', 'b>=1'], extras_require={'x': ['c'], 'y': other})"
    assert requirement_lines({"setup.py": text}) == ["a", "b>=1", "c"]


def test_names_without_versions() -> None:
    lines = ["a==1.0", "b[x]>=2,<3", "c", "d~=1; python_version < '3.12'", "e==1 --hash=sha256:00", "f (>=1)"]
    kept = ["g @ git+https://example.org/g", "git+https://example.org/h"]
    bare = ["a", "b", "c", "d; python_version < '3.12'", "e", "f"]
    assert without_versions([*lines, *kept, "a>=0"]) == [*bare, *kept]


def test_a_file_that_cannot_be_read_takes_nothing_from_the_others() -> None:
    broken = {path: "[[ {unclosed: \n" for path in FILES if not path.endswith((".txt", ".in"))}
    assert requirement_lines(broken | {"a/requirements.txt": "numpy"}) == ["numpy"]


@given(st.sampled_from(sorted(FILES)), st.text(max_size=60) | st.text("{}[]:=-'\"\n abdependencies", max_size=80))
def test_any_text_gives_lines(path: str, text: str) -> None:
    for line in requirement_lines({path: text}):
        assert line == line.strip()
        assert line


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("environment.yml", "dependencies: 3"),
        ("environment.yml", "dependencies: [{pip: 3}]"),
        ("environment.yml", "!!python/object/apply:os.system ['true']"),
        ("environment.yml", ""),
        ("pyproject.toml", "project = 3"),
        ("pyproject.toml", "[project]\ndependencies = [1, {a = 2}]"),
        ("setup.py", "(" * 5000),
        ("setup.py", "print 'two'"),
    ],
)
def test_files_of_another_shape(path: str, text: str) -> None:
    assert requirement_lines({path: text}) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("environment.yml", "a: &a [numpy]\ndependencies: [*a, scipy]\n"),
        ("environment.yml", "dependencies:\n" + "- scipy\n" * 20_000),
        ("pyproject.toml", "[project]\ndependencies = ['scipy']\n[a" + ".a" * 20_000 + "]\n"),
        ("Pipfile", "[packages]\nscipy = '*'\n" + "a" + ".a" * 20_000 + "=1\n"),
        ("Pipfile", "[packages]\nscipy = '*'\n" + "a = " + "[" * 20_000),
        ("pyproject.toml", "[project]\ndependencies = ['scipy']\n" + "# long\n" * 60_000),
        ("setup.py", "setup(install_requires=['scipy'], x=" + "-" * 12_000 + "1)"),
    ],
)
def test_a_file_made_to_be_slow_gives_nothing(name: str, text: str) -> None:
    assert requirement_lines({name: text, "requirements.txt": "numpy"}) == ["numpy"]


def test_an_entry_of_conda_that_is_no_text_gives_nothing() -> None:
    assert requirement_lines({"environment.yml": "dependencies: [[numpy], scipy, 1]\n"}) == ["scipy"]


def test_a_setup_that_is_nested_too_deep_is_ignored() -> None:
    deep = "x = " + "-" * 20_000 + "1\nsetup(install_requires=['numpy'])\n"
    assert requirement_lines({"setup.py": deep, "requirements.txt": "scipy\n"}) == ["scipy"]
