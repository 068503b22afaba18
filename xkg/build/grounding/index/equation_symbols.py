r"""Maps equation symbols to the identifiers that programmers use for them, without underscores. For example, `\sigma_t`
becomes `sigmat`."""

import re

_ACCENTS = re.compile(
    r"\\(?:tilde|hat|bar|vec|mathbf|mathrm|mathcal|mathbb|boldsymbol|bm|text|operatorname)\b\s*+\{?([^{}]{0,40})\}?"
)
_SUBSCRIPT = re.compile(r"(\\[A-Za-z]+|[A-Za-z])\s*+_\s*+(\{[^{}]{1,20}\}|\\[A-Za-z]+|[A-Za-z0-9])")
_COMMAND = re.compile(r"\\(?:var)?([a-z]+)")
_GREEK = frozenset(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi
    omega""".split()
)
_INLINE = re.compile(r"\$\$?([^$]{1,2000}+)\$")


def equation_symbols(latex: str) -> frozenset[str]:
    """Returns the Greek letters and subscripted symbols in a formula, as lower-case identifiers without underscores."""
    plain = _ACCENTS.sub(r" \1 ", latex)
    greek = {name for name in _COMMAND.findall(plain) if name in _GREEK}
    subscripted = set()
    for base, index in _SUBSCRIPT.findall(plain):
        letters = re.sub(r"\\|var(?=epsilon|phi|theta|rho|pi|sigma)", "", base)
        suffix = re.sub(r"\\[a-z]*(?=\W|$)|[^A-Za-z0-9]", "", index) or index.strip("\\{} ")
        subscripted.add(normalized(letters + suffix))
    return frozenset(greek | subscripted)


def inline_formulas(text: str) -> str:
    """Returns the formulas between dollar signs in a text, joined with spaces."""
    return " ".join(_INLINE.findall(text))


def normalized(identifier: str) -> str:
    """Normalises an identifier for comparison: lower case, no underscores."""
    return identifier.replace("_", "").lower()
