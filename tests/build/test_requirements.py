import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.requirements import read_requirements, states_requirements, without_versions

FILES = {
    "requirements.txt": "numpy>=1.20  # pinned\n\n-r other.txt\n--index-url https://x\ntorch==2.0\n",
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
    "environment.yml": "# platform: osx-arm64\nnumpy=1.26.4=py312_0\npygame=2.6.1=pypi_0\n",
    "Pipfile": '[packages]\nrequests = "*"\nflask = "==2.0"\n',
}


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("requirements.txt", ["numpy>=1.20", "torch==2.0"]),
        (
            "pyproject.toml",
            [
                "scipy<2",
                "attrs",
                "matplotlib",
                "python>=3.9",
                "einops>=0.6",
                "rich==13.1",
                "lml @ git+https://example.org/lml",
                "any",
            ],
        ),
        ("setup.cfg", ["pandas", "tqdm>=4", "absl-py"]),
        ("setup.py", ["gym==0.21", "h5py"]),
        (
            "env/environment.yml",
            [
                "python==3.9.*",
                "torch==1.13.*",
                "jax==0.4.14.*",
                "jaxlib==0.4.14.*",
                "scikit-learn==1.2.0",
                "numba>=0.5,<0.6",
                "scipy",
                "wandb==0.15",
            ],
        ),
        ("environment.yml", ["numpy==1.26.4.*", "pygame==2.6.1"]),
        ("Pipfile", ["requests", "flask==2.0"]),
    ],
)
def test_every_kind_of_file_that_states_requirements(path: str, lines: list[str]) -> None:
    assert read_requirements({path: FILES[path]}).lines == lines


CONDA_LIST = """# This file may be used to create an environment using:
# platform: linux-64
_libgcc_mutex=0.1=main
numpy=1.26.4=py311h08b1b3b_0
openssl=1.1.1w=h7f8727e_0
einops=0.3.0=pypi_0
"""


@pytest.mark.parametrize(
    ("files", "lines", "declared"),
    [
        (
            {
                "requirements.txt": "absl-py @ file:///croot/absl-py_168/work\nnumpy=1.26.4\n"
                "h5py \\\n==3.1 --hash=sha256:00\n"
            },
            ["absl-py", "numpy==1.26.4.*", "h5py  ==3.1 --hash=sha256:00"],
            ["absl-py", "numpy==1.26.4.*", "h5py  ==3.1 --hash=sha256:00"],
        ),
        (
            {"requirements.txt": CONDA_LIST},
            ["numpy==1.26.4.*", "openssl==1.1.1w.*", "einops==0.3.0"],
            ["einops==0.3.0"],  # the other lines of the export are dependencies and system libraries
        ),
        (
            {
                "spec-file.txt": "@EXPLICIT\nhttps://conda.anaconda.org/conda-forge/linux-64/"
                "numpy-1.26.4-py311h64a7726_0.conda#0f3e\nhttps://repo.anaconda.com/pkgs/main/noarch/a-b-2-0.tar.bz2\n"
            },
            ["numpy==1.26.4.*", "a-b==2.*"],
            [],
        ),
        (
            {
                "requirements.txt": "-r requirements/base.txt\n-c constraints.txt\n-e ./core[dev]\nx\n-r missing.txt\n"
                "-r requirements.txt",
                "requirements/base.txt": "numpy",
                "requirements/gpu.txt": "cupy",
                "constraints.txt": "scipy==1.0",
                "core/setup.py": "setup(name='core', install_requires=['h5py'], extras_require={'dev': ['black']})",
            },
            ["scipy==1.0", "x", "h5py", "black", "numpy", "cupy"],
            ["x", "numpy", "h5py"],
        ),
        (
            {
                "pyproject.toml": """
[project]
name = "own-thing"
dependencies = ["numpy>=1.20", "own_thing[plots]"]
[project.optional-dependencies]
plots = ["matplotlib"]
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
""",
                "uv.lock": '[[package]]\nname = "numpy"\nversion = "1.26.4"\nsource = {}\n\n'
                '[[package]]\nname = "six"\nversion = "1.16.0"\n',
            },
            ["numpy==1.26.4", "six==1.16.0", "numpy>=1.20", "own_thing[plots]", "matplotlib", "pytest"],
            ["numpy>=1.20"],
        ),
        (
            {
                "pyproject.toml": """
[tool.poetry.dependencies]
torch = "^2.0"
jax = {version = "0.4", optional = true}
[tool.poetry.group.dev.dependencies]
black = "*"
""",
                "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.1.0+cu118"\n',
            },
            ["torch==2.1.0+cu118", "torch>=2.0", "jax==0.4", "black"],
            ["torch>=2.0"],
        ),
        (
            {
                "Pipfile": "[packages]\nflask = '*'\n",
                "Pipfile.lock": '{"default": {"flask": {"version": "==2.0"}}, "develop": {"black": {}}}',
                "conda-lock.yml": "package:\n- name: scipy\n  version: 1.9.1\n  manager: conda\n",
            },
            ["flask==2.0", "scipy==1.9.1", "flask"],
            ["flask"],
        ),
        (
            {
                "README.md": "Run `pip install einops==0.3` first.\n```\n$ pip3 install -U torch 'numpy<2' -f https://x/y.html\n"
                "pip install -r requirements.txt\npip install -e .\n```\nThen pip install and enjoy.\n",
            },
            ["einops==0.3", "torch", "numpy<2"],
            ["einops==0.3", "torch", "numpy<2"],
        ),
        ({"README.md": "    pip install torch\n", "requirements.txt": "numpy"}, ["torch", "numpy"], ["numpy"]),
        (
            {"a/environment.yml": "dependencies: [pytorch=1.13, cudatoolkit=11.3]"},
            ["torch==1.13.*", "cudatoolkit==11.3.*"],
            ["torch==1.13.*", "cudatoolkit==11.3.*"],
        ),
        (
            {"pyproject.toml": "[tool.black]\n", "requirements_py3.txt": "numpy", "docs/requirements.txt": "sphinx"},
            ["numpy", "sphinx"],
            ["numpy"],
        ),
    ],
)  # fmt: skip
def test_what_use_needs_is_told_from_the_rest(files: dict[str, str], lines: list[str], declared: list[str]) -> None:
    assert all(states_requirements(path) for path in files)
    assert read_requirements(files) == (lines, declared)


