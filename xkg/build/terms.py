"""Names of techniques: what can be one, when two are the same, and where a sentence gives one.

No tagger: a noun phrase is what stands between a verb or determiner and the next function word, as terms are found in
Justeson and Katz, "Technical terminology: some linguistic properties and an algorithm for identification in text",
Natural Language Engineering 1(1), 1995. Abbreviations are matched as in Schwartz and Hearst, "A simple algorithm for
identifying abbreviation definitions in biomedical text", PSB 2003.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MAX_WORDS = 7

# Words that say nothing of which technique is meant: as the only words they make no name.
_GENERIC = frozenset(
    """a an the our its their this these that such own proposed new novel simple effective efficient general generic overall main key core
    basic standard practical common typical complete full entire whole final total first second third several various different
    additional alternative further other specific special particular improved better good optimal powerful scalable robust flexible
    principled unified unifying comprehensive following preliminary detailed formal theoretical empirical experimental resulting
    corresponding respective above below two three four five six one many multiple single end two-stage two-step three-step
    lightweight fast faster cheap natural straightforward intuitive useful promising popular original modified extended enhanced
    approach approaches method methods methodology algorithm algorithms framework frameworks technique techniques procedure
    procedures scheme schemes strategy strategies mechanism mechanisms solution solutions system systems pipeline pipelines paradigm
    setting settings setup problem problems formulation formulations perspective way idea ideas insight intuition concept work paper
    study analysis contribution contributions architecture architectures design designs model models modeling module modules component components
    step steps stage stages phase phases part parts loss losses objective objectives function functions term terms update updates
    rule rules network networks layer layers block blocks training train learning inference optimization optimisation implementation
    implementations overview detail details description notation notations definition definitions summary discussion remark remarks
    motivation background preliminaries preliminary introduction conclusion result results experiment experiments evaluation
    example examples illustration figure table section appendix complexity hyperparameter hyperparameters parameter parameters configuration
    baseline baselines dataset datasets data benchmark benchmarks metric metrics application applications task tasks property properties
    advantage advantages limitation limitations extension extensions variant variants version comparison comparisons theory proof
    neural deep learned large-scale machine statistical mathematical process workflow recipe tool toolkit library software code codebase class family set type kind form instance case aspect
    consideration considerations choice choices goal goals hypothesis hypotheses assumption assumptions question questions answer
    generation representation prediction selection computation calculation testing test time procedure. interpretation understanding""".split()
)
# Headings that these words make up alone, or followed by "of X", "for X", speak about X or about nothing.
_ABOUT = frozenset(
    """overview framework architecture algorithm description detail details motivation intuition summary formulation definition derivation
    implementation pseudocode pseudo-code structure workflow illustration introduction explanation interpretation properties
    advantages advantage extension extensions application applications analysis complexity instantiation instantiations usage
    background review recap understanding design discussion limitations pipeline procedure training objective""".split()
)
# Heads that name a thing one can build or run; a term that is merely defined in a sentence must have one.
_HEADS = frozenset(
    """loss losses objective divergence module network networks layer layers algorithm sampler sampling estimator regularizer regularization
    regulariser penalty step update rule trick scheme strategy procedure mechanism encoder decoder autoencoder transformer attention
    embedding embeddings encoding decoding policy critic discriminator generator classifier probe prior kernel schedule scheduler
    scheduling normalization augmentation projection filter filtering pooling interpolation masking mask reweighting weighting
    distillation factorization decomposition optimization optimizer solver search planner planning controller adapter adaptation inference
    guidance clustering alignment matching regression classification segmentation detection retrieval ranking reranking initialization
    quantization compression pruning fine-tuning finetuning tuning pre-training pretraining training learning bootstrapping relabeling
    replay rehearsal buffer memory head backbone block cell unit gate gating flow diffusion model method approach framework
    architecture pipeline system process operator transform transformation score metric measure criterion index constraint
    perturbation correction calibration ensemble ensembling averaging aggregation fusion integration selection
    labeling annotation parser tokenizer compiler cache caching scheduler allocator protocol engine index hashing batching
    parallelism checkpointing offloading kernel kernels routing router partitioning sharding prefetching simulation simulator
    reparameterization reparametrization restoration reconstruction generation intervention patching ablation reward bonus
    descent ascent iteration backpropagation differentiation minimization maximization approximation estimation prediction
    translation mapping map expansion propagation convolution recurrence dropout smoothing splitting thresholding clipping""".split()
)
_NOT_HEADS = frozenset(
    """problem setting paradigm issue challenge limitation result improvement performance accuracy evidence insight analysis study
    experiment dataset datasets benchmark benchmarks corpus baseline survey review theorem lemma proof guarantee question hypothesis
    assumption phenomenon mismatch gap tradeoff trade-off bottleneck finding findings understanding explanation overview perspective view
    notion concept idea comparison evaluation example matrix vector variable variables parameter parameters set sets space
    value values number size rate property properties field area domain community direction work works paper contribution contributions""".split()
)
# Where a noun phrase ends. "of" does not end one.
_STOP = frozenset(
    """that which who whose where when while to for by with via using from in on at into onto over under through based and or but as is are
    was were be been being can could may might will would shall should must has have had do does did not we our us they it its
    he she you i if then than so because since although though however thus hence therefore also both either between among during
    without within across against after before upon towards toward per instead rather only even just whereas given such
    called named termed dubbed denoted defined computed obtained trained designed used consisting comprising composed inspired
    allowing enabling aims aiming capable able along together throughout leading making achieving this these those there here""".split()
)
_VERBS = frozenset(
    """is are was were be been has have had do does did can could will would may might must should shall cannot
    uses use used shows show shown yields yield converges converge outperforms outperform requires require remains remain avoids
    avoid improves improve reduces reduce achieves achieve provides provide gives give makes make leads lead helps help works
    enables enable allows allow becomes become needs need matters matter exhibits exhibit performs perform learns
    captures recovers depends generalizes generalize promotes promote encodes outperformed beats beat fails fail holds hold
    satisfies scales exists follows follow implies imply compare compares consider considers describe describes
    present presents propose proposes introduce introduces evaluate discuss let we our us you i it its they he she who what how why
    when whether which""".split()
)
_LOWER = r"[^\W\d_]"
_TOKEN = re.compile(r"\$[^$]*\$|\([^()]*\)|[^\s,;:.!?()\[\]\"“”]+|[,;:.!?()\[\]\"“”]")
_PLURALS = re.compile(r"(?<=[^\W\d_s]{3})s$")
_SUFFIX = re.compile(r"(?<=\w{4})(?:ization|isation|ation|ition|tion|ion|ing|ed|er|or|ers|ors|ize|ise|ment|al|ive)$")
_SAME_KIND = frozenset(
    """module method algorithm approach framework technique procedure strategy scheme mechanism step stage phase model loss
    objective function term layer network block component operation process architecture system""".split()
)


def words(name: str) -> list[str]:
    """Folded words of a name: hyphens and case do not tell names apart."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("’", "'")
    return re.findall(r"[^\W_]+(?:'[^\W_]+)?", folded)


