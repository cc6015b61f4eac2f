"""Counts of reports: the sufficient statistic of every estimate.

>>> morning, evening = tally([3, 3, 5]), tally([5, 7])
>>> merge([morning, evening])
Counts(5 reports, 3 distinct)
"""

from __future__ import annotations

import copy
import math
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence.designs import DesignSums
from confide.evidence.totals import Totals, check_totals
from confide.values.base import plain_array
from confide.values.checks import MOST_REPORTS, check_count, kind_of, read_only, refuse_masked, require_kinds, settle
from confide.values.wording import Shown, listed


class Noise(StrEnum):
    """Source of the randomness of reports."""

    SECURE = "secure generator"
    SEEDED = "seeded"
    PERMANENT = "permanent"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Origin:
    """Number of reports by source of noise, as stated. Origins add.

    It is stated by the metadata of a file, or by this process where it drew the reports itself. Anyone who can write a
    file can also write its metadata, so an origin proves nothing.

    >>> print(Origin(secure=3) + Origin(simulated=2))
    Of 5 reports, 3 are stated to have secure noise and 2 are simulated with a seed. Simulated reports protect nobody.

    Attributes
    ----------
    secure
        Reports whose noise comes from the operating system's secure generator, as stated.
    simulated
        Reports whose noise comes from a seed: they protect nobody.
    unknown
        Reports without a stated origin.
    permanent
        Reports whose noise comes from each person's own secret, as stated: the same for the same value at all times.
        Those of one person are no independent draws.
    """

    secure: float = 0
    simulated: float = 0
    unknown: float = 0
    permanent: float = 0

    @classmethod
    def of(cls, noise: Noise, reports: float) -> Origin:
        """Return the origin of reports that all have the same noise."""
        return cls(**{ORIGINS[noise]: reports})

    @property
    def total(self) -> float:
        """The number of reports."""
        return self.secure + self.simulated + self.unknown + self.permanent

    @property
    def noise(self) -> Noise | None:
        """The noise of all reports; None where they differ."""
        found = [noise for noise, name in ORIGINS.items() if getattr(self, name)] or [Noise.UNKNOWN]
        return found[0] if len(found) == 1 else None

    @property
    def is_simulated(self) -> bool:
        """Whether any report is simulated."""
        return self.simulated > 0

    @property
    def is_secure(self) -> bool:
        """Whether all noise is stated to be secure or permanent."""
        return self.total > 0 and not self.simulated and not self.unknown

    @property
    def in_short(self) -> str:
        """The noise in a word or two."""
        if self.noise is Noise.SEEDED:
            return "simulated"
        if self.noise is None:
            unknown = "partly not known" if self.unknown else "partly permanent"
            return "partly simulated" if self.is_simulated else unknown
        return str(self.noise)

    @property
    def record(self) -> dict[str, Any]:
        """The numbers and the sentence, for JSON."""
        numbers = [(name, getattr(self, name)) for name in ORIGINS.values()]
        return {
            "noise": "mixed" if self.noise is None else str(self.noise),
            "is_simulated": self.is_simulated,
            # Whole numbers, where they are; of expectations there may be fractions.
            **{name: int(number) if number == int(number) else number for name, number in numbers},
            "words": str(self),
        }

    def __add__(self, other: Origin) -> Origin:
        return Origin(*(getattr(self, name) + getattr(other, name) for name in ORIGINS.values()))

    def __str__(self) -> str:
        if self.noise is Noise.SECURE:
            return "The noise of these reports is stated to come from the operating system's secure generator."
        if self.noise is Noise.SEEDED:
            return "These reports are simulated and protect nobody: anyone who knows the seed can undo the noise."
        if self.noise is Noise.PERMANENT:
            return (
                "The noise of these reports is stated to be permanent: it comes from each person's secret, so the same "
                "value always gives the same report."
            )
        if self.noise is Noise.UNKNOWN:
            return "It is not known how these reports were made."
        stated = {"stated to have secure noise": self.secure, "stated to have permanent noise": self.permanent}
        stated["simulated with a seed"] = self.simulated
        parts = [f"{one:,.10g} {'is' if one == 1 else 'are'} {what}" for what, one in stated.items() if one]
        parts += [f"of {self.unknown:,.10g} it is not known how they were made"] if self.unknown else []
        protected = " Simulated reports protect nobody." if self.simulated else ""
        return f"Of {self.total:,.10g} reports, {listed(parts)}.{protected}"


