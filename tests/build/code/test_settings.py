import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.settings import is_settings, likeliest, settings_in

YAML = """\
# training
optim: {name: adam, lr: 3e-4}
max_grad_norm: 1.
layers:
  - width: 64
  - width: 32
betas: [0.9, 0.999]
"""


def named(path: str, text: str) -> dict[str, tuple[str, int]]:
    return {setting.name: (setting.value, setting.line) for setting in settings_in({path: text})}


def test_yaml() -> None:
    assert named("conf/train.yaml", YAML) == {
        "optim.name": ("adam", 2),
        "optim.lr": ("3e-4", 2),
        "max_grad_norm": ("1.", 3),
        "layers.0.width": ("64", 5),
        "layers.1.width": ("32", 6),
        "betas": ("[0.9, 0.999]", 7),
    }


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.json", '{"optim": {\n  "lr": 0.1}}', {"optim.lr": ("0.1", 2)}),
        ("a.toml", "[optim]\nlr = 0.1\nnames = ['a']", {"optim.lr": ("0.1", 2), "optim.names": ("['a']", 3)}),
        ("a.gin", "import x\nrun/Trainer.clip = 1.0  # norm\nn = 3", {"Trainer.clip": ("1.0", 2), "n": ("3", 3)}),
        ("a.ini", "[optim]\nlr = 0.1", {"optim.lr": ("0.1", 2)}),
        ("a.conf", "model {\n  sdf = {\n    bias = 0.5,\n  }\n}\ntrain {\n lr: 1\n}", {
            "model.sdf.bias": ("0.5", 3), "train.lr": ("1", 7),
        }),
        ("a.yaml", "good: 1\nbad: [", {}),
        ("a.yaml", "run: !!python/object/apply:os.system ['true']", {"run": ("[true]", 1)}),
    ],
)  # fmt: skip
def test_formats(path: str, text: str, expected: dict[str, tuple[str, int]]) -> None:
    assert named(path, text) == expected


def test_aliases_and_nesting_are_bounded() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    assert len(settings_in({"bomb.yaml": bomb})) <= 300
    assert settings_in({"deep.json": "[" * 50_000}) == ()
    assert settings_in({"deep.yaml": "".join(f"{' ' * i}k{i}:\n" for i in range(300))}) == ()
    many = "\n".join(f"k{i}: {i}" for i in range(5000))
    assert len(settings_in({f"{n}.yaml": many for n in range(50)})) == 2500


@given(st.sampled_from(["yaml", "json", "toml", "gin", "ini", "conf"]), st.text(max_size=300))
def test_any_text_is_read(suffix: str, text: str) -> None:
    for setting in settings_in({f"a.{suffix}": text}):
        assert setting.name
        assert len(setting.value) <= 120


def test_which_files_configure() -> None:
    paths = [
        "b/other.yaml",
        "configs/cifar.yaml",
        "package.json",
        ".github/ci.yml",
        "environment.yml",
        "data/x.json",
        "c.py",
    ]
    assert likeliest([path for path in paths if is_settings(path, 100)]) == ["configs/cifar.yaml", "b/other.yaml"]
    assert not is_settings("configs/cifar.yaml", 10_000_000)
