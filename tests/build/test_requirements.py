import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.requirements import requirement_lines

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
        ("pyproject.toml", ["scipy<2", "attrs", "matplotlib", "einops>=0.6", "rich==13.1", "local", "any"]),
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
