"""Which proof fits which mechanism: by what it declares, never by its name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Grid, Integers, Lattice, Selection
from confide.counts import Counts, tally
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms import Mechanism, Product
from confide.mechanisms.premises import Premise
from confide.theory.likely_subsets.lines import likely_on_line
from confide.theory.likely_subsets.planes import likely_in_grid, likely_on_lattice
from confide.theory.likely_subsets.pruning import LARGEST_PRUNED, is_unlikely
from confide.theory.likely_subsets.subset import LikelySubset

Groups = Mapping[Mechanism, Counts]
"""The reports of people with one mechanism each, over one alphabet."""

LARGEST_MATRIX = 50_000_000
"""Entries up to which a matrix is stored to compare its rows: 400 MB."""

ON_A_PLANE = {Premise.COORDINATES, Premise.DISTANCE}


def likely_subset(mechanism: Mechanism, counts: Counts) -> LikelySubset:
    """Return a finite part of the alphabet on which the maximum of the likelihood is the same.

    Every distribution of greatest likelihood over the whole alphabet is zero outside it (paper, theorem likelysubset).

    Parameters
    ----------
    mechanism
        The mechanism that the reports went through; what it declares as its ``premise`` decides what is ruled out.
    counts
        What :func:`tally` made of the reports.

    >>> import confide as cf
    >>> subset = likely_subset(cf.Geometric(cf.Integers(), epsilon=1.0), cf.tally([3, 5, 5, 9]))
    >>> subset.alphabet, subset.proof
    (Integers(3, 9), 'likelylinear')
    >>> likely_subset(cf.Geometric(cf.Integers(), epsilon=1.0), cf.tally([3, 5, 10**9])).alphabet.values
    array([         3,          5, 1000000000])
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameterError(f"mechanism must be a Mechanism; got {type(mechanism).__name__}.")
    if not isinstance(counts, Counts):
        raise InvalidParameterError(f"counts must be Counts; got {type(counts).__name__}. Call tally(reports) first.")
    return likely_subset_of({mechanism: counts})


def likely_subset_of(groups: Groups) -> LikelySubset:
    """Return the same for groups of people with different mechanisms over one alphabet.

    Whatever rules a value out must do so for the reports of all groups at once. The range, the box, the hull and the
    neighbourhoods of all peaks together do, because the same other values are better for every group. Where one group
    used k-RR, the values that it reported are added: any other value is as likely there as can be least.
    """
    seen = {mechanism: _seen(counts) for mechanism, counts in groups.items()}
    whole = next(iter(seen)).alphabet
    premises = {mechanism.premise for mechanism in seen}
    if premises == {Premise.OWN_VALUE}:
        return _reported(whole, seen)
    if isinstance(whole, Integers) and premises <= {Premise.LINE, Premise.OWN_VALUE}:
        return likely_on_line(whole, _peaks(seen)[:, 0], is_exponential=all(one.decay is not None for one in seen))
    if isinstance(whole, Grid | Lattice) and premises <= ON_A_PLANE | {Premise.OWN_VALUE}:
        return _on_plane(whole, seen, premises)
    if len(seen) == 1 and isinstance(next(iter(seen)), Product):
        return _of_pairs(*next(iter(seen.items())))
    return _pruned(whole, seen)


def _on_plane(whole: Grid | Lattice, groups: Groups, premises: set[Premise]) -> LikelySubset:
    is_euclidean = premises == {Premise.DISTANCE}
    if isinstance(whole, Grid):
        return likely_in_grid(whole, _peaks(groups), is_euclidean=is_euclidean)
    decays = [one.decay for one in groups if one.decay is not None]
    shared = len(premises) == 1 and len(decays) == len(groups)
    return likely_on_lattice(whole, _peaks(groups), decay=min(decays) if shared else None, is_euclidean=is_euclidean)


def _seen(counts: Counts) -> Counts:
    """Return counts without reports that were seen no time."""
    seen = counts.counts > 0
    if not seen.any():
        raise InvalidCountsError("There are no reports to estimate from; give at least one.")
    return counts if seen.all() else Counts(counts.reports[seen], counts.counts[seen])


def _peaks(groups: Groups) -> NDArray[np.float64]:
    return np.concatenate([mechanism.peaks(counts) for mechanism, counts in groups.items()])


def _reported(whole: Alphabet, groups: Groups) -> LikelySubset:
    for mechanism, counts in groups.items():
        mechanism.refuse_strays(counts)
    places = np.unique(np.concatenate([whole.encode(counts.reports) for counts in groups.values()]))
    reason = (
        f"the {places.size:,} values that were reported: no other explains any report better (proposition likelykrr)"
    )
    return _kept(whole, places, "likelykrr", reason)


def _of_pairs(mechanism: Mechanism, counts: Counts) -> LikelySubset:
    """Keep pairs of kept parts: what rules out a part rules out every pair that has it."""
    assert isinstance(mechanism, Product)  # noqa: S101 (for the type checker; the one caller has asked)
    mechanism.refuse_strays(counts)
    left, right = np.divmod(mechanism.report_alphabet.locate(counts.reports), mechanism.second.report_alphabet.size)
    parts = [
        likely_subset(part, tally(part.report_alphabet.decode(places), counts.counts))
        for part, places in ((mechanism.first, left), (mechanism.second, right))
    ]
    pairs = np.add.outer(parts[0].places * mechanism.second.alphabet.size, parts[1].places).reshape(-1)
    proofs = " and ".join(dict.fromkeys(part.proof for part in parts if part.proof))
    reason = f"pairs of likely parts; first, {parts[0].reason}; second, {parts[1].reason}"
    return _kept(mechanism.alphabet, pairs, proofs, reason)


def _pruned(whole: Alphabet, groups: Groups) -> LikelySubset:
    evidence = Evidence.pool([mechanism.observe(counts) for mechanism, counts in groups.items()])
    if whole.size > LARGEST_PRUNED or whole.size * evidence.channel.shape[1] > LARGEST_MATRIX:
        reason = f"all values: {whole.size:,} are too many to compare each with each, and nothing else is known of them"
        return LikelySubset(whole, whole, "", reason)
    kept = np.flatnonzero(~is_unlikely(evidence.channel.dense()[:, evidence.seen]))
    reason = (
        f"{kept.size:,} of {whole.size:,} values: each of the others explains every report no better than another "
        f"value, and some report less well (definition unlikely)"
    )
    return _kept(whole, kept, "unlikely", reason)


def _kept(whole: Alphabet, places: NDArray[np.int64], proof: str, reason: str) -> LikelySubset:
    if places.size == whole.size:
        return LikelySubset(whole, whole, "", "all values: none explains the reports less well than another")
    return LikelySubset(whole, Selection(whole, whole.decode(places)), proof, reason)
