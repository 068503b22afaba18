"""Prior weights: what the paper claims of a technique counts beside its place and what was measured."""

from xkg.agents.ablation.techniques import _prior, claims_on

FINDINGS = ["Kernel bandwidth: the median heuristic is worth 12 %.", "Momentum helps little.", "It scales."]


def test_a_claim_names_the_technique() -> None:
    assert claims_on(("Median Heuristic",), FINDINGS) == FINDINGS[:1]
    assert claims_on(("heavy ball", "momentum"), FINDINGS) == FINDINGS[1:2]
    assert claims_on(("kernel bandwidths of trees",), FINDINGS) == []
    assert claims_on(("",), FINDINGS) == []


def test_what_is_claimed_weighs_more_and_says_so() -> None:
    plain, _ = _prior(1, (), None, ())
    once, reasons = _prior(1, (), None, FINDINGS[:1])
    often, _ = _prior(1, (), None, FINDINGS)
    assert plain < once < often <= 1.0
    assert any(reason.startswith("claimed in the paper: Kernel bandwidth") for reason in reasons)
