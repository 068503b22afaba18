from tests.build.guided.drafts import draft_of
from xkg.build.guided.checking.components import callable_components
from xkg.build.guided.checking.edits import Edit, applied
from xkg.build.guided.draft import UsedComponent

MEAN = UsedComponent(name="Mean", implementation="def mean(x):\n    return sum(x) / len(x)\n", proven=True)
SPREAD = UsedComponent(
    name="Spread",
    implementation="import numpy as np\n\n\ndef spread(x):\n    return np.max(x) - np.min(x)\n",
    proven=True,
    sources=("local:r@0:a.py::spread",),
)
DRAFT = draft_of(
    "# --- component: Mean\ndef mean(x):\n    return sum(x) / len(x)\n\n# --- new\ndef ratio(x):\n    return mean(x)\n",
    "from implementation import ratio\n\nassert ratio([1, 3]) == 2\n",
    sources=("local:r@0:a.py::ratio",),
    excerpt="def ratio(x):\n    return mean(x) / spread(x)\n",
    components=(MEAN,),
    uncalled=("Spread",),
    ready=(SPREAD,),
)


def test_a_repair_may_call_a_component_that_the_module_did_not_call() -> None:
    edit = Edit(file="implementation", search="return mean(x)", replace="return mean(x) / spread(x)")
    draft = applied(DRAFT, [edit])
    names: dict[str, object] = {}
    exec(draft.implementation, names)
    assert names["ratio"]([1, 3]) == 1.0  # type: ignore[operator]
    assert [c.name for c in draft.components] == ["Mean", "Spread"]
    assert draft.ready == draft.uncalled == ()
    assert draft.sources[-1] == "local:r@0:a.py::spread"
    assert draft.implementation.count("# --- component: Spread") == 1
    assert draft.implementation.count("# --- new") == 1


def test_what_can_be_called_is_shown() -> None:
    assert "def spread(x)" in callable_components(DRAFT)
    assert callable_components(DRAFT.model_copy(update={"ready": ()})) == ""
