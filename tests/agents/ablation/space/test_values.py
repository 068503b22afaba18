from tests.agents.ablation.space.spaces import candidates_of, space_of, values_of

CHANCES = """\
import random


def act(epsilon=0.2, tolerance=0.3, depth=5, share=0.4):
    draw = random.random()
    if draw < epsilon:
        return draw
    if depth > abs(draw) > tolerance:
        return 0.0
    return 0.1 * (1 - share * 0.5)


class Tree:
    def __init__(self, depth=6):
        self.depth = depth

    def value(self):
        return act() if self.depth > 4 else 0.5


print("score", Tree().value())
"""


def test_a_chance_can_be_0_a_bound_is_no_component_and_depth_is() -> None:
    tried = values_of(space_of(CHANCES, "score ([0-9.]+):max"))
    assert tried.pop("act(epsilon)") == ["0.0", "0.1", "0.4"]
    assert tried == {"act(share)": ["0.0", "0.2", "0.8"], "Tree(depth)": ["3", "12"]}


def test_a_chance_stays_below_one_or_100_percent() -> None:
    text = "import random\n\nCHANCE = 60\nx = 0.0\nfor _ in range(9):\n    if random.randint(0, 100) < CHANCE:\n"
    text += "        x = x + random.random()\nprint('error:', x)\n"
    assert candidates_of(text) == {"CHANCE: 60 → 30", "CHANCE: 60 → 80"}