ORIGINS = dict(zip((Noise.SECURE, Noise.SEEDED, Noise.UNKNOWN, Noise.PERMANENT), Origin.__annotations__, strict=True))
"""Field of an origin that counts the reports of each noise, in the order of the fields."""


_DRAWN: dict[int, tuple[weakref.ref[Any], Noise, tuple[int, int]]] = {}
"""Arrays of reports that are alive, by their identity: numpy's arrays can hold no remark of their own."""


def mark(reports: Any, noise: Noise) -> None:
    """Remember how an array was drawn while the array is alive.

    The mark is on this array and on views of it. A copy, a concatenation or a list made from it has none, and its
    origin is then not known. An array that is changed in place, other than in its order, no longer counts as secure;
    a simulated one stays simulated.

    >>> import numpy as np
    >>> reports = np.array([3, 5])
    >>> mark(reports, Noise.SEEDED)
    >>> noise_of(reports).value, noise_of(reports[:1]).value, noise_of(reports + 0).value
    ('seeded', 'seeded', 'not known')
    """
    key = id(reports)
    _DRAWN[key] = weakref.ref(reports, lambda _: _DRAWN.pop(key, None)), noise, _sums(reports)


def noise_of(reports: Any) -> Noise:
    """Return how an array or view was drawn; unknown without a mark."""
    place = reports
    while place is not None:
        known = _DRAWN.get(id(place))
        if known is not None and known[0]() is place:
            _, noise, sums = known
            # One that is simulated stays so, whatever becomes of it.
            return noise if noise is Noise.SEEDED or sums == _sums(place) else Noise.UNKNOWN
        # A view has the array that it looks at as its base.
        place = getattr(place, "base", None)
    return Noise.UNKNOWN


def _sums(reports: Any) -> tuple[int, int]:
    """Return an order-independent checksum: wrapping sums of words and squares."""
    array = np.asarray(reports)
    if array.dtype.hasobject:
        return 0, array.size
    kind = next(one for one in (np.uint64, np.uint32, np.uint8) if array.dtype.itemsize % np.dtype(one).itemsize == 0)
    words: NDArray[Any] = np.ascontiguousarray(array).reshape(-1).view(kind)
    return int(words.sum(dtype=np.uint64)), int(np.einsum("i,i", words, words))


Reports = NDArray[Any]

# Random draws and histograms hold counts as int64. Above 2**53 a float64, in which counts add up, skips numbers; up to
# here that is at most a part in 2**53 of a count, far below any noise.
NO_WEIGHTS = (
    "Are they survey weights? Weights are not people: taken for counts, they would make intervals too narrow. Name "
    "their column: confide count --weights COLUMN (weights= in Python)."
)
"""Cure for counts with fractions."""

WEIGHT_RANGE = (1e-9, 1e9)
"""Least and largest weight of a report, other than 0: their squares add up without overflow or loss."""

# Batches that wait to be added up: below this many entries a sort takes about as long as a call.
LEAST_PENDING = 2**16


