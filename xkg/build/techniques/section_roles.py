"""Determines the role of each part of a paper, such as introduction, background, method, theory or experiments.

A part is a section or a run-in heading, such as "Batch step. This step begins …". The words in the title of a part
determine its role. If the title does not indicate a role, the sentences and the position of the part determine it. For
example, a part that proposes something and is between background and experiments belongs to the method."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from xkg.build.paper.document import Document, Section
from xkg.build.paper.plain import plain
from xkg.build.paper.sentences import Sentence, is_heading
from xkg.build.techniques.names import clean, is_method_like, key


class Role(StrEnum):
    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    RELATED = "related"
    BACKGROUND = "background"
    METHOD = "method"
    APPLICATION = "application"
    THEORY = "theory"
    EXPERIMENTS = "experiments"
    DISCUSSION = "discussion"
    CONCLUSION = "conclusion"
    DETAILS = "details"  # in an appendix: how the method is built, trained or derived
    BACK = "back"  # acknowledgements, references, statements, other appendices


@dataclass
class Part:
    """A part of a paper: a heading and its text. `start`, `body_start` and `end` have the same meaning as in `Section`.
    `sentences` contains the indices of the sentences that are directly in the part, not in its children."""

    title: str
    level: int
    start: int
    body_start: int
    end: int
    role: Role = Role.METHOD
    appendix: bool = False
    run_in: bool = False
    labelled: bool = False
    parent: "Part | None" = None
    children: list["Part"] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)

    def walk(self) -> Iterator["Part"]:
        yield self
        for child in self.children:
            yield from child.walk()


_TITLES: tuple[tuple[Role, str], ...] = (
    (Role.ABSTRACT, r"^abstract$"),
    (
        Role.BACK,
        r"^(?:references|bibliography|acknow\w*|funding|disclosure.*|"
        r"(?:author )?contributions? statement|author contributions|"
        r"(?:broader )?(?:impacts?|ethics|ethical)\b.*|societal impact.*|reproducibility.*|"
        r".*\bchecklist|conflicts? of interest.*|competing interests|"
        r"(?:data|code) availability.*|supplement\w*|nomenclature|contents|table of contents|key ?words)$",
    ),
    (Role.INTRODUCTION, r"^introduction\b|^intro$|^motivation$|^contributions?$|"
                        r"^our contributions?$|^overview of contributions$"),
    (Role.RELATED, r"\brelated (?:works?|literature|research|methods|approaches)\b|^(?:prior|previous|"
                   r"existing) (?:works?|methods|approaches)|^literature|connections? to (?:prior|other|"
                   r"existing|related)|^comparison (?:to|with) (?:prior|existing|other)"),
    (Role.EXPERIMENTS, r"\bexperiment|\bevaluat|\bresults?\b|^(?:main )?findings$|\bempirical\b|\bablation|\bbenchmark|"
                       r"\bcase stud|\bbaselines?\b|\bdata ?sets?\b|\bhyper-?parameters?\b|^metrics?$|"
                       r"\bmetrics$|\bquantitative\b|\bqualitative\b|\bcomparisons?\b|\bwall-?clock|"
                       r"\bsensitivity\b|\bsetup\b|\bset-up\b|\bsimulation stud|"
                       r"\bnumerical (?:stud|simulation|validation|example|result)|"
                       r"^simulations?$|\bperformance\b|\brun ?time\b|"
                       r"\bvisuali[sz]ations?\b|\btesting protocol|\bsettings?$|\bhardware\b|"
                       r"\bcost analysis|\bscalability\b|^analysis$|^analyses$|^(?:worked |illustrative )?examples?$"),
    (Role.BACKGROUND, r"\bbackground\b|\bpreliminar|\bnotations?\b|\bproblem (?:setting|statement|formali[sz]ation|"
                      r"formulation|definition|setup|description)|^problem$|\bprerequisite|^review\b|"
                      r"^recap\b|^basics\b|^setting$|^assumptions$|\bprimer\b|^definitions?$|\bterminology\b"),
    (Role.THEORY, r"\bproofs?\b|\btheor(?:y|ies|em|ems|etical)\b|\bconvergence\b|\bguarantees?\b|"
                  r"\blemmas?\b|\bregret\b|\b(?:error|generali[sz]ation|upper|lower) bounds?\b|"
                  r"\bcomplexity\b|\bcorollar|\bpropositions?\b|\boptimality\b|"
                  r"\bconsistency of\b|\bidentifiability\b|^properties\b"),
    (Role.CONCLUSION, r"^conclu|^summary\b|^closing|\boutlook$|conclusions?$"),
    (Role.DISCUSSION, r"^(?:general )?discussions?\b|\blimitations?\b|\bfuture (?:work|directions?)\b|"
                      r"^remarks?$|^lessons\b|^open (?:questions|problems)"),
    (Role.APPLICATION, r"^applications?\b|^use cases?\b|^instantiations?\b|^extensions?\b"),
    (Role.METHOD, r"\bmethods?$|\bmethod\b|\bmethodology\b|\bapproach(?:es)?$|\bour (?:approach|algorithm|"
                  r"model|framework|solution|system)\b|\bproposed\b|\bframework\b|\balgorithms?\b|"
                  r"\barchitectures?\b|^models?$|\bsystem (?:design|overview)\b|^design\b|\bdesign$|"
                  r"\bimplementation$|\btraining\b|\bmodules?\b|\bpipeline\b|\bobjectives?\b|\bloss(?:es)?\b"),
)  # fmt: skip
_PATTERNS = tuple((role, re.compile(pattern, re.IGNORECASE)) for role, pattern in _TITLES)
_EXPERIMENTS = re.compile(
    r"\bexperiment|\bevaluat|\bresults?\b|\bempirical|\bablation|\bbenchmark|\bcase stud|"
    r"\bsimulation|\bcompar|"
    r"\bset-?up\b|\bsettings?$|\bquantitative\b|\bnumerical\b|\bqualitative\b|\bbaselines$|\bdatasets$|\bvisuali[sz]ations?\b",
    re.IGNORECASE,
)
_DETAILS = re.compile(
    r"\balgorithms?\b|\bimplementation\b|\barchitectures?\b|\bmethods?\b|\btraining details\b|"
    r"\bderivations?\b|\bpseudo-?code\b|\bprocedure\b|\bmodel details\b",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"\bwe (?:\w+ )?(?:propose|introduce|present|develop|design|devise|define|derive|construct|"
    r"formulate|call|denote|use|employ|adopt|apply|"
    r"compute|train|sample|initiali[sz]e|optimi[sz]e|minimi[sz]e|maximi[sz]e|update|obtain)\b|"
    r"\bour (?:method|approach|algorithm|framework|model|goal|idea)\b",
    re.IGNORECASE,
)
_EMPIRICAL = re.compile(
    r"\b(?:outperforms?|baselines?|accuracy|datasets?|benchmarks?|state-of-the-art|Table \d|Tab\. ?\d|"
    r"results? (?:show|are|on)|we (?:compare|evaluate|observe|report))\b"
)
_STATED = re.compile(
    r"\b(?:Theorem|Lemma|Proposition|Corollary|Proof)\b|\\begin\{(?:theorem|lemma|proposition|corollary|proof)"
)
_CITED = re.compile(
    r"\(\s*(?:e\.g\.,? |see )?[A-Z][^()]{2,300}?(?:19|20)\d\d[a-z]?[^()]{0,200}\)|"
    r"\\cite\w*|\[\d+(?:[,–-]\s*\d+)*\]|\b[A-Z]\w+ et al\."
)


def role_of_title(title: str) -> Role | None:
    """Returns the role that the words in a title indicate, or None. A section on the method and another topic has the
    role of the method. The parts inside the section have their own roles."""
    roles = [_role(each) for each in re.split(r"\band\b|,|&", title)]
    # In "Methods and Results", the results have their own headings.
    if len(roles) == 2 and roles == [Role.METHOD, Role.EXPERIMENTS]:
        return Role.METHOD
    if len(roles) > 1 and Role.METHOD in roles and set(roles) <= {Role.METHOD, Role.BACKGROUND, Role.THEORY, None}:
        return Role.METHOD
    return _role(title)


def _role(title: str) -> Role | None:
    return next((role for role, pattern in _PATTERNS if pattern.search(title.strip(" .:"))), None)


def _tree(sections: Sequence[Section], document: Document, parent: Part | None) -> list[Part]:
    out = []
    for s in sections:
        if not is_heading(s):
            continue
        title = plain(document, s.start, s.body_start) if not s.title else s.title
        part = Part(" ".join(title.split()), s.level, s.start, s.body_start, s.end, appendix=s.appendix, parent=parent)
        part.run_in = s.level >= 4
        part.children = _tree(s.children, document, part)
        out.append(part)
    return out


def _innermost(parts: Sequence[Part], offset: int) -> Part | None:
    innermost: Part | None = None
    level = parts
    while True:
        i = bisect_left(level, offset + 1, key=lambda p: p.start) - 1
        if i < 0 or not level[i].start <= offset < level[i].end:
            return innermost
        innermost = level[i]
        level = innermost.children


def _content_role(text: str, stated: int, cited: int, shown: int, *, early: bool) -> Role:
    """Returns the role of a main part whose title does not indicate a role. `stated`, `cited` and `shown` are the
    numbers of theorems, citations and formulas. `early` is True if the part comes before the experiments."""
    thousand = max(1.0, len(text) / 1000)
    ours = (len(_OURS.findall(text)) + shown) / thousand
    empirical = len(_EMPIRICAL.findall(text)) / thousand
    if stated / thousand > 0.7 and stated / thousand > 0.7 * ours:
        return Role.THEORY
    if cited / thousand > 2.5 and cited / thousand > 3 * ours:
        return Role.RELATED
    if not early and empirical > ours:
        return Role.EXPERIMENTS
    return Role.METHOD


def _assign(parts: Sequence[Part], document: Document, sentences: Sequence[Sentence]) -> None:
    main = [p for p in parts if not p.appendix]
    title_roles = [role_of_title(p.title) for p in main]
    # "Strong Baseline Model" may or may not be an experiment. Its text decides.
    title_roles = [
        None if r is Role.EXPERIMENTS and _is_vague(p.title) else r for p, r in zip(main, title_roles, strict=True)
    ]
    methods = [i for i, role in enumerate(title_roles) if role is Role.METHOD]
    # A section such as "Comparison of A and B" is background if it precedes the method.
    for i, role in enumerate(title_roles[: methods[0]] if methods else ()):
        title_roles[i] = Role.BACKGROUND if role is Role.EXPERIMENTS else role
    firsts = [i for i, role in enumerate(title_roles) if role is Role.EXPERIMENTS]
    experiments = firsts[0] if firsts else len(main)
    after_all = (Role.BACK, Role.CONCLUSION, Role.DISCUSSION)
    last = max((i for i, role in enumerate(title_roles) if role not in after_all), default=0)
    ended = False
    after: Role | None = None
    for i, part in enumerate(main):
        role = title_roles[i]
        part.labelled = role is not None
        if ended and role not in (Role.METHOD, Role.DISCUSSION, Role.CONCLUSION, Role.EXPERIMENTS):
            role = Role.BACK
        if role is None:
            body = " ".join(sentences[n].text for p in part.walk() for n in p.sentences)
            first = i == 0 and len(main) > 3 and bool(_CITED.search(document.text, part.start, part.end))
            stated = len(_STATED.findall(document.text, part.start, part.end))
            cited = len(_CITED.findall(document.text, part.start, part.end))
            shown = sum(sentences[n].display for p in part.walk() for n in p.sentences)
            role = Role.INTRODUCTION if first else _content_role(body, stated, cited, shown, early=i < experiments)
            # Before the experiments, "State Prediction" with propositions or citations belongs to the method.
            if role in (Role.THEORY, Role.RELATED) and i < experiments and is_method_like(clean(part.title)):
                role = Role.METHOD
            # A part such as "Basic adjustments" continues the preceding application or discussion.
            if role is Role.METHOD and after is not None:
                titled = after is not Role.DISCUSSION and is_method_like(clean(part.title))
                role = role if titled else after
            # The last part after the experiments is a conclusion.
            if role is Role.METHOD and i == last and i > experiments:
                role = Role.CONCLUSION
        part.role = role
        if part.labelled and methods and i > methods[0]:
            after = role if role in (Role.APPLICATION, Role.EXPERIMENTS, Role.DISCUSSION) else None
        ended = ended or bool(re.match(r"references|bibliography", part.title, re.IGNORECASE))
    for part in parts:
        if part.appendix:
            part.role = (
                Role.DETAILS
                if _DETAILS.search(part.title)
                and role_of_title(part.title) not in (Role.EXPERIMENTS, Role.BACK, Role.RELATED)
                else Role.BACK
            )
        for child in part.children:
            _inherit(child, part.role)


def _is_vague(title: str) -> bool:
    """Returns whether a title suggests experiments only because of a word that is also used for methods, as in
    "Hyperparameter Treatment"."""
    return is_method_like(clean(title)) and not _EXPERIMENTS.search(title) and _role(title) is Role.EXPERIMENTS


def _inherit(part: Part, role: Role) -> None:
    """Assigns the parent's `role`, unless the title indicates background, a proof, an experiment or a similar role."""
    own = role_of_title(part.title)
    part.labelled = own is not None
    if own is Role.EXPERIMENTS and role is Role.METHOD and _is_vague(part.title):
        own = None
    if (
        role in (Role.METHOD, Role.APPLICATION)
        and own
        in (
            Role.RELATED,
            Role.BACKGROUND,
            Role.THEORY,
            Role.EXPERIMENTS,
            Role.DISCUSSION,
            Role.CONCLUSION,
        )
    ) or (role in (Role.BACKGROUND, Role.INTRODUCTION, Role.EXPERIMENTS) and own in (Role.RELATED, Role.DISCUSSION)):
        part.role = own
    elif role is Role.BACK and part.appendix and _DETAILS.search(part.title) and own is not Role.EXPERIMENTS:
        part.role = Role.DETAILS
    else:
        part.role = role
    for child in part.children:
        _inherit(child, part.role)


