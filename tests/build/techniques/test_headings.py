from pathlib import Path

import pytest

from tests.build.techniques.papers import extracted, techniques


def test_symbols_are_no_part_of_a_heading_s_name(tmp_path: Path) -> None:
    method = "\\subsection{Neighbour sampling $S_{\\text{N}}$}\nWe sample neighbours.\n"
    method += "\\subsection{Line search (all layers, $S_{\\text{L}}^2$)}\nWe search a line.\n"
    method += "\\subsection{Nest pooling for $x^{t+1}_i$}\nWe pool nests.\n"
    method += "\\subsection{The Setting of Weight Matrix $\\mathbf{W}$}\nThe weight matrix is set by noise.\n"
    assert {"Neighbour sampling", "Line search", "Nest pooling", "Weight Matrix W"} <= set(techniques(tmp_path, method))


@pytest.mark.parametrize(("symbol", "word"), [("W_{1}", "W_1"), (r"\ell_1", "ell_1"), (r"\mathcal{H}^2", "H^2")])
def test_a_symbol_before_other_words_is_part_of_the_name(tmp_path: Path, symbol: str, word: str) -> None:
    method = f"\\subsection{{${symbol}$ regularization}}\nWe add ${symbol}$ regularization to the loss $L$.\n"
    assert f"{word} regularization" in techniques(tmp_path, method)


def test_run_in_heads_with_and_without_a_stop(tmp_path: Path) -> None:
    method = (
        "\\textbf{Nest pooling.} Eggs are pooled by size. We compute it once.\n\n"
        "\\textbf{Contrastive loss}\nWe minimize a margin over eggs.\n\n"
    )
    assert {"Nest pooling", "Contrastive loss"} <= set(techniques(tmp_path, method))


def test_a_run_in_part_of_a_letter_that_states_a_formula_is_shown(tmp_path: Path) -> None:
    parsed = extracted(
        tmp_path,
        r"""\documentclass[prl]{revtex4-2}
\begin{document}
\title{Locating Walls with Folded Echoes}
\begin{abstract}We introduce folded echoes, which locate walls from sparse receivers.\end{abstract}
\maketitle
Walls are located from echoes. We keep late echoes.

\textit{Residual Backfold.---}Whatever the model does not explain is folded back along the paths.
\begin{equation} r(x)=\sum_i A_i(x)(d_i-A_i m) \end{equation}

\textit{Experiments.---}Four receivers reach four percent.
\end{document}
""",
    )
    assert "Residual Backfold" in [each.name for each in parsed.techniques if each.hidden is None]


def test_a_heading_and_a_part_of_the_appendix_about_its_update_are_one_technique(tmp_path: Path) -> None:
    method = "\\subsection{Mirror Descent in Wide Nests}\nMirror descent moves eggs. We compute $a$.\n"
    after = (
        "\\appendix\n\\section{Mirror Descent Update in Wide Nest}\nWe update:\n\\begin{equation} a \\end{equation}\n"
    )
    assert [n for n in techniques(tmp_path, method, after) if "Mirror" in n] == ["Mirror Descent in Wide Nests"]


def test_a_single_noun_is_named_after_the_method(tmp_path: Path) -> None:
    method = (
        "\\paragraph{Graph.} We construct an edge between nests.\n\n\\paragraph{Likelihood.} It is\n\\[ p = q. \\]\n"
    )
    found = techniques(tmp_path, method)
    assert [found[name].name for name in ("Graph", "Likelihood")] == ["TS Graph", "TS Likelihood"]


def test_a_greek_letter_in_a_heading_is_a_word(tmp_path: Path) -> None:
    assert "Update rho" in techniques(tmp_path, "\\subsection{Update $\\rho_k$}\nWe update it.\n")


def test_of_the_halves_around_a_colon_the_one_that_the_text_uses_is_the_name(tmp_path: Path) -> None:
    method = (
        "\\subsection{Learning from eggs: nest divergence}\nWe compute it.\n\n"
        "We minimize the nest divergence, and define it by\n\\[ a = b. \\]\n"
    )
    found = techniques(tmp_path, method)
    assert set(found) == {"TS", "nest divergence"}


def test_a_section_of_propositions_or_of_a_baseline_may_be_method(tmp_path: Path) -> None:
    after = "\\section{Nest Prediction}\n\\begin{proposition}It holds.\\end{proposition}\nWe predict nests.\n"
    method = "We sample terns.\n\\section{Strong Baseline Model}\n\\paragraph{Egg Encoding} We encode eggs as shells.\n"
    assert {"Nest Prediction", "Egg Encoding"} <= set(techniques(tmp_path, method + after))


@pytest.mark.parametrize("title", ["Egg Ablation", "Egg Ablations", "Ablation of Eggs"])
def test_an_ablation_in_the_method_is_no_technique(tmp_path: Path, title: str) -> None:
    method = f"\\subsection{{{title}}}\n{title} replaces an egg by the mean of the others. We compute it once.\n"
    assert title not in techniques(tmp_path, method)


def test_known_analyses_are_techniques_and_other_analyses_are_not(tmp_path: Path) -> None:
    method = (
        "\\subsection{Survival Analysis}\nWe compute the time.\n\n\\subsection{Egg Analysis}\nWe compute the eggs.\n"
    )
    found = techniques(tmp_path, method)
    assert "Survival Analysis" in found
    assert "Egg Analysis" not in found


