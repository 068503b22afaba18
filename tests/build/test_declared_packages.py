import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.requirements import declared_packages


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("setup.py", "setuptools.setup(name='My-Proj', py_modules=('one', two))", {"my_proj", "one"}),
        ("a/setup.py", "setup(packages=['p', 'p.sub'] , package_dir={'q': 'src', '': 'lib'})", {"p", "q"}),
        ("setup.py", "setup(packages=find_packages())\nother(name='no')", set()),
        ("setup.cfg", "[metadata]\nname = x\n[options]\npackages =\n  a\n  a.b\npackage_dir = =src\n", {"x", "a"}),
        ("setup.cfg", "[options]\npackages = find:\n", set()),
        ("pyproject.toml", "[project]\nname = 'a.b'\n[tool.setuptools]\npackages = ['p.q']\n", {"a", "p"}),
        ("pyproject.toml", "[tool.setuptools.package-dir]\nown = 'src'\n[tool.flit.module]\nname = 'f'", {"f", "own"}),
        ("pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = ['src/h']\n", {"h"}),
        ("pyproject.toml", "[tool.setuptools.packages.find]\nwhere = ['src']\n", set()),
        ("requirements.txt", "name = 'x'", set()),
    ],
)  # fmt: skip
def test_names_that_a_project_states(path: str, text: str, names: set[str]) -> None:
    assert declared_packages({path: text}) == names


@given(st.sampled_from(["setup.py", "setup.cfg", "pyproject.toml"]), st.text())
def test_any_text_is_read(path: str, text: str) -> None:
    assert isinstance(declared_packages({path: text}), frozenset)


@pytest.mark.parametrize(
    "text", ["project = 3", "[project]\nname = 3\n", "[tool]\npoetry = {packages = [1]}", "tool = 1"]
)
def test_a_file_of_another_shape_names_nothing(text: str) -> None:
    assert declared_packages({"pyproject.toml": text}) == frozenset()
