"""Attestations on the code of a paper: taken off to travel on their own, and put on what arrives."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from xkg.attestations.envelope import attestations_of, read
from xkg.attestations.trust import trusted
from xkg.errors import InputError
from xkg.model import Code, Level, PaperBundle

MOST = 32
"""Of the attestations of a code node so many are kept, those of trusted keys first, then the newest."""


def detach(bundle: PaperBundle) -> tuple[PaperBundle, tuple[str, ...]]:
    """The bundle without attestations, and all its envelopes, sorted."""
    bare = tuple(code.model_copy(update={"attestations": ()}) for code in bundle.code)
    envelopes = sorted({each for code in bundle.code for each in code.attestations})
    return bundle.model_copy(update={"code": bare}), tuple(envelopes)


def attach(bundle: PaperBundle, envelopes: Iterable[str]) -> PaperBundle:
    """The bundle with those of these envelopes that attest code of it, beside its own; any others are left out."""
    own, about = trusted().names, defaultdict[str, list[str]](list)
    for envelope in set(envelopes):
        with suppress(InputError):
            about[read(envelope).code].append(envelope)

    def attested(code: Code) -> Code:
        found = attestations_of(code.model_copy(update={"attestations": (*code.attestations, *about[code.id])}))
        kept = sorted(found, key=lambda each: each.key.fingerprint not in own)[:MOST]
        return code.model_copy(update={"attestations": tuple(sorted(each.envelope for each in kept))})

    return bundle.model_copy(update={"code": tuple(map(attested, bundle.code))})


def received(bundle: PaperBundle, envelopes: Iterable[str] = (), stored: PaperBundle | None = None) -> PaperBundle:
    """A bundle of somebody else as it is stored: its levels are claims, its attestations are those that are valid, with
    those of `stored`. What `stored` proves of the very same code stays proven."""
    known = {} if stored is None else {code.id: code for code in stored.code}
    earlier = [each for code in known.values() for each in code.attestations]
    code = tuple(_claimed(each, known.get(each.id)) for each in bundle.code)
    return attach(bundle.model_copy(update={"code": code}), (*earlier, *envelopes))


def proven_as(code: Code, stored: Code) -> Code:
    """Claimed code with what `stored` proves of it, if that is the very same and was proven here."""
    # Ids of a file may be anything: what counts is the code itself.
    if stored.level is Level.CLAIMED or stored.sha256 != code.sha256:
        return code
    return code.model_copy(update={"level": stored.level, "evidence": stored.evidence})


def _claimed(code: Code, stored: Code | None) -> Code:
    claimed = code if code.level is Level.NONE else code.model_copy(update={"level": Level.CLAIMED})
    return claimed if stored is None else proven_as(claimed, stored)