def stem(word: str) -> str:
    """A folded word without plural and common endings, for comparing only."""
    return _SUFFIX.sub("", _PLURALS.sub("", word.removesuffix("'s")))


_LITTLE = frozenset("a an the of for in on with by via using to and our its from at as".split())


def key(name: str) -> tuple[str, ...]:
    """Stems of the words that tell a name from others, in order: equal keys mean the same technique."""
    stems = [stem(w) for w in words(re.sub(r"\([^()]*\)", " ", name)) if w not in _LITTLE]
    while len(stems) > 1 and stems[-1] in {stem(w) for w in _SAME_KIND}:
        stems.pop()
    while len(stems) > 1 and stems[0] in {stem(w) for w in ("proposed", "novel", "new", "overall", "simple")}:
        stems.pop(0)
    return tuple(stems)


def is_proper(text: str) -> bool:
    """Whether `text` is written as a name inside a sentence: "Test-Time Training", "iCaRL"."""
    return bool(text) and all(w[0].isupper() or any(c.isupper() for c in w) or w in _LITTLE for w in text.split()) and (
        len(text.split()) > 1 or sum(c.isupper() for c in text) > 1 or "-" in text
    )


def is_name(text: str, *, proper: bool = False) -> bool:
    """Whether `text` can name a technique: a noun phrase of one to seven words with a word that tells which. `proper`
    lets capitals tell it, in running text."""
    found = words(text)
    if not found or len(text) > 90 or len(re.sub(r"\([^()]*\)", " ", text).split()) > MAX_WORDS:
        return False
    if not any(len(w) > 1 and re.search(_LOWER, w) for w in found) or re.search(r"[?!=<>{}\\|]|\. ", text):
        return False
    if re.match(r"(?:figure|table|theorem|lemma|eq|equation|section|appendix|proposition|corollary|algorithm)s?\b[ .]*\d", text, re.I):
        return False
    if found[0] in _STOP - {"using", "over", "under", "per", "based"} or found[-1] in _STOP | _LITTLE:
        return False
    if any(w in _VERBS for w in found) or re.search(r"\b(?:19|20)\d\d\b|et al", text):
        return False
    return any(w not in _GENERIC and w not in _LITTLE and len(w) > 1 for w in found) or (proper and is_proper(text))


