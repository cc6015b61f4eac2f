"""Likely subsets: a finite part of the alphabet on which the maximum of the likelihood is the same.

A value is unlikely if others make every report at least as likely, and some report likelier: one other value (paper,
definition unlikely), or a mixture of several. Moving its probability to those raises the likelihood, so no maximum
gives it any (paper, theorem likelysubset). The gain g = M (q / y) of an unlikely value is at most the mixture of
theirs, for whatever y, so the certificate n log(max g) over the rest holds for the whole alphabet, however long. The
facts that a mechanism declares decide which proof fits, never its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Grid, Indices, Integers, Lattice, Selection, Values
from confide.counts import Counts, add_up, require_counts
from confide.errors import InvalidCountsError
from confide.evidence import Evidence
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.mechanisms.facts import Premise
from confide.theory.spectra import LARGEST_MATRIX

Groups = Mapping[Mechanism, Counts]
"""Counts by mechanism: the reports of people with one mechanism each, over one alphabet."""

LONGEST_RANGE = 100_000
"""Values up to which the range of the reports is taken whole, gaps and all."""

SPARSEST = 100
"""Values of a range for each one next to a report, up to which a longer range is taken whole as well."""

LARGEST_RANGE = 4_000_000
"""Values past which only those next to a report are taken; a vector over the range would take 32 MB."""

LARGEST_PRUNED = 3000
"""Values up to which all pairs are compared: a table of 9 million truth values."""

ON_A_PLANE = {Premise.COORDINATES, Premise.DISTANCE}


@dataclass(frozen=True)
class LikelySubset:
    """The values that a maximum of the likelihood can have.

    Attributes
    ----------
    whole
        The alphabet that the mechanism has; it may be unbounded.
    alphabet
        The part of it that is left, always finite. It may hold more than it must, so as to keep a simple shape.
    proof
        What rules the other values out, by the paper's label where it is in the paper, such as ``"likelylinear"``,
        ``"likelyplanar"``, ``"likelykrr"`` and ``"unlikely"``; empty where nothing was ruled out.
    reason
        The same in a sentence.
    """

    whole: Alphabet
    alphabet: Alphabet
    proof: str
    reason: str

    @property
    def size(self) -> int:
        """Number of values that are left."""
        return self.alphabet.size

    @property
    def values(self) -> Values:
        """The values that are left."""
        return self.alphabet.decode(np.arange(self.size))

    @property
    def is_whole(self) -> bool:
        """Whether nothing was ruled out."""
        return self.alphabet == self.whole

    @property
    def places(self) -> Indices:
        """The numbers that the values have in the whole alphabet."""
        return self.whole.encode(self.values)

    def spread(self, distribution: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a distribution over the part as one over the whole, which must have an end: zero elsewhere."""
        full: NDArray[np.float64] = np.zeros(self.whole.size)
        full[self.places] = distribution
        return full

    def explain(self) -> str:
        """Return in two sentences what was looked at and what follows.

        >>> from confide import Geometric, Integers, likely_subset, tally
        >>> likely_subset(tally([3, 9]), Geometric(Integers(), epsilon=1.0)).explain().partition(":")[0]
        'Looked for among values 3 to 9, the range of the reports'
        """
        return (
            f"Looked for among {self.reason}. To give any other value of {self.whole!r} a share cannot raise the "
            f"likelihood, so the certificate holds for the whole of it."
        )

    def __len__(self) -> int:
        return self.size


def likely_subset(counts: Counts, mechanism: Mechanism) -> LikelySubset:
    """Return a finite part of the alphabet on which the maximum of the likelihood is the same.

    Every distribution of greatest likelihood over the whole alphabet is zero outside it (paper, theorem likelysubset).

    Parameters
    ----------
    counts
        The reports, counted by :func:`confide.tally`.
    mechanism
        The mechanism that they went through; the premise among its facts decides which values are ruled out.

    >>> import confide as cf
    >>> subset = likely_subset(cf.tally([3, 5, 5, 9]), cf.Geometric(cf.Integers(), epsilon=1.0))
    >>> subset.alphabet, subset.proof
    (Integers(3, 9), 'likelylinear')
    >>> likely_subset(cf.tally([3, 5, 10**9]), cf.Geometric(cf.Integers(), epsilon=1.0)).alphabet.values
    array([         3,          5, 1000000000])
    """
    require_counts(counts)
    require_mechanism("mechanism", mechanism)
    return likely_subset_of({mechanism: counts})


def likely_subset_of(groups: Groups) -> LikelySubset:
    """Return the same for groups of people with different mechanisms over one alphabet.

    Whatever rules a value out must do so for the reports of all groups at once. The range, the box, the hull and the
    neighbourhoods of all peaks together do, because the same other values are better for every group. Where one group
    used k-RR, the values that it reported are added: any other value is as likely there as can be least.
    """
    seen = {mechanism: _seen(counts) for mechanism, counts in groups.items()}
    whole = next(iter(seen)).alphabet
    premises = {mechanism.facts.premise for mechanism in seen}
    if premises == {Premise.OWN_VALUE}:
        return _reported(whole, seen)
    if isinstance(whole, Integers) and premises <= {Premise.LINE, Premise.OWN_VALUE}:
        return _on_line(whole, _peaks(seen)[:, 0], is_exponential=all(one.facts.decay is not None for one in seen))
    if isinstance(whole, Grid | Lattice) and premises <= ON_A_PLANE | {Premise.OWN_VALUE}:
        return _on_plane(whole, seen, premises)
    parts = next(iter(seen)).facts.parts
    if len(seen) == 1 and parts is not None:
        return _of_parts(*next(iter(seen.items())), parts)
    return _pruned(whole, seen)


