import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.codebase import CommentMark
from xkg.build.grounding.index.working_lines import made_attributes, working_ranges

NEWTON = '''\
@jit
def lazy_newton(
    field, z,
    period=3,
):
    """Renews its Jacobian every few steps.

    z: where to begin
    """
    import numpy
    norms = []
    inverse, started = None, 0.0
    # begin
    if verbose:
        print("begin")
    for i in range(steps):
        norms.append(norm(z))
        if i % period == 0:
            inverse = inv(
                jacobian(z),
            )
        # the step
        z = z - rate * inverse @ field(z)
        logger.info("step %d", i)
        z = clip(z)
    writer.add_scalar("norm", norms[-1])
    return z, norms
'''
CUDA = """\
__global__ void scan(float *x, int n) {
    // running sums
    int i = threadIdx.x;
    /* of two
       lines */
    x[i] += x[i - 1];
}
"""


def ranges(source: str, *, mark: CommentMark = "#") -> list[tuple[int, int]]:
    lines = source.split("\n")
    return working_ranges(lines, 1, len(lines), mark=mark, signed={1})


def test_the_steps_of_a_function_without_what_surrounds_them() -> None:
    assert ranges(NEWTON) == [(18, 23), (25, 25)]


def test_comments_of_other_languages_are_no_work() -> None:
    assert ranges(CUDA, mark="//") == [(3, 6)]
    assert ranges("function y = f(x)\n% Help.\n%{\nA block.\n%}\n  y = x * 2;\nend", mark="%") == [(6, 6)]


@pytest.mark.parametrize(
    "body",
    ["pass", "...", '"""Not yet."""', "raise NotImplementedError", "self.rate = rate", "return self.rate", "x = None"],
)
def test_a_stub_does_nothing(body: str) -> None:
    assert ranges(f"def f(self, rate):\n    {body}\n") == []


@pytest.mark.parametrize(
    "body", ["return relu(x)", "p.grad = None", "found.append(layer(x))", "x = x @ w", "yield x", "loss.backward()"]
)
def test_one_line_may_be_all(body: str) -> None:
    assert ranges(f"def f(self, x):\n    {body}\n") == [(2, 2)]


def test_attributes_that_a_constructor_makes() -> None:
    source = "def f(self, n):\n    self.n = n\n    self.act = GELU()\n    self.conv = Conv2d(\n        n\n    )\n"
    assert list(made_attributes(source.split("\n"), mark="#")) == [(3, 3, "act"), (4, 6, "conv")]


@given(
    st.lists(st.sampled_from(["", "x = f(y)", "def g(", "    a,", "):", '"""', "'", "#", "    print(1)", "/*", "*/"]))
)
def test_any_text_has_ranges_in_order_within_it(lines: list[str]) -> None:
    marks: tuple[CommentMark, ...] = ("#", "//", "%")
    for mark in marks:
        found = working_ranges(lines, 1, len(lines), mark=mark)
        edges = [edge for each in found for edge in each]
        assert edges == sorted(edges)
        assert all(1 <= edge <= len(lines) for edge in edges)