_SENTENCE_STARTS = frozenset(
    """in for note recall given let we our this these those here there however first second finally next then thus hence moreover
    furthermore if when while as to by from with since because although also it its they see assume suppose consider such""".split()
)


def is_headline(text: str) -> bool:
    """Whether a paragraph's first words are a heading: a noun phrase without a verb, not the start of a sentence."""
    bare = text.strip(" .:")
    found = words(bare)
    if not found or not bare[0].isupper() or len(bare.split()) > 9 or len(bare) > 90:
        return False
    if found[0] in _SENTENCE_STARTS and not (found[0] in ("from", "to", "learning") and bare.istitle()):
        return False
    return not any(w in _VERBS for w in found) and not re.search(r"[?!;=]|\\|et al|\d{4}|https?:|@", bare)


_PREPOSITION = re.compile(r"\s(?:of|for|in|on|with|by|via|using|to|from|as|over|under|through|based)\s", re.IGNORECASE)


def head(name: str) -> str:
    """The last word of a name before "of", "for", "with" and their like: what kind of thing it is."""
    core = _PREPOSITION.split(re.sub(r"\([^()]*\)", " ", name))[0]
    found = words(core)
    return found[-1] if found else ""


def is_method_like(name: str) -> bool:
    """Whether the head of a name is a thing one can build or run: a module, a loss, a procedure, an action."""
    last = head(name)
    if last in _NOT_HEADS:
        return False
    first = (words(name) or [""])[0]
    return (
        last in _HEADS
        or _PLURALS.sub("", last) in _HEADS
        or bool(re.search(r"(?:ization|isation|ation|ition|ction|sion|ption|izer|ifier|ater|ator|ment|former|coder|ing)s?$", last))
        or (first.endswith("ing") and len(first) > 5)
    )


def clean(title: str) -> str:
    """The name that a heading or a caption carries, without numbering, articles, and closing punctuation; may be empty."""
    text = " ".join(title.replace("~", " ").split()).strip(" .:;,-–—*_#")
    text = re.sub(r"^(?:\(?[A-Z]?\d+(?:\.\d+)*[.):]?|[A-Z]\.|[IVX]+\.|\([a-z]\))\s+", "", text)
    text = re.sub(r"^(?:step|stage|phase|part|algorithm|module|component|technique|method|idea|background|preliminar\w+|application|case study|example)"
                  r"(?:\s+(?:\d+|[ivx]+|[A-Z]))?\s*[:.\-–—]\s*", "", text, flags=re.IGNORECASE)
    text = re.sub(r"^(?:the|our|an?|proposed|overall|general)\s+", "", text, flags=re.IGNORECASE)
    text = re.sub(r"^(?:the|our|an?|proposed|overall|general)\s+", "", text, flags=re.IGNORECASE)
    if ":" in text and not is_name(text):
        before, _, after = (part.strip() for part in text.partition(":"))
        text = before if is_name(before) else after
    return text.strip(" .:;,-–—*_")


