"""The printed names of statements and of references to them."""

from xkg.build.paper.latex.tex.labels import theorems_in


def test_a_title_that_a_macro_holds_is_that_title() -> None:
    text = r"\newtheorem{cond}{\protect\conditionname}\providecommand{\conditionname}{Condition}"
    assert theorems_in(text)["cond"].title == "Condition"
    assert theorems_in(r"\newtheorem{assumption}{\protect\assumptionname}")["assumption"].title == "Assumption"
    assert theorems_in(r"\newtheorem{lem}{\protect\lemmaname}")["lem"].title == "Lemma"
