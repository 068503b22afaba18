"""The folders from which an installation of a repository takes its packages."""

import pytest

from xkg.agents.workspace.own_packages import own_metadata, own_names, package_roots


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        (["setup.py", "waves/__init__.py", "examples/show.py"], ("",)),
        (["pyproject.toml", "src/waves/__init__.py"], ("src",)),
        (["pyproject.toml", "src/waves/core/__init__.py", "src/waves/__init__.py"], ("src",)),
        (["code/setup.cfg", "code/waves/__init__.py", "README.md"], ("code",)),
        (["waves/__init__.py", "train.py"], ()),  # nothing says that it can be installed
        (["setup.py", "train.py"], ()),
        (["setup.py", "__init__.py", "train.py"], ()),  # the folder is a package itself, and lies in no other
        ([], ()),
    ],
)
def test_package_roots(paths: list[str], roots: tuple[str, ...]) -> None:
    assert package_roots(paths) == roots


def test_a_folder_inside_a_package_can_hide_a_package_of_its_name() -> None:
    paths = ["autograd/__init__.py", "autograd/scipy/__init__.py", "autograd/scipy/linalg.py", "examples/show.py"]
    own, nested = own_names([*paths, "scipy.txt"])
    assert own == {"autograd", "scipy", "linalg", "__init__", "examples", "show"}
    assert nested == {"scipy"}
    assert own_names([*paths, "scipy/fake.py"])[1] == set()


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("pyproject.toml", '[project]\nname = "sea-waves"\nversion = "0.3.1"\n', "sea_waves-0.3.1"),
        ("pyproject.toml", '[project]\nname = "waves"\ndynamic = ["version"]\n', "waves-0"),
        ("code/setup.py", "setup(name='waves', version=find())\n", "waves-0"),
        ("setup.py", "setup(\n    name='../waves',\n)\n", None),
        ("README.md", "name = 'waves'\n", None),
    ],
)
def test_metadata_that_an_installation_would_leave(path: str, text: str, named: str | None) -> None:
    expected = [f"{named}.dist-info/METADATA"] if named else []
    assert list(own_metadata({path: text.encode()})) == expected
