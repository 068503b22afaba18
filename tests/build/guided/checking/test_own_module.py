"""Tests which part of a composite's module a reviewer reads."""

from tests.build.guided.drafts import draft_of
from xkg.build.guided.checking.components import own_code, own_module
from xkg.build.guided.draft import Draft, UsedComponent

_LINES = "\n".join(f"    total = total + {n} * values[{n}]" for n in range(300))
_DOCUMENTED = 'def weighted(values):\n    """The weighted sum. More is said here."""\n'
COMPONENT = f"{_DOCUMENTED}    total = 0.0\n{_LINES}\n    return total\n"
NEW = "def halved(values):\n    half = weighted(values) / 2\n    return half\n"


def composite(component: str, *, new: str = NEW, proven: bool = True) -> Draft:
    return draft_of(
        f"import math\n\n# --- component: Weighted Sum\n{component}\n# --- new\n{new}",
        "assert halved([1.0] * 300)",
        excerpt="def halved(v):\n    return weighted(v) / 2\n",
        components=(UsedComponent(name="Weighted Sum", implementation=component, proven=proven),),
    )


def test_the_code_of_a_proven_component_is_not_shown() -> None:
    assert own_module(composite(COMPONENT)) == f"import math\n\n# --- new\n{NEW}"


def test_an_author_s_own_code_can_be_put_together_again() -> None:
    assert own_code(composite(COMPONENT, proven=False)) == f"import math\n\n\n{NEW}"
