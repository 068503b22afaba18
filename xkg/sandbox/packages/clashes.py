"""Lists package versions that do not work together, although their metadata allows the combination. Runs inside the
sandbox and uses only the standard library."""

import re
from collections.abc import Mapping

# Each row is (package, version, other package, other version).
# Versions of `package` before `version` do not work with versions of `other package` from `other version` on.
# NumPy 2: see https://github.com/numpy/numpy/issues/26191 and each package's release notes.
# Modules compiled against NumPy 1 fail with "numpy.dtype size changed" or "_ARRAY_API not found".
# With such a mismatch, torch cannot create arrays either.
# Protobuf 4: see https://protobuf.dev/news/2022-05-06 ("Descriptors cannot be created directly").
_CLASHES = (
    ("bottleneck", "1.4", "numpy", "2"),
    ("gym", "1", "numpy", "2"),  # unmaintained since 0.26: https://github.com/openai/gym/blob/master/README.md
    ("h5py", "3.11", "numpy", "2"),
    ("matplotlib", "3.8.4", "numpy", "2"),
    ("numexpr", "2.10", "numpy", "2"),
    ("opencv-python-headless", "4.10", "numpy", "2"),
    ("opencv-contrib-python-headless", "4.10", "numpy", "2"),
    ("pandas", "2.2.2", "numpy", "2"),
    ("pyarrow", "16", "numpy", "2"),
    ("scikit-image", "0.23", "numpy", "2"),
    ("scikit-learn", "1.4.2", "numpy", "2"),
    ("shapely", "2.0.4", "numpy", "2"),
    ("statsmodels", "0.14.2", "numpy", "2"),
    ("tensorflow-cpu", "2.18", "numpy", "2"),
    ("torch", "2.3", "numpy", "2"),
    ("tensorflow-cpu", "2.9", "protobuf", "4"),
)


def clash_bounds(versions: Mapping[str, str]) -> list[str]:
    """Returns the requirements that a set of packages violates, such as `numpy<2` for torch 2.0 and NumPy 2.1.
    `versions` maps package names to versions."""
    return sorted(
        {
            f"{other}<{first}"
            for name, needed, other, first in _CLASHES
            if name in versions and other in versions
            if _release(versions[name]) < _release(needed) and _release(versions[other]) >= _release(first)
        }
    )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])
