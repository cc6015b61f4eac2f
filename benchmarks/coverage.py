"""How often intervals hold the truth, and how wide they are: by truth, by question, by what they rest on.

    python -m benchmarks.coverage                       # 100 surveys a row: about 50 minutes of one core
    python -m benchmarks.coverage --repeats 20          # a tenth of that
    python -m benchmarks.coverage --only ages           # one place: ages, plane or answers
    python -m benchmarks.coverage --only ages --truths spikes --epsilon 0.2
    python -m benchmarks.coverage --method ibu          # with another method than the default

Each row repeats a survey: reports are drawn, estimated, and asked for intervals at 95 %. Coverage is the share of all
intervals of a kind, over repeats and questions, that hold the true answer; its standard error is about 1 point for ten
questions and 100 repeats. The lowest coverage of a single question stands beside it, so that no question hides behind
the others; among single values, of which there are many, the coverage of the tenth that most people have. Broad
questions (decades, districts, the mean) must cover at least 90 %. Single values get a tenth of the surveys.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, once, print_table, shown, verdict
from confide.intervals import Basis
from confide.methods import METHODS

FloatArray = NDArray[np.float64]

LEVEL = 0.95
LEAST = 0.90
REPLICATES = 200
HEADS = ("truth", "epsilon", "question", "rests on", "coverage", "worst", "mean width", "time", "bar")


@dataclass(frozen=True, eq=False)
class Question:
    """Linear queries of one kind, one row of weights each, and whether they are broad enough to have a bar."""

    name: str
    weights: FloatArray
    basis: Basis
    is_broad: bool

    def ends(self, answer: cf.Estimate) -> FloatArray:
        """Return two rows: all lower and all upper ends."""
        if self.name == "values":
            return np.array(list(answer.interval(LEVEL, basis=self.basis)))
        return np.array([list(answer.query(row, LEVEL, basis=self.basis)) for row in self.weights]).T


@dataclass(frozen=True, eq=False)
class Place:
    """Where people are: mechanisms over one alphabet, truths, and what is asked."""

    mechanisms: Sequence[tuple[float, cf.Mechanism]]
    truths: dict[str, FloatArray]
    questions: Sequence[Question]
    people: int


def rows(place: Place, method: cf.Method, repeats: int) -> Iterator[list[str]]:
    """Return one row a truth, a mechanism and a question."""
    for name, truth in place.truths.items():
        for epsilon, mechanism in place.mechanisms:
            answers = [estimate(mechanism, truth, place.people, method, seed) for seed in range(repeats)]
            for question in place.questions:
                asked = answers if question.name != "values" else answers[: max(1, repeats // 10)]
                yield [name, f"{epsilon:g}", *measure(question, asked, truth)]


def estimate(mechanism: cf.Mechanism, truth: FloatArray, people: int, method: cf.Method, seed: int) -> cf.Estimate:
    """Return what one survey recovers: people are drawn, then their reports."""
    generator = np.random.default_rng([7, seed])
    histogram = generator.multinomial(people, truth)
    return cf.estimate(mechanism.simulate_counts(histogram, rng=generator), mechanism, method)


def measure(question: Question, answers: Sequence[cf.Estimate], truth: FloatArray) -> list[str]:
    """Return how often the intervals of all answers hold, how wide they are, and what one takes."""
    seconds, ends = once(lambda: np.array([question.ends(answer) for answer in answers]))
    low, high = ends[:, 0], ends[:, 1]
    true = question.weights @ truth
    held = (low - 1e-9 <= true) & (true <= high + 1e-9)
    coverage = float(held.mean())
    worst = (
        f"largest {held[:, largest(true)].mean():.0%}"
        if question.name == "values"
        else f"{held.mean(axis=0).min():.0%}"
    )
    bar = verdict(f"{LEAST:.0%}", met=coverage >= LEAST) if question.is_broad else ""
    numbers = [f"{coverage:.1%}", worst, f"{(high - low).mean():.4f}"]
    return [question.name, type(question.basis).__name__.lower(), *numbers, shown(seconds / len(answers)), bar]


def largest(true: FloatArray) -> NDArray[np.intp]:
    """Return the tenth of the questions with the largest true answers; fewer where fewer are not empty."""
    order = np.argsort(-true, kind="stable")[: max(1, true.size // 10)]
    return order[true[order] > 0]


def ages() -> Place:
    """Return 50,000 people of up to 99 years under the truncated geometric mechanism."""
    alphabet = cf.Integers(0, 99, unit="year")
    decades = groups(10, 10)
    return Place(
        mechanisms=[(epsilon, cf.TruncatedGeometric(alphabet, epsilon)) for epsilon in (0.05, 0.2)],
        truths=lines(),
        questions=[
            Question("decades", decades, cf.Likelihood(), is_broad=True),
            Question("mean", np.arange(100.0)[None, :], cf.Likelihood(), is_broad=True),
            Question("values", np.eye(100), cf.Bootstrap(REPLICATES), is_broad=False),
        ],
        people=50_000,
    )


def groups(count: int, size: int) -> FloatArray:
    """Return so many queries, each for so many neighbours."""
    return np.repeat(np.eye(count, dtype=np.float64), size, axis=1)


def lines() -> dict[str, FloatArray]:
    """Return truths over a hundred values: three smooth ones, three that are not."""
    x = np.arange(100)
    spikes, single = np.zeros(100), np.zeros(100)
    spikes[[12, 37, 39, 60, 61, 88]] = [0.10, 0.25, 0.20, 0.20, 0.15, 0.10]
    single[50] = 1.0
    shapes = {
        "real ages": cf.datasets.adult_ages().distribution,
        "two humps": 0.6 * np.exp(-((x - 30) ** 2) / 128) / 8 + 0.4 * np.exp(-((x - 65) ** 2) / 72) / 6,
        "uniform": np.ones(100),
        "spikes": spikes,
        "one value": single,
        "rough": np.random.default_rng(5).gamma(0.5, size=100),
    }
    return {name: shape / shape.sum() for name, shape in shapes.items()}


def plane() -> Place:
    """Return the places of Manhattan under the planar Laplace mechanism, asked by districts of 5 x 7 cells."""
    manhattan = cf.datasets.manhattan()
    grid = manhattan.alphabet
    assert isinstance(grid, cf.Grid)
    cells = np.arange(grid.size)
    row, column = cells // 14, cells % 14
    districts = np.array([(row // 5 == i) & (column // 7 == j) for i in range(4) for j in range(2)], dtype=np.float64)
    spikes, hill = np.zeros(grid.size), np.exp(-((row - 8) ** 2 + (column - 5) ** 2) / 18)
    spikes[[33, 34, 90, 150, 151, 221]] = [0.2, 0.2, 0.15, 0.2, 0.15, 0.1]
    return Place(
        mechanisms=[(epsilon, cf.TruncatedPlanarLaplace(grid, epsilon)) for epsilon in (0.5, 1.0)],
        truths={"Manhattan": manhattan.distribution, "hill": hill / hill.sum(), "spikes": spikes},
        questions=[
            Question("districts", districts, cf.Likelihood(), is_broad=True),
            Question("values", np.eye(grid.size), cf.Bootstrap(100), is_broad=False),
        ],
        people=50_000,
    )


def answers() -> Place:
    """Return twenty unordered answers under randomized response."""
    alphabet = cf.Categories([f"answer {number}" for number in range(20)])
    halves = groups(2, 10)
    few = np.zeros(20)
    few[[2, 3, 11]] = [0.6, 0.3, 0.1]
    return Place(
        mechanisms=[(epsilon, cf.RandomizedResponse(alphabet, epsilon)) for epsilon in (0.5, 2.0)],
        truths={"falling": np.arange(20.0, 0, -1) / 210, "three answers": few},
        questions=[
            Question("halves", halves, cf.Likelihood(), is_broad=True),
            Question("values", np.eye(20), cf.Likelihood(), is_broad=False),
            Question("values", np.eye(20), cf.Bootstrap(REPLICATES), is_broad=False),
        ],
        people=10_000,
    )


PLACES: dict[str, Callable[[], Place]] = {"ages": ages, "plane": plane, "answers": answers}


def main() -> None:
    """Print a table a place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100, help="surveys a row")
    parser.add_argument("--only", nargs="*", choices=list(PLACES), default=list(PLACES), help="places to look at")
    parser.add_argument("--truths", nargs="*", default=None, help="truths to look at; all if left out")
    parser.add_argument("--epsilon", type=float, default=None, help="the one epsilon to look at; all if left out")
    parser.add_argument("--method", choices=list(METHODS), default="stacked", help="what the estimates come from")
    options = parser.parse_args()
    method = METHODS[options.method]
    for name in options.only:
        place = PLACES[name]()
        place = replace(
            place,
            truths={truth: place.truths[truth] for truth in options.truths or place.truths},
            mechanisms=[one for one in place.mechanisms if options.epsilon in (None, one[0])],
        )
        title = f"{name}: {place.people:,} people, {method.name}, {options.repeats} repeats, nominal {LEVEL:.0%}"
        print_table(title, HEADS, list(rows(place, method, options.repeats)))
    print(machine())


if __name__ == "__main__":
    main()
