"""Looks up model prices, and estimates the cost of calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import get_args

from xkg.config import LlmSettings, Price
from xkg.errors import ConfigError
from xkg.llm.prompt import Prompt, Role

# The published method used 102,950 output tokens in 41.6 calls per paper.
TYPICAL_OUTPUT = 2500
_ORDINARY = 1000
"""No provider charges its long-prompt price for prompts of up to this many tokens."""
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|20\d{6})$")


@dataclass(frozen=True)
class Estimate:
    """The estimated tokens and dollars for a call. `dollars` is None if the model's price is unknown."""

    input_tokens: int
    output_tokens: int
    dollars: float | None


class Prices:
    """The prices from `genai-prices`, extended by prices from the settings."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own

    def of(self, model: str) -> Price | None:
        """Returns a model's price, or None if unknown. A dated snapshot without its own price takes its model's price.
        A gateway name (`openai/o4-mini`) without its own price takes the price of the model after the slash."""
        for name in (model, model.rpartition("/")[2]):
            for candidate in (name, _SNAPSHOT.sub("", name)):
                if candidate in self._own:
                    return self._own[candidate]
                if (known := _published(candidate)) is not None:
                    return known
        return None

    def dollars(self, model: str, input_tokens: int, cached_tokens: int, output_tokens: int) -> float | None:
        price = self.of(model)
        if price is None:
            return None
        cached = min(cached_tokens, input_tokens)
        at_cached = price.input if price.cached is None else price.cached
        cost = (input_tokens - cached) * price.input + cached * at_cached + output_tokens * price.output
        return cost / 1_000_000

    def require(self, models: Mapping[str, None] | set[str]) -> None:
        """Raises `ConfigError` if a model has no price, because its cost cannot be limited."""
        unknown = sorted(model for model in models if self.of(model) is None)
        if unknown:
            raise ConfigError(
                f"a budget cannot be enforced for {', '.join(unknown)}, whose price is unknown; set it in llm.prices "
                f"(dollars per million tokens: input, output, cached), or omit the limit"
            )


def tokens(text: str) -> int:
    """Estimates the number of tokens in a text, at four characters each."""
    return -(-len(text) // 4)


def model_of(settings: LlmSettings, role: Role) -> str:
    named: str | None = getattr(settings, role)
    return named or settings.model


def models_of(settings: LlmSettings) -> set[str]:
    return {model_of(settings, role) for role in get_args(Role)}


def estimate(
    settings: LlmSettings, prompt: Prompt, inputs: Mapping[str, str], *, output_tokens: int = TYPICAL_OUTPUT
) -> Estimate:
    """Estimates the cost of a question, without a key or an endpoint."""
    input_tokens = sum(map(tokens, prompt.render(inputs)))
    model = model_of(settings, prompt.role)
    return Estimate(input_tokens, output_tokens, Prices(settings.prices).dollars(model, input_tokens, 0, output_tokens))


@cache
def _published(model: str) -> Price | None:
    """Returns the provider's list price from the installed `genai-prices`, for prompts of ordinary length and without
    batch discounts."""
    if ":" in model:  # a tag such as `deepseek-r1:14b` refers to local weights
        return None
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:  # the `llm` extra is not installed, so no model can be called
        return None

    def dollars(usage: Usage) -> float:
        return float(calc_price(usage, model).total_price * 1_000_000 / _ORDINARY)

    try:
        return Price(
            input=dollars(Usage(input_tokens=_ORDINARY)),
            output=dollars(Usage(output_tokens=_ORDINARY)),
            cached=dollars(Usage(input_tokens=_ORDINARY, cache_read_tokens=_ORDINARY)),
        )
    except LookupError:
        return None
