"""How often the windows of a picture hold the truth, although the same reports chose them; how many, and how narrow.

    python -m benchmarks.windows                                    # 200 surveys a row: about 80 minutes of one core
    python -m benchmarks.windows --only ages --truths spikes rough --repeats 50

Each row repeats a survey: people and reports are drawn, estimated by the default, and divided into windows, each within
half of its share at 95 %. Coverage is the share of all windows, over repeats, whose interval holds the true share; next
to it that of windows with at least one person in a hundred, for an empty one nearly always holds. Both must be at least
93 %. "Width" is the window that a person is in, on average, as a part of all values.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, once, print_table, shown, verdict
from confide.estimates.estimate import recover
from confide.estimates.inference import Windows

FloatArray = NDArray[np.float64]

LEAST, FULL = 0.93, 0.01
HEADS = ("truth", "epsilon", "windows", "width", "coverage", "of those that hold 1 %", "time", "bar")


@dataclass(frozen=True, eq=False)
class Place:
    """Where people are: mechanisms over one alphabet, and truths."""

    mechanisms: Sequence[tuple[float, cf.Mechanism]]
    truths: dict[str, FloatArray]
    people: int


def row(mechanism: cf.Mechanism, truth: FloatArray, people: int, repeats: int) -> list[str]:
    """Return what the windows of repeated surveys are worth."""
    seconds, found = once(lambda: [survey(mechanism, truth, people, seed) for seed in range(repeats)])
    held = [np.array([_holds(one, truth[where]) for one, where in _pairs(windows)]) for windows in found]
    full = [np.array([truth[where].sum() >= FULL for _, where in _pairs(windows)]) for windows in found]
    every, told = np.concatenate(held), np.concatenate(held)[np.concatenate(full)]
    width = np.mean([sum(truth[where].sum() * where.size for _, where in _pairs(one)) for one in found]) / truth.size
    is_met = min(every.mean(), told.mean()) >= LEAST
    return [
        f"{np.mean([len(one) for one in found]):.1f}",
        f"{width:.1%}",
        f"{every.mean():.1%}",
        f"{told.mean():.1%}",
        shown(seconds / repeats),
        verdict(f"{LEAST:.0%}", met=is_met),
    ]


def survey(mechanism: cf.Mechanism, truth: FloatArray, people: int, seed: int) -> Windows:
    """Return the windows of one survey: people are drawn, then their reports."""
    generator = np.random.default_rng([15, seed])
    counts = mechanism.simulate_counts(generator.multinomial(people, truth), rng=generator)
    return recover([(counts, mechanism)]).windows()  # without the test of the fit, which nothing here asks for


def _pairs(windows: Windows) -> Iterator[tuple[cf.estimates.Interval, NDArray[np.int64]]]:
    return zip(windows.answers, windows.members, strict=True)


def _holds(answer: cf.estimates.Interval, shares: FloatArray) -> bool:
    return bool(answer.low - 1e-9 <= shares.sum() <= answer.high + 1e-9)


def ages() -> Place:
    """Return 50,000 people of up to 99 years under the truncated geometric mechanism."""
    x = np.arange(100)
    spikes, sparse, single = np.zeros(100), np.zeros(100), np.zeros(100)
    spikes[[12, 37, 39, 60, 61, 88]] = [0.10, 0.25, 0.20, 0.20, 0.15, 0.10]
    sparse[[5, 50, 70]] = [0.6, 0.3, 0.1]
    single[50] = 1.0
    heaped = np.exp(-((x - 38) ** 2) / 200) / 50  # working hours: heaps at 20, 40 and 50, and every fifth
    heaped[::5] *= 3
    heaped[[20, 40, 50]] += [0.1, 0.5, 0.1]
    shapes = {
        "real ages": cf.datasets.adult_ages().distribution,
        "heaped": heaped,
        "spikes": spikes,
        "sparse": sparse,
        "one value": single,
        "rough": np.random.default_rng(5).gamma(0.5, size=100),
        "uniform": np.ones(100),
    }
    alphabet = cf.Integers(0, 99, unit="year")
    return Place(
        mechanisms=[(epsilon, cf.TruncatedGeometric(alphabet, epsilon)) for epsilon in (0.05, 0.2)],
        truths={name: shape / shape.sum() for name, shape in shapes.items()},
        people=50_000,
    )


def plane() -> Place:
    """Return the places of Manhattan under the truncated planar Laplace mechanism."""
    manhattan = cf.datasets.manhattan()
    grid = manhattan.alphabet
    assert isinstance(grid, cf.Grid)
    spikes = np.zeros(grid.size)
    spikes[[33, 34, 90, 150, 151, 221]] = [0.2, 0.2, 0.15, 0.2, 0.15, 0.1]
    return Place(
        mechanisms=[(1.0, cf.TruncatedPlanarLaplace(grid, 1.0))],
        truths={"Manhattan": manhattan.distribution, "spikes": spikes},
        people=50_000,
    )


def answers() -> Place:
    """Return forty unordered answers under randomized response, of which the fullest get a window each."""
    alphabet = cf.Categories([f"answer {number}" for number in range(40)])
    few = np.zeros(40)
    few[[2, 3, 11]] = [0.6, 0.3, 0.1]
    return Place(
        mechanisms=[(epsilon, cf.RandomizedResponse(alphabet, epsilon)) for epsilon in (1.0, 3.0)],
        truths={"falling": np.arange(40.0, 0, -1) / 820, "three answers": few, "uniform": np.full(40, 1 / 40)},
        people=10_000,
    )


PLACES = {"ages": ages, "plane": plane, "answers": answers}


def main() -> None:
    """Print a table a place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200, help="surveys a row")
    parser.add_argument("--only", nargs="*", choices=list(PLACES), default=list(PLACES), help="places to look at")
    parser.add_argument("--truths", nargs="*", default=None, help="truths to look at; all if left out")
    parser.add_argument("--epsilon", type=float, default=None, help="the one epsilon to look at; all if left out")
    options = parser.parse_args()
    for name in options.only:
        place = PLACES[name]()
        rows = [
            [truth, f"{epsilon:g}", *row(mechanism, place.truths[truth], place.people, options.repeats)]
            for truth in options.truths or place.truths
            for epsilon, mechanism in place.mechanisms
            if options.epsilon in (None, epsilon)
        ]
        print_table(f"{name}: {place.people:,} people, {options.repeats} surveys a row, at 95 %", HEADS, rows)
    print(machine())


if __name__ == "__main__":
    main()
