"""Descriptions of functions: stored by content, searched, and enriched."""

from pathlib import Path

from xkg.agents.ablation.parsing import Function
from xkg.agents.ablation.roles.functions import Described, FunctionIndex, FunctionStore, key_of


def function(name: str, source: str, path: str = "a.py") -> Function:
    return Function(path=path, name=name, start_line=1, end_line=3, body_line=2, source=source)


KERNEL = function("rbf", "def rbf(x, h):\n    return exp(-x / h)")
STEP = function("Model.step", "def step(self):\n    self.x -= self.rate")
KNOWN = {
    key_of(KERNEL): Described(text="Gaussian kernel with a bandwidth."),
    key_of(STEP): Described(text="One gradient descent update.", shown=("rate off: +20.0%",)),
}


def test_the_same_function_elsewhere_is_known_and_a_changed_one_is_not(tmp_path: Path) -> None:
    store = FunctionStore(tmp_path)
    store.add(key_of(KERNEL), "Gaussian kernel.")
    moved = KERNEL.model_copy(update={"path": "b.py", "start_line": 9, "end_line": 11})
    changed = function("rbf", "def rbf(x, h):\n    return exp(-x)")
    assert list(store.read([moved, changed]).known) == [key_of(KERNEL)]
    store.add(key_of(KERNEL), "Something else.")
    assert store.read([KERNEL]).known[key_of(KERNEL)].text == "Gaussian kernel."


def test_what_experiments_showed_is_added_once_and_bounded(tmp_path: Path) -> None:
    store = FunctionStore(tmp_path)
    store.add_shown(key_of(KERNEL), "lost: nothing describes it")
    store.add(key_of(KERNEL), "Gaussian kernel.")
    for number in [1, 1, *range(2, 12)]:
        store.add_shown(key_of(KERNEL), f"change {number}")
    shown = store.read([KERNEL]).known[key_of(KERNEL)].shown
    assert shown[-1] == "change 11"
    assert len(shown) == len(set(shown)) == 8


def test_functions_are_found_by_name_by_description_and_by_what_was_shown() -> None:
    index = FunctionIndex([KERNEL, STEP], KNOWN)
    assert index.search("step()") == [STEP]
    assert index.search("a.py:rbf") == [KERNEL]
    assert index.search("gradient update") == [STEP]
    assert index.search("Gaussian bandwidths")[0] == KERNEL
    assert index.search("attention") == []
    assert index.shown() == ["a.py Model.step: rate off: +20.0%"]


def test_a_long_list_says_what_it_leaves_out() -> None:
    index = FunctionIndex([KERNEL, STEP] * 50, KNOWN)
    listing = index.listing(500)
    assert len(listing) < 600
    assert "more, which searches find" in listing
