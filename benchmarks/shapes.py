"""Declared shapes: how often intervals hold where the shape is true, how much narrower they are, and where it is wrong.

    python -m benchmarks.shapes --surveys 200       # all rows: about 40 minutes of one core
    python -m benchmarks.shapes --rows falling --surveys 40
    python -m benchmarks.shapes --only estimates    # the error of methods with and without the shape
    python -m benchmarks.shapes --only heaps        # how often a heap against the shape is seen, and can be

Truths that have a shape are the real ages brought to it, so that they have it exactly; the ages themselves break it a
little, and spikes break it altogether. Bars: where the shape is true, coverage at least 93 %; for `age >= 65` at most
half of the width of 0.110 that the reports alone gave before there were shapes (48,842 people, 0.05 per year).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, print_table, verdict
from confide.check.shapes import bring
from confide.estimates.estimate import recover
from confide.evidence.evidence import Evidence

FloatArray = NDArray[np.float64]

PEOPLE, EPSILON = 48_842, 0.05
LEAST, WIDEST = 0.93, 0.055
TESTED = 40
"""Surveys of a row whose shape is tested, half a second each, and whose intervals are found without it as well."""

QUESTIONS = ("age >= 65", "age in 40..49")

AGES = cf.datasets.adult_ages()
YEARS: Any = AGES.alphabet


@dataclass(frozen=True, eq=False)
class Row:
    """A truth, a shape that is declared of it, and how true that is."""

    truth: str
    shares: FloatArray
    shape: str
    is_true: bool
    mechanism: cf.Mechanism = field(default_factory=lambda: cf.TruncatedGeometric(YEARS, EPSILON))


def spikes() -> FloatArray:
    """Return people on six values alone."""
    found = np.zeros(100)
    found[[22, 37, 39, 60, 61, 74]] = [0.10, 0.25, 0.20, 0.20, 0.15, 0.10]
    return found


def rows() -> Iterator[Row]:
    """Return all rows: shapes that are true, that are broken a little, and that are plainly wrong."""
    for words in ("falling from 50", "smooth = 3", "one peak at 37", "nobody below 17"):
        yield Row(
            "ages, brought to it", bring(AGES.distribution, cf.evidence.Shape.of(words), YEARS), words, is_true=True
        )
    for words in ("falling from 50", "smooth = 3", "one peak at 37"):
        yield Row("ages as they are", AGES.distribution, words, is_true=False)
    for words in ("falling from 50", "smooth = 3"):
        yield Row("six spikes", spikes(), words, is_true=False)
        true, response = bring(AGES.distribution, cf.evidence.Shape.of(words), YEARS), cf.RandomizedResponse(YEARS, 3.0)
        yield Row("k-RR 3, brought to it", true, words, is_true=True, mechanism=response)
        yield Row("k-RR 3, ages as they are", AGES.distribution, words, is_true=False, mechanism=response)


def draw(mechanism: cf.Mechanism, shares: FloatArray, people: int, seed: int) -> cf.Counts:
    """Return the reports of one survey: people are drawn, then their reports."""
    generator = np.random.default_rng([11, seed])
    return mechanism.simulate_counts(generator.multinomial(people, shares), rng=generator)


def covered(row: Row, surveys: int) -> Iterator[list[str]]:
    """Return one line a question: coverage and width under the shape, and without it in the first few surveys."""
    mechanism, tests = row.mechanism, []
    shaped, free = np.empty((surveys, len(QUESTIONS), 2)), np.empty((min(surveys, TESTED), len(QUESTIONS), 2))
    for seed in range(surveys):
        pool = [(draw(mechanism, row.shares, PEOPLE, seed), mechanism)]
        answer = recover(pool, cf.MLE(1e-3), shape=row.shape)
        shaped[seed] = [tuple(answer.query(question, name="age")) for question in QUESTIONS]
        if seed < TESTED and answer.shape_fit is not None:
            tests.append(answer.shape_fit.is_bad)
            bare = recover(pool, cf.MLE(1e-3))
            free[seed] = [tuple(bare.query(question, name="age")) for question in QUESTIONS]
    for place, question in enumerate(QUESTIONS):
        true = _share(question, row.shares)
        (held, width), (held_free, width_free) = (_judge(ends[:, place], true) for ends in (shaped, free))
        bars = [verdict(f"{LEAST:.0%}", met=held >= LEAST)] if row.is_true else []
        if question == QUESTIONS[0] and row.shape in ("falling from 50", "smooth = 3") and row.truth.startswith("ages"):
            bars.append(verdict(f"{WIDEST:g} wide", met=width <= WIDEST))
        cells = [f"{held:.1%}", f"{width:.4f}", f"{held_free:.0%}", f"{width_free:.4f}", f"{width / width_free:.2f}"]
        yield [row.truth, row.shape, question, *cells, f"{np.mean(tests):.0%}", " ".join(bars)]


def _judge(ends: FloatArray, true: float) -> tuple[float, float]:
    """Return how often intervals hold the truth, and how wide they are on average."""
    held = (ends[:, 0] <= true + 1e-9) & (true - 1e-9 <= ends[:, 1])
    return float(held.mean()), float((ends[:, 1] - ends[:, 0]).mean())


def _share(question: str, shares: FloatArray) -> float:
    from confide.values.queries import as_weights

    return float(as_weights(question, AGES.alphabet, "age") @ shares)


HEAP, HEAPS = 0.05, ((0.05, 65), (0.05, 75), (0.05, 80), (0.05, 90), (0.1, 65), (0.1, 75), (0.1, 80), (0.1, 90))
"""Share of all people on one value, and noise and value of each row."""


def heaps(surveys: int) -> Iterator[list[str]]:
    """Return one line a heap under `falling from 50`: how often any test could see it, and how often ours does.

    Take the null distribution that is nearest to the truth. By Neyman and Pearson no test of the shape at 5 % rejects
    more often than the likelihood ratio of just these two, even if it is told the place and the size of the heap.
    """
    shape = cf.evidence.Shape.of("falling from 50")
    (mixture,) = shape.mixtures(YEARS)
    base = bring(AGES.distribution, shape, YEARS)
    for epsilon, place in HEAPS:
        mechanism = cf.TruncatedGeometric(YEARS, epsilon)
        truth = (1 - HEAP) * base + HEAP * np.eye(base.size)[place]
        outputs = mechanism.channel.push(truth)
        components = cf.MLE(1e-4).solve(Evidence(mechanism.channel, PEOPLE * outputs).mixed(mixture)).distribution
        nearest = mechanism.channel.push(mixture.spread(components))
        generator = np.random.default_rng([12, place])
        drawn = [generator.multinomial(PEOPLE, one / one.sum(), size=20_000) for one in (nearest, outputs)]
        null, true = (rows @ np.log(outputs / nearest) for rows in drawn)
        pools = ([(draw(mechanism, truth, PEOPLE, seed), mechanism)] for seed in range(surveys))
        tests = [recover(pool, cf.MLE(1e-3), shape=shape).shape_fit for pool in pools]
        seen = np.mean([one is not None and one.is_bad for one in tests])
        yield [f"{epsilon:g}", str(place), f"{np.mean(true > np.quantile(null, 0.95)):.0%}", f"{seen:.0%}"]


METHODS: dict[str, cf.Method | None] = {"default": None, "IBU": cf.IBU(), "MLE": cf.MLE(1e-3)}


def errors(row: Row, surveys: int) -> list[str]:
    """Return the mean earth mover's distance of methods without and with the shape."""
    mechanism, cells = row.mechanism, [row.truth, row.shape]
    pools = [[(draw(mechanism, row.shares, PEOPLE, seed), mechanism)] for seed in range(surveys)]
    for method in METHODS.values():
        for words in (None, row.shape):
            found = [recover(pool, method, shape=words).distribution for pool in pools]
            cells.append(f"{np.mean([cf.emd(one, row.shares, AGES.alphabet) for one in found]):.3f}")
    return cells


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surveys", type=int, default=200)
    parser.add_argument("--rows", default="", help="only rows whose truth or shape has this in its name")
    parser.add_argument("--only", choices=("intervals", "estimates", "heaps"), default=None)
    options = parser.parse_args()
    chosen = [row for row in rows() if options.rows in f"{row.truth}: {row.shape}"]
    print(machine())
    if options.only in (None, "heaps"):
        headings = ["per year", "heap at", "best of all tests", "ours"]
        title = (
            f"A heap of {HEAP:.0%} under a false `falling from 50`: how often it is seen, of {options.surveys} surveys"
        )
        print_table(title, headings, list(heaps(options.surveys)))
    if options.only in (None, "intervals"):
        headings = ["truth", "shape", "question", "held", "width", "held without", "width", "ratio", "called wrong", ""]
        found = [line for row in chosen for line in covered(row, options.surveys)]
        print_table(f"Intervals under a shape, {options.surveys} surveys a row", headings, found)
    if options.only in (None, "estimates"):
        headings = ["truth", "shape", *(f"{name}{kind}" for name in METHODS for kind in ("", ", shaped"))]
        few = max(4, options.surveys // 10)
        print_table(f"EMD in years, {few} surveys a row", headings, [errors(row, few) for row in chosen])


if __name__ == "__main__":
    main()
