import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.store.indexes.code_runs import code_runs, runs_of_query


def test_names_numbers_comments_and_layout_do_not_matter() -> None:
    assert code_runs("loss = np.where(u > 0., a, 1 - a) * u ** 2  # expectile") == code_runs(
        "value=torch.where( diff>0 , tau,\n 1.0-tau)*diff**2"
    )


@pytest.mark.parametrize(
    "query",
    [
        "x = F.softmax(q @ k.T / math.sqrt(d), dim=-1) @ v",
        "for (int i = 0; i < n; i++) sum += w[i] * x[i];",
        "p.grad.data.clamp_(-1, 1)",
    ],
)
def test_code_is_a_query_for_code(query: str) -> None:
    assert runs_of_query(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "soft attention (with gating)",
        "Adam + L-BFGS",
        "loss(MSE)",
        "sample x from p(x|y) and keep those whose log p(x) > 0 for the next step",
        "Q-learning; then update the target network every 10 steps, as in DQN (Mnih et al., 2015)",
    ],
)
def test_prose_is_not(query: str) -> None:
    assert runs_of_query(query) == []


@given(st.text(max_size=300))
def test_any_text_has_runs_without_spaces(text: str) -> None:
    assert all(run and not run.isspace() and len(run.split()) == 1 for run in code_runs(text))
