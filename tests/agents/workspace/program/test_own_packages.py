import pytest

from xkg.agents.workspace.program.own_packages import (
    build_of_extension,
    folder_of_module,
    folder_that_defines,
    own_metadata,
    own_names,
    package_roots,
)


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        (["setup.py", "waves/__init__.py", "examples/show.py"], ("",)),
        (["pyproject.toml", "src/waves/__init__.py"], ("src",)),
        (["pyproject.toml", "src/waves/core/__init__.py", "src/waves/__init__.py"], ("src",)),
        (["code/setup.cfg", "code/waves/__init__.py", "README.md"], ("code",)),
        (["waves/__init__.py", "train.py"], ()),  # no file says that it can be installed
        (["setup.py", "train.py"], ()),
        (["setup.py", "__init__.py", "train.py"], ()),  # the root folder is itself the package
        ([], ()),
    ],
)
def test_package_roots(paths: list[str], roots: tuple[str, ...]) -> None:
    assert package_roots(paths) == roots


@pytest.mark.parametrize(
    ("module", "folder"),
    [
        ("waves", "src"),
        ("waves.core", "src"),
        ("tools", ""),
        ("helpers", "src/waves"),
        ("rings", None),  # two folders at the same depth contain the name
        ("waves.gone", None),
        ("train", ""),
        ("data", None),  # the folder contains no code
    ],
)
def test_the_folder_in_which_a_module_is_found(module: str, folder: str | None) -> None:
    paths = ["src/waves/core.py", "src/waves/helpers.py", "tools/make/a.py", "a/rings.py", "b/rings/x.py", "train.py"]
    assert folder_of_module(module, [*paths, "data/a.csv", "old/src/waves/core.py"]) == folder


def test_the_folder_of_a_module_in_whose_place_a_package_was_found() -> None:
    texts = {"lib/data/__init__.py": "from data.cifar import Cifar\n", "lib/data/cifar.py": "class Cifar: ...\n"}
    assert folder_that_defines("data", "Cifar", texts) == "lib"
    assert folder_that_defines("data.cifar", "Cifar", texts) == "lib"
    assert folder_that_defines("data", "load_dataset", texts) is None
    assert folder_that_defines("torch", "Cifar", texts) is None


@pytest.mark.parametrize(
    ("module", "folder"), [("waves._fast", "."), ("rings", "more"), ("waves.gone", None), ("numpy", None)]
)
def test_the_command_that_builds_an_extension_module(module: str, folder: str | None) -> None:
    texts = {
        "setup.py": "setup(ext_modules=cythonize('waves/*.pyx'))\n",
        "waves/_fast.pyx": "",
        "more/setup.py": "setup(ext_modules=[Extension('rings', ['ring.c'])])\n",
        "other/setup.py": "setup(name='gone')\n",
    }
    command = f"(cd {folder} && python setup.py build_ext --inplace)"
    assert build_of_extension(module, texts) == (None if folder is None else command)


@pytest.mark.parametrize(
    ("imported", "served", "nested", "hidden"),
    [
        ({"autograd": (), "scipy": ("stats",), "torch": ("nn",)}, {"autograd", "scipy"}, {"scipy"}, set()),
        ({"linalg": ("norm",), "show": (), "notes": ()}, {"linalg", "show"}, {"linalg"}, set()),
        ({"flax": ("linen",), "examples": ("show",)}, {"examples"}, set(), {"examples"}),
        ({"flax": ("linen", "train")}, {"flax"}, set(), set()),  # the folder contains a part of the package
        ({"flax": ()}, {"flax"}, set(), set()),
    ],
)
def test_imports_that_a_repository_serves_itself(
    imported: dict[str, tuple[str, ...]], served: set[str], nested: set[str], hidden: set[str]
) -> None:
    packages = ["autograd/__init__.py", "autograd/scipy/__init__.py", "autograd/scipy/linalg.py"]
    paths = [*packages, "examples/show.py", "examples/flax/train.py", "notes.txt"]
    assert tuple(map(set, own_names(paths, imported))) == (served, nested, hidden)


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
