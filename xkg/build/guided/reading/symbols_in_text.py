"""Finds numbers and mathematical symbols of a definition that occur in none of its sources.

Notation may differ: macros, fonts, accents, spacing, `10^{-3}` for 0.001, 5 % for 0.05; the value, or the letter,
counts. Symbols that a paraphrase may add are allowed: 0, 1 and 2, running indices, transposes, and names of sets,
distributions and functions."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from xkg.build.paper.latex.tex.macros import expand

_FORMULA = re.compile(
    r"(?<!\\)\$\$(.{1,4000}?)\$\$|(?<!\\)\$(.{1,4000}?)(?<!\\)\$"
    r"|\\\(((?:\\\\|(?!\\[()]).){1,4000}+)\\\)|\\\[((?:\\\\|(?!\\[\[\]]).){1,4000}+)\\\]"
    r"|\\begin\{(equation|align|gather|multline)\*?\}(?:(?!\\begin\{(?:equation|align|gather|multline)).){1,4000}?\\end\{\5\*?\}",
    re.DOTALL,
)
_PLAIN = r"\d{1,3}(?:,\d{3}){1,12}+(?![\d,])|\d{1,40}"
_TIMES = r"(?:\\times|\\cdot|[×·*])"
_POWER = r"\s{0,3}\^\s{0,3}\{?\s{0,3}([-+]?\s{0,3}\d{1,3})\s{0,3}\}?"
_NUMBER = re.compile(
    rf"(?P<fraction>\\[dt]?(?:nice)?frac\s{{0,3}}\{{?\s{{0,3}}(\d+)\s{{0,3}}\}}?\s{{0,3}}\{{?\s{{0,3}}(\d+)\s{{0,3}}\}}?|(?<![\d./])(\d+)\s{{0,3}}/\s{{0,3}}(\d+)(?![\d/]|\.\d))"
    rf"|(?:(?P<mantissa>(?:{_PLAIN})?(?:\.\d+)?)\s{{0,3}}{_TIMES}\s{{0,3}})?(?<!\d)10(?P<ten>{_POWER})"
    rf"|(?<![\d.])(?P<base>\d+)(?P<power>{_POWER})"
    rf"|(?P<number>(?:{_PLAIN})(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE](?P<e>[-+]?\d{{1,3}})(?!\d))?"
    r"(?P<unit>\s?\\?%|\s?percent\b|[kKMB](?![\w]))?"
)
_UNITS = {"%": 0.01, "percent": 0.01, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
_WORDS: dict[str, float] = {
    word: n
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {
    "half": 0.5, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "thousand": 1e3, "million": 1e6,
    "billion": 1e9, "third": 3, "thirds": 3, "fourth": 4, "quarter": 4, "quarters": 4, "fifth": 5, "tenth": 10,
    "dozen": 12, "triple": 3, "thrice": 3, "cubic": 3, "cubed": 3,
}  # fmt: skip
_ALWAYS = frozenset((0.0, 1.0, 2.0))

_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell".split()
)
# Names of words, sets or distributions rather than quantities.
_NAMED = re.compile(
    r"\\(?:mathbb|mathbbm|mathbbold|mathds|Bbb)(?![A-Za-z])\s{0,3}(?:\{[^{}]*\}|[A-Za-z0-9])"
    r"|\\(?:mathcal|cal|mathscr)(?![A-Za-z])\s{0,3}(?:\{\s{0,3}[NUO]\s{0,3}\}|[NUO](?![A-Za-z]))"
    r"|\\(?:text\w*|mbox|hbox|operatorname\*?|mathop|begin|end|label|tag|[hv]space|color|\w*ref)\s{0,3}\{[^{}]*\}"
    r"|\\(?:math\w+|boldsymbol|bm)\s{0,3}\{(?=[^{}]*[A-Za-z]{3})[^{}]*\}"
    r"|\^\s{0,3}\{?\s{0,3}(?:\\(?:mathsf|mathrm|text|rm)\s{0,3})?\{?\s{0,3}T\s{0,3}\}{0,2}(?![A-Za-z])"
)
_BOUND = re.compile(
    r"\\(?:sum|prod|max|min|inf|sup|int|bigcup|bigcap|argmax|argmin|forall)(?![A-Za-z])\s{0,3}(?:\\limits)?\s{0,3}_?\s{0,3}\{?\s{0,3}"
    r"([A-Za-z])(?![A-Za-z])"
)
_CONTROL = re.compile(r"\\([A-Za-z]+)\*?")
_RUN = re.compile(r"[^\W\d_]+")
# running indices, expectation, probability, identity, differential, base of the natural logarithm
_ANYBODYS = frozenset("i j k n e d E P I".split())
_PAIRS = frozenset("KL id if in is or of to by at dx dt Pr Id".split())


def unsupported(
    definition: str,
    sources: Iterable[str],
    macros: Mapping[str, tuple[int, str]] | None = None,
    *,
    marked: bool = True,
) -> list[str]:
    """Numbers and symbols of `definition` that occur in none of `sources`; in order, without duplicates. `macros` are
    those of the paper (`Document.macros`); `marked` is false where the sources do not mark formulas, as text from a
    PDF, so that Latin symbols look like words."""
    known = [_normal(source, macros) for source in sources]
    text = _normal(definition, macros)
    return list(dict.fromkeys([*_odd_numbers(text, known), *_odd_symbols(text, known, marked=marked)]))


def unsupported_numbers(
    definition: str, sources: Iterable[str], macros: Mapping[str, tuple[int, str]] | None = None
) -> list[str]:
    """Like `unsupported`, for numbers only."""
    known = [_normal(source, macros) for source in sources]
    return list(dict.fromkeys(_odd_numbers(_normal(definition, macros), known)))


def _odd_numbers(text: str, known: Sequence[str]) -> list[str]:
    values = _ALWAYS.union(*map(_values, known))
    return [
        notation
        for notation, readings in _numbers(text)
        if not any(all(any(_near(part, v) for v in values) for part in reading) for reading in readings)
    ]


def _odd_symbols(text: str, known: Sequence[str], *, marked: bool) -> list[str]:
    letters: set[str] = set().union(*(_letters(source, marked=marked) for source in known))
    words = {run for source in known for run in _RUN.findall(source)}
    bound = {match[1] for formula in _formulas(text) for match in _BOUND.finditer(formula)}
    out = []
    for notation in (s for formula in _formulas(text) for s in _symbols(formula)):
        name = notation.removeprefix("\\")
        if name in letters | bound | _ANYBODYS or (len(name) == 2 and (name in words | _PAIRS or set(name) <= letters)):
            continue
        out.append(notation)
    return out + [f"\\{name}" for name in _greek(_FORMULA.sub(" ", text)) if name not in letters]


def _normal(text: str, macros: Mapping[str, tuple[int, str]] | None) -> str:
    """The text with macros expanded, typographic variants unified, and without accents."""
    if macros and "\\" in text:
        text = expand(text, macros)
    text = re.sub(r"[⁰¹²³⁴-⁹⁻⁺]+", lambda m: "^{" + unicodedata.normalize("NFKC", m[0]) + "}", text)
    text = re.sub(r"[₀-₉]+", lambda m: "_{" + unicodedata.normalize("NFKC", m[0]) + "}", text)
    text = unicodedata.normalize("NFKC", text).replace("−", "-").replace("{,}", ",")
    text = re.sub(r"(?<=\d)\s?(?:\\(?:mathrm|text|rm)\s*\{?\s*|(?=[eE]\s?-))([eE])\s*\}?\s?(?=[-+]?\d)", r"\1", text)
    text = re.sub(r"(?<=\d)(?:\\[,;! ]|[ \u2009])(?=\d{3}(?!\d))", ",", text)
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def _numbers(text: str) -> Iterator[tuple[str, list[list[float]]]]:
    """Numbers as written, with their possible readings: a value, or the values it is composed of. Signs are
    ignored."""
    for match in _NUMBER.finditer(text):
        yield match[0].strip(), _readings(match)


def _readings(match: re.Match[str]) -> list[list[float]]:
    if match["fraction"]:
        top, bottom = (float(g) for g in match.groups()[1:5] if g is not None)
        return [[top / bottom], [top, bottom]] if bottom else [[top]]
    if match["ten"]:
        return [[float((match["mantissa"] or "1").replace(",", "")) * 10.0 ** _power(match["ten"])]]
    if match["power"]:
        base, power = float(match["base"]), _power(match["power"])
        return [[base**power], [base, abs(power)]] if base and base < 1e6 else [[base]]
    value = float(match["number"].replace(",", "")) * 10.0 ** _power(match["e"] or "0")
    unit = (match["unit"] or "").replace("\\", "").strip()
    # "[-128,127]" is two numbers, "60,000" one.
    apart = [[float(part) for part in match["number"].split(",")]] if "," in match["number"] else []
    return [[value], *([[value * _UNITS[unit]]] if unit else []), *apart]


def _power(text: str) -> int:
    return max(-40, min(40, int(re.sub(r"[^\d-]", "", text))))


def _values(text: str) -> set[float]:
    """All values of the numbers in a source, and the numbers they are written with."""
    out = {part for _, readings in _numbers(text) for reading in readings for part in reading}
    out.update(float(part) for part in re.findall(r"\d+(?:\.\d+)?|\.\d+", text))
    out.update(v for word, v in _WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE))
    return out


def _near(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) < math.inf


def _formulas(text: str) -> list[str]:
    return [match[0] for match in _FORMULA.finditer(text)]


def _symbols(formula: str) -> Iterator[str]:
    """Letters for quantities, Greek ones as `\\name`; two consecutive letters are one symbol, longer names none."""
    for name in _greek(formula):
        yield f"\\{name}"
    for run in _RUN.findall(_CONTROL.sub(" ", _NAMED.sub(" ", formula))):
        if len(run) <= 2 and run.isascii():
            yield run


def _letters(text: str, *, marked: bool) -> set[str]:
    """All letters that a source uses as symbols, in formulas or as single letters in its text."""
    out = {notation.removeprefix("\\") for formula in _formulas(text) for notation in _symbols(formula)} | set(
        _greek(text)
    )
    bare = _CONTROL.sub(" ", text)
    shortest = [run for formula in _formulas(bare) for run in _RUN.findall(formula) if len(run) <= 2]
    if not marked:  # "xt" and "fθ" are x_t and f_θ
        shortest += [run for run in _RUN.findall(bare) if len(run) <= 3]
    out.update(c for run in shortest for c in run)
    out.update(re.findall(r"(?<![^\W\d_])[A-Za-z](?![^\W\d_])", bare))
    return out | ({"l", "ell"} if out & {"l", "ell"} else set())


def _greek(text: str) -> Iterator[str]:
    for match in _CONTROL.finditer(text):
        name = match[1].removeprefix("var")
        if name in _GREEK:
            yield name
    for character in text:
        if "\u0370" <= character <= "\u03ff":
            words = unicodedata.name(character, "").split()
            name = words[3].lower() if words[1:3] in (["SMALL", "LETTER"], ["CAPITAL", "LETTER"]) else ""
            name = {"lamda": "lambda", "final": "sigma"}.get(name, name)
            name = name.capitalize() if words[1:2] == ["CAPITAL"] else name
            if name in _GREEK:
                yield name