def _on_plane(whole: Grid | Lattice, groups: Groups, premises: set[Premise]) -> LikelySubset:
    from confide.theory.likely_cells import likely_in_grid, likely_on_lattice  # which imports LikelySubset

    is_euclidean = premises == {Premise.DISTANCE}
    if isinstance(whole, Grid):
        return likely_in_grid(whole, _peaks(groups), is_euclidean=is_euclidean)
    decays = [one.facts.decay for one in groups if one.facts.decay is not None]
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


def _of_parts(mechanism: Mechanism, counts: Counts, named: Mapping[str, Mechanism]) -> LikelySubset:
    """Keep combinations of kept parts: what rules out a part rules out every combination that has it."""
    mechanism.refuse_strays(counts)
    mechanisms = list(named.values())
    sizes = [part.report_alphabet.size for part in mechanisms]
    numbers = np.unravel_index(mechanism.report_alphabet.locate(counts.reports), sizes)
    parts = [
        likely_subset(add_up(part.report_alphabet.decode(places), counts.counts), part)
        for part, places in zip(mechanisms, numbers, strict=True)
    ]
    kept = np.meshgrid(*(part.places for part in parts), indexing="ij")
    places = np.ravel_multi_index([axis.reshape(-1) for axis in kept], [part.alphabet.size for part in mechanisms])
    proofs = " and ".join(dict.fromkeys(part.proof for part in parts if part.proof))
    told = "; ".join(f"for {name}, {part.reason}" for name, part in zip(named, parts, strict=True))
    reason = f"combinations of likely values; {told}"
    return _kept(mechanism.alphabet, places.astype(np.int64), proofs, reason)


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


def _on_line(whole: Integers, peaks: NDArray[np.float64], *, is_exponential: bool) -> LikelySubset:
    """Return the range of the peaks or, where that is much too long, the values next to a peak.

    Beyond the outermost peaks values are unlikely (paper, proposition likelylinear). The paper asks that a report be
    likelier from any nearer value. Its proof compares values on one side of all reports alone, so less is enough:
    Premise.LINE. Between the reports they are where P(z | x) is a constant times alpha^|z - x|: from one value next to
    a report to the next such value the function x -> alpha^|z - x| is convex for every reported z, because no z lies
    between. So a value there makes every report less likely than the mixture of the two that has it as its mean.
    """
    first, last = _within(whole, np.floor(peaks.min())), _within(whole, np.ceil(peaks.max()))
    near = np.unique(np.concatenate([np.floor(peaks), np.ceil(peaks)]).astype(np.int64))
    if not whole.is_finite and is_exponential and _is_too_long(last - first + 1, near.size):
        reason = (
            f"{near.size:,} values next to a report: those beyond the reports explain each of them less well "
            f"(proposition likelylinear), and so do those between, than a mixture of their neighbours, by convexity"
        )
        return LikelySubset(whole, Selection(whole, near), "likelylinear and convexity", reason)
    low, high = _two_values(whole, first, last)
    if whole.is_finite and (low, high) == whole.span:
        return LikelySubset(whole, whole, "", "the reports reach from one end of the alphabet to the other")
    reason = (
        f"values {low} to {high}, the range of the reports: those beyond explain each report less well "
        f"(proposition likelylinear)"
    )
    return LikelySubset(whole, whole.between(low, high), "likelylinear", reason)


def _is_too_long(length: int, near: int) -> bool:
    return length > LARGEST_RANGE or (length > LONGEST_RANGE and length > SPARSEST * near)


def _within(whole: Integers, place: float) -> int:
    return int(np.clip(place, *whole.span)) if whole.is_finite else int(place)


def _two_values(whole: Integers, low: int, high: int) -> tuple[int, int]:
    """Return a range that mechanisms accept: one more value never hurts."""
    if low < high or (whole.is_finite and whole.size < 2):
        return low, high
    return (low, high + 1) if not whole.is_finite or high < whole.span[1] else (low - 1, high)


def is_unlikely(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows another row exceeds: nowhere below it, and somewhere above.

    Of equal rows none is unlikely by the other, so every maximum over all rows is one over those that are left.

    >>> is_unlikely(np.array([[0.1, 0.2], [0.1, 0.3], [0.4, 0.1], [0.1, 0.3]]))
    array([ True, False, False, False])
    """
    below = _is_below(matrix)
    unlikely: NDArray[np.bool_] = np.any(below & ~below.T, axis=1)
    return unlikely


def _is_below(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each pair of rows whether the first is nowhere above the second, column by column."""
    below = np.ones((matrix.shape[0], matrix.shape[0]), dtype=bool)
    for column in matrix.T:
        below &= column[:, None] <= column[None, :]
    return below
