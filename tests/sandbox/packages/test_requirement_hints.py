from hypothesis import given
from hypothesis import strategies as st

from xkg.sandbox.packages.requirement_hints import repository_sources, version_differences, version_hints


def test_requirement_lines_of_every_kind() -> None:
    lines = [
        "numpy>=1.20,<2  # pinned",
        "Scikit_Learn",
        "torch[extra]==2.0 ; python_version >= '3'",
        "jax[cuda12_pip]==0.5",
        "old==1 ; python_version < '3'",
        "-r other.txt",
        "--index-url https://example.org",
        "git+https://example.org/x.git#egg=x",
        "x @ file:///etc/passwd",
        "./local",
        "hashed==1.0 --hash=sha256:00",
        "hashed",
        "numpy == not a version",
        "scipy>=1<2",
        "matplotlib==3.7.3",
        "matplotlib==3.3.4",
        "tensorflow-gpu==2.10",
        "einops==0.3.0+cu113",
        "",
        "# only a comment",
    ]
    assert version_hints(lines) == {
        "numpy": "numpy<2,>=1.20",
        "scikit-learn": "scikit-learn",
        "torch": "torch[extra]==2.0",
        "jax": "jax==0.5",
        "hashed": "hashed==1.0",
        "scipy": "scipy",
        "matplotlib": "matplotlib==3.7.3",
        "tensorflow-cpu": "tensorflow-cpu==2.10",
        "einops": "einops==0.3.0",
    }


@given(st.lists(st.text(max_size=30), max_size=3))
def test_any_requirement_lines_can_be_read(lines: list[str]) -> None:
    for name, hint in version_hints(lines).items():
        assert hint.startswith(name)
        assert "\n" not in hint


def test_what_a_repository_takes_from_elsewhere() -> None:
    lines = [
        "lml@git+git://example.org/group/lml.git",
        "git+https://example.org/openai/CLIP.git@main",
        "git+ssh://git@example.org/x/odd.git#egg=Odd_Name-0.1",
        "named[extra] @ git+https://example.org/y/z",
        "numpy",
        "git+",
        "git+https://[broken",
    ]
    assert repository_sources(lines) == {
        "lml": "example.org/group/lml",
        "clip": "example.org/openai/CLIP",
        "odd-name-0-1": "example.org/x/odd",
        "named": "example.org/y/z",
    }


def test_versions_other_than_asked_for() -> None:
    hints = version_hints(["alpha==1.0", "beta>=1", "gamma", "delta_x<2"])
    pins = ["alpha==1.1", "beta==2.0rc1", "gamma==1", "Delta-X==2.0", "epsilon==3", "alpha==odd"]
    assert list(version_differences(hints, pins)) == ["alpha 1.1 for ==1.0", "Delta-X 2.0 for <2"]
