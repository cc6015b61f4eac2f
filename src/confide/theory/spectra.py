"""Singular values, and whether rows are linearly independent.

A matrix in float64 is known to about one part in 10^16, so a singular value below that may be zero or not, and nobody
can tell. Rows are called independent where the smallest singular value stands far above rounding, dependent where all
that is not well above rounding is at rounding level, and anything between is too close to call. Rounding level alone is
no proof: rows are dependent only if changing the last digits of their entries would make them exactly so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import COMPUTED, GIVEN, Channel, FloatArray, Indices
from confide.theory.verdicts import Verdict
from confide.values.checks import read_only

ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Limits:
    """Sizes up to which questions of theory are computed.

    Attributes
    ----------
    dense
        Values up to which a matrix is stored and all its singular values are computed: a few seconds.
    matrix
        Entries up to which a matrix is stored for that: 320 MB.
    entries
        Entries of a matrix up to which all are looked at, block by block: a few seconds.
    compared
        Entries of rows that are compared at a time: 32 MB.
    block
        Entries that are multiplied in extended precision at a time.
    probes
        Random mixtures of columns, or of rows that look dependent, on which it is tested whether rows are the same.
    seconds
        Time that the maximum may take; what is left of its certificate then counts against the precision.
    people
        People up to whom it is asked how many are enough.
    longest_range, sparsest_range
        Values up to which the range of the reports is taken whole, gaps and all; and values of a range for each one
        next to a report, up to which a longer range is taken whole as well.
    largest_box, sparsest_box
        The same of cells of the box around the reports.
    region
        Cells past which no likely subset is given, for nothing could be estimated on it.
    """

    dense: int = 2000
    matrix: int = 40_000_000
    entries: int = 100_000_000
    compared: int = 4_000_000
    block: int = 2_000_000
    probes: int = 3
    seconds: float = 20.0
    people: int = 10**15
    longest_range: int = 100_000
    sparsest_range: int = 100
    largest_box: int = 20_000
    sparsest_box: int = 20
    region: int = 2_000_000


LIMITS = Limits()

Step = Callable[[FloatArray], FloatArray]
Extended = NDArray[np.longdouble]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular values of a matrix, as far as they were computed.

    Attributes
    ----------
    singular_values
        From largest to smallest; where only the ends were computed, the largest and the few smallest.
    rows, columns
        The shape of the matrix.
    is_complete
        Whether these are all of them.
    is_settled
        Whether the iteration that found them came to rest; else the smallest is merely an upper bound.
    misfit
        By what share entries would have to change for rows that look dependent to be so exactly; 0 where none look so.
    digits
        The share to which entries are known.

    Examples
    --------
    >>> round(Spectrum.of(np.array([[0.75, 0.25], [0.25, 0.75]])).condition, 6)
    2.0
    """

    singular_values: FloatArray
    rows: int
    columns: int
    is_complete: bool = True
    is_settled: bool = True
    misfit: float = 0.0
    digits: float = GIVEN

    @classmethod
    def of(cls, matrix: FloatArray, digits: float = GIVEN) -> Spectrum:
        """Compute all singular values of a matrix with this relative precision."""
        rows, columns = matrix.shape
        square = matrix
        if columns > 2 * rows:  # a square matrix with the same singular values, where there are far more columns
            from scipy.linalg import qr

            square = np.asarray(qr(matrix.T, mode="r", check_finite=False)[0][:rows].T, dtype=np.float64)
        singular = np.linalg.svd(square, compute_uv=False).astype(np.float64)
        found = cls(read_only(singular), rows, columns, digits=digits)
        if columns < rows or found.smallest > found.rounding:
            return found  # independent, or dependent by count: nothing hangs on what looks like zero
        return left_vectors(matrix, digits)[1]

    @property
    def largest(self) -> float:
        """The largest singular value."""
        return float(self.singular_values[0])

    @property
    def smallest(self) -> float:
        """The singular value that must not be zero if rows are independent."""
        return float(self.singular_values[-1]) if self.columns >= self.rows else 0.0

    @property
    def condition(self) -> float:
        """The condition number: by how much inversion can amplify errors."""
        return self.largest / self.smallest if self.smallest > 0 else float("inf")

    @property
    def rounding(self) -> float:
        """Size that a singular value of zero may seem to have."""
        return ROUNDING * max(self.rows, self.columns) * self.largest

    @property
    def rank(self) -> int:
        """Number of singular values above rounding."""
        return int((self.singular_values > self.rounding).sum())

    @property
    def clear(self) -> float:
        """Size above which a singular value is no rounding for sure."""
        # 1e-11: singular values above this share of the largest are not rounding: channels are computed to about 1e-13.
        return max(1e3 * self.rounding, 1e-11 * self.largest)

    @property
    def independence(self) -> Verdict:
        """Whether the rows are linearly independent."""
        if self.columns < self.rows:
            return Verdict.NO
        if not self.is_complete:
            # 1e-6: the smallest singular value, as a share of the largest, that can be found through products with M M'
            # alone.
            resolved = self.is_settled and self.smallest > 1e-6 * self.largest
            return Verdict.YES if resolved else Verdict.TOO_CLOSE
        if self.smallest > self.clear:
            return Verdict.YES
        kept = self.singular_values[self.singular_values > self.rounding]
        # 1e-6: least share of the largest that the other singular values have where rows are called dependent.
        has_gap = self.smallest <= self.rounding and bool(kept.min() > 1e-6 * self.largest)
        return Verdict.NO if has_gap and self.misfit <= self.digits else Verdict.TOO_CLOSE

    @property
    def is_sharp(self) -> bool:
        """Whether each singular value is clearly zero or clearly not."""
        between = (self.singular_values > self.rounding) & (self.singular_values <= self.clear)
        return self.is_complete and not bool(between.any()) and self.misfit <= self.digits

    def numbers(self) -> dict[str, float]:
        """Return what to show of it."""
        smallest, largest, condition = ("", "", "") if self.is_settled else (", at most", ", at least", ", at least")
        return {
            f"smallest singular value{smallest}": self.smallest,
            f"largest singular value{largest}": self.largest,
            f"condition number{condition}": self.condition,
        }


