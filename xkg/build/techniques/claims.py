"""Extracts the findings that a paper claims and the resources that it releases."""

import re
from collections.abc import Iterator, Sequence

from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.names import words
from xkg.build.techniques.section_roles import Role
from xkg.model import Finding, Resource

MAX_FINDINGS = 8
NAME_WORDS = 18

# The text of a sentence contains only single spaces.
_ADVERBS = r"(?:(?:\w+ly|also|further|then|can)\s){0,5}"
_CLAIM = re.compile(
    r"\b(?:(?:we|experiments?|evaluations?|results?|findings|analys[ie]s|studies|"
    rf"ablations?)\s{_ADVERBS}(?:on\s[^,.]{{3,60}}\s{_ADVERBS})?"
    r"(?:find|found|show|shows|showed|demonstrate|demonstrates|demonstrated|observe|observed|prove|proved|"
    r"reveal|reveals|establish|confirm|confirms|suggest|suggests|indicate|indicates)"
    r"|(?:is|are) (?:theoretically |empirically )?(?:shown|proved|proven|found))\s(?:that\s|to\s)?",
    re.IGNORECASE,
)
_GAIN = re.compile(
    r"\b(?:outperforms?|surpass(?:es)?|improv(?:es|ed)\b[^.]{0,60}\bby\b|achiev(?:es|ing)\b|"
    r"converges?\b[^.]{0,40}\bfaster|reduces?\b[^.]{0,60}\bby\b|state-of-the-art)",
    re.IGNORECASE,
)
_ROLES = (Role.ABSTRACT, Role.INTRODUCTION, Role.CONCLUSION)
_PLACES = (
    r"(?:github\.com|gitlab\.com|bitbucket\.org|huggingface\.co|zenodo\.org|figshare\.com|osf\.io|"
    r"kaggle\.com|codeberg\.org|sourceforge\.net|(?<!\w)\w{1,60}\.github\.io|"
    r"anonymous\.4open\.science|drive\.google\.com|doi\.org/10\.5281)"
)
_URL = re.compile(rf"(?:https?\s*:\s*/\s*/\s*)?(?:www\.)?{_PLACES}/?[\w./~%#+=?&-]*", re.IGNORECASE)
_KINDS = (
    ("Code", r"\b(?:code\w*|implementations?|source|repositor\w+|software|library)\b"),
    ("Data", r"\b(?:data|datasets?|corpus|corpora|benchmarks?)\b"),
    ("Models", r"\b(?:models?|checkpoints?|weights)\b"),
    ("Project page", r"\b(?:project|website|page|demo|homepage)\b"),
)
_RELEASE = re.compile(
    r"\b(?:our|we|project|(?:this|the)(?: paper| work)?|code|implementations?|models?|data\w*|"
    r"python implementations?)\b[^.]{0,120}?\b(?:available|released?|open-?sourced?|"
    r"provided?|publish(?:ed)?|found|hosted|here|at)\b",
    re.IGNORECASE,
)
_WE_RELEASE = re.compile(
    r"\bwe (?:\w+ )?(?:release|open-?source|make (?:\w+ ){0,5}(?:public|available))\b", re.IGNORECASE
)


_DANGLING = frozenset("of the a an and or to for in on with by that than from as at".split())


def _short(claim: str) -> str:
    """Returns the claim's first clause as a name of at most eighteen words. Adds an ellipsis if the clause was cut."""
    claim = re.sub(r"(?<!\s)\s++\([^()]*+\)", "", claim).strip()
    clause = re.split(
        r"[;:]|,\s+(?:which|while|whereas|and|but|thus|thereby|with|when|demonstrating|showing|even|where)\b|\.\s",
        claim,
    )[0]
    clause_words = clause.split()[:NAME_WORDS]
    cut = len(clause_words) < len(clause.split())
    while cut and len(clause_words) > 4 and clause_words[-1].strip(",").casefold() in _DANGLING:
        clause_words.pop()
    name = " ".join(clause_words).strip(" ,.;:") + ("…" if cut else "")
    return name[:1].upper() + name[1:]


