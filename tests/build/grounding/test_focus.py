import pytest

from tests.build.codebases import codebase_of
from xkg.build.code.codebase import Codebase
from xkg.build.grounding.ground import ground
from xkg.build.grounding.index.equation_symbols import equation_symbols
from xkg.build.grounding.relocate import moved_focus
from xkg.embeddings.base import Embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import LineRange, Symbol, Technique

FILLER = "".join(f"    table_{i} = read_column(frame, {i})\n" for i in range(12))
TRAIN = f"""\
def main(frame, model, teacher):
{FILLER}
    # soften both outputs with a temperature
    student_logits = model(frame) / temperature
    teacher_logits = teacher(frame) / temperature
    distillation = kl_divergence(softmax(student_logits), softmax(teacher_logits))

    # decay the learning rate along a cosine
    rate = base * 0.5 * (1 + cos(pi * step / steps))
    for group in optimizer.groups:
        group.rate = rate

    total = distillation + rate
    save(total)
    return total
"""
DISTILLATION = Technique(
    id="p#d",
    name="Knowledge distillation",
    definition="The student matches the softened outputs of the teacher at a temperature, by their divergence.",
)
COSINE = Technique(id="p#c", name="Cosine schedule", definition="The learning rate decays along a cosine.")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return OnnxEmbedder()


def parsed(**files: str) -> Codebase:
    return codebase_of({f"{name}.py": text for name, text in files.items()})


def test_two_techniques_in_one_function_have_their_own_lines(embedder: Embedder) -> None:
    found = ground([DISTILLATION, COSINE], parsed(train=TRAIN), embedder)
    lines = TRAIN.split("\n")
    for wanted, word in ((DISTILLATION, "kl_divergence"), (COSINE, "cos(pi")):
        place = found.of(wanted.id)[0]
        assert place.symbol.endswith("train.py::main")
        text = "\n".join(lines[place.focus[0].start_line - 1 : place.focus[0].end_line])
        assert word in text
        assert "read_column" not in text
        assert 1 <= len(place.focus) <= 3
        assert place.focus[0].why.startswith("names ")


def test_a_short_function_is_its_own_focus_but_for_its_signature(embedder: Embedder) -> None:
    source = "def cosine_schedule(step, steps):\n    return 0.5 * (1 + cos(pi * step / steps))\n"
    place = ground([COSINE], parsed(rates=source), embedder).of(COSINE.id)[0]
    assert [(at.start_line, at.end_line) for at in place.focus] == [(2, 2)]


NET = """\
class ScaleBlock(Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.conv1 = ConvTranspose2d(dim, dim, kernel_size=2)
        self.act = GELU()

    def forward(self, x):
        return self.act(self.conv1(x))
"""


@pytest.mark.parametrize(("name", "line"), [("Activation", 6), ("Convolution 1", 5)])
def test_an_attribute_is_found_where_it_is_made(name: str, line: int, embedder: Embedder) -> None:
    attribute = Technique(id="p#a", name=name)
    place = ground([attribute], parsed(net=NET), embedder).of(attribute.id)[0]
    assert place.symbol.endswith("ScaleBlock.__init__")
    assert [(at.start_line, at.end_line) for at in place.focus] == [(line, line)]
    assert place.confidence == "doubtful"


def test_a_step_of_a_long_function_competes_with_functions(embedder: Embedder) -> None:
    work = "".join(f"    a = read({i})\n    b = wrap(a)\n    put(b)\n\n" for i in range(20))
    penalty = (
        "    # gradient penalty\n    slope = grad(critic(mixed), mixed)\n    loss = loss + (slope.norm(2) - 1) ** 2\n"
    )
    other = "def plot_gradient(figure):\n    figure.line(gradient(figure.points))\n"
    wanted = Technique(id="p#g", name="Gradient penalty", definition="The norm of the critic's slope is kept near one.")
    place = ground([wanted], parsed(train=f"def train(frame):\n{work}{penalty}\n{work}", other=other), embedder)
    first = place.of(wanted.id)[0]
    assert first.symbol.endswith("train.py::train")
    assert [(at.start_line, at.end_line) for at in first.focus] == [(83, 84)]


def test_a_copy_under_another_name_is_named_with_the_place(embedder: Embedder) -> None:
    body = "".join(f"    rate_{i} = base * cos(pi * {i} / steps)\n" for i in range(12))
    new, old = (f"def {name}(base, steps):\n{body}    return rate_0\n" for name in ("cosine_schedule", "cosine_old"))
    places = ground([COSINE], parsed(rates=new, rates_old=old), embedder).of(COSINE.id)
    assert [place.symbol.rpartition("::")[2] for place in places if "rates" in place.symbol][:1] == ["cosine_schedule"]
    assert [twin.rpartition("::")[2] for twin in places[0].twins] == ["cosine_old"]


LOADERS = "".join(f"    def load_{i}(self, path):\n        return open_table(path, {i})\n\n" for i in range(60))
NAMING = (
    "    def __init__(self, cosine_rate, learning_rate):\n"
    "        # the cosine along which the learning rate decays\n"
    "        self.cosine_rate = cosine_rate\n        self.learning_rate = learning_rate\n\n"
)


def test_a_large_class_is_placed_by_the_method_that_works(embedder: Embedder) -> None:
    method = "step(self, steps):\n        rate = self.learning_rate\n        return rate * cos(pi * steps)\n"
    source = f"class CosineSchedule:\n{NAMING}{LOADERS}    def {method}"
    place = ground([COSINE], parsed(cosine=source), embedder).of(COSINE.id)[0]
    assert place.symbol.endswith("CosineSchedule.step")


def test_lines_move_with_a_function_and_are_given_up_when_it_changes() -> None:
    old = Symbol(
        id="r:a.py::f", repository="r", path="a.py", qualified_name="f", kind="function", start_line=1, end_line=30
    )
    focus = (LineRange(start_line=10, end_line=12, why="names rate"),)
    moved = old.model_copy(update={"start_line": 101, "end_line": 130})
    assert moved_focus(focus, old, moved) == (LineRange(start_line=110, end_line=112, why="names rate"),)
    assert moved_focus(focus, old, moved.model_copy(update={"end_line": 131})) == ()


@pytest.mark.parametrize(
    ("latex", "symbols"),
    [
        (r"x_t = \sigma_t \epsilon", {"xt", "sigmat", "sigma", "epsilon"}),
        (r"\hat{Q}_{L} + \mathbf{v}_0", {"ql", "v0"}),
        (r"u_{\theta}", {"utheta", "theta"}),
        ("", set()),
    ],
)
def test_symbols_of_equations_are_spelled_as_in_code(latex: str, symbols: set[str]) -> None:
    assert equation_symbols(latex) == symbols


STACK = """\
class FrameStack:
    def __init__(self, env, frames):
        self.frames = deque(maxlen=frames)
        self.shape = stack_shape(env.frame_shape, frames)

    def step(self, action):
        config, env = self.config, self.env
        frame, reward = env.step(action)
        return concatenate([*self.frames, frame]), reward
"""


def test_what_a_class_does_comes_before_what_its_constructor_sets_up(embedder: Embedder) -> None:
    stack = Technique(id="p#stack", name="Frame stack", definition="Several frames are one observation.")
    place = ground([stack], parsed(stack=STACK), embedder).of(stack.id)[0]
    assert place.symbol.endswith("::FrameStack")
    assert [(at.start_line, at.end_line) for at in place.focus] == [(8, 9), (3, 4)]
