"""Plans against fresh surveys: whether the range that a plan states without a guess holds what unlike truths give.

    python -m benchmarks.plans                 # 30 fresh surveys a row: two to three minutes of one core
    python -m benchmarks.plans --repeats 8     # a minute
    python -m benchmarks.plans --guesses       # which guesses flatter, and by how much

A plan over the family of shapes is made for each mechanism, at one setting. Then truths that it knows nothing of (real
data, a rough one drawn from a Dirichlet distribution, plateaus, a few points) are surveyed by the public road: people
are drawn, reports drawn and counted, an estimate made, its distance taken. The mean over these surveys must lie
between the best and the worst shape, margins included: on lines and planes in the earth mover's distance, on categories
in total variation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from statistics import median

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, print_table, verdict
from confide.plans import REPEATS, SHAPE_REPEATS, Distance, Simulation
from confide.plans.guesses import UNIFORM, as_guess, family_of
from confide.plans.simulations import FEWEST_REPEATS
from confide.values.distances import has_emd

FloatArray = NDArray[np.float64]

HEADS = ("mechanism", "people", "truth", "best shape", "worst shape", "fresh surveys", "bar")


def settings() -> Iterator[tuple[cf.Mechanism, int]]:
    """Yield the mechanisms, and how many people each survey has."""
    ages, tests = cf.Integers(0, 99, unit="year"), cf.Integers(1, 140, unit="procedure")
    town, towns = cf.Grid(20, 14, spacing=0.5, unit="km"), cf.Categories([f"town {number}" for number in range(20)])
    yield cf.TruncatedGeometric(ages, 0.05), 50_000
    yield cf.TruncatedGeometric(ages, 0.2), 50_000
    yield cf.TruncatedLaplace(tests, 0.05), 20_000
    yield cf.Exponential(ages, 0.1), 50_000
    yield cf.TruncatedTaxicab(town, 1.0), 50_000
    yield cf.RandomizedResponse(towns, 1.0), 20_000
    yield cf.RandomizedResponse(towns, 0.25), 20_000
    yield cf.Rappor(cf.Categories(list("abcdefgh")), 1.0), 20_000


def truths(alphabet: cf.Alphabet) -> dict[str, FloatArray]:
    """Return truths over an alphabet that are none of a plan's own shapes."""
    found = {name: data.distribution for name, data in _real() if data.alphabet == alphabet}
    size, generator = alphabet.size, np.random.default_rng(5)
    found["rough"] = generator.dirichlet(np.full(size, 0.3))
    found["plateaus"] = np.repeat([1.0, 4.0, 2.0, 6.0], math.ceil(size / 4))[:size]
    found["three points"] = np.full(size, 0.02 / size)
    found["three points"][[size // 7, size // 2, (9 * size) // 10]] += [0.5, 0.3, 0.18]
    return {name: shares / shares.sum() for name, shares in found.items()}


def _real() -> list[tuple[str, cf.datasets.Dataset]]:
    return [(name, cf.datasets.load(name)) for name in cf.datasets.names() if not name.endswith("_train")]


def survey(mechanism: cf.Mechanism, people: int, truth: FloatArray, repeats: int) -> FloatArray:
    """Return the error of each of several fresh surveys."""
    generator, errors = np.random.default_rng(987_654), []
    for _ in range(repeats):
        counts = mechanism.simulate_counts(generator.multinomial(people, truth), rng=generator)
        answer = cf.estimate(counts, mechanism).distribution
        has_distance = has_emd(mechanism.alphabet)
        errors.append(cf.emd(answer, truth, mechanism.alphabet) if has_distance else cf.total_variation(answer, truth))
    return np.array(errors)


def measure(repeats: int) -> Iterator[list[str]]:
    """Yield one row for each mechanism and truth."""
    for mechanism, people in settings():
        shapes = {
            one.name: Simulation(one, Distance(mechanism.alphabet), cf.Stacked(), SHAPE_REPEATS, 0).predict(
                mechanism, people
            )
            for one in family_of(mechanism)
        }
        best, worst = (end(shapes, key=lambda one: shapes[one].mean) for end in (min, max))
        low = shapes[best].mean - shapes[best].margin
        high = shapes[worst].mean + shapes[worst].margin
        for name, truth in truths(mechanism.alphabet).items():
            errors = survey(mechanism, people, truth, repeats)
            margin = 2 * float(errors.std(ddof=1)) / math.sqrt(errors.size)
            fresh = float(errors.mean())
            yield [
                f"{mechanism.kind} {mechanism.epsilon:g}",  # type: ignore[attr-defined]  # all of these have one
                f"{people:,}",
                name,
                f"{shapes[best].mean:.3g} ({best})",
                f"{shapes[worst].mean:.3g} ({worst})",
                f"{fresh:.3g} ± {margin:.2g}",
                verdict("inside", met=low - margin <= fresh <= high + margin),
            ]


def guesses() -> Iterator[tuple[str, cf.Mechanism, int, object, cf.Method]]:
    """Yield surveys with a guess each: name, mechanism, people, guess and method."""
    ages, letters = cf.Integers(0, 99, unit="year"), cf.Categories(list("abcdefghij"))
    for epsilon, method in ((0.0125, cf.Stacked()), (0.05, cf.Stacked()), (1.0, cf.Stacked()), (0.05, cf.IBU())):
        name = f"ages, {epsilon:g} per year{', IBU' * isinstance(method, cf.IBU)}"
        for guess in (UNIFORM, "adult_ages"):
            yield name, cf.TruncatedGeometric(ages, epsilon), 50_000, guess, method
    falling: tuple[object, ...] = (UNIFORM, np.arange(10, 0, -1) / 55)
    for shares in falling:
        yield "10 categories, epsilon 1", cf.RandomizedResponse(letters, 1.0), 20_000, shares, cf.Stacked()
    for city, epsilon in (("manhattan", 0.5), ("san_francisco", 1.0)):
        grid = cf.datasets.load(city).alphabet
        assert isinstance(grid, cf.Grid)
        for guess in (UNIFORM, city):
            yield f"{city}, taxicab {epsilon:g} per km", cf.TruncatedTaxicab(grid, epsilon), 50_000, guess, cf.Stacked()


def compare_guesses() -> Iterator[list[str]]:
    """Yield one row for each guess: its error relative to the family."""
    for name, mechanism, people, guess, method in guesses():
        stronger = mechanism.at(mechanism.epsilon / 4)  # type: ignore[attr-defined]  # all of these have one
        measure = Distance(mechanism.alphabet)
        own = Simulation(as_guess(guess, mechanism), measure, method, REPEATS, 0)
        others = [
            Simulation(one, measure, method, FEWEST_REPEATS, 0) for one in family_of(mechanism) if one.name != UNIFORM
        ]
        here, there = (median(one.predict(at, people).mean for one in others) for at in (mechanism, stronger))
        mine, strong = own.predict(mechanism, people).mean, own.predict(stronger, people).mean
        plan = cf.plan(mechanism, guess, people=people, method=method, repeats=REPEATS, cache=False)
        yield [
            name,
            guess if isinstance(guess, str) else "evenly falling",
            f"{mine / here:.2g}",
            f"{strong / mine:.2g}",
            f"{there / here:.2g}",
            "no" if plan.flattery is None else "yes",
        ]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30, help="fresh surveys a row (default: 30)")
    parser.add_argument("--guesses", action="store_true", help="which guesses flatter, in place of fresh surveys")
    arguments = parser.parse_args()
    print(machine())
    if arguments.guesses:
        heads = ("survey", "guess", "error / median error", "factor at epsilon / 4", "median factor", "flatters?")
        print_table("Guesses beside the family of shapes", heads, list(compare_guesses()))
        return
    print_table("Plans against fresh surveys", HEADS, list(measure(arguments.repeats)))


if __name__ == "__main__":
    main()
