"""Examples of every mechanism and method that the laws are checked on.

A new mechanism joins by standing in MECHANISMS and by having a Family here; a new method by standing in METHODS and by
having its settings here. ``test_registry.py`` fails until it has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide import (
    IBU,
    MLE,
    Attributes,
    Bins,
    BlahutArimoto,
    Categories,
    Circle,
    Crosswise,
    Dates,
    Dice,
    Exponential,
    ForcedResponse,
    FromMatrix,
    Geometric,
    Grid,
    HadamardResponse,
    Hours,
    Integers,
    Inversion,
    KukCards,
    Laplace,
    LocalHashing,
    Mechanism,
    Method,
    OneBitMean,
    OptimizedUnary,
    PlanarGeometric,
    PlanarLaplace,
    PlanarSquareWave,
    Product,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    Remapped,
    Scale,
    Smooth,
    SquareWave,
    Stacked,
    SubsetSelection,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    TwoRounds,
    Unary,
    UnrelatedQuestion,
    Weekdays,
    WrappedGeometric,
)
from confide.solve.methods import BitInversion

Array = NDArray[Any]


def _same(reports: Array) -> Array:
    return reports


def _nearest(reports: Array) -> Array:
    """Return the whole numbers that real reports lie nearest to."""
    return np.rint(reports).astype(np.int64)


def _set_bit(words: Array) -> Array:
    """Return the number of the one bit that is set."""
    return np.log2(words).astype(np.int64)


def _set_bit_if_any(words: Array) -> Array:
    """Return the number of the set bit, masked where the coin of the true value's bit fell to zero."""
    return np.ma.masked_where(words == 0, _set_bit(np.maximum(words, 1)))


def _block(reports: Array) -> Array:
    """Return the number of the block, where blocks are as wide as two reports and have one value each."""
    return reports // 2


def _hashed(pairs: Array) -> Array:
    """Return the one value that the pool of `FAITHFUL_HASHING` puts into the reported bucket."""
    likeliest: Array = FAITHFUL_HASHING.channel.dense()[:, pairs[:, 0] * 1024 + pairs[:, 1]].argmax(axis=0)
    return likeliest


def _as_first_two(reports: Array) -> Array:
    """Return 0 for "same" and 1 for "different"."""
    return np.asarray(reports == "different", dtype=np.int64)


@dataclass(frozen=True)
class Family:
    """What the laws need of one kind of mechanism.

    Attributes
    ----------
    examples
        Named cases: the smallest sizes, hundreds of values, and the ends of the range of epsilon.
    strategy
        Any small mechanism of the kind.
    faithful
        One that practically never lies, so that the order of reports can be seen.
    sampled
        Pairs to draw from and to compare with: the same mechanism, and one whose epsilon is 20 % off.
    roundings
        How many roundings the channel makes for each step between value and output.
    read
        How a report of the faithful mechanism is read as a value.
    """

    examples: tuple[Mechanism, ...]
    strategy: st.SearchStrategy[Mechanism]
    faithful: Mechanism
    sampled: tuple[tuple[Mechanism, Mechanism], ...]
    roundings: int = 0
    read: Callable[[Array], Array] = _same


def is_unbounded(mechanism: Mechanism) -> bool:
    """Whether reports are unbounded, so that there is no matrix."""
    return not mechanism.has_channel


def off(make: Callable[[float], Mechanism], epsilon: float) -> tuple[Mechanism, Mechanism]:
    """Return a mechanism, and the same with an epsilon that is 20 % off."""
    return make(epsilon), make(1.2 * epsilon)


def random_matrix(values: int, outputs: int, seed: int = 0) -> NDArray[np.float64]:
    """Return a stochastic matrix without a zero."""
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, (values, outputs))
    matrix: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return matrix


# Any small mechanism.

epsilons = st.floats(1e-3, 8.0)
spacings = st.sampled_from([1.0, 0.5, 2.5])


@st.composite
def _lines(draw: st.DrawFn) -> Integers:
    low, size = draw(st.integers(-1000, 1000)), draw(st.integers(2, 12))
    return Integers(low, low + size - 1, spacing=draw(st.floats(0.1, 10.0)))


@st.composite
def _output_lines(draw: st.DrawFn, alphabet: Integers) -> Integers | None:
    """Return a range that holds some value of the alphabet: wider, narrower or to one side of it."""
    if draw(st.booleans()):
        return None
    low, high = alphabet.span
    held = draw(st.integers(low, high))
    first, last = held - draw(st.integers(0, 15)), held + draw(st.integers(0, 15))
    return Integers(first, last, spacing=alphabet.spacing)


@st.composite
def _grids(draw: st.DrawFn) -> Grid:
    """Return a grid of two to five rows and columns, anywhere, with holes or without, and at least two cells."""
    rows, columns = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    row, column = draw(st.integers(-9, 9)), draw(st.integers(-9, 9))
    cells = [(row + down, column + along) for down in range(rows) for along in range(columns)]
    holes = draw(st.lists(st.sampled_from(cells), unique=True, max_size=len(cells) - 2))
    return Grid(rows, columns, draw(spacings), "km", tuple(holes), row, column)


@st.composite
def _output_grids(draw: st.DrawFn, alphabet: Grid) -> Grid | None:
    """Return a grid that holds some cell of the alphabet, and may have holes of its own."""
    if draw(st.booleans()):
        return None
    row, column = alphabet.decode([draw(st.integers(0, alphabet.size - 1))])[0].tolist()
    south, west = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    rows, columns = south + draw(st.integers(1, 3)), west + draw(st.integers(1, 3))
    beside = [(row - south + down, column - west + along) for down in range(rows) for along in range(columns)]
    beside.remove((row, column))
    holes = draw(st.lists(st.sampled_from(beside), unique=True)) if beside else []
    return Grid(rows, columns, alphabet.spacing, "km", tuple(holes), row - south, column - west)


@st.composite
def _randomized_responses(draw: st.DrawFn) -> Mechanism:
    return RandomizedResponse(Integers(0, draw(st.integers(1, 11))), draw(epsilons))


@st.composite
def _square_waves(draw: st.DrawFn) -> Mechanism:
    size = draw(st.integers(2, 12))
    alphabet = draw(st.sampled_from([Integers(3, 2 + size), Circle(max(size, 3))]))
    most = (alphabet.size - 2) // 2 if isinstance(alphabet, Circle) else size - 1
    return SquareWave(alphabet, draw(epsilons), draw(st.none() | st.integers(0, most)))