def is_storable(channel: Channel) -> bool:
    """Whether a channel may be stored as a matrix here."""
    values, outputs = channel.shape
    return values <= LIMITS.dense and values * outputs <= LIMITS.matrix


def spectrum_of(channel: Channel) -> Spectrum:
    """Return the singular values of a channel; if large, its ends."""
    if is_storable(channel):
        return Spectrum.of(channel.dense(), channel.rounding)
    return ends_of(channel.push, channel.pull, channel.shape)


def ends_of(push: Step, pull: Step, shape: tuple[int, int]) -> Spectrum:
    """Return an operator's largest and smallest singular value, by products alone.

    Lanczos on M M', whose eigenvalues are the squares. It starts from a fixed random vector and keeps no other. What it
    has found at the lower end is an upper bound at any time; a singular value of zero, if there were one, would come
    out at the rate of Kaniel and Paige, and after so many steps it is taken that there is none. That number only
    grows as smaller ones come out, so the search ends as soon as it exceeds what may be spent.
    """
    size = shape[0]
    # As many steps as pass this many values in all, and between these numbers; the first look is after a few.
    fewest, most = 25, int(np.clip(20_000_000 // size, 25, 2000))
    diagonal: list[float] = []
    beside: list[float] = []
    start = np.random.default_rng(0).standard_normal(size)
    vector, previous, norm = start / np.linalg.norm(start), np.zeros(size), 0.0
    ends, is_settled, next_look = (0.0, 0.0), False, 4
    for step in range(1, most + 1):
        image = pull(push(vector)) - norm * previous
        diagonal.append(float(image @ vector))
        image -= diagonal[-1] * vector
        norm, previous = float(np.linalg.norm(image)), vector
        is_over = norm <= ROUNDING * max(map(abs, diagonal))
        if step == next_look or is_over:
            # Looks get rarer, for each solves for the eigenvalues of all steps so far.
            ends, next_look = _ends(diagonal, beside), step + max(1, step // 3)
            # The rate of Kaniel and Paige: the squared error falls below 4 tan^2 e^(-4 steps share) of the largest. The
            # tangent is that of the angle between start and goal, here taken ten times worse than typical.
            share = ends[1] / ends[0]
            needed = math.log(400 * size / share**2) / (4 * share) if share > 0 else math.inf
            is_settled = is_over or step >= max(needed, fewest)
            is_over = is_over or needed > most
        if is_settled or is_over:
            break
        beside.append(norm)
        vector = image / norm
    return Spectrum(read_only(np.array(ends)), *shape, is_complete=False, is_settled=is_settled)


def _ends(diagonal: list[float], beside: list[float]) -> tuple[float, float]:
    """Return the square roots of the tridiagonal matrix's extreme eigenvalues."""
    from scipy.linalg import eigvalsh_tridiagonal

    values = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return math.sqrt(max(float(values[-1]), 0.0)), math.sqrt(max(float(values[0]), 0.0))


def left_vectors(matrix: FloatArray, digits: float = GIVEN) -> tuple[FloatArray, Spectrum]:
    """Return left singular vectors as columns, dependent last, and the spectrum."""
    rows, columns = matrix.shape
    if columns <= 2 * rows:
        left, singular, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=True)
    else:  # through a square factor, as it is wide
        from scipy.linalg import qr

        orthonormal, factor = qr(matrix.astype(np.float64).T, mode="economic", check_finite=False)
        left, singular, right = np.linalg.svd(factor.T)
        right = np.asarray(right @ orthonormal.T, dtype=np.float64)
    found = Spectrum(read_only(singular), rows, columns, digits=digits)
    return left, replace(found, misfit=_misfit(matrix, left, singular, right, found.rank))


def _misfit(matrix: FloatArray, left: FloatArray, singular: FloatArray, right: FloatArray, rank: int) -> float:
    """Return the change of entries that makes small mixtures exactly zero.

    Relative to the entries.

    For weights w on rows that is the largest |w M| / (|w| |M|) of all columns (Oettli and Prager). Weights from a
    decomposition in float64 are off by rounding themselves, so they are corrected, and products taken in extended
    precision.
    """
    if rank == matrix.shape[0]:
        return 0.0
    mixtures = np.random.default_rng(0).standard_normal((LIMITS.probes, matrix.shape[0] - rank))
    weights = (mixtures / np.linalg.norm(mixtures, axis=1, keepdims=True) @ left[:, rank:].T).astype(np.longdouble)
    for _ in range(2):
        missed = _multiply(weights, matrix).astype(np.float64)
        weights -= (missed @ right[:rank].T / singular[:rank]) @ left[:, :rank].T
    weights[np.abs(weights) < COMPUTED] = 0.0  # rows that take no part
    missed, size = np.abs(_multiply(weights, matrix)), _multiply(np.abs(weights), np.abs(matrix))
    return float((missed / np.where(size > 0, size, 1.0)).max(initial=0.0))


def _multiply(weights: Extended, matrix: FloatArray) -> Extended:
    """Return a product in extended precision, block by block.

    Blocks keep the copy small.
    """
    product = np.zeros((weights.shape[0], matrix.shape[1]), dtype=np.longdouble)
    step = max(1, LIMITS.block // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        product += weights[:, start : start + step] @ matrix[start : start + step].astype(np.longdouble)
    return product


def find_classes(channel: Channel) -> list[Indices]:
    """Return classes of values with identical rows, in order.

    Stored matrices may hold anything, so two of their rows are the same only if they agree to the last digits.

    >>> from confide.channels import Dense
    >>> [group.tolist() for group in find_classes(Dense(np.array([[0.4, 0.6], [0.5, 0.5], [0.4, 0.6]])))]
    [[0, 2], [1]]
    """
    groups = [np.arange(channel.shape[0])]
    for weights in np.random.default_rng(0).uniform(0.5, 1.0, (LIMITS.probes, channel.shape[1])):
        if len(groups) == channel.shape[0]:
            break
        # Split candidates where their products differ by more than products of equal rows can.
        products, parts = channel.pull(weights), []
        tolerance = 1e-12 * float(np.abs(products).max())
        for group in groups:
            if group.size == 1:
                parts.append(group)
                continue
            order = group[np.argsort(products[group], kind="stable")]
            breaks = np.flatnonzero(np.diff(products[order]) > tolerance) + 1
            parts += [np.sort(part) for part in np.split(order, breaks)]
        groups = parts
    confirmed = [part for group in groups for part in _confirm(channel, group)]
    return sorted(confirmed, key=lambda group: int(group[0]))


def _confirm(channel: Channel, group: Indices) -> list[Indices]:
    """Compare candidates' rows, and split those that only looked alike."""
    parts, step = [], max(1, LIMITS.compared // channel.shape[1])
    tolerance = 2 * GIVEN if channel.is_stored else COMPUTED
    while group.size:
        first, rest = group[:1], group[1:]
        same = np.zeros(rest.size, dtype=bool)
        for start in range(0, rest.size, step):
            rows, row = channel.select(rest[start : start + step]), channel.select(first)
            same[start : start + step] = np.all(np.abs(rows - row) <= tolerance * np.maximum(rows, row), axis=1)
        parts.append(np.concatenate([first, rest[same]]))
        group = rest[~same]
    return parts
