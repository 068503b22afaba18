import pytest

from xkg.config import LlmSettings, Price
from xkg.errors import ConfigError
from xkg.llm.prices import Prices, estimate
from xkg.llm.prompt import Prompt

PROMPT = Prompt("p", "ground", "code_model", ("x",), "Any", 1, "You.", "Where is {{x}}?")


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("o4-mini", 1.10 + 4.40),
        ("o4-mini-2025-04-16", 1.10 + 4.40),
        ("openai/o4-mini", 1.10 + 4.40),
        ("gpt-4o-2024-11-20", 2.50 + 10.00),
        ("gpt-4o-2024-05-13", 5.00 + 15.00),
        ("deepseek-chat:7b", None),
        ("o4-mini-of-nobody", None),
    ],
)
def test_a_million_tokens_each_way_cost_what_is_listed(model: str, dollars: float | None) -> None:
    assert Prices({}).dollars(model, 1_000_000, 0, 1_000_000) == (dollars and pytest.approx(dollars))


def test_what_the_endpoint_had_seen_before_is_cheaper_where_it_says_so() -> None:
    assert Prices({}).dollars("o4-mini", 1_000_000, 400_000, 0) == pytest.approx(0.6 * 1.10 + 0.4 * 0.275)
    assert Prices({}).dollars("gpt-5-pro", 1_000_000, 400_000, 0) == pytest.approx(15)
    assert Prices({}).dollars("o4-mini", 10, 1_000_000, 0) == pytest.approx(10 * 0.275e-6)


def test_the_settings_extend_and_override() -> None:
    prices = Prices({"o4-mini": Price(input=1, output=2), "mine": Price(input=3, output=4)})
    assert prices.dollars("o4-mini", 1_000_000, 0, 1_000_000) == 3
    assert prices.dollars("mine", 1_000_000, 0, 1_000_000) == 7
    prices.require({"o4-mini", "mine"})
    with pytest.raises(ConfigError, match=r"unknown-1, whose price is unknown; set it in llm\.prices"):
        prices.require({"o4-mini", "unknown-1"})


def test_an_estimate_asks_nobody() -> None:
    settings = LlmSettings(code_model="gpt-4.1")
    guess = estimate(settings, PROMPT, {"x": "y" * 4000}, output_tokens=1000)
    assert 1000 < guess.input_tokens < 1200
    assert guess.dollars == pytest.approx((guess.input_tokens * 2 + 1000 * 8) / 1e6)
    assert estimate(LlmSettings(model="mine"), PROMPT, {"x": ""}).dollars is None