@dataclass(frozen=True, eq=False)
class Counts(Shown):
    """Counts of the distinct reports.

    Use :func:`tally` to make them. Counts add: those of two days, or of two servers, are the counts of both.

    Attributes
    ----------
    reports
        The distinct reports; one row a report where a report has several parts. Given twice, a report is counted once
        with the sum of its counts.
    counts
        How often each was seen. Whole numbers, or expectations in place of data.
    origin
        How many reports have which known noise. Default: unknown for all.
    weights, squares
        Of weighted reports: for each distinct report, the sum of the weights and of their squares. These add up, as
        counts do, and intervals need no more than these. None without weights.
    blocks
        The same by stratum and cluster, where people were drawn so, and by the classes of known totals; they add up as
        well. With known totals, `weights` and `squares` follow from these by raking.
    repeats
        Most reports that one person may have made, if noise is permanent; see :attr:`independent`.
    is_thinned
        Whether counts were already reduced for that.

    Examples
    --------
    >>> Counts([3, 3, 5], [1, 2, 4]).counts
    array([3., 4.])
    """

    reports: Reports
    counts: NDArray[np.float64]
    origin: Origin = field(default_factory=Origin)
    repeats: int = field(default=1, kw_only=True)
    is_thinned: bool = field(default=False, kw_only=True)
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    squares: NDArray[np.float64] | None = field(default=None, kw_only=True)
    blocks: DesignSums | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_count("repeats", self.repeats, 1)
        if not isinstance(self.origin, Origin):
            raise InvalidParameterError(f"origin must be an Origin; got {kind_of(self.origin)}. Call tally(reports).")
        reports = _as_reports(self.reports)
        # Only numbers of reports are drawn again as integers; sums of squares may be larger.
        limits = dict.fromkeys(self._sums, math.inf) | {"counts": MOST_REPORTS}
        sums = {name: _as_counts(getattr(self, name), reports.shape[0], limits[name]) for name in self._sums}
        if "weights" in sums and "squares" not in sums:
            raise InvalidParameterError("Sums of weights need sums of their squares. Call tally(reports, weights=...).")
        if not _are_distinct(reports):
            reports, places = _distinct(reports)
            sums = {name: _summed(places, one) for name, one in sums.items()}
            settle(self, blocks=None if self.blocks is None else self.blocks.moved(places))
        if self.blocks is not None and self.blocks.totals is not None:
            sums |= dict(zip(("weights", "squares"), self.blocks.sums(reports.shape[0]), strict=True))
        settle(
            self, reports=read_only(np.array(reports)), **{name: read_only(np.array(one)) for name, one in sums.items()}
        )
        if not self.origin.total:
            settle(self, origin=Origin(unknown=self.total))

    @property
    def _sums(self) -> tuple[str, ...]:
        """Names of the numbers that add up."""
        return tuple(name for name in ("counts", "weights", "squares") if getattr(self, name) is not None)

    @property
    def total(self) -> float:
        """The number of reports."""
        return float(self.counts.sum())

    @property
    def weight(self) -> float:
        """The sum of all weights; without weights, the number of reports."""
        return self.total if self.weights is None else float(self.weights.sum())

    @property
    def design_effect(self) -> float:
        """How many weighted reports are worth one of equal weight.

        It is n times sum w^2 over (sum w)^2 (Kish), which is what weights cost on average over all questions. Each
        answer's interval has the one of its question.

        >>> round(tally(["yes", "no", "no"], weights=[4, 1, 1]).design_effect, 3)
        1.5
        """
        if self.weights is None or self.squares is None or not self.weight > 0:
            return 1.0
        return self.total * float(self.squares.sum()) / self.weight**2 * self._clustering

    @cached_property
    def _clustering(self) -> float:
        """What strata and clusters do to variances, on average over all reports."""
        return 1.0 if self.blocks is None or self.weights is None else self.blocks.effect(self.weights)

    @property
    def unweighted(self) -> Counts:
        """The same reports, each with a weight of one."""
        return self if self.weights is None else self._with(weights=None, squares=None, blocks=None)

    def variance(self, scores: NDArray[np.float64]) -> float:
        """Return the variance of a sum of scores over samples like this."""
        if self.blocks is None:
            return float((self.counts if self.squares is None else self.squares) @ scores**2)
        known = self.blocks.covariance(scores.size)
        return max(0.0, float(known.diagonal @ scores**2) + float((known.rows @ scores) ** 2 @ known.factors))

    def with_sums(self, sums: NDArray[np.float64]) -> Counts:
        """Return other sums of the same reports, in place of the counts."""
        return self._with(counts=read_only(sums))

    def with_reports(self, reports: ArrayLike) -> Counts:
        """Return the same counts of changed reports, such as rounded ones."""
        found = self._with(reports=_as_reports(reports))
        if self.as_counted is not self:
            settle(found, _as_counted=self.as_counted.with_reports(reports))
        found.__post_init__()
        return found

    def with_origin(self, origin: Origin) -> Counts:
        """Return the same counts, with another origin."""
        return self._with(origin=origin)

    def with_repeats(self, repeats: int) -> Counts:
        """Return the counts with at most `repeats` reports per person."""
        check_count("repeats", repeats, 1)
        return self._with(repeats=repeats)

    @property
    def independent(self) -> Counts:
        """Counts divided by `repeats`: a lower bound on independent reports.

        With permanent noise, the reports of one person may be one report r times. If each person sent w of them, n
        reports carry at least the information of (sum w)^2 / sum w^2 people. No w is above r, so that is at least n / r
        (docs/repetition.md).

        With weights they are the weights times sum w / sum w^2, which add up to the effective number of reports, and
        `squares` holds the variance of each.

        >>> tally([3, 5, 5, 5]).with_repeats(2).independent.counts
        array([0.5, 1.5])
        >>> tally([3, 5, 5], weights=[4, 1, 1]).independent.counts.round(3)
        array([1.333, 0.667])
        """
        if self.is_thinned or (self.repeats == 1 and self.weights is None):
            return self
        if self.weights is None or self.squares is None:
            return self._with(counts=read_only(self.counts / self.repeats), is_thinned=True, _as_counted=self)
        if not self.weight > 0:
            raise InvalidCountsError("All of these reports have a weight of 0. At least one must count for something.")
        scale = self.weight / (float(self.squares.sum()) * self._clustering)
        changes: dict[str, Any] = {"counts": read_only(self.weights * scale / self.repeats), "weights": None}
        changes |= {"squares": read_only(self.squares * scale**2 / self.repeats)}
        if self.blocks is not None:
            changes["blocks"] = self.blocks.scaled(scale / math.sqrt(self.repeats))
        return self._with(**changes, is_thinned=True, _as_counted=self)

    def _with(self, **changes: object) -> Counts:
        """Return a copy with changes, without checking again."""
        found = copy.copy(self)
        settle(found, **changes)
        return found

    @property
    def as_counted(self) -> Counts:
        """The counts before :attr:`independent` thinned them.

        >>> tally([3, 5, 5, 5]).with_repeats(2).independent.as_counted.counts
        array([1., 3.])
        """
        found: Counts = self.__dict__.get("_as_counted", self)
        return found

    @property
    def weighting(self) -> str:
        """Sentence on weights and what they cost; empty without weights.

        >>> tally(["yes", "no", "no"], weights=[4, 1, 1]).weighting
        'Weights: 3 reports are worth 2 of equal weight (design effect 1.5).'
        """
        return describe_weights([self])

    @property
    def dependence(self) -> str:
        """Sentence on dependent reports; empty if all are independent.

        >>> tally([3, 5, 5, 5]).with_repeats(2).dependence[:68]
        'One person may have made 2 of these reports. With permanent noise th'
        """
        return describe_dependence(self.repeats, self.independent.total)

    def __add__(self, other: Counts) -> Counts:
        return merge([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        if self._sums != other._sums or self.blocks != other.blocks or not np.array_equal(self.reports, other.reports):
            return False
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._sums)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        word = "report" if self.total == 1 else "reports"
        kind = f"{self.origin.in_short} " if self.origin.is_simulated else ""
        kind = kind if self.weights is None else f"{kind}weighted "
        return f"Counts({self.total:,.10g} {kind}{word}, {self.reports.shape[0]:,} distinct)"


def tally(  # noqa: PLR0913 - what counts consist of
    reports: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    margins: Mapping[str, ArrayLike] | None = None,
    totals: Totals | None = None,
) -> Counts:
    """Count reports, or add up reports that were counted elsewhere.

    Parameters
    ----------
    reports
        One entry for each report; one row for each if reports have several parts, such as grid cells.
    counts
        How often each report was seen. Default: once.
    weights
        Survey weight of each entry: how many people of the population each of its reports stands for, up to a common
        factor. A weight of 0 leaves a report out of the estimate. Counts then carry the sums of weights and of squares,
        and intervals are as wide as the weights make them.
    strata, clusters
        How people were drawn: the stratum of each entry, such as a region, and its cluster, such as a village. Clusters
        of the same name in two strata are two clusters. Intervals then have the variance of that design.
    margins, totals
        Columns such as ``{"sex": sexes}``, and what is known of the population: ``{"sex": {"f": 51, "m": 49}}``.
        Weights are raked to these totals, of which only ratios matter, and intervals are as narrow as that makes them.

    Examples
    --------
    >>> tally([3, 5, 3]).counts
    array([2., 1.])
    >>> tally([3, 5], counts=[2, 1]) == tally([3, 5, 3])
    True
    >>> tally([3, 5, 3], weights=[1.5, 2, 0.5]).weights
    array([2., 2.])
    >>> tally([3, 5, 3], margins={"sex": ["f", "m", "f"]}, totals={"sex": {"f": 50, "m": 50}}).weights
    array([1.5, 1.5])
    """
    found = add_up(reports, counts)
    numbers = np.zeros(0) if counts is None else np.asarray(counts, dtype=np.float64)
    parts = np.flatnonzero(numbers % 1)
    if parts.size:
        more = f" and {parts.size - 1:,} more" if parts.size > 1 else ""
        got = f"{numbers[parts[0]]:g} at position {parts[0]}{more}"
        raise InvalidCountsError(f"Counts must be whole numbers of reports; got {got}. {NO_WEIGHTS}")
    labels = _as_margins(margins, totals)
    if weights is None and strata is None and clusters is None and not labels:
        return found
    weighed = _weighed(reports, counts, weights, strata, clusters, labels, totals)
    return weighed.with_origin(found.origin)


def _as_margins(margins: Mapping[str, ArrayLike] | None, totals: Totals | None) -> dict[str, ArrayLike]:
    """Return the labels of each margin, in the order of the totals."""
    if (margins is None) != (totals is None):
        given, other = ("margins", "totals") if totals is None else ("totals", "margins")
        raise InvalidParameterError(
            f"{given} go with {other}: the class of each person, and the known total of each class. Give both."
        )
    if margins is None or totals is None:
        return {}
    names, found = list(check_totals(totals)), {str(name): column for name, column in margins.items()}
    if sorted(found) != names:
        raise InvalidParameterError(
            f"margins must have a column for each of the known totals, {listed(list(map(repr, names)))}; got "
            f"{listed(list(map(repr, found)))}."
        )
    return {name: found[name] for name in names}


def _weighed(  # noqa: PLR0913, PLR0917 - what weights come from
    reports: ArrayLike,
    counts: ArrayLike | None,
    weights: ArrayLike | None,
    strata: Any,
    clusters: Any,
    margins: Mapping[str, ArrayLike],
    totals: Totals | None,
) -> Counts:
    """Return counts with the sums of weights and of their squares."""
    array = _as_reports(reports)
    size = array.shape[0]
    each = np.ones(size) if weights is None else check_weights(weights, size)
    times = np.ones(size) if counts is None else _as_counts(counts, size)
    if not size:
        return Counts(array, times, weights=times, squares=times)
    if not float(times @ each) > 0:
        raise InvalidCountsError("All weights are 0. At least one report must count for something.")
    distinct, places = _distinct(array)
    blocks = None
    if strata is not None or clusters is not None or margins:
        blocks = DesignSums.of(strata, clusters, places, times, each, margins=margins)
        blocks = replace(blocks, totals=check_totals(totals)) if margins else blocks
    sums, squares = _summed(places, times * each), _summed(places, times * each**2)
    return Counts(distinct, _summed(places, times), weights=sums, squares=squares, blocks=blocks)


def check_weights(weights: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return survey weights as an array, or raise.

    >>> check_weights([1, 0.5], 2)
    array([1. , 0.5])
    """
    refuse_masked("weights", weights, InvalidCountsError)
    try:
        each = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidCountsError(f"Weights must be numbers; got {kind_of(weights)}.") from None
    if each.shape != (size,):
        raise InvalidCountsError(f"Give one weight for each of {size:,} reports; got an array of shape {each.shape}.")
    least, most = WEIGHT_RANGE
    bad = np.flatnonzero(~((each == 0) | ((each >= least) & (each <= most))))
    if bad.size:
        more = f" and {bad.size - 1:,} more" if bad.size > 1 else ""
        raise InvalidCountsError(
            f"Weights must be 0, or between {least:g} and {most:g}; got {each[bad[0]]:g} at position {bad[0]}{more}. "
            f"Leave out reports without a weight, and divide large ones by a common factor."
        )
    return each


def design_effect_of(parts: Iterable[Counts]) -> float:
    """Return the design effect of several counts together, whose log-likelihoods add."""
    every = [part.as_counted for part in parts]
    if all(part.weights is None for part in every):
        return 1.0
    return sum(part.total for part in every) / sum(part.total / part.design_effect for part in every)


def describe_weights(parts: Iterable[Counts]) -> str:
    """Say what weights cost, on average over all questions; empty without weights."""
    every = [part.as_counted for part in parts]
    if all(part.weights is None for part in every):
        return ""
    reports = sum(part.total for part in every)
    worth = reports / design_effect_of(every)
    left_out = sum(float(part.counts[part.weights == 0].sum()) for part in every if part.weights is not None)
    none = f" Reports of weight 0 alone, left out: {left_out:,.10g}." if left_out else ""
    many = f"{reports:,.10g} reports" if reports != 1 else "1 report"
    blocks = [part.blocks for part in every if part.blocks is not None]
    raked = list(dict.fromkeys(name for one in blocks for name in one.totals or ()))
    strata, clusters = (max((one.sizes[place] for one in blocks), default=0) for place in (0, 1))
    drawn = [f"{strata:,} strata"] * (strata > 1) + [f"{clusters:,} clusters"] * (clusters > 0)
    what = f"Sample: {many} in {listed(drawn)}" if drawn else f"Sample: {many}" if raked else f"Weights: {many}"
    what += f", raked to totals of {listed(raked)}," if raked else ""
    of = "a simple random sample" if drawn or raked else "equal weight"
    are = "are" if reports != 1 else "is"
    return f"{what} {are} worth {worth:,.4g} of {of} (design effect {reports / worth:.3g}).{none}"


def add_up(reports: ArrayLike, counts: ArrayLike | None = None) -> Counts:
    """Like :func:`tally`, but fractions are allowed, as in expectations."""
    array = _as_reports(reports)
    times = np.ones(array.shape[0]) if counts is None else _as_counts(counts, array.shape[0])
    if array.shape[0] == 0:
        return Counts(array, times)
    # Nobody states the noise of reports that were counted elsewhere.
    origin = Origin.of(noise_of(reports), array.shape[0]) if counts is None else Origin()
    distinct, places = _distinct(array)
    return Counts(distinct, _summed(places, times), origin)


def describe_dependence(repeats: int, people: float) -> str:
    """Explain dependent reports of one person; empty without repeats."""
    if repeats == 1:
        return ""
    return (
        f"One person may have made {repeats:,} of these reports. With permanent noise they say no more than one, so "
        f"intervals and tests count {people:,.10g} people, the fewest there can be. If the files are of different "
        f"people, say so: counts.with_repeats(1) or --different-people."
    )


def merge(parts: Iterable[Counts], *, repeats: int | None = None) -> Counts:
    """Add up the counts of several towns, servers or shards.

    They should be of different people. Reports of one person are not independent: intervals would be too narrow, and
    promises add up (:meth:`Guarantee.times`).

    Parameters
    ----------
    parts
        The counts.
    repeats
        Most reports of one person among all parts, if noise is permanent; 1 for different people. By default one person
        may be in every part, and intervals are widened for that.

    Examples
    --------
    >>> merge([tally(["yes"]), tally(["no", "yes"])]).counts
    array([1., 2.])
    """
    require_kinds(merge, locals())
    every = list(parts)
    for part in every:
        require_counts(part)
    filled = [part for part in every if part.reports.shape[0]]
    origin = sum((part.origin for part in filled), Origin())
    if not filled:
        return tally([])
    if len({_kind(part) for part in filled}) > 1:
        raise InvalidCountsError("Counts of different kinds of report cannot be merged; they come from other surveys.")
    if len({part.is_thinned for part in filled}) > 1:
        raise InvalidCountsError("Counts that were made independent cannot be merged with others. Merge them before.")
    names = filled[0]._sums
    if any(part._sums != names for part in filled):
        raise InvalidCountsError(
            "Counts with weights and without cannot be merged. Give a weight to all reports; 1 where there is none."
        )
    if len({part.blocks is None for part in filled}) > 1:
        raise InvalidCountsError(
            "Counts with strata, clusters or known totals and without cannot be merged. Count all in one way."
        )
    kept = [part.repeats for part in filled if part.origin.permanent or part.repeats > 1]
    most = max(1, sum(kept)) if repeats is None else repeats
    distinct, places = _distinct(np.concatenate([part.reports for part in filled]))
    named: dict[str, Any] = {
        name: _summed(places, np.concatenate([getattr(part, name) for part in filled])) for name in names
    }
    ends = np.cumsum([part.reports.shape[0] for part in filled])[:-1]
    pairs = zip(filled, np.split(places, ends), strict=True)
    blocks = [part.blocks.moved(own) for part, own in pairs if part.blocks is not None]
    named |= {"blocks": DesignSums.joined(blocks)} if blocks else {}
    return Counts(distinct, origin=origin, repeats=most, is_thinned=filled[0].is_thinned, **named)


class Accumulator:
    """Running tally of batches, in memory proportional to distinct reports.

    >>> running = Accumulator()
    >>> for batch in ([3, 3, 5], [5, 7]):
    ...     running.add(batch)
    >>> running.counts
    Counts(5 reports, 3 distinct)
    """

    def __init__(self) -> None:
        self._sum = tally([])
        self._pending: list[Counts] = []
        self._waiting = 0

    def add(self, reports: ArrayLike | Counts, counts: ArrayLike | None = None) -> None:
        """Add a batch of reports with optional counts, or a tally."""
        batch = reports if isinstance(reports, Counts) else tally(reports, counts)
        if not batch.reports.shape[0]:
            return
        # Told here, where the batch that does not belong is known, and not at the next sum.
        known = next((part for part in (self._sum, *self._pending[:1]) if part.reports.shape[0]), batch)
        if _kind(known) != _kind(batch):
            raise InvalidCountsError(
                "These reports are of another kind than those before; they come from another survey."
            )
        self._pending.append(batch)
        self._waiting += batch.reports.shape[0]
        # Waiting for as many entries as the sum has makes the sorting of all batches together O(n log n).
        if self._waiting >= max(LEAST_PENDING, self._sum.reports.shape[0]):
            self._settle()

    @property
    def counts(self) -> Counts:
        """The counts of everything that was added."""
        self._settle()
        return self._sum

    @property
    def total(self) -> float:
        """The number of reports that were added."""
        return self._sum.total + sum(part.total for part in self._pending)

    def _settle(self) -> None:
        if self._pending:
            # Batches of one source hold one report of a person between them, or as many as each of them says.
            parts = [self._sum, *self._pending]
            self._sum, self._pending, self._waiting = merge(parts, repeats=max(one.repeats for one in parts)), [], 0

    def __repr__(self) -> str:
        return f"Accumulator({self.counts!r})"


def require_counts(counts: object) -> None:
    """Refuse anything but counts."""
    if not isinstance(counts, Counts):
        raise InvalidParameterError(f"counts must be Counts; got {kind_of(counts)}. Call confide.tally(reports) first.")


def as_histogram(histogram: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return whole, non-negative counts for each of `size` values, or raise.

    >>> as_histogram([3.0, 4.0], 2)
    array([3, 4])
    """
    counts = _as_counts(histogram, size)
    if (counts != np.floor(counts)).any():
        raise InvalidCountsError("A histogram counts people: give whole numbers.")
    return counts.astype(np.int64)


def _kind(counts: Counts) -> tuple[str, tuple[int, ...]]:
    return counts.reports.dtype.kind, counts.reports.shape[1:]


def _are_distinct(reports: Reports) -> bool:
    """Whether all reports differ; one pass if they are sorted."""
    if reports.shape[0] < 2:
        return True
    if reports.dtype.kind == "O":
        return len(set(map(tuple, reports.tolist()))) == len(reports)
    rows = reports.reshape(reports.shape[0], -1)
    above, same = np.zeros(len(rows) - 1, dtype=bool), np.ones(len(rows) - 1, dtype=bool)
    for column in rows.T:
        above |= same & (column[1:] > column[:-1])
        same &= column[1:] == column[:-1]
    is_ordered = bool(above.all())
    return is_ordered or len(np.unique(reports, axis=None if reports.ndim == 1 else 0)) == len(rows)


def _distinct(reports: Reports) -> tuple[Reports, NDArray[np.int64]]:
    """Return the distinct reports in order, and each one's place."""
    if reports.dtype.kind == "O":
        # Parts are of different types, such as a number and a category; numpy cannot sort these.
        rows = list(map(tuple, reports.tolist()))
        each = sorted(set(rows), key=str)
        numbers = {report: number for number, report in enumerate(each)}
        return np.array(each, dtype=object), np.array([numbers[row] for row in rows], dtype=np.int64)
    # Along an axis numpy sorts whole rows, which is far slower; only reports of several parts need it.
    distinct, places = np.unique(reports, axis=None if reports.ndim == 1 else 0, return_inverse=True)
    return distinct, places.reshape(-1)


def _summed(places: NDArray[np.int64], column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(places, column).astype(np.float64)


def _as_reports(reports: ArrayLike) -> Reports:
    refuse_masked("reports", reports, InvalidCountsError)
    try:
        array = plain_array(_as_array(reports))
    except InvalidCountsError:
        raise
    except ValueError:
        raise InvalidCountsError(
            "Reports must all have the same number of parts; some have more than others."
        ) from None
    if array.ndim not in (1, 2):
        raise InvalidCountsError(f"Reports must form a sequence; got {array.ndim} dimensions.")
    if array.dtype.kind == "f":
        # Floats that are whole numbers as integers; spreadsheets and data frames like to turn them.
        if not np.isfinite(array).all():
            place = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(array)))
            raise InvalidCountsError(
                f"Reports must be finite numbers or strings; got {array[place]} at position {place[0]}. Correct it."
            )
        whole = bool((np.abs(array) < 2**53).all() and (array == np.floor(array)).all())
        return array.astype(np.int64) if whole else array  # reports of continuous mechanisms stay floats
    if array.size and array.dtype.kind not in ("iuUO" if array.ndim == 2 else "iuU"):
        raise InvalidCountsError(f"Reports must be numbers or strings; got {array.dtype}.")
    return array


def _as_array(reports: ArrayLike) -> Reports:
    """Return reports as an array; keep numbers beside texts as numbers."""
    given: Any = reports
    if isinstance(given, np.ndarray) and given.dtype.kind == "O" and given.size and isinstance(given.flat[0], tuple):
        given = given.tolist()  # a column of pairs, as a data frame has it
    if isinstance(given, list | tuple) and len(given):
        kinds = {isinstance(part, str) for one in given if isinstance(one, tuple | list) for part in one}
        if len(kinds) > 1:  # a number and a category, as Product reports a pair
            pairs = np.array([tuple(one) for one in given], dtype=object)
            if pairs.ndim != 2:
                raise ValueError
            return pairs
    array = np.asarray(given)
    parts = array.reshape(-1).tolist() if array.dtype.kind == "O" else []
    if not parts or any(isinstance(one, bool) or not isinstance(one, Real) for one in parts):
        return array
    # Numbers that are held as objects.
    try:
        return array.astype(np.int64 if all(isinstance(one, Integral) for one in parts) else np.float64)
    except OverflowError:
        largest = max(parts, key=abs)
        raise InvalidCountsError(f"Reports must lie between -2**63 and 2**63; got {largest}.") from None


def _as_counts(counts: ArrayLike, size: int, limit: float = MOST_REPORTS) -> NDArray[np.float64]:
    refuse_masked("counts", counts, InvalidCountsError)
    try:
        array = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidCountsError(f"Counts must be numbers; got {counts!r}.") from None
    if array.shape != (size,):
        raise InvalidCountsError(f"Give one count for each: {size:,} are needed; got an array of shape {array.shape}.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InvalidCountsError(
            f"Counts must be finite and not negative; got {array[bad[0]]:g} at position {bad[0]}"
            f"{f' and {bad.size - 1} more' if bad.size > 1 else ''}."
        )
    with np.errstate(over="ignore"):  # a sum that overflows is infinite, and refused
        total = float(array.sum())
    if total >= limit:
        raise InvalidCountsError(
            f"Counts must add up to less than 2**63; got {total:g}. Are they counts? Divide them by a common factor."
        )
    return array
