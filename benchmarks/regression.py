"""Coverage and time of regression: twelve designs, simulated again and again.

    python -m benchmarks.regression                  # how many intervals cover the truth
    python -m benchmarks.regression --people 50000 --surveys 200
    python -m benchmarks.regression --speed          # a million rows with ten covariates, by moments

The spread is the standard deviation of the estimates divided by the mean standard error; 1 is right.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import confide as cf

Data = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One design: who answers what through which mechanism, and the coefficients behind it."""

    name: str
    mechanism: cf.Mechanism
    formula: str
    make: Callable[[np.random.Generator, int], tuple[Data, Any]]
    truth: tuple[float, ...]

    def survey(self, seed: int, people: int) -> Data:
        """Return simulated reports with covariates beside them."""
        rng = np.random.default_rng(seed)
        data, private = self.make(rng, people)
        reports = np.reshape(self.mechanism.privatize(private, rng=rng), (people, -1))
        names = self.mechanism.report_alphabet.field_names
        return data | dict(zip(names if len(names) > 1 else ["report"], reports.T, strict=True))


NUMBERS, COLOURS = cf.Integers(0, 19), cf.Categories(["red", "green", "blue"])
FEW = cf.Scale(["never", "rarely", "often", "always"])


def public(rng: np.random.Generator, people: int) -> tuple[Any, Any]:
    """Return a number and a class that everybody sees."""
    return rng.integers(-2, 3, people) / 2, rng.integers(0, 2, people)


