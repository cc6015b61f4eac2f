"""Examples of every mechanism and method that the laws are checked on.

A new mechanism joins by standing in MECHANISMS and by having a Family here; a new method by standing in METHODS and by
having its settings here. ``test_registry.py`` fails until it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide import IBU, Categories, FromMatrix, Grid, Integers, Inversion, Mechanism, Method, RandomizedResponse
from confide import TruncatedGeometric as Geometric


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
    """

    examples: tuple[Mechanism, ...]
    strategy: st.SearchStrategy[Mechanism]
    faithful: Mechanism
    sampled: tuple[tuple[Mechanism, Mechanism], ...]
    roundings: int = 0


def random_matrix(values: int, outputs: int, seed: int = 0) -> NDArray[np.float64]:
    """Return a stochastic matrix without a zero."""
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, (values, outputs))
    matrix: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return matrix


epsilons = st.floats(1e-3, 8.0)


@st.composite
def _randomized_responses(draw: st.DrawFn) -> Mechanism:
    return RandomizedResponse(Integers(0, draw(st.integers(1, 11))), draw(epsilons))


@st.composite
def _geometrics(draw: st.DrawFn) -> Mechanism:
    low, size = draw(st.integers(-1000, 1000)), draw(st.integers(2, 12))
    return Geometric(Integers(low, low + size - 1, spacing=draw(st.floats(0.1, 10.0))), draw(epsilons))


@st.composite
def _matrices(draw: st.DrawFn) -> Mechanism:
    values, outputs = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    weights = draw(st.lists(st.integers(0, 20), min_size=values * outputs, max_size=values * outputs))
    table = np.array(weights, dtype=np.float64).reshape(values, outputs)
    table[np.arange(values), np.arange(values) % outputs] += 1  # no empty row
    return FromMatrix(Integers(0, values - 1), table / table.sum(axis=1, keepdims=True))


FAMILIES: dict[str, Family] = {
    "randomized-response": Family(
        examples=(
            RandomizedResponse(Categories(["yes", "no"]), 1.0),
            RandomizedResponse(Integers(1, 3), 0.1),
            RandomizedResponse(Grid(3, 4), 2.0),
            RandomizedResponse(Integers(0, 299), 5.0),
            RandomizedResponse(Categories(["a", "b", "c"]), 1e-9),
            RandomizedResponse(Categories([7, 5, 3]), 100.0),
        ),
        strategy=_randomized_responses(),
        faithful=RandomizedResponse(Integers(0, 9), 100.0),
        sampled=(
            (RandomizedResponse(Integers(0, 1), 1.0), RandomizedResponse(Integers(0, 1), 1.2)),
            (RandomizedResponse(Integers(0, 11), 2.0), RandomizedResponse(Integers(0, 11), 2.4)),
        ),
    ),
    "truncated-geometric": Family(
        examples=(
            Geometric(Integers(-1, 0), 0.3),
            Geometric(Integers(0, 2), 2.0),
            Geometric(Integers(0, 99), 0.05),
            Geometric(Integers(-20, 20, spacing=0.1), 0.7),
            Geometric(Integers(0, 299), 0.02),
            Geometric(Integers(0, 9), 1e-9),
            Geometric(Integers(0, 9, spacing=1000.0), 1e-8),
            Geometric(Integers(0, 9), 100.0),
        ),
        strategy=_geometrics(),
        faithful=Geometric(Integers(0, 9), 100.0),
        sampled=(
            (Geometric(Integers(0, 9), 0.5), Geometric(Integers(0, 9), 0.6)),
            (Geometric(Integers(0, 255), 0.05), Geometric(Integers(0, 255), 0.06)),  # the largest table
            (Geometric(Integers(0, 256), 0.05), Geometric(Integers(0, 256), 0.06)),  # the smallest with added noise
            (Geometric(Integers(0, 999), 0.5), Geometric(Integers(0, 999), 0.6)),
        ),
        roundings=1,
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
            (
                FromMatrix(Integers(0, 9), Geometric(Integers(0, 9), 0.5).channel.dense()),
                FromMatrix(Integers(0, 9), Geometric(Integers(0, 9), 0.6).channel.dense()),
            ),
        ),
    ),
}

METHOD_EXAMPLES: dict[str, tuple[Method, ...]] = {
    "ibu": (IBU(), IBU(delta=1.0), IBU(delta=1e-6, iteration_limit=50)),
    "inversion-normalize": (Inversion("normalize"),),
    "inversion-project": (Inversion("project"),),
    "inversion-raw": (Inversion("none"),),
}

EXAMPLES = [example for family in FAMILIES.values() for example in family.examples]
ROUNDINGS = {type(example): family.roundings for family in FAMILIES.values() for example in family.examples}
METHOD_VALUES = [method for methods in METHOD_EXAMPLES.values() for method in methods]

mechanisms = st.one_of([family.strategy for family in FAMILIES.values()])
"""Any small mechanism of any kind."""


def label(thing: object) -> str:
    """Return a test's name for a mechanism or method."""
    return repr(thing)
