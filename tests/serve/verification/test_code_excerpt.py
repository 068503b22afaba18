"""Tests which part of a code node is shown in the verifier's question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.verification.candidate_text import excerpt, terms

LOSS = """def contrast(one, other, temperature):
    similarity = one @ other.T / temperature
    return -similarity.diagonal().log_softmax(0).mean()
"""
PARSING = """def parse_arguments(argv):
    parser = make_parser()
    parser.add_argument('--epochs', default=10, help='how many passes over all of the training set')
    return parser.parse_args(argv)
"""
MODULE = f'''"""Trains a model by contrasting pairs."""
import os
from torch import nn

{PARSING}

class Trainer(nn.Module):
    """Holds a model."""

    def __init__(self, temperature, similarity, contrast):
        self.temperature = temperature
        self.similarity = similarity
        self.contrast = contrast

    def fit(self, data):
        # one pass
        return [self.step(batch) for batch in data]


{LOSS}

if __name__ == "__main__":
    Trainer(parse_arguments(os.environ))
'''
WANTED = terms("contrast the similarity of pairs at a temperature")


def test_the_nearest_function_is_shown_and_the_others_are_named() -> None:
    lines = excerpt(MODULE, WANTED, len(LOSS) + 20)
    assert "\n".join(lines).startswith(LOSS.strip())
    assert lines[-1] == "… 10 more lines: def parse_arguments, def fit"


@pytest.mark.parametrize("source", ["", "import os\n", "function f(x) {\n  return x;\n}\n", "def f(:\n", "x" * 300_000])
def test_any_source_gives_an_excerpt(source: str) -> None:
    assert sum(map(len, excerpt(source, WANTED, 500))) < 1000


@given(st.text(alphabet="def f(x):\n\t ab=1\"'#", max_size=300), st.integers(min_value=0, max_value=400))
def test_an_excerpt_is_hardly_longer_than_asked(source: str, characters: int) -> None:
    assert sum(len(line) + 1 for line in excerpt(source, WANTED, characters)) <= characters + 700