def test_the_outermost_files_first_and_those_for_tests_last() -> None:
    paths = ["requirements.txt", "a/requirements.txt", "a/b/requirements.txt", "docs/requirements.txt"]
    files = {path: f"p=={paths.index(path)}" for path in sorted(paths)}
    assert read_requirements(files).lines == [f"p=={n}" for n in range(4)]


def test_what_is_from_elsewhere_keeps_its_place() -> None:
    text = "git+https://example.org/a/b.git#egg=b\n-e git+https://example.org/c\nd @ git+https://example.org/d\n"
    assert read_requirements({"requirements.txt": text + "-e .\n./local\n../up\n/tmp/x\n-r more.txt\n"}).lines == [
        "git+https://example.org/a/b.git#egg=b",
        "git+https://example.org/c",
        "d @ git+https://example.org/d",
    ]


def test_lists_in_setup_that_are_added_and_extras() -> None:
    text = "setup(install_requires=base + ['a', 'b>=1'], extras_require={'x': ['c'], 'y': other})"
    assert read_requirements({"setup.py": text}).lines == ["a", "b>=1", "c"]


def test_names_without_versions() -> None:
    lines = ["a==1.0", "b[x]>=2,<3", "c", "d~=1; python_version < '3.12'", "e==1 --hash=sha256:00", "f (>=1)"]
    kept = ["g @ git+https://example.org/g", "git+https://example.org/h"]
    bare = ["a", "b", "c", "d; python_version < '3.12'", "e", "f"]
    assert without_versions([*lines, *kept, "a>=0"]) == [*bare, *kept]


def test_a_file_that_cannot_be_read_takes_nothing_from_the_others() -> None:
    broken = {path: "[[ {unclosed: \n" for path in FILES if not path.endswith((".txt", ".in"))}
    assert read_requirements(broken | {"a/requirements.txt": "numpy"}).lines == ["numpy"]


@given(st.sampled_from(sorted(FILES)), st.text(max_size=60) | st.text("{}[]:=-'\"\n abdependencies", max_size=80))
def test_any_text_gives_lines(path: str, text: str) -> None:
    for line in read_requirements({path: text}).lines:
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
    assert read_requirements({path: text}).lines == []


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
    assert read_requirements({name: text, "requirements.txt": "numpy"}).lines == ["numpy"]


def test_an_entry_of_conda_that_is_no_text_gives_nothing() -> None:
    assert read_requirements({"environment.yml": "dependencies: [[numpy], scipy, 1]\n"}).lines == ["scipy"]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.6,<3.9"\n', "python>=3.6,<3.9"),
        ("setup.py", "setup(name='x', python_requires='~=3.7')\n", "python~=3.7"),
        ("setup.cfg", "[options]\npython_requires = >=3.6, <3.8\n", "python>=3.6, <3.8"),
        ("Pipfile", '[requires]\npython_version = "3.7"\n', "python==3.7.*"),
        ("environment.yml", "dependencies:\n- python=3.6.9=h265db76_0\n", "python==3.6.*"),
        ("environment.yml", "dependencies:\n- python\n", None),
        ("tests/environment.yml", "dependencies:\n- python=3.6\n", None),
    ],
)
def test_what_a_project_says_about_its_python(path: str, text: str, line: str | None) -> None:
    stated = read_requirements({path: text})
    assert stated.lines == ([line] if line else [])
    assert stated.declared == []
    assert not line or without_versions([line]) == ["python"]
