import pytest

from xkg.build.code.imports import ModuleIndex

INDEX = ModuleIndex(
    {
        "src/pkg/__init__.py": {"f"},
        "src/pkg/a.py": {"f", "Net"},
        "src/pkg/wandb.py": {"setup"},
        "src/pkg/sub/__init__.py": set(),
        "src/pkg/sub/b.py": {"g"},
        "scripts/train.py": {"main"},
        "scripts/utils.py": {"seed"},
        "scripts/types.py": {"Batch"},
        "other/deep/tools.py": {"hammer"},
        "datasets/loader.py": {"load"},
        "main.py": {"run"},
        "utils.py": {"top"},
    },
    "github.com/someone/My.Project@0123",
)


@pytest.mark.parametrize(
    ("importer", "module", "attributes", "expected"),
    [
        ("src/pkg/sub/b.py", "..a", {"f"}, "src/pkg/a.py"),
        ("src/pkg/sub/b.py", "..", {"a"}, "src/pkg/__init__.py"),
        ("src/pkg/a.py", "....far", {"f"}, None),
        ("scripts/train.py", "pkg.sub.b", {"g"}, "src/pkg/sub/b.py"),
        ("scripts/train.py", "pkg", {"f"}, "src/pkg/__init__.py"),
        ("scripts/train.py", "utils", {"seed"}, "scripts/utils.py"),
        ("main.py", "scripts.utils", {"seed"}, "scripts/utils.py"),
        ("scripts/train.py", "types", {"SimpleNamespace"}, None),
        ("scripts/train.py", "types", {"Batch"}, "scripts/types.py"),
        ("src/pkg/a.py", "wandb", {"init", "log"}, None),
        ("main.py", "datasets", {"load_dataset"}, None),
        ("main.py", "datasets", {"loader"}, "datasets/"),
        ("main.py", "datasets.loader", {"load"}, "datasets/loader.py"),
        ("main.py", "tools", {"hammer"}, "other/deep/tools.py"),
        ("main.py", "tools", {"wrench"}, None),
        ("main.py", "my_project.scripts.utils", {"seed"}, "scripts/utils.py"),
        ("scripts/train.py", "my_project", {"utils"}, "/"),
        ("main.py", "your_project.utils", {"top"}, None),
        ("main.py", "numpy", {"array"}, None),
    ],
)
def test_what_an_import_means(importer: str, module: str, attributes: set[str], expected: str | None) -> None:
    assert INDEX.resolve(importer, module, attributes) == expected


def test_dotted_names_count_from_the_source_root() -> None:
    assert INDEX.dotted("src/pkg/sub/b.py") == "pkg.sub.b"
    assert INDEX.dotted("src/pkg/__init__.py") == "pkg"
    assert INDEX.dotted("scripts/train.py") == "scripts.train"
