"""Names of displayed equations, from the words around them."""

from pathlib import Path

import pytest

from tests.build.techniques.papers import techniques

_FORMULA = "\\begin{equation} a = b + c \\end{equation}\n"


@pytest.mark.parametrize(
    "introduction",
    [
        "The nest ranking loss is defined as",
        "Training minimizes the nest ranking loss:",
        "With these, we obtain the nest ranking loss over all pairs of eggs as",
        "We write the final nest ranking loss of a colony with margin $m$ as follows:",
    ],
)
def test_the_words_before_an_equation_name_it(tmp_path: Path, introduction: str) -> None:
    assert "nest ranking loss" in techniques(tmp_path, f"{introduction}\n{_FORMULA}")


def test_a_name_begins_behind_the_verb_that_introduces_it(tmp_path: Path) -> None:
    found = techniques(tmp_path, f"This suggests a nest balancing objective for all eggs $i$:\n{_FORMULA}")
    assert set(found) == {"TS", "nest balancing objective"}


@pytest.mark.parametrize(
    "introduction",
    [
        "The gradient of the nest ranking loss is",
        "The loss is",
        "We keep the training loss similar to",
        "The nest ranking loss has a long history that many have written about at some length before us; here",
    ],
)
def test_an_equation_of_something_else_is_not_named(tmp_path: Path, introduction: str) -> None:
    assert set(techniques(tmp_path, f"{introduction}\n{_FORMULA}")) == {"TS"}


def test_a_symbol_is_named_in_a_where_clause(tmp_path: Path) -> None:
    method = f"We minimize\n{_FORMULA}where $L_r$ is the egg reconstruction loss and $L_p$ is a nest penalty term.\n"
    assert {"egg reconstruction loss", "nest penalty term"} <= set(techniques(tmp_path, method))


def test_the_total_loss_is_the_method_s(tmp_path: Path) -> None:
    found = techniques(tmp_path, f"The total loss that we minimize is a weighted sum:\n{_FORMULA}")
    assert "TS total loss" in found


@pytest.mark.parametrize("words", ["We train the decoder using the dice loss.", "We minimize the dice loss $L_d$."])
def test_a_loss_in_running_text(tmp_path: Path, words: str) -> None:
    assert "dice loss" in techniques(tmp_path, f"{words}\n")


def test_a_loss_that_is_proposed_and_displayed_in_the_next_sentence(tmp_path: Path) -> None:
    method = "We introduce an auxiliary egg-balancing loss. Following terns, we define\n\\[ L = n. \\]\n"
    assert "auxiliary egg-balancing loss" in techniques(tmp_path, method)


def test_the_total_loss_below_a_heading_for_it_is_that_heading_s(tmp_path: Path) -> None:
    method = "\\subsection{Training Objective}\nWe minimize it. The final loss function is\n\\[ L = a + b. \\]\n"
    found = techniques(tmp_path, method)
    assert "TS Training Objective" in found
    assert not any("final" in name for name in found)


def test_what_a_section_proposes_under_nearly_its_own_name_is_one_technique(tmp_path: Path) -> None:
    method = "\\subsection{Adaptive Egg Control}\nWe introduce tern-aware adaptive egg control using eggs.\n"
    found = [name for name in techniques(tmp_path, method) if "control" in name.casefold()]
    assert found == ["Adaptive Egg Control"]


def test_an_estimator_of_the_preliminaries_that_the_method_uses(tmp_path: Path) -> None:
    after = "\n\\section{Preliminaries}\nThe balanced nest estimator is\n\\[ m = n. \\]\n"
    after += "The idle nest estimator is\n\\[ m = k. \\]\n"
    found = techniques(tmp_path, "We sample with the balanced nest estimator of terns.\n", after)
    assert "balanced nest estimator" in found
    assert "idle nest estimator" not in found


def test_a_rule_of_mathematics_is_no_technique(tmp_path: Path) -> None:
    method = "For a scalar loss $\\mathcal{L}(x)$, the chain rule gives\n\\[ d = e f. \\]\n"
    assert set(techniques(tmp_path, method)) == {"TS"}
