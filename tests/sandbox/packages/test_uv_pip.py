"""What uv's answers say about wheels."""

import platform

import pytest

from xkg.sandbox.packages.uv_pip import suits

HERE = platform.machine()


@pytest.mark.parametrize(
    ("wheel", "versions"),
    [
        (f"numpy-1.19.5-cp37-cp37m-manylinux1_{HERE}.whl", ["3.7"]),
        (f"numpy-1.19.5-cp38-cp38-manylinux_2_5_{HERE}.manylinux1_{HERE}.whl", ["3.8"]),
        (f"tokens-1.0-cp38-abi3-manylinux2014_{HERE}.whl", ["3.8", "3.11"]),
        ("plain-1.0-py2.py3-none-any.whl", ["3.7", "3.8", "3.11"]),
        ("old-1.0-py2-none-any.whl", []),
        ("numpy-1.19.5-cp38-cp38-win_amd64.whl", []),
        ("numpy-1.19.5-cp38-cp38-manylinux1_mips.whl", []),
    ],
)
def test_the_python_versions_of_a_wheel_are_in_its_name(wheel: str, versions: list[str]) -> None:
    assert [version for version in ("3.7", "3.8", "3.11") if suits(wheel, version)] == versions
