"""Prices of models, and estimates of what calls cost."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import get_args

from xkg.config import LlmSettings, Price
from xkg.errors import ConfigError
from xkg.llm.prompt import Prompt, Role

# Published for this method: 102,950 output tokens in 41.6 calls a paper.
TYPICAL_OUTPUT = 2500
_ORDINARY = 1000
"""Tokens of a prompt that no provider charges more for because of its length."""
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|20\d{6})$")


@dataclass(frozen=True)
class Estimate:
    """About how many tokens a call takes, and dollars: None where the model's price is unknown."""

    input_tokens: int
    output_tokens: int
    dollars: float | None


class Prices:
    """The prices that `genai-prices` knows, extended by those of the settings."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own

    def of(self, model: str) -> Price | None:
        """None where no price is known. A dated snapshot costs what its model does, and a name that a gateway prefixes
        (`openai/o4-mini`) what it names, unless they have a price of their own."""
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
        """Raises `ConfigError` where a model has no price, so that nothing can bound what it costs."""
        unknown = sorted(model for model in models if self.of(model) is None)
        if unknown:
            raise ConfigError(
                f"a budget cannot hold for {', '.join(unknown)}, whose price is unknown: give it in llm.prices "
                "(dollars for a million tokens: input, output, cached), or leave out the limit"
            )


def tokens(text: str) -> int:
    """About how many tokens a text has: four characters each."""
    return -(-len(text) // 4)


def model_of(settings: LlmSettings, role: Role) -> str:
    """The model that answers for a role."""
    named: str | None = getattr(settings, role)
    return named or settings.model


def models_of(settings: LlmSettings) -> set[str]:
    return {model_of(settings, role) for role in get_args(Role)}


def estimate(
    settings: LlmSettings, prompt: Prompt, inputs: Mapping[str, str], *, output_tokens: int = TYPICAL_OUTPUT
) -> Estimate:
    """The estimated cost of a question. Needs neither key nor endpoint."""
    input_tokens = sum(map(tokens, prompt.render(inputs)))
    model = model_of(settings, prompt.role)
    return Estimate(input_tokens, output_tokens, Prices(settings.prices).dollars(model, input_tokens, 0, output_tokens))


@cache
def _published(model: str) -> Price | None:
    """The provider's price of today, for prompts of ordinary length, without discounts for batches; from the table that
    the installed package holds."""
    if ":" in model:  # a tag names weights that run on one's own machine: `deepseek-r1:14b`
        return None
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:  # without the extra `llm`, where no model can be asked either
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