def yes_or_no(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    x, f = public(rng, people)
    chance = 1 / (1 + np.exp(0.5 - 0.6 * x + 0.8 * f))
    return {"x": x, "f": f}, np.where(rng.random(people) < chance, "yes", "no")


def category(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    x, f = public(rng, people)
    lifted = np.stack([0 * x, 0.3 + 0.6 * x - 0.5 * f, -0.2 - 0.4 * x + 0.3 * f], axis=1)
    drawn = (lifted + rng.gumbel(size=lifted.shape)).argmax(axis=1)
    return {"x": x, "f": f}, np.array(["red", "green", "blue"])[drawn]


def grade(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    x, f = public(rng, people)
    lifted = 0.7 * x - 0.5 * f + rng.logistic(size=people)
    return {"x": x, "f": f}, np.array(["never", "rarely", "often", "always"])[np.digitize(lifted, [-1.0, 0.5, 2.0])]


def number(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    """A binomial number, whose mean is a straight line in the covariates."""
    x, f = public(rng, people)
    return {"x": x, "f": f}, rng.binomial(19, 0.5 + 0.15 * x - 0.1 * f)


def explained_by_number(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    _, f = public(rng, people)
    y = rng.binomial(19, 0.15 + 0.7 * rng.beta(1.5, 1.5, people) - 0.1 * f)
    score = 1.0 + 0.2 * y - 0.7 * f + rng.normal(size=people) * 2
    agrees = rng.random(people) < 1 / (1 + np.exp(1.0 - 0.15 * y + 0.5 * f))
    return {"f": f, "score": score.round(1), "agrees": agrees}, y


def explained_by_colour(rng: np.random.Generator, people: int) -> tuple[Data, Any]:
    _, f = public(rng, people)
    colour = rng.choice(3, people, p=[0.4, 0.35, 0.25])
    lifted = 0.4 - 0.5 * f + np.array([0.0, 1.0, -0.8])[colour]
    agrees = rng.random(people) < 1 / (1 + np.exp(-lifted))
    return {"f": f, "score": (lifted + rng.normal(size=people)).round(1), "agrees": agrees}, np.array(
        ["red", "green", "blue"]
    )[colour]


LINE = (9.5, 2.85, -1.9)
BY_NUMBER = (1.0, 0.2, -0.7), (-1.0, 0.15, -0.5)
BY_COLOUR = "C(value, levels=['red', 'green', 'blue'])"
YES = cf.Categories(["no", "yes"])
SETTINGS = [
    Setting("outcome: k-RR, logit", cf.RandomizedResponse(YES, 1.5), "value ~ x + f", yes_or_no, (-0.5, 0.6, -0.8)),
    Setting("outcome: RAPPOR, multinomial", cf.Rappor(COLOURS, 3.0), "value ~ x + f", category,
            (0.3, 0.6, -0.5, -0.2, -0.4, 0.3)),
    Setting("outcome: geometric, ordered", cf.TruncatedGeometric(FEW, 1.5), "value ~ x + f", grade,
            (0.7, -0.5, -1.0, 0.5, 2.0)),
    Setting("outcome: geometric, linear", cf.Geometric(NUMBERS, 0.2), "value ~ x + f", number, LINE),
    Setting("outcome: Laplace, linear", cf.Laplace(NUMBERS, 0.2), "value ~ x + f", number, LINE),
    Setting("outcome: square wave, linear", cf.SquareWave(NUMBERS, 2.0), "value ~ x + f", number, LINE),
    Setting("covariate: k-RR, linear", cf.RandomizedResponse(COLOURS, 2.0), f"score ~ {BY_COLOUR} + f",
            explained_by_colour, (0.4, 1.0, -0.8, -0.5)),
    Setting("covariate: RAPPOR, logit", cf.Rappor(COLOURS, 3.0), f"agrees ~ {BY_COLOUR} + f", explained_by_colour,
            (0.4, 1.0, -0.8, -0.5)),
    Setting("covariate: geometric, linear", cf.Geometric(NUMBERS, 0.3), "score ~ value + f", explained_by_number,
            BY_NUMBER[0]),
    Setting("covariate: geometric, logit", cf.TruncatedGeometric(NUMBERS, 0.3), "agrees ~ value + f",
            explained_by_number, BY_NUMBER[1]),
    Setting("covariate: Laplace, logit", cf.Laplace(NUMBERS, 0.3), "agrees ~ value + f", explained_by_number,
            BY_NUMBER[1]),
    Setting("covariate: square wave, linear", cf.SquareWave(NUMBERS, 3.0), "score ~ value + f", explained_by_number,
            BY_NUMBER[0]),
]  # fmt: skip
"""The twelve designs."""


@dataclass(frozen=True)
class Coverage:
    """What many surveys of one design showed: a number for each coefficient."""

    held: Any
    spread: Any
    bias: Any
    failed: int


def measure(setting: Setting, people: int, surveys: int, first: int = 0) -> Coverage:
    """Return how many intervals of simulated surveys cover the truth."""
    ratios, errors, failed = [], [], 0
    for seed in range(first, first + surveys):
        try:
            found = cf.regress(setting.formula, setting.survey(seed, people), cf.Survey(setting.mechanism), seed=seed)
        except cf.ConfideError:
            failed += 1
            continue
        errors.append(found.estimates - setting.truth)
        ratios.append(errors[-1] / found.standard_errors)
    scores = np.array(ratios)
    scale = np.abs(errors).mean(axis=0) / np.maximum(np.abs(scores).mean(axis=0), 1e-300)
    return Coverage((np.abs(scores) < 1.96).mean(axis=0), scores.std(axis=0), np.mean(errors, axis=0) / scale, failed)


def table(people: int, surveys: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{people:,} people, {surveys} surveys a design; 95% intervals"
    yield f"{'design':34} {'covered, by coefficient':40} {'spread':14} {'bias':6} failed"
    for setting in SETTINGS:
        start = time.perf_counter()
        found = measure(setting, people, surveys)
        held = " ".join(f"{100 * one:.0f}" for one in found.held)
        spread = f"{found.spread.min():.2f} to {found.spread.max():.2f}"
        took = f"{(time.perf_counter() - start) / surveys:.2f} s each"
        yield f"{setting.name:34} {held:40} {spread:14} {np.abs(found.bias).max():<6.2f} {found.failed}  {took}"


def speed(rows: int = 1_000_000) -> None:
    """Print how long a million rows with ten covariates take, and how much memory."""
    rng = np.random.default_rng(1)
    data: Data = {f"x{place}": rng.normal(size=rows) for place in range(8)}
    data |= {"female": rng.integers(0, 2, rows), "city": rng.choice(["Bern", "Oslo", "Rome"], rows)}
    mechanism = cf.Geometric(cf.Integers(0, 99), 0.1)
    true = np.clip(np.rint(50 + 5 * data["x0"] + 10 * rng.normal(size=rows)), 0, 99).astype(int)
    data["report"] = mechanism.privatize(true, rng=2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = time.perf_counter()
    found = cf.regress(f"y ~ {' + '.join(data.keys() - {'report'})}", data, cf.Survey(mechanism, "y"))
    took, most = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{rows:,} rows, ten covariates: {took:.1f} s, {most:.2f} GB at most ({before:.2f} GB before)")
    print(f"x0: {found.params['x0']:.3f} +- {found.bse['x0']:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--surveys", type=int, default=400)
    parser.add_argument("--speed", action="store_true")
    asked = parser.parse_args()
    if asked.speed:
        speed()
    else:
        for line in table(asked.people, asked.surveys):
            print(line, flush=True)
