"""Numbers and symbols that nobody gave: what must be caught, and what is only told in other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.guided.reading.symbols_in_text import unsupported, unsupported_numbers

PAPER = r"""We train with a learning rate of 0.01 and a batch of 1,024 for three epochs (10k steps), $\beta_1 = 0.9$ and
a weight decay of $5 \times 10^{-4}$, dropping 20\% of the inputs of a ResNet-50. The loss is
$\mathcal{L}(\theta) = \frac{1}{N} \sum_{n=1}^{N} \| \mathbf{y}_n - f_\theta(x_n) \|_2^2 + \lambda \, \Omega(\theta)$
with $\lambda = 10^{-3}$ and $p(x \mid z)$ a Gaussian."""


@pytest.mark.parametrize(
    ("definition", "odd"),
    [
        ("It uses a learning rate of 0.05.", ["0.05"]),
        ("It uses a learning rate of $0.1$.", ["0.1"]),
        ("Batches of 512 samples.", ["512"]),
        ("Weight decay is 5e-5.", ["5e-5"]),
        (r"Weight decay is $5 \times 10^{-3}$.", [r"5 \times 10^{-3}"]),
        ("It drops 30% of the inputs.", ["30%"]),
        ("It takes 10M steps of a ResNet-101.", ["101"]),
        ("It runs for 7 epochs.", ["7"]),
        ("A fraction 3/7 of them.", ["3/7"]),
        (r"The loss is $\mathcal{L}(\phi)$.", [r"\phi"]),
        (r"It is weighted by $\gamma^t$.", [r"\gamma", "t"]),
        ("The weight γ is fixed.", [r"\gamma"]),
        (r"The mean of $w^\top x$ over the batch $B$.", ["w", "B"]),
        (r"\[ q(z) \]", ["q"]),
    ],
)
def test_what_is_nowhere_is_found(definition: str, odd: list[str]) -> None:
    assert unsupported(definition, [PAPER]) == odd


@pytest.mark.parametrize(
    "definition",
    [
        "The learning rate is .01, that is 1e-2, 1% or $10^{-2}$ or 1/100.",
        "One of the three epochs is 1/3 of all.",
        "It trains for 3 epochs, 10,000 steps, 10 000 steps or $10^4$ steps, on 1024 samples at once.",
        r"The weight decay is 0.0005, 5e-4 or $5\cdot10^{-4}$ and $\lambda$ is 0.001.",
        "It drops 0.2 of the inputs, one fifth; 0.2 = 20 percent.",
        "A ResNet50 with two heads, 1 output and 2 losses.",
        r"Minimises $L(\theta) = \frac1N \sum_{i=1}^N \lVert y_i - f_{\theta}(x_i)\rVert^2 + \lambda\Omega(\theta)$.",
        r"Minimises $\mathbb{E}_{x}[y]$ of $\hat{\mathbf{x}} \in \mathbb{R}^{N}$.",
        r"Here $x^\top x$ is no $x^T x$, with $\operatorname{softmax}(x)$ and $\mathrm{softmax}(x)$.",
        r"Sums over $j$ and $\sum_{m=1}^{N} x_m$, with noise from $\mathcal{N}(0, I)$ and $\mathrm{KL}(p \| p)$.",
        "The λ of θ, as $β₁$ = 0.9 and $ϑ$.",
        r"The loss $\mathcal{L}_{\text{total}}$ with $\arg\min_\theta$ and $\log p(x|z)$, $\nabla_\theta \mathcal{L}$.",
    ],
)
def test_the_same_in_other_words_is_no_fault(definition: str) -> None:
    assert unsupported(definition, [PAPER]) == []


def test_macros_of_the_paper_count_as_what_they_stand_for() -> None:
    macros = {"w": (0, r"\mathbf{w}"), "lr": (0, r"\eta"), "vec": (1, r"\mathbf{#1}")}
    assert unsupported(r"$w \leftarrow w - \eta v$", [r"$\w \gets \w - \lr \vec{v}$"], macros) == []
    assert unsupported(r"$\w - \lr$", [r"$\mathbf{w}$"], macros) == [r"\eta"]


@pytest.mark.parametrize("written", [r"$1 \mathrm{E}-6$", "1e-6", "1 e-6", "1E-06", r"$10^{-6}$", "0.000001"])
def test_one_value_in_all_its_spellings(written: str) -> None:
    assert unsupported("1e-6 or $1\\times10^{-6}$", [written]) == []
    assert unsupported(written, ["1e-5"]) != []


def test_any_source_will_do() -> None:
    assert unsupported("0.3 of $k_0$ and $\\alpha$", ["has 0.3", "has α", "nothing"]) == []
    assert unsupported("0.3", []) == ["0.3"]


def test_text_without_marked_formulas_is_read_leniently_but_for_numbers_and_greek() -> None:
    source = "The update is xt+1 = xt − ηgt with η = 0.1."
    assert unsupported(r"$x_{t+1} = x_t - \eta g_t$ with $\eta = 0.1$", [source], marked=False) == []
    assert unsupported(r"$\gamma = 0.2$", [source], marked=False) == ["0.2", r"\gamma"]


PIECES = [
    *"ab xyzT0123459.,/^_{}$%\\keE-+×·µβΣ½²₃",
    r"\frac",
    "10^",
    r"\mathbb ",
    r"\sum_",
    "1e",
    r"\ell ",
    r"\mathrm{ab",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_a_text_supports_itself(text: str) -> None:
    assert unsupported(text, [text]) == []


@given(st.text(), st.text())
def test_of_any_text_the_numbers_are_among_what_is_unsupported(definition: str, source: str) -> None:
    assert {*unsupported_numbers(definition, [source])} <= {*unsupported(definition, [source])}


def test_a_pair_without_a_space_is_two_numbers_or_one_with_thousands() -> None:
    assert unsupported("Values in $[-128,127]$.", ["clamped to $[-128, 127]$"]) == []
    assert unsupported("It has 60,000 images.", ["60000 images"]) == []
    assert unsupported("It has 60,000 images.", ["6000 images"]) == ["60,000"]
    assert unsupported("Values in $[-128,127]$.", ["clamped to $[-128, 255]$"]) == ["128,127"]


def test_a_unit_on_the_next_line_is_that_unit() -> None:
    assert unsupported("It drops 20\r% of the inputs.", [PAPER]) == []
