"""Detaches attestations from a paper's code to transfer them separately, and attaches them to imported bundles."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from xkg.attestations.envelope import attestations_of, read
from xkg.attestations.trust import trusted
from xkg.errors import InputError
from xkg.model import Code, Level, PaperBundle

MOST = 32
"""Maximum number of attestations kept per code node. Attestations by trusted keys take precedence, followed by the
newest attestations."""


def detach(bundle: PaperBundle) -> tuple[PaperBundle, tuple[str, ...]]:
    """Returns the bundle without its attestations, and all of its envelopes, sorted."""
    bare = tuple(code.model_copy(update={"attestations": ()}) if code.attestations else code for code in bundle.code)
    envelopes = sorted({each for code in bundle.code for each in code.attestations})
    return bundle.model_copy(update={"code": bare}), tuple(envelopes)


def attach(bundle: PaperBundle, envelopes: Iterable[str]) -> PaperBundle:
    """Returns the bundle with its own envelopes and the given envelopes. Drops envelopes that do not attest the
    bundle's code."""
    own, about = trusted().names, defaultdict[str, list[str]](list)
    for envelope in set(envelopes):
        with suppress(InputError):
            about[read(envelope).code].append(envelope)

    def attested(code: Code) -> Code:
        if not (code.attestations or about[code.id]):
            return code
        found = attestations_of(code.model_copy(update={"attestations": (*code.attestations, *about[code.id])}))
        kept = sorted(found, key=lambda each: each.key.fingerprint not in own)[:MOST]
        return code.model_copy(update={"attestations": tuple(sorted(each.envelope for each in kept))})

    return bundle.model_copy(update={"code": tuple(map(attested, bundle.code))})


def received(bundle: PaperBundle, envelopes: Iterable[str] = (), stored: PaperBundle | None = None) -> PaperBundle:
    """Converts another user's bundle to the form in which it is stored. The bundle's levels become claims, and its
    valid attestations are combined with the attestations from `stored`. Levels that `stored` proves for the same code
    remain proven."""
    known = {} if stored is None else {code.id: code for code in stored.code}
    earlier = [each for code in known.values() for each in code.attestations]
    code = tuple(_claimed(each, known.get(each.id)) for each in bundle.code)
    return attach(bundle.model_copy(update={"code": code}), (*earlier, *envelopes))


def proven_as(code: Code, stored: Code) -> Code:
    """Returns claimed code with the evidence from `stored`, if the code is the same and was proven here."""
    # Compare the code itself, because ids in a file are arbitrary.
    if stored.level is Level.CLAIMED or stored.sha256 != code.sha256:
        return code
    return code.model_copy(update={"level": stored.level, "evidence": stored.evidence})


def _claimed(code: Code, stored: Code | None) -> Code:
    claimed = code if code.level is Level.NONE else code.model_copy(update={"level": Level.CLAIMED})
    return claimed if stored is None else proven_as(claimed, stored)