@st.composite
def _hadamard_responses(draw: st.DrawFn) -> Mechanism:
    alphabet = Integers(0, draw(st.integers(1, 11)))
    return HadamardResponse(alphabet, draw(epsilons), draw(st.sampled_from([None, 1, 2])))


@st.composite
def _projective_geometries(draw: st.DrawFn) -> Mechanism:
    alphabet = Integers(0, draw(st.integers(1, 11)))
    return ProjectiveGeometryResponse(alphabet, draw(epsilons), draw(st.sampled_from([None, 2, 3])))


@st.composite
def _planar_square_waves(draw: st.DrawFn) -> Mechanism:
    alphabet = draw(_grids())
    radius = draw(st.none() | st.floats(0, math.nextafter(max(alphabet.shape), 0)))
    return PlanarSquareWave(alphabet, draw(epsilons), radius)


@st.composite
def _one_bit_means(draw: st.DrawFn) -> Mechanism:
    return OneBitMean(draw(st.one_of(_lines(), _bins())), draw(epsilons))


@st.composite
def _optimized_unaries(draw: st.DrawFn) -> Mechanism:
    return OptimizedUnary(Integers(0, draw(st.integers(1, 7))), draw(epsilons))


@st.composite
def _subset_selections(draw: st.DrawFn) -> Mechanism:
    size = draw(st.integers(2, 8))
    return SubsetSelection(Integers(0, size - 1), draw(epsilons), draw(st.none() | st.integers(1, size - 1)))


@st.composite
def _local_hashings(draw: st.DrawFn) -> Mechanism:
    size, buckets = draw(st.integers(2, 12)), draw(st.none() | st.integers(2, 5))
    return LocalHashing(Integers(0, size - 1), draw(st.floats(1e-3, 3.0)), buckets, draw(st.integers(2, 12)))


@st.composite
def _rappors(draw: st.DrawFn) -> Mechanism:
    return Rappor(Integers(0, draw(st.integers(1, 7) | st.sampled_from([63, 64, 99]))), draw(epsilons))


@st.composite
def _on_a_line(draw: st.DrawFn, kind: type[Geometric] | type[Laplace]) -> Mechanism:
    return kind(draw(_lines()), draw(epsilons))


@st.composite
def _clamped_on_a_line(draw: st.DrawFn, kind: type[TruncatedGeometric] | type[TruncatedLaplace]) -> Mechanism:
    alphabet = draw(_lines())
    return kind(alphabet, draw(epsilons), draw(_output_lines(alphabet)))


@st.composite
def _on_a_plane(draw: st.DrawFn, kind: type[Taxicab] | type[PlanarGeometric] | type[PlanarLaplace]) -> Mechanism:
    # The brute-force formula sums e^(-epsilon distance) over the lattice, and an epsilon of 1e-3 would take it minutes.
    return kind(draw(_grids()), draw(st.floats(0.05, 8.0)))


@st.composite
def _clamped_on_a_plane(
    draw: st.DrawFn,
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace],
) -> Mechanism:
    alphabet = draw(_grids())
    return kind(alphabet, draw(st.floats(1e-3, 4.0)), draw(_output_grids(alphabet)))


@st.composite
def _bins(draw: st.DrawFn) -> Bins:
    """Return bins of any widths, most of them uneven, with open ends or without; at least three of them."""
    widths = draw(st.lists(st.sampled_from([1, 2, 3, 5, 10, 0.5]), min_size=3, max_size=6))
    edges: list[float] = [draw(st.integers(-9, 9))]
    for width in widths:
        edges.append(edges[-1] + width)
    return Bins(edges=edges, below=draw(st.booleans()), above=draw(st.booleans()))


@st.composite
def _clamped_to_bins(draw: st.DrawFn, kind: type[TruncatedGeometric] | type[TruncatedLaplace]) -> Mechanism:
    return kind(draw(_bins()), draw(st.floats(1e-3, 4.0)))


circles = st.sampled_from([Hours(), Weekdays(), Circle(2), Circle(3), Circle(12)])


@st.composite
def _exponentials(draw: st.DrawFn) -> Mechanism:
    letters = st.integers(2, 6).map(lambda size: Categories(list("abcdef")[:size]))
    pairs = st.builds(Attributes, age=st.builds(Integers, st.just(0), st.integers(1, 3)), letter=letters)
    return Exponential(draw(st.one_of(_lines(), _grids(), letters, pairs, _bins(), circles)), draw(epsilons))


@st.composite
def _blahut_arimotos(draw: st.DrawFn) -> Mechanism:
    base = draw(_exponentials())
    weights = st.lists(st.integers(0, 2**20), min_size=base.alphabet.size, max_size=base.alphabet.size).filter(any)
    prior, reported = draw(st.none() | weights.map(tuple)), draw(st.none() | weights.map(tuple))
    return BlahutArimoto(base.alphabet, draw(epsilons), prior, reported)


@st.composite
def _matrices(draw: st.DrawFn) -> Mechanism:
    values, outputs = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    weights = draw(st.lists(st.integers(0, 20), min_size=values * outputs, max_size=values * outputs))
    table = np.array(weights, dtype=np.float64).reshape(values, outputs)
    table[np.arange(values), np.arange(values) % outputs] += 1  # no empty row
    return FromMatrix(Integers(0, values - 1), table / table.sum(axis=1, keepdims=True))


@st.composite
def _products(draw: st.DrawFn) -> Mechanism:
    part = st.one_of(
        st.builds(RandomizedResponse, st.just(Categories(["a", "b", "c"])), epsilons),
        st.builds(TruncatedGeometric, st.just(Integers(0, 3)), epsilons, st.none() | st.just(Integers(-2, 2))),
        st.builds(FromMatrix, st.just(Integers(5, 6)), st.just([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])),
    )
    return Product(**{name: draw(part) for name in "abc"[: draw(st.integers(2, 3))]})


@st.composite
def _unaries(draw: st.DrawFn) -> Mechanism:
    flip, more = draw(st.floats(0.01, 0.9)), draw(st.floats(0.05, 0.95))
    return Unary(Integers(0, draw(st.integers(1, 7))), flip + more * (0.99 - flip), flip)