def part_at(parts: Sequence[Part], offset: int) -> Part | None:
    """Returns the innermost part at an offset."""
    around = [p for part in parts for p in part.walk() if p.start <= offset < p.end and p.role is not Role.ABSTRACT]
    return around[-1] if around else None


def outline(document: Document, sentences: Sequence[Sentence]) -> tuple[Part, ...]:
    """Returns the parts of a paper with their roles, as trees in reading order. Includes run-in headings. The abstract
    comes first. Each sentence is in exactly one part, unless it comes before the first part."""
    parts = _tree(document.sections, document, None)
    for i, sentence in enumerate(sentences):
        home = _innermost(parts, sentence.start)
        if home is not None:
            home.sentences.append(i)
    _assign(parts, document, sentences)
    subject = set(key(document.title))
    for part in [p for top in parts for p in top.walk()]:
        # In a paper on Max-Margin Q-Learning, "Max-Margin Q-Learning Formulation" in the background belongs to the
        # method.
        inherited = part.role is Role.BACKGROUND and not (part.labelled or part.run_in)
        if inherited and len(subject & set(key(part.title))) > 1:
            _inherit(part, Role.METHOD)
    if document.abstract_span is not None:
        start, end = document.abstract_span
        abstract = Part("Abstract", 1, start, start, end, role=Role.ABSTRACT)
        abstract.sentences = [i for i, s in enumerate(sentences) if start <= s.start < end]
        for part in parts:
            for p in part.walk():
                p.sentences = [i for i in p.sentences if not start <= sentences[i].start < end]
        parts.insert(0, abstract)
    return tuple(parts)