def test_a_run_in_head_after_a_line_that_ends_in_a_comment(tmp_path: Path) -> None:
    method = "We count eggs. % Or not.\\\\\n\\noindent{\\bf Egg segmentation.} We split the eggs.\n"
    assert "Egg segmentation" in techniques(tmp_path, method)


@pytest.mark.parametrize(
    "title", ["Quality of the approximation", "Connection to eggs", "Whole operation", "Design problem"]
)
def test_what_is_about_a_technique_is_none(tmp_path: Path, title: str) -> None:
    assert set(techniques(tmp_path, f"\\subsection{{{title}}}\nWe compute things. We use them.\n")) == {"TS"}


def test_sections_after_the_method_that_are_none_of_it(tmp_path: Path) -> None:
    after = (
        "\n\\section{Numerical Simulations}\nWe compute terns.\n\\subsection{River Swim}\nWe use a river.\n"
        "\\section{Terns and Beyond}\nWe propose to use terns. We compute eggs.\n"
    )
    assert set(techniques(tmp_path, "We sample terns.\n", after)) == {"TS"}


def test_a_heading_with_the_abbreviation_first(tmp_path: Path) -> None:
    found = techniques(tmp_path, "\\subsection{NBS (Nest Based Sorting)}\nWe sort nests. We use eggs.\n")
    assert found["Nest Based Sorting"].aliases == ("NBS",)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Architecture", "The network has two layers and a linear layer."),
        ("Network Design", "Two convolutional layers come before the decoder."),
        ("Inference", "At test time eggs are ranked. The first one wins."),
    ],
)
def test_what_every_method_has_is_named_after_it(tmp_path: Path, title: str, text: str) -> None:
    assert techniques(tmp_path, f"\\subsection{{{title}}}\n{text}\n")[title].name == f"TS {title}"


def test_the_first_section_that_introduces_the_method_is_the_method(tmp_path: Path) -> None:
    text = (
        "\\title{TERN: Slow Forgetting}\n\\begin{document}\\maketitle\n\\section{Introduction}\n"
        "We propose TERN, a sampler that forgets \\cite{a}. TERN is slow.\n\\section{Unified Forgetting}\n"
        "Using our sampler, TERN, nests are found. We sample eggs. We update nests. We compute terns.\n"
        "\\section{Experiments}\nWe compare TERN.\n\\end{document}\n"
    )
    (only,) = extracted(tmp_path, text).techniques
    assert (only.name, only.aliases) == ("TERN", ("Unified Forgetting",))


def test_an_abbreviation_as_run_in_head(tmp_path: Path) -> None:
    method = "\\subsection{Egg updates}\nWe compare two. \n\n\\textbf{SARNEST:} A model was applied to eggs.\n"
    assert "SARNEST" in techniques(tmp_path, method)


@pytest.mark.parametrize("title", ["Round 2: Egg warming", "Step 2 (Egg warming)", "Module A. Egg warming"])
def test_a_numbered_heading_is_named_by_its_words(tmp_path: Path, title: str) -> None:
    assert "Egg warming" in techniques(tmp_path, f"\\subsection{{{title}}}\nWe warm eggs for $t$ hours.\n")


def test_a_heading_that_counts_techniques_is_none_of_them(tmp_path: Path) -> None:
    method = "\\subsection{Four warming schemes}\nWe warm eggs.\n\\subsection{Threshold finding}\nWe find $t$.\n"
    assert {"TS", "Threshold finding"} == set(techniques(tmp_path, method))


def test_a_section_with_formulas_after_the_experimental_design_is_method(tmp_path: Path) -> None:
    model = "It is\n\\begin{equation}\nn = 2 e.\n\\end{equation}\n" * 3
    after = (
        "\\section{Nest Prediction}\nThe datasets of nests need accuracy.\n"
        f"\\subsection{{Temporal encoder}}\nThe encoder is used for eggs.\n{model}\\section{{Results}}\nTerns win.\n"
    )
    assert "Temporal encoder" in techniques(tmp_path, "We sample terns.\n", after)


def test_an_abbreviation_before_its_long_form_is_the_same_technique(tmp_path: Path) -> None:
    method = "We call it NBS (Nest Based Sorting). \n\\subsection{Nest Based Sorting}\nNBS sorts nests. We use eggs.\n"
    found = techniques(tmp_path, method)
    assert found["Nest Based Sorting"].aliases == ("NBS",)
    assert "NBS" not in found


@pytest.mark.parametrize(
    ("heading", "opening"),
    [
        ("Nudged Tern Sampler", "We show tern sampling for nudges."),
        ("Tern Sampling Algorithm", "The tern sampling algorithm is a loop that moves the mean."),
    ],
)
def test_a_heading_with_the_method_s_name_and_a_word_is_the_method(tmp_path: Path, heading: str, opening: str) -> None:
    found = techniques(tmp_path, f"\\subsection{{{heading}}}\n{opening}\n\\begin{{equation}}b = c\\end{{equation}}\n")
    assert set(found) == {"TS"}