@st.composite
def _two_rounds(draw: st.DrawFn) -> Mechanism:
    rounds = st.floats(0.01, 8.0)  # two rounds of next to nothing are nothing
    first = draw(
        st.one_of(
            st.builds(RandomizedResponse, st.just(Integers(0, 4)), rounds),
            st.builds(TruncatedGeometric, st.just(Integers(0, 4)), rounds, st.none() | st.just(Integers(-2, 3))),
            st.builds(FromMatrix, st.just(Integers(5, 6)), st.just([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])),
            st.builds(TruncatedTaxicab, st.just(Grid(2, 3)), rounds),
        )
    )
    between = first.report_alphabet
    near: Any = TruncatedGeometric if isinstance(between, Integers) else TruncatedTaxicab
    kinds: list[Any] = [RandomizedResponse, Exponential, near]
    return TwoRounds(first, draw(st.sampled_from(kinds))(between, draw(rounds)))


@st.composite
def _remappeds(draw: st.DrawFn) -> Mechanism:
    inner = draw(
        _clamped_on_a_line(TruncatedGeometric) | _randomized_responses() | _clamped_on_a_plane(TruncatedTaxicab)
    )
    size, outputs = inner.report_alphabet.size, draw(st.integers(1, 5))
    mapping = draw(st.lists(st.integers(0, outputs - 1), min_size=size, max_size=size))
    return Remapped(inner, Categories(list("abcde")[:outputs]), tuple(mapping))


YES_NO = Categories(["yes", "no"])
BREAKERS = Categories(["yes", "no", "breaks the rules"])
BOTH = Attributes(answer=YES_NO, unrelated=YES_NO)

chances = st.integers(1, 999).map(lambda thousandth: Fraction(thousandth, 1000))
"""Probabilities that are decimal, and so exact."""


@st.composite
def _forced_responses(draw: st.DrawFn) -> Mechanism:
    weights = draw(st.lists(st.integers(0, 20), min_size=3, max_size=6))
    total = sum(weights) + draw(st.integers(1, 20))
    forced = [Fraction(one, total) for one in weights]
    return ForcedResponse(Categories(list("abcdef")[: len(weights)]), 1 - sum(forced), forced)


@st.composite
def _dice(draw: st.DrawFn) -> Mechanism:
    sums = st.lists(st.integers(2, 12), unique=True, min_size=0, max_size=10)
    commands = draw(sums)
    cut = draw(st.integers(0, len(commands)))
    return Dice(YES_NO, [commands[:cut], commands[cut:]], dice=2)


@st.composite
def _crosswises(draw: st.DrawFn) -> Mechanism:
    breakers = draw(st.sampled_from([None, "same", "random"]))
    anchor = draw(st.sampled_from([None, "no"]))
    alphabet = YES_NO if breakers is None else BREAKERS
    return Crosswise(
        alphabet, draw(chances.filter(lambda one: one != Fraction(1, 2))), breakers=breakers, anchor=anchor
    )


@st.composite
def _unrelated_questions(draw: st.DrawFn) -> Mechanism:
    share = draw(st.none() | chances)
    return UnrelatedQuestion(BOTH if share is None else YES_NO, draw(chances), share)


@st.composite
def _kuk_cards(draw: st.DrawFn) -> Mechanism:
    red = draw(st.lists(chances, min_size=3, max_size=3, unique=True))
    return KukCards(COLOURS, red, draw(st.integers(1, 5)))


def _forced_off(epsilon: float) -> Mechanism:
    """Return forced response with about this epsilon between yes and no."""
    kept = Fraction(round(1e6 * math.tanh(epsilon / 2)), 10**6)
    return ForcedResponse(YES_NO, kept, [(1 - kept) / 2] * 2)


# Named ones.

LINE_EDGE = Integers(0, 256)
"""One value past the largest line whose rows of weights are drawn from."""

PLANE_EDGE = Grid(27, 26)
"""A few cells past the largest plane whose matrix is stored."""

LAKE = Grid(4, 5, spacing=0.5, unit="km", holes=((0, 0), (1, 2), (2, 2), (3, 4)))
"""A grid with holes in a corner, on the rim and inside."""

RING = Grid(3, 3, holes=((1, 1),))

AROUND = Grid(6, 7, spacing=0.5, unit="km", first_row=-1, first_column=-1)
"""Outputs on every side of the lake."""

WITHIN = Grid(2, 3, spacing=0.5, unit="km", holes=((1, 1),), first_row=1, first_column=1)
"""Outputs within the lake's grid, with a hole of their own."""

SALARIES = Bins(edges=[0, 10, 20, 50, 100], above=True, unit="thousand")
"""Uneven bins, on a lattice of 5 thousand."""

SCATTERED = Bins(edges=[0, 1, 4, 10.5, 100, 400], below=True)
"""Bins whose middles have an eighth in common, so that their lattice is longer than a table of weights."""

COLOURS = Categories(["red", "green", "blue"])

BESIDE = Grid(3, 3, spacing=0.5, unit="km", first_row=2, first_column=3)
"""Outputs that hold a part of the lake, and reach beyond it."""


def _truncated_plane(
    kind: type[TruncatedTaxicab] | type[TruncatedPlanarGeometric] | type[TruncatedPlanarLaplace],
    largest: float,
    roundings: int = 1,
) -> Family:
    return Family(
        examples=(
            kind(Grid(2, 2), 1.0),
            kind(Grid(3, 5, unit="km"), 0.4),
            kind(LAKE, 1.0),
            kind(LAKE, 2.0, AROUND),
            kind(LAKE, 0.7, WITHIN),
            kind(LAKE, 3.0, BESIDE),
            kind(RING, 0.2),
            kind(Grid(5, 5, spacing=1000.0), 1e-4),
            kind(Grid(3, 3), 1e-9),
            kind(Grid(3, 9), largest),
            kind(PLANE_EDGE, 0.1),
            kind(Grid(27, 27, holes=((0, 0), (5, 5), (26, 3))), 0.3, Grid(26, 28, first_row=2, first_column=-1)),
        ),
        strategy=_clamped_on_a_plane(kind),
        faithful=kind(Grid(3, 4), 40.0),
        sampled=(
            off(lambda epsilon: kind(Grid(4, 5, spacing=0.5), epsilon), 1.0),
            off(lambda epsilon: kind(LAKE, epsilon, BESIDE), 1.5),
            off(lambda epsilon: kind(PLANE_EDGE, epsilon), 0.3),
        ),
        roundings=roundings,
    )


def _unbounded_plane(kind: type[Taxicab] | type[PlanarGeometric] | type[PlanarLaplace], read: Any = _same) -> Family:
    return Family(
        examples=(
            kind(Grid(2, 2), 1.0),
            kind(Grid(3, 5, spacing=0.5, unit="km"), 0.4),
            kind(LAKE, 2.0),
            kind(Grid(4, 3, first_row=-7, first_column=1000), 0.2),
            kind(Grid(3, 3), 20.0),
            kind(Grid(6, 7), 0.05),
        ),
        strategy=_on_a_plane(kind),
        faithful=kind(Grid(3, 4), 100.0),
        sampled=(
            off(lambda epsilon: kind(Grid(3, 4), epsilon), 0.5),
            off(lambda epsilon: kind(LAKE, epsilon), 3.0),
        ),
        read=read,
    )