def findings(reader: Reader, names: Sequence[str], paper: str) -> tuple[Finding, ...]:
    """Returns the results that the abstract, introduction and conclusion claim for the method with these `names`. The
    `name` of a finding is the shortened claim, and its `description` is the whole sentence."""
    out: list[tuple[str, str]] = []
    seen_words: list[set[str]] = []

    ours = re.compile(rf"(?<!\w)(?:{'|'.join(['we', 'our', 'ours', *map(re.escape, names)])})(?!\w)", re.IGNORECASE)

    def add(claim: str, description: str) -> None:
        name = _short(claim)
        name_words = set(words(name))
        if len(name_words) < 5 or re.match(
            r"(?:applications?|how|whether|why|it|its|their|these|this|they)\b", name, re.IGNORECASE
        ):
            return
        if any(len(name_words & other) > 0.6 * min(len(name_words), len(other)) for other in seen_words):
            return
        seen_words.append(name_words)
        out.append((name, description))

    for role in _ROLES:
        for i, sentence in enumerate(reader.sentences):
            if reader.role(i) is not role or sentence.text.rstrip()[-1:] == ":" or "?" in sentence.text:
                continue
            match = _CLAIM.search(sentence.text)
            if match and len(sentence.text) - match.end() > 25:
                passive = re.match(r"is|are", match[0], re.IGNORECASE)
                claim = (
                    re.split(r",\s", sentence.text[: match.start()])[-1] + sentence.text[match.start() :]
                    if passive
                    else sentence.text[match.end() :]
                )
                add(claim, sentence.text)
            elif role is not Role.INTRODUCTION and _GAIN.search(sentence.text) and ours.search(sentence.text):
                add(sentence.text, sentence.text)
    return tuple(
        Finding(id=f"{paper}#finding/{n}", name=name, description=text)
        for n, (name, text) in enumerate(out[:MAX_FINDINGS], start=1)
    )


def _address(url: str) -> str:
    return re.sub(r"^https?://(?:www\.)?", "", url.casefold())


def _released(reader: Reader, cited: int) -> Iterator[tuple[str, str]]:
    text = reader.document.text
    foreign: set[str] = set()
    for match in _URL.finditer(text, 0, cited):
        url = re.sub(r"\s+", "", match[0]).rstrip(".,;:)}/")
        before = max(text.rfind("\n\n", 0, match.start()), match.start() - 300)
        context = " ".join(text[before : match.end() + 120].split())
        if "/" not in re.sub(r"^https?://", "", url):
            continue
        if not url.casefold().startswith("http"):
            url = "https://" + url
        near = " ".join(text[before : match.start()].split())
        labelled = re.search(
            r"\b(?:code|data|models?|project page|website|"
            r"demo)\b[^.\n]{0,20}:\W*$",
            near,
            re.IGNORECASE,
        )
        if not (labelled or _RELEASE.search(near) or _RELEASE.search(context)):
            continue
        if re.search(
            r"\b(?:from|uses?|using|of|see|by)\W*(?:\\(?:href|"
            r"url)\W*)?(?:https?\W*)?$",
            text[before : match.start()],
        ):
            foreign.add(_address(url))
            continue
        if _address(url) in foreign:
            continue
        kind = next((kind for kind, pattern in _KINDS if re.search(pattern, near, re.IGNORECASE)), "Resource")
        if kind in ("Resource", "Project page") and re.match(r"https?://(?:www\.)?git(?:hub|lab)\.com", url):
            kind = "Code"
        yield kind, url


def resources(reader: Reader, paper: str) -> tuple[Resource, ...]:
    """Returns the resources that a paper releases, one per address. The `name` of a resource is its kind, and its
    `description` is the kind with the address. If the paper contains no address, returns the sentences that announce a
    release."""
    cited = next(
        (
            s.start
            for s in reversed(reader.document.walk())
            if re.match(r"references|bibliography", s.title, re.IGNORECASE)
        ),
        len(reader.document.text),
    )
    by_address: dict[str, tuple[str, str]] = {}
    for kind, url in _released(reader, cited):
        by_address.setdefault(_address(url), (kind, f"{kind}: {url}"))
    announcements = [
        ("Release", s.text)
        for i, s in enumerate(reader.sentences)
        if _WE_RELEASE.search(s.text) and reader.role(i) is not Role.RELATED
    ]
    rows = list(by_address.values()) or announcements[:3]
    return tuple(
        Resource(id=f"{paper}#resource/{n}", name=name, description=text)
        for n, (name, text) in enumerate(rows, start=1)
    )
