import pytest

from xkg.build.guided.reading.definition_check import mangled, pointer


@pytest.mark.parametrize("text", [r"$\theta$", r"\rho", r"\nabla f", r"\neq 0", r"\times"])
def test_a_backslash_that_json_took_for_its_own_is_noticed(text: str) -> None:
    broken = f"A step along {text}.".replace("\\t", "\t").replace("\\r", "\r").replace("\\n", "\n")
    assert mangled(broken)
    assert mangled(f"A step along {text}.") is None


def test_lines_of_a_definition_are_no_fault() -> None:
    assert mangled("Two steps:\nfirst the mean,\nnext the variance.") is None


@pytest.mark.parametrize("text", ["see Figure 3", "as above", "by [12]", r"of \ref{eq:a}", "in this section"])
def test_a_pointer_out_of_the_text_is_found(text: str) -> None:
    assert pointer(f"It is computed {text}.")
    assert pointer("It is computed as $x[1]$ from two inputs.") is None
    assert pointer("A band that extends as far above the origin as below it.") is None
    assert pointer("The number of samples (500 in the paper) is given.") is None