FAITHFUL_HASHING = LocalHashing(Integers(0, 9), 100.0, buckets=1024, seeds=2)

FAMILIES: dict[str, Family] = {
    "randomized-response": Family(
        examples=(
            RandomizedResponse(Categories(["yes", "no"]), 1.0),
            RandomizedResponse(Integers(1, 3), 0.1),
            RandomizedResponse(Grid(3, 4), 2.0),
            RandomizedResponse(Integers(0, 299), 5.0),
            RandomizedResponse(Categories(["a", "b", "c"]), 1e-9),
            RandomizedResponse(Categories([7, 5, 3]), 100.0),
            RandomizedResponse(Weekdays(), 1.0),
        ),
        strategy=_randomized_responses(),
        faithful=RandomizedResponse(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: RandomizedResponse(Integers(0, 1), epsilon), 1.0),
            off(lambda epsilon: RandomizedResponse(Integers(0, 11), epsilon), 2.0),
            off(lambda epsilon: RandomizedResponse(Integers(0, 999), epsilon), 5.0),
        ),
    ),
    "rappor": Family(
        examples=(
            Rappor(Categories(["yes", "no"]), 1.0),
            Rappor(Integers(1, 3), 0.5),
            Rappor(Grid(2, 5), 2.0),
            Rappor(Integers(0, 62), 1.0),  # the longest single word
            Rappor(Integers(0, 63), 1.0),
            Rappor(Integers(0, 99), 4.0),
            Rappor(Integers(0, 4), 1e-9),
            Rappor(Integers(0, 4), 100.0),
        ),
        strategy=_rappors(),
        faithful=Rappor(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: Rappor(Categories(["a", "b", "c"]), epsilon), 1.0),
            off(lambda epsilon: Rappor(Integers(0, 7), epsilon), 3.0),
        ),
        read=_set_bit,
    ),
    "optimized-unary": Family(
        examples=(
            OptimizedUnary(Categories(["yes", "no"]), 1.0),
            OptimizedUnary(Grid(2, 5), 2.0),
            OptimizedUnary(Integers(0, 63), 1.0),
            OptimizedUnary(Integers(0, 4), 1e-9),
            OptimizedUnary(Integers(0, 4), 100.0),
        ),
        strategy=_optimized_unaries(),
        faithful=OptimizedUnary(Integers(0, 9), 100.0),  # no bit is set but the true value's, half of the time
        sampled=(
            off(lambda epsilon: OptimizedUnary(Categories(["a", "b", "c"]), epsilon), 1.0),
            off(lambda epsilon: OptimizedUnary(Integers(0, 7), epsilon), 3.0),
        ),
        read=_set_bit_if_any,
    ),
    "subset-selection": Family(
        examples=(
            SubsetSelection(Categories(["yes", "no"]), 1.0),
            SubsetSelection(Grid(2, 5), 0.5),
            SubsetSelection(Integers(0, 63), 1.0),
            SubsetSelection(Integers(0, 6), 1.0, 4),
            SubsetSelection(Integers(0, 4), 1e-9),
            SubsetSelection(Integers(0, 4), 100.0),
        ),
        strategy=_subset_selections(),
        faithful=SubsetSelection(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: SubsetSelection(Categories(["a", "b", "c"]), epsilon, 1), 1.0),
            off(lambda epsilon: SubsetSelection(Integers(0, 7), epsilon, 3), 1.0),
        ),
        read=_set_bit,
    ),
    "local-hashing": Family(
        examples=(
            LocalHashing(Categories(["yes", "no"]), 1.0, seeds=5),
            LocalHashing(Grid(2, 5), 1.0, seeds=20),
            LocalHashing(Integers(0, 99), 2.0, seeds=300),
            LocalHashing(Integers(0, 9), 1.0, buckets=2, seeds=7),  # 8 columns for 10 values: not identifiable
            LocalHashing(Integers(0, 4), 1e-9, seeds=10),
            LocalHashing(Integers(0, 4), 30.0, seeds=3),
            LocalHashing(Integers(0, 4), 1.0),
            LocalHashing(Integers(0, 63), 3.0),
        ),
        strategy=_local_hashings(),
        faithful=FAITHFUL_HASHING,
        sampled=(
            off(lambda epsilon: LocalHashing(Categories(["a", "b", "c"]), epsilon, 3, seeds=10), 1.0),
            off(lambda epsilon: LocalHashing(Integers(0, 19), epsilon, 5, seeds=6), 2.0),
        ),
        read=_hashed,
    ),
    "square-wave": Family(
        examples=(
            SquareWave(Integers(0, 1), 1.0),
            SquareWave(Integers(0, 99, unit="year"), 1.0),
            SquareWave(Integers(-20, 20, spacing=0.1), 0.5, 3),
            SquareWave(Integers(0, 9), 1e-9),
            SquareWave(Integers(0, 9), 100.0),
            SquareWave(Hours(), 1.0),
            SquareWave(Weekdays(), 2.0),
            SquareWave(Circle(24), 1.0, 4),  # 9 of 24 values: not identifiable
            SquareWave(Scale(["bad", "fair", "good"]), 1.0),
        ),
        strategy=_square_waves(),
        faithful=SquareWave(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: SquareWave(Integers(0, 11), epsilon, 2), 1.0),
            off(lambda epsilon: SquareWave(Hours(), epsilon, 3), 2.0),
            off(lambda epsilon: SquareWave(Integers(0, 999), epsilon, 50), 3.0),
        ),
    ),
    "planar-square-wave": Family(
        examples=(
            PlanarSquareWave(Grid(2, 2), 1.0),
            PlanarSquareWave(Grid(3, 5, unit="km"), 1.0),
            PlanarSquareWave(LAKE, 1.0),
            PlanarSquareWave(LAKE, 2.0, 1.0),
            PlanarSquareWave(RING, 0.5),
            PlanarSquareWave(Grid(3, 3), 1e-9),
            PlanarSquareWave(Grid(3, 9), 100.0),
            PlanarSquareWave(PLANE_EDGE, 1.0),
            PlanarSquareWave(Grid(27, 27, holes=((0, 0), (5, 5), (26, 3))), 2.0, 3.5),
        ),
        strategy=_planar_square_waves(),
        faithful=PlanarSquareWave(Grid(3, 4), 100.0),
        sampled=(
            off(lambda epsilon: PlanarSquareWave(Grid(4, 5, spacing=0.5), epsilon, 1.5), 1.0),
            off(lambda epsilon: PlanarSquareWave(LAKE, epsilon, 1.0), 2.0),
            off(lambda epsilon: PlanarSquareWave(PLANE_EDGE, epsilon, 5.0), 2.0),
        ),
    ),
    "one-bit-mean": Family(
        examples=(
            OneBitMean(Integers(0, 1), 1.0),
            OneBitMean(Integers(0, 99, unit="year"), 1.0),
            OneBitMean(Integers(-20, 20, spacing=0.1), 0.5),
            OneBitMean(Integers(0, 9), 1e-9),
            OneBitMean(Integers(0, 9), 100.0),
            OneBitMean(SALARIES, 1.0),
            OneBitMean(SCATTERED, 2.0),
            OneBitMean(Scale(["bad", "fair", "good"]), 1.0),
        ),
        strategy=_one_bit_means(),
        faithful=OneBitMean(Integers(0, 1), 100.0),
        sampled=(
            off(lambda epsilon: OneBitMean(Integers(0, 1), epsilon), 1.0),
            off(lambda epsilon: OneBitMean(SALARIES, epsilon), 2.0),
            off(lambda epsilon: OneBitMean(Integers(0, 999), epsilon), 2.0),
        ),
    ),
    "unary": Family(
        examples=(
            Unary(Categories(["yes", "no"]), 0.75, 0.25),
            Unary(Integers(1, 3), 0.5, 0.1),
            Unary(Grid(2, 5), 0.9, 0.8),
            Unary(Integers(0, 63), 0.75, 0.5),
            Unary(Integers(0, 4), 0.5, 2.0**-60),
        ),
        strategy=_unaries(),
        faithful=Unary(Integers(0, 9), 1 - 2.0**-40, 2.0**-40),
        sampled=(
            off(lambda epsilon: Unary(Categories(["a", "b", "c"]), 0.5, 1 / (1 + math.exp(epsilon))), 1.0),
            off(lambda epsilon: Unary(Integers(0, 7), 1 / (1 + math.exp(-epsilon / 2)), 0.5), 3.0),
        ),
        read=_set_bit,
    ),
    "hadamard-response": Family(
        examples=(
            HadamardResponse(Integers(0, 1), 1.0),
            HadamardResponse(COLOURS, 0.5),
            HadamardResponse(Integers(5, 11), 2.0),
            HadamardResponse(Integers(0, 21), 2.0, blocks=1),
            HadamardResponse(Integers(0, 21), 1.5, blocks=8),
            HadamardResponse(Attributes(first=Integers(0, 3), second=COLOURS), 2.0),
            HadamardResponse(Integers(0, 9), 1e-9),
            HadamardResponse(Integers(0, 9), 100.0),
            HadamardResponse(Integers(0, 299), 3.0),
        ),
        strategy=_hadamard_responses(),
        faithful=HadamardResponse(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: HadamardResponse(COLOURS, epsilon, 1), 1.0),
            off(lambda epsilon: HadamardResponse(Integers(0, 9), epsilon, 4), 2.0),
            off(lambda epsilon: HadamardResponse(Integers(0, 19), epsilon, 2), 1.0),
        ),
        read=_block,
    ),
    "projective-geometry": Family(
        examples=(
            ProjectiveGeometryResponse(Integers(0, 1), 1.0),
            ProjectiveGeometryResponse(COLOURS, 0.5),
            ProjectiveGeometryResponse(Integers(5, 11), 0.5),
            ProjectiveGeometryResponse(Integers(0, 21), 1.0),
            ProjectiveGeometryResponse(Integers(0, 21), 2.0, order=2),
            ProjectiveGeometryResponse(Integers(0, 21), 2.0, order=5, recurrence=(1, 4, 3)),
            ProjectiveGeometryResponse(Attributes(first=Integers(0, 3), second=COLOURS), 1.0),
            ProjectiveGeometryResponse(Integers(0, 9), 1e-9),
            ProjectiveGeometryResponse(Integers(0, 9), 100.0),
            ProjectiveGeometryResponse(Integers(0, 299), 3.0),
        ),
        strategy=_projective_geometries(),
        faithful=ProjectiveGeometryResponse(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: ProjectiveGeometryResponse(COLOURS, epsilon, 2), 1.0),
            off(lambda epsilon: ProjectiveGeometryResponse(Integers(0, 9), epsilon, 3), 1.0),
            off(lambda epsilon: ProjectiveGeometryResponse(Integers(0, 19), epsilon, 2), 1.0),
        ),
    ),
    "truncated-geometric": Family(
        examples=(
            TruncatedGeometric(Integers(-1, 0), 0.3),
            TruncatedGeometric(Integers(0, 2), 2.0),
            TruncatedGeometric(Integers(0, 99), 0.05),
            TruncatedGeometric(Integers(-20, 20, spacing=0.1), 0.7),
            TruncatedGeometric(Integers(0, 299), 0.02),
            TruncatedGeometric(Integers(0, 9), 1e-9),
            TruncatedGeometric(Integers(0, 9, spacing=1000.0), 1e-8),
            TruncatedGeometric(Integers(0, 9), 100.0),
            TruncatedGeometric(Integers(0, 9), 0.3, Integers(-5, 14)),
            TruncatedGeometric(Integers(0, 9), 0.3, Integers(3, 5)),
            TruncatedGeometric(Integers(0, 9), 0.3, Integers(4, 20)),
            TruncatedGeometric(Integers(0, 9), 0.3, Integers(9, 9)),
            TruncatedGeometric(SALARIES, 0.05),
            TruncatedGeometric(SCATTERED, 0.02),
            TruncatedGeometric(Dates("2026-01-01", "2026-01-31"), 0.2),
        ),
        strategy=_clamped_on_a_line(TruncatedGeometric) | _clamped_to_bins(TruncatedGeometric),
        faithful=TruncatedGeometric(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: TruncatedGeometric(Integers(0, 9), epsilon), 0.5),
            off(lambda epsilon: TruncatedGeometric(Integers(0, 255), epsilon), 0.05),  # the largest table
            off(lambda epsilon: TruncatedGeometric(LINE_EDGE, epsilon), 0.05),  # the smallest with added noise
            off(lambda epsilon: TruncatedGeometric(Integers(0, 999), epsilon), 0.5),
            off(lambda epsilon: TruncatedGeometric(Integers(0, 9), epsilon, Integers(4, 20)), 0.5),
            off(lambda epsilon: TruncatedGeometric(Integers(0, 299), epsilon, Integers(-7, 298)), 0.5),
            off(lambda epsilon: TruncatedGeometric(SALARIES, epsilon), 0.05),
            off(lambda epsilon: TruncatedGeometric(SCATTERED, epsilon), 0.02),
        ),
        roundings=1,
    ),
    "geometric": Family(
        examples=(
            Geometric(Integers(0, 1), 1.0),
            Geometric(Integers(-3, 8, spacing=0.5), 0.7),
            Geometric(Integers(0, 99), 0.05),
            Geometric(Integers(0, 9), 1e-9),
            Geometric(Integers(0, 9), 100.0),
            Geometric(Integers(0, 299), 0.3),
        ),
        strategy=_on_a_line(Geometric),
        faithful=Geometric(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: Geometric(Integers(0, 9), epsilon), 0.5),
            off(lambda epsilon: Geometric(Integers(-500, 500, spacing=2.0), epsilon), 0.1),
        ),
    ),
    "truncated-laplace": Family(
        examples=(
            TruncatedLaplace(Integers(-1, 0), 0.3),
            TruncatedLaplace(Integers(0, 2), 2.0),
            TruncatedLaplace(Integers(0, 99), 0.05),
            TruncatedLaplace(Integers(-20, 20, spacing=0.1), 0.7),
            TruncatedLaplace(LINE_EDGE, 0.02),
            TruncatedLaplace(Integers(0, 9), 1e-9),
            TruncatedLaplace(Integers(0, 9), 20.0),
            TruncatedLaplace(Integers(0, 9), 100.0),
            TruncatedLaplace(Integers(0, 9), 0.3, Integers(-5, 14)),
            TruncatedLaplace(Integers(0, 9), 0.3, Integers(3, 5)),
            TruncatedLaplace(Integers(0, 9), 0.3, Integers(4, 20)),
            TruncatedLaplace(SALARIES, 0.05),
            TruncatedLaplace(SCATTERED, 0.02),
        ),
        strategy=_clamped_on_a_line(TruncatedLaplace) | _clamped_to_bins(TruncatedLaplace),
        faithful=TruncatedLaplace(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: TruncatedLaplace(Integers(0, 9), epsilon), 0.5),
            off(lambda epsilon: TruncatedLaplace(LINE_EDGE, epsilon), 0.3),
            off(lambda epsilon: TruncatedLaplace(Integers(0, 299), epsilon, Integers(-7, 298)), 0.5),
            off(lambda epsilon: TruncatedLaplace(SCATTERED, epsilon), 0.02),
        ),
        roundings=1,
    ),
    "laplace": Family(
        examples=(
            Laplace(Integers(0, 1), 1.0),
            Laplace(Integers(-3, 8, spacing=0.5), 0.7),
            Laplace(Integers(0, 99), 0.05),
            Laplace(Integers(0, 9), 0.01),
            Laplace(Integers(0, 9), 100.0),
            Laplace(Integers(0, 299), 0.3),
        ),
        strategy=_on_a_line(Laplace),
        faithful=Laplace(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: Laplace(Integers(0, 9), epsilon), 0.5),
            off(lambda epsilon: Laplace(Integers(-500, 500, spacing=2.0), epsilon), 0.1),
        ),
        read=_nearest,
    ),
    "exponential": Family(
        examples=(
            Exponential(Integers(0, 1), 1.0),
            Exponential(Integers(-7, 12, spacing=0.5), 0.7),
            Exponential(Categories(["a", "b", "c"]), 2.0),
            Exponential(Grid(4, 5), 1.0),
            Exponential(LAKE, 3.0),
            Exponential(Grid(1, 6), 1.0),
            Exponential(Attributes(first=Integers(0, 3), second=Categories(["f", "m"])), 1.5),
            Exponential(Integers(0, 9), 1e-9),
            Exponential(Integers(0, 9), 100.0),
            Exponential(Grid(3, 20), 90.0),  # exponents past what a float holds
            Exponential(LINE_EDGE, 0.1),
            Exponential(SALARIES, 0.05),
            Exponential(Hours(), 0.7),
            Exponential(PLANE_EDGE, 0.3),
            Exponential(Grid(28, 28, holes=((0, 0), (5, 5), (27, 3))), 0.3),
        ),
        strategy=_exponentials(),
        faithful=Exponential(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: Exponential(Integers(0, 9), epsilon), 1.0),
            off(lambda epsilon: Exponential(LAKE, epsilon), 3.0),
            off(lambda epsilon: Exponential(LINE_EDGE, epsilon), 0.3),
            off(lambda epsilon: Exponential(SALARIES, epsilon), 0.05),
            off(lambda epsilon: Exponential(Grid(16, 17, holes=((0, 0), (5, 5))), epsilon), 1.0),
        ),
        roundings=4,
    ),
    "blahut-arimoto": Family(
        examples=(
            BlahutArimoto(Integers(0, 1), 1.0),
            BlahutArimoto(Integers(0, 99), 0.05),
            BlahutArimoto(Integers(-20, 20, spacing=0.1), 0.7),
            BlahutArimoto(Integers(0, 9), 1e-9),
            BlahutArimoto(Integers(0, 9), 100.0),
            BlahutArimoto(Integers(0, 4), 1.0, prior=(1, 2, 3, 4, 0)),
            BlahutArimoto(Integers(0, 4), 1.0, reported=(1, 2, 2**53 - 1, 4, 5)),
            BlahutArimoto(COLOURS, 1.0, prior=(3, 2, 1)),
            BlahutArimoto(SALARIES, 0.05),
            BlahutArimoto(LAKE, 1.0),
            BlahutArimoto(Hours(), 0.5),
        ),
        strategy=_blahut_arimotos(),
        faithful=BlahutArimoto(Integers(0, 9), 100.0),
        sampled=(
            off(lambda epsilon: BlahutArimoto(Integers(0, 9), epsilon), 1.0),
            off(lambda epsilon: BlahutArimoto(LAKE, epsilon, reported=tuple(range(1, 17))), 2.0),
        ),
        roundings=1,
    ),
    "wrapped-geometric": Family(
        examples=(
            WrappedGeometric(Hours(), 0.3),
            WrappedGeometric(Weekdays(), 1.0),
            WrappedGeometric(Circle(2), 2.0),
            WrappedGeometric(Circle(3), 1e-9),
            WrappedGeometric(Circle(9), 100.0),
            WrappedGeometric(Circle(366, unit="day"), 0.05),
        ),
        strategy=st.builds(WrappedGeometric, circles, epsilons),
        faithful=WrappedGeometric(Circle(10), 100.0),
        sampled=(
            off(lambda epsilon: WrappedGeometric(Hours(), epsilon), 0.3),
            off(lambda epsilon: WrappedGeometric(Circle(256), epsilon), 0.05),  # the largest table
            off(lambda epsilon: WrappedGeometric(Circle(257), epsilon), 0.05),  # the smallest with added noise
        ),
        roundings=1,
    ),
    "truncated-taxicab": _truncated_plane(TruncatedTaxicab, 100.0),
    "taxicab": _unbounded_plane(Taxicab),
    "truncated-planar-geometric": _truncated_plane(TruncatedPlanarGeometric, 100.0),
    "planar-geometric": _unbounded_plane(PlanarGeometric),
    "truncated-planar-laplace": _truncated_plane(TruncatedPlanarLaplace, 24.0),
    "planar-laplace": _unbounded_plane(PlanarLaplace, _nearest),
    "forced-response": Family(
        examples=(
            ForcedResponse(YES_NO, "2/3", ["1/6", "1/6"]),
            ForcedResponse(COLOURS, 0.5, [0.25, 0.25, 0]),
            ForcedResponse(BREAKERS, 0.75, [0.2, 0.05], breakers="no"),
            ForcedResponse(BREAKERS, 0.75, [0.2, 0.05], breakers="random", anchor="no"),
        ),
        strategy=_forced_responses(),
        faithful=ForcedResponse(Categories(list(range(10))), 1 - Fraction(1, 10**12), [Fraction(1, 10**13)] * 10),
        sampled=(off(_forced_off, 1.0),),
    ),
    "dice": Family(
        examples=(
            Dice(YES_NO, [[1], [6]]),
            Dice(YES_NO, [[2, 3, 4], [11, 12]], dice=2),
            Dice(BREAKERS, [[1, 2], [3]], sides=20, breakers="no"),
        ),
        strategy=_dice(),
        faithful=Dice(Categories(list(range(10))), [[] for _ in range(10)]),
        sampled=((Dice(YES_NO, [[2, 3, 4], [11, 12]], dice=2), Dice(YES_NO, [[2, 3, 4, 5], [11, 12]], dice=2)),),
    ),
    "crosswise": Family(
        examples=(
            Crosswise(YES_NO, 0.25),
            Crosswise(YES_NO, "1/12", anchor="no"),
            Crosswise(BREAKERS, 0.25, breakers="same"),
            Crosswise(BREAKERS, 0.25, breakers="random", anchor="no"),
        ),
        strategy=_crosswises(),
        faithful=Crosswise(Categories([0, 1]), 1 - Fraction(1, 10**12)),
        sampled=((Crosswise(YES_NO, 0.25), Crosswise(YES_NO, 0.22)),),
        read=_as_first_two,
    ),
    "unrelated-question": Family(
        examples=(
            UnrelatedQuestion(YES_NO, 0.5, 0.25),
            UnrelatedQuestion(YES_NO, "2/3", "1/12"),
            UnrelatedQuestion(BREAKERS, 0.75, 0.5, breakers="no"),
            UnrelatedQuestion(BOTH, 0.7),
        ),
        strategy=_unrelated_questions(),
        faithful=UnrelatedQuestion(Categories([0, 1]), 1 - Fraction(1, 10**12), 0.5),
        sampled=((UnrelatedQuestion(YES_NO, 0.5, 0.25), UnrelatedQuestion(YES_NO, 0.45, 0.25)),),
    ),
    "kuk-cards": Family(
        examples=(
            KukCards(YES_NO, [0.8, 0.2]),
            KukCards(COLOURS, [0.1, 0.5, 0.9], draws=5),
            KukCards(BREAKERS, [0.8, 0.2], breakers="0", draws=2),
            KukCards(YES_NO, [0.8, 0.2], anchor="no"),
        ),
        strategy=_kuk_cards(),
        faithful=KukCards(Categories([0, 1]), [Fraction(1, 10**12), 1 - Fraction(1, 10**12)]),
        sampled=((KukCards(YES_NO, [0.8, 0.2]), KukCards(YES_NO, [0.83, 0.23])),),
    ),
    "matrix": Family(
        examples=(
            FromMatrix(Integers(0, 0), [[1.0]]),
            FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
            FromMatrix(Categories(["x", "y", "z"]), random_matrix(3, 2), outputs=Categories(["low", "high"])),
            FromMatrix(Integers(0, 2), np.eye(3)),
            FromMatrix(Integers(0, 1), [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]),  # an output that never comes
            FromMatrix(Grid(2, 3), random_matrix(6, 6)),
            FromMatrix(Integers(0, 199), random_matrix(200, 150)),
        ),
        strategy=_matrices(),
        faithful=FromMatrix(Integers(0, 9), np.eye(10)),
        sampled=(
            off(
                lambda epsilon: FromMatrix(Integers(0, 9), TruncatedGeometric(Integers(0, 9), epsilon).channel.dense()),
                0.5,
            ),
        ),
    ),
    "product": Family(
        examples=(
            Product(
                first=RandomizedResponse(Categories(["f", "m"]), 1.0), second=TruncatedGeometric(Integers(0, 4), 0.5)
            ),
            Product(
                first=TruncatedGeometric(Integers(0, 3), 0.5, Integers(-2, 3)),
                second=TruncatedLaplace(Integers(5, 7), 1.0),
            ),
            Product(
                first=Exponential(Integers(0, 2), 2.0),
                second=FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
            ),
            Product(
                age=TruncatedGeometric(Integers(0, 2), 0.5),
                home=TruncatedPlanarGeometric(Grid(2, 3, 0.5, holes=[(0, 1)]), 1.0),
                sex=RandomizedResponse(Categories(["f", "m"]), 1.0),
            ),
            Product(first=TruncatedGeometric(Integers(0, 39), 0.1), second=TruncatedGeometric(Integers(0, 19), 0.2)),
        ),
        strategy=_products(),
        faithful=Product(
            first=RandomizedResponse(Categories(["f", "m"]), 90.0), second=TruncatedGeometric(Integers(0, 4), 90.0)
        ),
        sampled=(
            off(
                lambda epsilon: Product(
                    first=RandomizedResponse(Categories(["f", "m"]), epsilon),
                    second=TruncatedGeometric(Integers(0, 4), epsilon),
                ),
                0.7,
            ),
            off(
                lambda epsilon: Product(
                    first=TruncatedGeometric(Integers(0, 3), epsilon),
                    second=TruncatedLaplace(Integers(0, 299), epsilon),
                ),
                0.7,
            ),
        ),
        roundings=1,
    ),
    "remapped": Family(
        examples=(
            Remapped(TruncatedPlanarGeometric(Grid(5, 5, unit="km"), 0.5), Grid(4, 4, unit="km")),  # the paper's
            Remapped(TruncatedGeometric(Integers(0, 9), 0.5), Integers(3, 5)),
            Remapped(RandomizedResponse(Categories(["a", "b", "c"]), 1.0), Categories(["x", "y"]), (0, 1, 1)),
            Remapped(TruncatedTaxicab(LAKE, 1.0), WITHIN),
            Remapped(TruncatedLaplace(LINE_EDGE, 0.1), Categories(["low", "high"]), (0,) * 100 + (1,) * 157),
        ),
        strategy=_remappeds(),
        faithful=Remapped(TruncatedGeometric(Integers(0, 9), 100.0), Integers(0, 9)),
        sampled=(
            off(
                lambda epsilon: Remapped(TruncatedPlanarGeometric(Grid(5, 5, unit="km"), epsilon), Grid(4, 4)),
                0.5,
            ),
            off(lambda epsilon: Remapped(TruncatedGeometric(Integers(0, 299), epsilon), Integers(-3, 150)), 0.1),
        ),
        roundings=1,
    ),
    "two-rounds": Family(
        examples=(
            TwoRounds(RandomizedResponse(COLOURS, 2.0), RandomizedResponse(COLOURS, 1.0)),
            TwoRounds(TruncatedGeometric(Integers(0, 9), 0.5), RandomizedResponse(Integers(0, 9), 1.0)),
            TwoRounds(Unary(COLOURS, 0.75, 0.25), Unary(COLOURS, 0.75, 0.5)),  # as RAPPOR's authors have it
            TwoRounds(
                TruncatedGeometric(Integers(0, 9), 0.5, Integers(-2, 11)),
                TruncatedGeometric(Integers(-2, 11), 0.3, Integers(3, 8)),
            ),
            TwoRounds(TruncatedTaxicab(LAKE, 1.0), RandomizedResponse(LAKE, 2.0)),
            TwoRounds(TruncatedTaxicab(LAKE, 1.0), TruncatedTaxicab(LAKE, 0.5)),
            TwoRounds(TruncatedPlanarLaplace(Grid(3, 4), 1.0), TruncatedPlanarLaplace(Grid(3, 4), 2.0)),
            TwoRounds(
                FromMatrix(Integers(1, 2), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
                FromMatrix(Integers(0, 2), random_matrix(3, 4), Categories(["a", "b", "c", "d"])),
            ),
            TwoRounds(
                Product(
                    colour=RandomizedResponse(COLOURS, 2.0),
                    age=TruncatedGeometric(Integers(0, 3), 1.0),
                ),
                Product(
                    colour=RandomizedResponse(COLOURS, 1.0),
                    age=RandomizedResponse(Integers(0, 3), 2.0),
                ),
            ),
            TwoRounds(Rappor(Integers(0, 99), 4.0), Rappor(Integers(0, 99), 2.0)),
            TwoRounds(RandomizedResponse(Integers(0, 299), 5.0), RandomizedResponse(Integers(0, 299), 5.0)),
        ),
        strategy=_two_rounds(),
        faithful=TwoRounds(RandomizedResponse(Integers(0, 9), 100.0), RandomizedResponse(Integers(0, 9), 100.0)),
        sampled=(
            off(
                lambda epsilon: TwoRounds(
                    RandomizedResponse(Integers(0, 5), epsilon), RandomizedResponse(Integers(0, 5), 2 * epsilon)
                ),
                1.0,
            ),
            off(
                lambda epsilon: TwoRounds(
                    TruncatedGeometric(Integers(0, 9), epsilon), RandomizedResponse(Integers(0, 9), 4 * epsilon)
                ),
                0.5,
            ),
            off(
                lambda epsilon: TwoRounds(Rappor(COLOURS, epsilon), Unary(COLOURS, 0.9, 1 / (1 + math.exp(epsilon)))),
                2.0,
            ),
        ),
        roundings=4,
    ),
}

