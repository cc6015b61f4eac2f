"""How often the test of fit warns: of surveys in which all is well, and of surveys in which something is not.

    python -m benchmarks.fit                        # 100 surveys a row: about 15 minutes of one core
    python -m benchmarks.fit --repeats 500 --only size
    python -m benchmarks.fit --only power --rows exponential
    python -m benchmarks.fit --only faults

Size: the share of good surveys that are called a bad fit must be 5 % within 2 points, over the spread of as many
repeats; under randomized response at most that. Power: with 50,000 people, 1 % of reports from bots at one value, and
devices at 1.2 times the epsilon, must be seen in at least 90 % of surveys. Faults: how often each one shows, no bar.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, print_table, verdict
from confide.check.answers import FitVerdict
from confide.check.fit import fit, fit_groups, fit_pool

FloatArray = NDArray[np.float64]
Survey = Callable[[np.random.Generator], tuple[bool, str]]
"""Draws the reports of one survey, tests them, and says whether the fit was bad, and the verdict."""

PEOPLE = 50_000
LEVEL, ROOM, LEAST = 0.05, 0.02, 0.90


@dataclass(frozen=True, eq=False)
class Row:
    """A survey to repeat, and the shares of warnings that are allowed."""

    name: str
    survey: Survey
    low: float
    high: float


def draw(
    mechanism: cf.Mechanism, truth: FloatArray, people: int, rng: np.random.Generator, bots: cf.Counts | None = None
) -> cf.Counts:
    """Draw people, blur them, and let bots join, who are part of the people."""
    honest = people - (0 if bots is None else round(bots.total))
    counts = mechanism.simulate_counts(rng.multinomial(honest, truth), rng=rng)
    return counts if bots is None else counts + bots


def single(
    made: cf.Mechanism, read: cf.Mechanism, truth: FloatArray, people: int = PEOPLE, bots: cf.Counts | None = None
) -> Survey:
    """Return a survey through one mechanism, read as if through another."""

    def survey(rng: np.random.Generator) -> tuple[bool, str]:
        answer = fit(draw(made, truth, people, rng, bots), read)
        return answer.is_bad, answer.verdict

    return survey


def pool(mechanisms: Sequence[cf.Mechanism], truth: FloatArray, people: int) -> Survey:
    """Return a survey of which each mechanism gets a part."""

    def survey(rng: np.random.Generator) -> tuple[bool, str]:
        answer = fit_pool([(draw(one, truth, people // len(mechanisms), rng), one) for one in mechanisms])
        return answer.is_bad, answer.verdict

    return survey


def groups(mechanism: cf.Mechanism, truth: FloatArray, number: int, people: int) -> Survey:
    """Return a survey of many groups, whose truths differ a little."""

    def survey(rng: np.random.Generator) -> tuple[bool, str]:
        truths = [np.roll(truth, int(shift)) for shift in rng.integers(-3, 4, number)]
        answer = fit_groups({place: draw(mechanism, one, people, rng) for place, one in enumerate(truths)}, mechanism)
        return answer.is_bad, answer.together.verdict

    return survey


def good_surveys() -> list[Row]:
    """Return surveys in which all is well: mechanisms and truths of many kinds, sparse ones, pools, groups."""
    ages, city = cf.datasets.adult_ages(), cf.datasets.manhattan()
    people, cars = ages.distribution, city.distribution
    years: Any = ages.alphabet
    cells: Any = city.alphabet
    hump = np.exp(-(((np.arange(100) - 30) / 8.0) ** 2))
    hump /= hump.sum()
    uniform = np.full(100, 0.01)
    spikes = np.zeros(100)
    spikes[[7, 33, 34, 71]] = 0.25
    few = cf.Categories(["red", "green", "blue", "white", "black", "grey"])
    line = cf.TruncatedGeometric(years, 0.05)
    surveys: list[tuple[str, Survey]] = [
        ("geometric 0.05, ages", single(line, line, people)),
        ("geometric 0.1, uniform", same(cf.TruncatedGeometric(years, 0.1), uniform)),
        ("laplace 0.1, spikes", same(cf.TruncatedLaplace(years, 0.1), spikes)),
        ("exponential 0.05, ages", same(cf.Exponential(years, 0.05), people)),
        ("exponential 0.1, hump", same(cf.Exponential(years, 0.1), hump)),
        ("taxicab 0.5, Manhattan", same(cf.TruncatedTaxicab(cells, 0.5), cars)),
        ("planar laplace 1, Manhattan", same(cf.TruncatedPlanarLaplace(cells, 1.0), cars)),
        ("planar laplace 1, 300 people", same(cf.TruncatedPlanarLaplace(cells, 1.0), cars, 300)),
        ("raw laplace 0.1, ages", same(cf.Laplace(years, 0.1), people, 5000)),
        ("raw planar laplace 1, Manhattan", same(cf.PlanarLaplace(cells, 1.0), cars, 3000)),
        ("RAPPOR 2, ages", same(cf.Rappor(years, 2.0), people, 5000)),
        ("RAPPOR 1, six colours", same(cf.Rappor(few, 1.0), np.array([0.4, 0.3, 0.2, 0.05, 0.05, 0.0]), 5000)),
        ("pool of 0.05 and 0.2, ages", pool([line, cf.TruncatedGeometric(years, 0.2)], people, 20_000)),
        ("pool with RAPPOR, ages", pool([line, cf.Rappor(years, 2.0)], people, 10_000)),
        ("twenty groups, ages", groups(line, people, 20, 2000)),
        ("geometric 0.05, 40 people", same(line, people, 40)),
    ]
    rows = [Row(name, survey, LEVEL - ROOM, LEVEL + ROOM) for name, survey in surveys]
    # Of people who have all values only a little too few reports can be odd, and of most nothing can.
    return [*rows, *(Row(name, survey, 0.0, LEVEL + ROOM) for name, survey in responses(people))]


def responses(people: FloatArray) -> list[tuple[str, Survey]]:
    """Return surveys through randomized response: ages, everybody at one value, and long tails."""
    years = cf.Integers(0, 99)
    surveys = [("k-RR 2, ages", same(cf.RandomizedResponse(years, 2.0), people))]
    surveys += [(f"k-RR {one:g}, one value", same(cf.RandomizedResponse(years, one), np.eye(100)[3])) for one in (1, 3)]
    for power, size, epsilon in itertools.product((1.1, 1.5), (50, 200, 500), (1.0, 3.0, 5.0)):
        tail = np.arange(1, size + 1.0) ** -power
        response = cf.RandomizedResponse(cf.Integers(0, size - 1), epsilon)
        surveys.append((f"k-RR {epsilon:g}, Zipf {power:g} of {size}", same(response, tail / tail.sum())))
    return surveys


def same(mechanism: cf.Mechanism, truth: FloatArray, people: int = PEOPLE) -> Survey:
    """Return a survey that is read as it was made."""
    return single(mechanism, mechanism, truth, people)


def bad_surveys() -> list[Row]:
    """Return surveys in which something is wrong."""
    ages, city = cf.datasets.adult_ages(), cf.datasets.manhattan()
    rows = []
    kinds: tuple[Any, ...] = (cf.TruncatedGeometric, cf.TruncatedLaplace, cf.Exponential)
    for kind, epsilon in itertools.product(kinds, (0.05, 0.1)):
        rows += wrongs(kind(ages.alphabet, epsilon), ages.distribution, (50, 36, 5))
    planes: tuple[Any, ...] = (cf.TruncatedTaxicab, cf.TruncatedPlanarLaplace, cf.TruncatedPlanarGeometric)
    for kind, epsilon in itertools.product(planes, (0.5, 1.0)):
        rows += wrongs(kind(city.alphabet, epsilon), city.distribution, ((10, 7), (14, 3)))
    for epsilon in (1.0, 2.0):
        bits = cf.Rappor(ages.alphabet, epsilon)
        for factor in (1.2, 0.8):
            other = replace(bits, epsilon=epsilon * factor)
            rows.append(seen(f"rappor {epsilon:g}, made at {factor:g}", single(other, bits, ages.distribution, 10_000)))
    return rows


def faults() -> list[Row]:
    """Return the same faults under four mechanisms, some of which nothing can see."""
    ages = cf.datasets.adult_ages()
    years: Any = ages.alphabet
    rows = []
    mechanisms: list[Any] = [
        cf.TruncatedGeometric(years, 0.05),
        cf.TruncatedLaplace(years, 0.2),
        cf.RandomizedResponse(years, 3.0),
        cf.Rappor(years, 2.0),
    ]
    for one in mechanisms:
        people = 5000 if one.kind == "rappor" else PEOPLE
        made: dict[str, Survey] = {
            f"{factor:g} epsilon": single(replace(one, epsilon=factor * one.epsilon), one, ages.distribution, people)
            for factor in (1.2, 0.8)
        }
        at_36 = (
            cf.values.BitVectors(100).pack(np.eye(100, dtype=bool)[[36]]) if one.kind == "rappor" else np.array([36])
        )
        bots = cf.tally(np.repeat(at_36, people // 100, axis=0))
        made["1 % of bots at 36"] = single(one, one, ages.distribution, people, bots)
        for share in (1.0, 0.05):
            made[f"{share:.0%} of reports twice"] = twice(one, ages.distribution, people, share)
        made["5 % of devices send the truth"] = truthful(one, ages.distribution, people)
        rows += [Row(f"{one.kind} {one.epsilon:g}, {name}", survey, 0.0, 1.0) for name, survey in made.items()]
    return rows


def twice(mechanism: cf.Mechanism, truth: FloatArray, people: int, share: float) -> Survey:
    """Return a survey of which a share of the reports came twice."""

    def survey(rng: np.random.Generator) -> tuple[bool, str]:
        once = draw(mechanism, truth, people, rng)
        again = rng.binomial(once.counts.astype(int), share)
        answer = fit(once + cf.tally(once.reports[again > 0], again[again > 0]), mechanism)
        return answer.is_bad, answer.verdict

    return survey


def truthful(mechanism: cf.Mechanism, truth: FloatArray, people: int) -> Survey:
    """Return a survey of which 5 % of the devices do not blur."""

    def survey(rng: np.random.Generator) -> tuple[bool, str]:
        values = rng.choice(truth.size, size=people // 20, p=truth)
        is_vector = isinstance(mechanism.report_alphabet, cf.values.BitVectors)
        bare = cf.values.BitVectors(truth.size).pack(np.eye(truth.size, dtype=bool)[values]) if is_vector else values
        answer = fit(draw(mechanism, truth, people, rng, cf.tally(bare)), mechanism)
        return answer.is_bad, answer.verdict

    return survey


def wrongs(mechanism: cf.Mechanism, truth: FloatArray, places: Sequence[int | tuple[int, int]]) -> list[Row]:
    """Return the alternatives that a survey must see."""
    epsilon: float = mechanism.epsilon  # type: ignore[attr-defined]
    name = f"{mechanism.kind} {epsilon:g}"
    other: cf.Mechanism = replace(mechanism, epsilon=1.2 * epsilon)  # type: ignore[type-var]
    rows = [seen(f"{name}, made at 1.2", single(other, mechanism, truth))]
    for place in places:
        bots = cf.tally(np.array([place] * (PEOPLE // 100)))
        rows.append(seen(f"{name}, bots at {place}", single(mechanism, mechanism, truth, bots=bots)))
    return rows


def seen(name: str, survey: Survey) -> Row:
    """Return a row of which nearly every survey must warn."""
    return Row(name, survey, LEAST, 1.0)


def measure(rows: Sequence[Row], repeats: int, seed: int) -> list[tuple[str, ...]]:
    """Repeat each survey, and say how often it warned."""
    lines: list[tuple[str, ...]] = []
    for row in rows:
        began = time.perf_counter()
        row_seed = zlib.crc32(row.name.encode())  # of its own, so that no two rows have the same luck
        answers = [row.survey(np.random.default_rng([seed, row_seed, number])) for number in range(repeats)]
        seconds = (time.perf_counter() - began) / repeats
        share = sum(is_bad for is_bad, _ in answers) / repeats
        untested = sum(word == FitVerdict.CANNOT_BE_TESTED for _, word in answers) / repeats
        # Two standard errors of as many repeats are no fault of the test.
        room = 2 * math.sqrt(max(share, 0.05) * max(1 - share, 0.05) / repeats)
        is_met = row.low - room <= share <= row.high + room
        bar = verdict(f"{row.low:.0%} to {row.high:.0%}", met=is_met)
        lines.append((row.name, f"{share:.1%}", f"{untested:.0%}", f"{seconds:.2f} s", bar))
        print("  ", *lines[-1], flush=True)
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("size", "power", "faults"), help="one table alone")
    parser.add_argument("--rows", default="", help="only rows whose name holds this")
    options = parser.parse_args()
    print(machine())
    tables = {
        "size": ("Surveys in which all is well", good_surveys),
        "power": ("Something is wrong", bad_surveys),
        "faults": ("What shows, and what does not", faults),
    }
    for name, (title, rows) in tables.items():
        if options.only in (None, name):
            chosen = [row for row in rows() if options.rows in row.name]
            repeats = options.repeats if name == "size" else max(1, options.repeats // 5)
            lines = measure(chosen, repeats, options.seed)
            print_table(
                f"{title}, {repeats} surveys a row", ("survey", "called bad", "cannot be tested", "time", "bar"), lines
            )


if __name__ == "__main__":
    main()
