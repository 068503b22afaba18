"""Ranks references and found papers by their usefulness for the target's techniques. Does not use a language model.

A work that is cited alone, with words such as "we use", matters more than a work that is cited together with eleven
others (Valenzuela, Ha and Etzioni, "Identifying Meaningful Citations", 2015). A paper's nearness is its mean cosine
similarity to the nearest technique and to the target's abstract."""

import math
import re
from collections.abc import Sequence

from xkg.build.curation.curated_set import CoreTechnique, Mention
from xkg.embeddings.base import Embedder
from xkg.value import Value

_OF_ROLE = {
    "method": 3.0,
    "abstract": 3.0,
    "application": 2.0,
    "details": 2.0,
    "experiments": 2.0,
    "background": 1.5,
    "theory": 1.0,
    "introduction": 1.0,
    "related": 0.7,
}
_OTHER_ROLE = 0.5
_USED = re.compile(
    r"(?i)\b(?:we|our)\b[^.;]{0,60}?\b(?:use|using|adopt|follow|build|buil[dt]|extend|employ|utili[sz]e|implement|train|"
    r"apply|modif|adapt|evaluat|compar|borrow|leverag|inherit)\w*|\bbaselines?\b|\bbased on\b|\bsimilar to\b|"
    r"\binspired by\b|\bfollowing\b|\bin contrast to\b|\bunlike\b"
)
_USED_TIMES = 1.5
_USE_SHARE = 0.5


class Ranked(Value):
    """The scores of a paper. `score` is the mean of `use` (how the target cites the paper) and `nearness` (how similar
    the paper is to the target and to its nearest technique). `technique` is the index of that technique. All values are
    between 0 and 1, relative to the best paper in the list."""

    score: float
    use: float
    nearness: float
    technique: int


def weight_of_use(mentions: Sequence[Mention]) -> float:
    """Returns the weight of a paper's citations, or 0 if the paper is not mentioned."""
    total = 0.0
    for mention in mentions:
        weight = _OF_ROLE.get(mention.role, _OTHER_ROLE) / math.sqrt(mention.together)
        total += weight * (_USED_TIMES if _USED.search(mention.sentence) else 1.0)
    return math.log1p(total)


def rank(
    texts: Sequence[str],
    uses: Sequence[float],
    techniques: Sequence[CoreTechnique],
    subject: str,
    embedder: Embedder,
) -> list[Ranked]:
    """Returns the candidates' ranking scores, in the given order. `subject` is the target's title and abstract. Raises
    `EmbeddingError`."""
    if not texts:
        return []
    names = [f"{technique.name}. {technique.definition}"[:1000] for technique in techniques]
    vectors = embedder.embed([subject[:1500], *names, *(text[:1500] for text in texts)])
    count = 1 + len(names)
    near = vectors[count:] @ vectors[1:count].T
    of_subject = vectors[count:] @ vectors[0]
    best = near.argmax(axis=1)
    values = [float(near[n, best[n]] + of_subject[n]) / 2 for n in range(len(texts))]
    low, high = min(values), max(values)
    most = max(uses) or 1.0
    ranked = []
    for n, value in enumerate(values):
        nearness = (value - low) / (high - low) if high > low else 1.0
        use = uses[n] / most
        score = _USE_SHARE * use + (1 - _USE_SHARE) * nearness
        ranked.append(Ranked(score=score, use=use, nearness=nearness, technique=int(best[n])))
    return ranked