METHOD_EXAMPLES: dict[str, tuple[Method, ...]] = {
    "stacked": (Stacked(folds=2),),
    "ibu": (IBU(), IBU(delta=1.0), IBU(delta=1e-6, iteration_limit=50)),
    "ibu-held-out": (IBU(stop="held-out", folds=3, iteration_limit=200),),
    "smooth": (Smooth(),),
    "mle": (MLE(),),
    "inversion-normalize": (Inversion("normalize"),),
    "inversion-project": (Inversion("project"),),
    "inversion-raw": (Inversion("none"),),
    "rappor-normalize": (BitInversion("normalize"),),
    "rappor-project": (BitInversion("project"),),
}

ALL_EXAMPLES = [example for family in FAMILIES.values() for example in family.examples]
EXAMPLES = [example for example in ALL_EXAMPLES if not is_unbounded(example)]
"""Those with a matrix."""
UNBOUNDED_EXAMPLES = [example for example in ALL_EXAMPLES if is_unbounded(example)]
ROUNDINGS = {type(example): family.roundings for family in FAMILIES.values() for example in family.examples}
METHOD_VALUES = [method for methods in METHOD_EXAMPLES.values() for method in methods]
FEW_EXAMPLES = [example for family in FAMILIES.values() for example in family.examples[1:4:2]]
"""Enough for laws that are about methods rather than mechanisms."""

mechanisms = st.one_of([family.strategy for family in FAMILIES.values() if not is_unbounded(family.faithful)])
"""Any small mechanism that has a matrix."""

unbounded_mechanisms = st.one_of([family.strategy for family in FAMILIES.values() if is_unbounded(family.faithful)])
"""Any small mechanism that has none."""

all_mechanisms = mechanisms | unbounded_mechanisms


def suited_to(method: Method) -> st.SearchStrategy[Mechanism]:
    """Return any small mechanism that a method takes reports of; RAPPOR's own estimator takes RAPPOR's alone."""
    return FAMILIES["rappor"].strategy if isinstance(method, BitInversion) else mechanisms


def label(thing: object) -> str:
    """Return a test's name for a mechanism or method."""
    return repr(thing) if len(repr(thing)) < 200 else f"{repr(thing)[:200]}..."