def about(title: str) -> str:
    """What a heading such as "Framework of X", "Overview of X" or "X in detail" is about; the title itself otherwise."""
    match = re.match(r"(?:[\w-]+\s+)?([\w-]+)\s+(?:of|for|behind)\s+(?:the\s+|our\s+)?(?:proposed\s+)?(.+)", title, re.IGNORECASE)
    if match and match[1].casefold() in _ABOUT:
        return match[2]
    return re.sub(r"\s+(?:in detail|in a nutshell|at a glance|details|overview)$", "", title, flags=re.IGNORECASE)


def initials_match(short: str, long: str) -> bool:
    """Whether the letters of `short` occur in `long` in order, the first at its start, each next in a word or at one."""
    letters = [c for c in short.casefold() if c.isalnum()]
    text = long.casefold()
    if not letters or not text or text[0] != letters[0] or len(words(long)) > len(letters) + 4:
        return False
    starts = {m.start() for m in re.finditer(r"[^\W_]+", text)}
    at, used = 0, 0
    for letter in letters:
        found = min((s for s in starts if s >= at and text[s] == letter), default=-1)
        if found < 0:
            found = text.find(letter, at)
        else:
            used += 1
        if found < 0:
            return False
        at = found + 1
    return used >= max(1, (len(letters) + 1) // 2)


_SHORT = r"[^\W\d_a-z]*[^\W_]*[A-Z][\w+\-]*(?:[ -][A-Z0-9][\w+\-]*)?"


def abbreviations(texts: Iterable[str]) -> dict[str, str]:
    """Short form → long form for every "long form (SHORT)" whose letters agree; the first one of a short form counts."""
    out: dict[str, str] = {}
    for text in texts:
        if "(" not in text:
            continue
        for match in re.finditer(rf"\(\s*({_SHORT}?)s?\s*(?:[,;][^()]*)?\)", text):
            short = match[1]
            if short in out or not 2 <= len(short) <= 15 or sum(c.isupper() for c in short) < 2:
                continue
            before = re.split(r"[,;:.()]\s", text[: match.start()])[-1].split()
            letters = sum(c.isalnum() for c in short)
            for n in range(1, min(len(before), letters + 3) + 1):
                long = " ".join(before[-n:]).strip("\"“”'*")
                if long[:1].isalpha() and words(long)[0] not in _LITTLE and initials_match(short, long):
                    wider = " ".join(before[-n - 1 :]) if n < len(before) else ""
                    out[short] = long if not (n < letters - 1 and initials_match(short, wider)) else wider
                    break
    return out


@dataclass(frozen=True)
class Term:
    """A name that a sentence gives: `how` it does ("propose", "call", "define", "use", "part"); `at` is where in the text."""

    name: str
    how: str
    at: int
    short: str | None = None


_NEW = r"(?:propose|introduce|present|develop|design|devise|formulate|derive|construct|contribute)"
_PROPOSE = re.compile(
    rf"\b(?:we|paper|work|article)\s+(?:\w+ly\s+|also\s+|then\s+|first\s+|next\s+|further\s+|now\s+|here\s+|thus\s+|instead\s+|therefore\s+|hereby\s+)*"
    rf"{_NEW}s?\s+",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|are)\s+(?:proposed|introduced|presented|developed)\b", re.IGNORECASE)
_CALL = re.compile(
    r"\b(?:(?:is|are|was|,|method|approach|algorithm|framework|model|module|technique|loss|strategy|scheme|procedure|sampler|setting|system|network|mechanism|variant|objective)\s+"
    r"(?:called|named|termed|dubbed|coined|denoted by|denoted as|referred to as|known as|abbreviated as)"
    r"|(?:(?<!so-)called|termed|dubbed|coined|which we (?:call|name|term|dub|refer to as)|that we (?:call|name|term|dub|refer to as)|what we (?:call|term))"
    r"|we\s+(?:call|name|term|dub|coin)\s+(?:this|the|our|it|these|such|the resulting|the proposed)?\s*(?:new\s+|proposed\s+|resulting\s+)?"
    r"(?:method|approach|algorithm|framework|model|technique|procedure|idea|strategy|scheme|module|variant|system)?(?:\s+as)?)\s+",
    re.IGNORECASE,
)
_REFER = re.compile(
    r"\b(?:we|will)\s+refer\s+to\b[^.;]{2,160}?\bas\s+|\bwe\s+(?:call|term|name)\s+(?:\S+\s+){1,5}?(?:the|an?)\s+|\breferred\s+to\s+as\s+",
    re.IGNORECASE,
)
_USE = re.compile(
    r"\bwe\s+(?:\w+ly\s+|also\s+|then\s+|first\s+|next\s+|further\s+|instead\s+)*(?:use|employ|adopt|apply|leverage|utilize|incorporate)\s+",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"\b(?:has|consists? of|comprises?|contains?|includes?|is composed of|are composed of|combines|integrat(?:es|ing)|built (?:from|on))\s+"
    r"(?:(?:the\s+)?(?:following\s+)?(?:two|three|four|five|\d)\s+(?:\w+\s+){0,2}?"
    r"(?:modules|components|parts|steps|stages|phases|ingredients|elements|terms|networks|techniques|blocks)[:,]?\s+|:\s*)",
    re.IGNORECASE,
)
# What others did, and what is no technique, may be "called" something too.
_OTHERS = re.compile(
    r"\b(?:recent|prior|previous|existing|earlier|concurrent)\s+(?:\w+\s+){1,4},?\s*(?:is\s+|are\s+)?$"
    r"|\b(?:works?|tasks?|datasets?|benchmarks?|problems?|settings?|phenomenon|issues?|games?|theorems?|property|effect)\s*,?\s*(?:(?:is|are|was)\s+)?$",
    re.IGNORECASE,
)
_LEADING = frozenset(
    """a an the our its this new novel simple effective efficient yet and but more proposed following so-called two three general generic
    principled practical scalable flexible powerful lightweight straightforward alternative different unified improved fast cheap first
    provably convergent computationally tractable closed-form, easy-to-use highly robust simple, stable theoretically grounded
    training-free data-efficient parameter-free plug-and-play easy-to-implement well-motivated end-to-end
    variant variation family class notion version form kind type set series of extension generalization""".split()
)


def noun_phrase(text: str, at: int) -> tuple[str, int]:
    """The noun phrase of `text` that starts at `at`, without article and praise, and where it ends; "" where none does."""
    taken: list[str] = []
    end = at
    for match in _TOKEN.finditer(text, at):
        token = match[0]
        bare = token.strip("*_'’‘`").casefold()
        if not taken and (bare in _LEADING or token in "\"“*_" or (token == "," and end > at)):
            end = match.end()
            continue
        if token[0] in ",;:.!?()[]\"“”$" or bare in _STOP or (bare.endswith("ly") and taken):
            break
        if taken and re.fullmatch(r"(?:[a-z]+(?:[^s]es|[^su]s)|[a-z]{3,}ed)", bare) and bare in _VERBS:
            break
        taken.append(token.strip("*_`"))
        end = match.end()
        if len(taken) > MAX_WORDS + 1:
            break
    while taken and taken[-1].casefold() in _LITTLE:
        taken.pop()
    return re.sub(r"(?:'s|’s|[-–—]+)$", "", " ".join(taken)).strip("'’‘"), end


def _whole(text: str, at: int) -> tuple[str, int]:
    """As `noun_phrase`, and on to an abbreviation in parentheses that stands for more: "batch and match (BaM)"."""
    name, end = noun_phrase(text, at)
    match = re.match(rf"((?:\s+(?!\()[^\s,;:.()]+){{1,6}})\s*\(\s*({_SHORT}?)\s*[,;)]", text[end : end + 120])
    if name and match and sum(c.isupper() for c in match[2]) >= 2:
        wider = name + " " + " ".join(match[1].split())
        if initials_match(match[2], wider) and not initials_match(match[2], name) and is_name(wider, proper=True):
            return wider, end + match.end(1)
    return name, end


def _short_after(text: str, end: int) -> str | None:
    match = re.match(rf"\s*\(\s*({_SHORT}?)\s*(?:[,;][^()]*)?\)", text[end : end + 60])
    return match[1] if match and sum(c.isupper() for c in match[1]) >= 2 else None


def _apposition(text: str, end: int) -> tuple[str, int]:
    """The name in "…approach, NAME," or "… approach (NAME)"; "" where there is none."""
    match = re.match(r"[^,:;.()]{0,60}?\s*[,:]\s*(?:namely\s+|i\.e\.,?\s+)?", text[end : end + 90])
    if not match:
        return "", end
    name, stop = _whole(text, end + match.end())
    if name and (name[0].isupper() or any(c.isupper() for c in name[1:])) and not re.match(r"\s*(?:and|or)\b", text[stop:]):
        return name, stop
    return "", end


def terms(text: str) -> Iterator[Term]:
    """Names that a sentence proposes, gives, takes up or lists as parts, in order."""
    found: list[Term] = []

    def add(name: str, how: str, at: int, end: int) -> None:
        told = re.match(r"(?:\s*\([^)]*\))?,?\s+(?:is\s+)?an?\s+(?:[\w-]+\s+){0,3}?(?:dataset|benchmark|corpus|task|problem|setting)\b", text[end : end + 120])
        if is_name(name, proper=True) and not told:
            found.append(Term(name, how, at, _short_after(text, end)))

    for match in _PROPOSE.finditer(text):
        name, end = _whole(text, match.end())
        other, stop = _apposition(text, end)
        if other and not _short_after(text, end):
            add(other, "call", end, stop)
        add(name, "propose", match.end(), end)
    for pattern, how in ((_CALL, "call"), (_REFER, "call"), (_USE, "use")):
        for match in pattern.finditer(text):
            verb = re.search(r"(?:called|named|termed|dubbed|coined|known|referred|denoted|abbreviated|which|that|what|we)\b", match[0], re.IGNORECASE)
            if how == "call" and _OTHERS.search(text, max(0, match.start() - 60), match.start() + (verb.start() if verb else 0)):
                continue
            name, end = _whole(text, match.end())
            add(name, how, match.end(), end)
    for match in re.finditer(r"\b[Oo]ur\s+(?:\w+[- ]){0,3}?(?:method|approach|algorithm|framework|model|system|technique)\s*,\s+", text):
        name, end = _whole(text, match.end())
        if name and any(c.isupper() for c in name):
            add(name, "call", match.end(), end)
    for match in _PARTS.finditer(text):
        at = match.end()
        for _ in range(6):
            at += len(re.match(r"\s*(?:\(?(?:\d|[ivx]+|[a-e])\)\s*)?", text[at:])[0])  # type: ignore[index]
            name, end = _whole(text, at)
            add(name, "part", at, end)
            more = re.match(r"[^,;.]{0,100}?(?:[,;]\s*(?:and\s+)?|\s+and\s+)", text[end:])
            if not name or not more:
                break
            at = end + more.end()
    seen: set[tuple[str, ...]] = set()
    for term in sorted(found, key=lambda t: t.at):
        if key(term.name) not in seen:
            seen.add(key(term.name))
            yield term


def same(one: str, other: str) -> bool:
    """Whether two names mean one technique: equal keys, equal without spaces, or one is the other with up to two more
    words in front ("lightweight mask generator module" and "mask generator")."""
    a, b = key(one), key(other)
    if not a or not b:
        return False
    if a == b or "".join(a) == "".join(b):
        return True
    short, long = sorted((a, b), key=len)
    longer = one if long is a else other
    return 2 <= len(short) < len(long) <= len(short) + 2 and long[-len(short) :] == short and not _PREPOSITION.search(longer)


def resolve(name: str, shorts: Mapping[str, str]) -> str:
    """`name` with its abbreviations written out, for comparing."""
    return " ".join(shorts.get(w, w) for w in name.split())
