from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.codebase import CommentMark
from xkg.build.grounding.index import blocks as made
from xkg.build.grounding.index.blocks import MOST_LINES, Block

LOSS = '''\
def train(model, batches, rate):
    """Trains a model.

    One pass over the data."""
    optimizer = make_optimizer(model, rate)
    scheduler = make_scheduler(optimizer)

    for batch in batches:
        # the variational lower bound
        posterior = model.encode(batch)
        sample = posterior.rsample()
        bound = model.likelihood(batch, sample) - kl(posterior)

        # clip the gradient
        bound.neg().backward()
        norm = clip(model.parameters(), 1.0)
        if norm > 1:
            log("clipped", norm)

        optimizer.step()
        scheduler.step()
        model.zero_grad()
    return model
'''


def blocks(lines: list[str], first: int, last: int, mark: CommentMark = "#") -> list[Block]:
    return made.blocks(lines, first, last, mark=mark)


def text_of(source: str, block: Block) -> str:
    return "\n".join(source.split("\n")[block.first - 1 : block.last])


def test_paragraphs_of_a_long_loop_are_blocks_with_their_comments() -> None:
    found = [text_of(LOSS, block).split("\n") for block in blocks(LOSS.split("\n"), 1, 23)]
    bound = next(lines for lines in found if any("kl(posterior)" in line for line in lines))
    assert [line.strip() for line in bound[:2]] == ["for batch in batches:", "# the variational lower bound"]
    assert bound[-1].strip().startswith("bound =")
    clip = next(lines for lines in found if any("backward" in line for line in lines))
    assert clip[0].strip() == "# clip the gradient"
    assert clip[-1].strip() == 'log("clipped", norm)'


def test_a_docstring_is_a_block_of_its_own_only_if_it_is_long() -> None:
    docstring = next(block for block in blocks(LOSS.split("\n"), 1, 23) if block.first <= 2 <= block.last)
    assert "make_optimizer" in text_of(LOSS, docstring)
    longer = LOSS.replace("One pass", "Each line more.\n    " * 15 + "One pass")
    docstring = next(block for block in blocks(longer.split("\n"), 1, 38) if block.first <= 2 <= block.last)
    assert "make_optimizer" not in text_of(longer, docstring)


def test_a_call_over_several_lines_stays_whole() -> None:
    call = "x = f(\n" + "".join(f"    a{i},\n" for i in range(5)) + ")\n\n\ny = 1\nz = 2\nw = 3\n"
    assert Block(1, 7) in blocks(call.split("\n"), 1, 13)


def test_braces_and_tabs_are_read_too() -> None:
    source = "void f() {\n\tint a = 0;\n\ta += 1;\n\n\t// decay\n\ta *= 2;\n" + "\tg(a);\n" * 12 + "}\n"
    decay = next(block for block in blocks(source.split("\n"), 1, 19, "//") if block.first == 5)
    assert decay.last >= 6


@given(
    st.lists(st.sampled_from(["", "  ", "a = 1", "    b = 2", "        c()", "# d", "    # e", '"""', ")", "else:"]))
)
def test_blocks_are_in_order_apart_and_within_the_lines(lines: list[str]) -> None:
    found = blocks(lines, 1, len(lines))
    covered = [line for block in found for line in range(block.first, block.last + 1)]
    assert covered == sorted(set(covered))
    assert all(1 <= line <= len(lines) for line in covered)
    # Every statement is in a block.
    plain = [n for n, line in enumerate(lines, 1) if line.strip() in ("a = 1", "b = 2", "c()")]
    assert '"""' in lines or set(plain) <= set(covered)


@given(st.integers(min_value=1, max_value=200))
def test_statements_without_an_end_are_cut(count: int) -> None:
    found = blocks(["x += 1"] * count, 1, count)
    assert all(block.lines <= MOST_LINES for block in found)
    assert sum(block.lines for block in found) == count


def test_a_bracket_that_is_never_closed_does_not_join_all_lines() -> None:
    source = ["x = f("] + ["y += 1"] * 1000
    assert len(blocks(source, 1, 1001)) > 10
