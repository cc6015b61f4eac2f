"""Monte Carlo simulation of a survey, repeated many times.

Each repeat draws people, privatizes, counts, estimates, and compares with the truth. Samplers reject and retry, so two
simulations with the same seed but one more person would have nothing in common. Here each count is a quantile at a
fixed uniform number (common random numbers). So a curve over settings is smooth, and a search can rely on small
differences. Each draw alone is exactly multinomial.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import ConfideError, InvalidParameterError
from confide.estimates.estimate import Estimate, recover
from confide.evidence.counts import Counts, tally
from confide.evidence.shapes import Shape
from confide.mechanisms import (
    MECHANISMS,
    Mechanism,
)
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.plans.guesses import Guess
from confide.solve.methods import MLE, Method
from confide.values import Alphabet, Grid, UnorderedGeometry
from confide.values.checks import MOST_PEOPLE
from confide.values.distances import emd, has_emd, total_variation
from confide.values.metrics import Discrete
from confide.values.queries import Query, as_weights, describe_query
from confide.values.wording import counted, digest

TWO_SIDED = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


@dataclass(frozen=True)
class Prediction:
    """An expected error, with its standard error.

    Attributes
    ----------
    mean
        The expected error.
    standard_error
        The standard error of the mean, over the repeats.
    repeats
        Number of simulated surveys.
    """

    mean: float
    standard_error: float
    repeats: int

    @property
    def margin(self) -> float:
        """Half-width of the 95% confidence interval of the mean."""
        return student(self.repeats) * self.standard_error

    @property
    def relative(self) -> float:
        """The standard error as a share of the mean."""
        return self.standard_error / self.mean if self.mean > 0 else math.inf

    @property
    def relative_margin(self) -> float:
        """The margin as a share of the mean."""
        return self.margin / self.mean if self.mean > 0 else math.inf


@dataclass(frozen=True)
class WidthPrediction(Prediction):
    """An expected width: the root of a mean square.

    Its error is not Student's. With few repeats squares are seldom large, so a small width looks more certain than it
    is. Student's margin alone would cover the truth in 87% of plans at 4 repeats, and in 91% at 24.

    Attributes
    ----------
    degrees
        Degrees of freedom of the scaled chi-squared distribution of the mean square. They equal the repeats if errors
        scatter around zero, and exceed them if a bias outweighs the scatter.
    """

    degrees: float

    @property
    def margin(self) -> float:
        # The larger of Student's and the upper side of chi-squared.
        from scipy.special import gammaincinv

        if not math.isfinite(self.degrees):
            return super().margin
        small = 2 * float(gammaincinv(self.degrees / 2, 0.025))
        return max(super().margin, self.mean * (math.sqrt(self.degrees / small) - 1))


def student(repeats: int) -> float:
    """Return the two-sided 95% quantile of Student's t distribution.

    >>> round(student(4), 3), round(student(24), 3)
    (3.182, 2.069)
    """
    from scipy.special import stdtrit

    return float(stdtrit(repeats - 1, 0.975))


class Measure(ABC):
    """The error measure of an estimate, and its mean over repeats."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the measure in a sentence."""

    @property
    def unit(self) -> str:
        """Unit of the measure; empty for a share."""
        return ""

    @abstractmethod
    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        """Return the error of one estimate."""

    def summarise(self, errors: FloatArray) -> Prediction:
        """Return the expected error: the mean over repeats."""
        return Prediction(float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(errors.size)), errors.size)


@dataclass(frozen=True)
class Distance(Measure):
    """The earth mover's distance, or total variation if there is none.

    On categories the two are the same.
    """

    alphabet: Alphabet

    @property
    def name(self) -> str:
        has_space = has_emd(self.alphabet) and not isinstance(self.alphabet.geometry, UnorderedGeometry)
        return "EMD" if has_space else "total variation"

    @property
    def unit(self) -> str:
        return self.alphabet.unit if has_emd(self.alphabet) else ""

    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        if not estimate.is_distribution:
            raise InvalidParameterError(
                f"{estimate.method!r} leaves negative shares, or shares that do not add up to 1. They have no distance "
                f"from a distribution. Plan with another method, or for a query."
            )
        if not has_emd(self.alphabet):
            return total_variation(estimate.distribution, truth)
        return emd(estimate.distribution, truth, self.alphabet)


@dataclass(frozen=True, eq=False)
class QueryWidth(Measure):
    """Half-width of a query's 95% interval: 1.96 root mean square errors.

    The error is measured from the truth, not from the mean estimate, so it includes the bias of a regularized method.
    """

    query: str
    weights: FloatArray

    @property
    def name(self) -> str:
        return f"95% half-width of {self.query}"

    def judge(self, estimate: Estimate, truth: FloatArray) -> float:
        # Keep the sign of the error, to separate bias from scatter.
        return float(self.weights @ (estimate.distribution - truth))

    def summarise(self, errors: FloatArray) -> Prediction:
        # Delta method: the standard error of a root is that of the mean square, divided by twice the root.
        squares = errors**2
        root = math.sqrt(float(squares.mean()))
        spread = float(squares.std(ddof=1)) / math.sqrt(errors.size) / (2 * root) if root > 0 else 0.0
        # Chi-squared with these degrees, scaled, has the mean and the variance of squared normal errors.
        scatter = float(errors.var(ddof=1))
        bias = max(0.0, float(errors.mean()) ** 2 - scatter / errors.size)
        variance = scatter**2 + 2 * bias * scatter
        degrees = errors.size * (bias + scatter) ** 2 / variance if variance > 0 else math.inf
        return WidthPrediction(TWO_SIDED * root, TWO_SIDED * spread, errors.size, degrees)


def choose_measure(alphabet: Alphabet, query: Query | None, name: str | None = None) -> Measure:
    """Return the half-width of the query, or the distance without one."""
    if query is None:
        return Distance(alphabet)
    return QueryWidth(describe_query(query), as_weights(query, alphabet, name))


def ignorance(measure: Measure, truth: FloatArray) -> float | None:
    """Return the distance of the uniform distribution from the truth.

    This is the error without any report.
    """
    if not isinstance(measure, Distance):
        return None
    uniform = np.full(truth.size, 1 / truth.size)
    if not has_emd(measure.alphabet):
        return total_variation(uniform, truth)
    return emd(uniform, truth, measure.alphabet)


MOST_DRAWN = 20_000_000
"""Most people times values in a search, if reports are drawn one by one."""


def suiting(alphabet: Alphabet, epsilon: float) -> tuple[Mechanism, ...]:
    """Return every mechanism with one epsilon that takes these values.

    >>> from confide import Categories
    >>> [one.kind for one in suiting(Categories(["yes", "no"]), 1.0)][:6]
    ['randomized-response', 'rappor', 'optimized-unary', 'subset-selection', 'local-hashing', 'hadamard-response']
    """
    found = []
    for kind in MECHANISMS.values():
        if {"alphabet", "epsilon"} <= set(inspect.signature(kind).parameters):
            with contextlib.suppress(ConfideError):  # skip mechanisms that reject these values
                found.append(kind(alphabet, epsilon))  # type: ignore[call-arg]  # asked of its signature
    return tuple(found)


def epsilon_bounds(mechanism: Mechanism) -> tuple[float, float]:
    """Return the smallest and the largest epsilon of a plan.

    At the smallest, reports reveal almost nothing; at the largest, there is hardly any noise.

    >>> from confide import Integers, TruncatedGeometric
    >>> epsilon_bounds(TruncatedGeometric(Integers(0, 100), 0.5))[0]
    0.0001
    """
    alphabet = mechanism.alphabet
    largest = 10.0 + math.log(alphabet.size)
    guarantee = mechanism.guarantee
    # If all values are one unit apart, epsilon per unit is the same as local epsilon.
    is_one_unit = isinstance(guarantee, MetricPrivacy) and guarantee.metric == Discrete()
    if isinstance(guarantee, LocalDP) or is_one_unit or isinstance(alphabet.geometry, UnorderedGeometry):
        return 0.01, largest
    spacing = float(getattr(alphabet, "spacing", 1.0))
    span = max(1.0, float((alphabet.coordinates.max(axis=0) - alphabet.coordinates.min(axis=0)).max()))
    return 0.01 / (span * spacing), largest / spacing


def has_matrix(mechanism: Mechanism) -> bool:
    """Whether the outputs are few enough to list."""
    try:
        return bool(mechanism.has_channel and mechanism.channel.shape[1] > 0)
    except InvalidParameterError:
        return False


def most_people(mechanism: Mechanism) -> int:
    """Return the most people that a plan tries.

    It is fewer if reports are drawn one by one.
    """
    return MOST_PEOPLE if has_matrix(mechanism) else max(1000, MOST_DRAWN // mechanism.alphabet.size)


def epsilon_of(mechanism: Mechanism) -> float | None:
    """Return the mechanism's epsilon; `None` if it has none."""
    has_one = is_dataclass(mechanism) and "epsilon" in {one.name for one in fields(mechanism)}
    return getattr(mechanism, "epsilon", None) if has_one else None


def within(mechanism: Mechanism, span: tuple[int, int] | None) -> Mechanism:
    """Return the mechanism for people whose values lie in a span.

    Without a span it is unchanged. Reports stay unbounded; only the estimate knows the span.

    >>> from confide import Geometric, Integers
    >>> within(Geometric(Integers(), epsilon=0.5), (0, 99))
    Geometric(alphabet=Integers(0, 99), epsilon=0.5)
    """
    alphabet = mechanism.alphabet
    if span is None:
        return mechanism
    if alphabet.is_finite:
        raise InvalidParameterError(f"A span is for unbounded values, and {alphabet!r} is finite. Leave it out.")
    can_change = is_dataclass(mechanism) and "alphabet" in {one.name for one in fields(mechanism)}
    if not alphabet.geometry.dimensions or not can_change:
        raise InvalidParameterError(
            f"{mechanism!r} cannot be given a span. Plan with a mechanism over a finite alphabet instead."
        )
    known: Alphabet
    if alphabet.geometry.dimensions == 2:
        known = Grid(*span, spacing=alphabet.spacing, unit=alphabet.unit)
    else:
        known = alphabet.between(*span)
    changed: Mechanism = replace(mechanism, alphabet=known)  # type: ignore[type-var]  # all are dataclasses
    return changed


def promise(mechanism: Mechanism) -> str:
    """Return the guarantee in a few words.

    >>> from confide import Integers, TruncatedGeometric
    >>> promise(TruncatedGeometric(Integers(0, 9, spacing=1000, unit="dollar"), epsilon=0.00003))
    '0.3 per 10,000 dollars'
    """
    guarantee = mechanism.guarantee
    return guarantee.terms if isinstance(guarantee, MetricPrivacy | LocalDP) else "the survey's promise"


FEWEST_REPEATS = 4
"""Fewest repeats of a setting; enough to see whether a guess flatters by a factor of two."""

Follow = Callable[[str, int, int], None]
"""Called with the setting, the number of the repeat, and the number of repeats."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Monte Carlo simulation of a survey.

    It has everything that stays the same while people and epsilon vary.

    Attributes
    ----------
    guess
        The assumed truth, from which people are drawn independently.
    measure
        The error measure.
    method
        How the distribution is estimated.
    repeats, seed
        Repeats of each setting, and the seed. Repeat r uses the same random numbers at every setting.
    cache
        Where errors are stored; None to store none.
    follow
        Called with the progress.
    known
        The errors of settings simulated before.
    shape
        The declared shape of the estimate; None without one.
    """

    guess: Guess
    measure: Measure
    method: Method
    repeats: int
    seed: int
    cache: Cache | None = None
    follow: Follow | None = field(default=None, repr=False)
    known: dict[str, FloatArray] = field(default_factory=dict, repr=False)
    shape: Shape | None = None

    def predict(self, mechanism: Mechanism, people: int) -> Prediction:
        """Return the expected error of a survey of so many people."""
        return self.measure.summarise(self.errors(mechanism, people))

    def errors(self, mechanism: Mechanism, people: int) -> FloatArray:
        """Return the error of each repeat.

        Known, from the cache, or simulated and stored.
        """
        key = self._key(mechanism, people)
        if key not in self.known:
            kept = None if self.cache is None else self.cache.get(key)
            # A file that holds something else, or too little, is made anew.
            if kept is None or kept.size != self.repeats:
                kept = self._simulate(mechanism, people)
                if self.cache is not None:
                    self.cache.put(key, kept)
            self.known[key] = kept
        return self.known[key]

    def _simulate(self, mechanism: Mechanism, people: int) -> FloatArray:
        label = f"{self.guess.name}: {mechanism.kind}, {counted(people, 'person')}, {promise(mechanism)}"
        draw, errors = self._sampler(mechanism, people), np.empty(self.repeats)
        for repeat in range(self.repeats):
            if self.follow is not None:
                self.follow(label, repeat + 1, self.repeats)
            answer = recover([(draw(repeat), mechanism)], self.method, shape=self.shape)
            errors[repeat] = self.measure.judge(answer, self.guess.vector)
        return errors

    def _sampler(self, mechanism: Mechanism, people: int) -> Callable[[int], Counts]:
        """Return a function that draws the counts of one repeat.

        People are drawn independently, so the counts of outputs are one multinomial over push(guess). If outputs cannot
        be listed, people are drawn first, then a report for each.
        """
        if not has_matrix(mechanism):

            def draw_reports(repeat: int) -> Counts:
                generator = np.random.default_rng([self.seed, repeat])
                return mechanism.simulate_counts(generator.multinomial(people, self.guess.vector), rng=generator)

            return draw_reports
        # Rounding may leave a share a little below 0.
        shares = np.maximum(mechanism.channel.push(self.guess.vector), 0.0)
        drawn = draw_multinomials(shares, people, draw_uniforms(shares.size, self.repeats, self.seed))

        def draw(repeat: int) -> Counts:
            seen = np.flatnonzero(drawn[repeat])
            return tally(mechanism.report_alphabet.decode(seen), drawn[repeat][seen])

        return draw

    def _key(self, mechanism: Mechanism, people: int) -> str:
        things = (mechanism, people, self.guess.vector, self.measure, self.method, self.repeats, self.seed)
        return fingerprint(*things) if self.shape is None else fingerprint(*things, self.shape.words)

    def interval_widths(self, mechanism: Mechanism, people: int) -> tuple[float, float] | None:
        """Return a query's mean interval width, with and without the shape.

        It is the mean over a few surveys. None without a shape or a query.
        """
        if self.shape is None or not isinstance(self.measure, QueryWidth):
            return None
        draw, widths = self._sampler(mechanism, people), []
        for repeat in range(3):  # surveys with intervals: half a second each
            pool = [(draw(repeat), mechanism)]
            answers = [recover(pool, MLE(), shape=one) for one in (self.shape, None)]
            widths.append([one.query(self.measure.weights).width for one in answers])
        shaped, free = np.mean(widths, axis=0).tolist()
        return shaped, free


def draw_uniforms(outputs: int, repeats: int, seed: int) -> FloatArray:
    """Return the uniform random numbers of each repeat, one row each.

    More repeats leave the first rows unchanged.
    """
    width = 1 << max(0, (outputs - 1).bit_length())
    return np.array([np.random.default_rng([seed, repeat]).random(width) for repeat in range(repeats)])


def draw_multinomials(shares: FloatArray, people: int, uniforms: FloatArray) -> FloatArray:
    """Return the number of people on each output, one row a repeat.

    Outputs are halved repeatedly. The people in a range are divided between its halves by a binomial quantile at one of
    the uniforms.

    >>> draw_multinomials(np.array([0.25, 0.5, 0.25]), 1000, draw_uniforms(3, repeats=2, seed=1)).sum(axis=1)
    array([1000., 1000.])
    """
    repeats, width = uniforms.shape
    mass: FloatArray = np.zeros(width)
    mass[: shares.size] = shares / shares.sum()
    counts, taken = np.full((repeats, 1), float(people)), 1
    while counts.shape[1] < width:
        nodes = counts.shape[1]
        # A binary tree: the people of a node are split between its halves by one binomial.
        halves = mass.reshape(nodes, 2, -1).sum(axis=2)
        total = halves.sum(axis=1)
        left = np.divide(halves[:, 0], total, out=np.zeros(nodes), where=total > 0)
        drawn = _binomial_quantiles(uniforms[:, taken : taken + nodes], counts, left[None, :])
        counts = np.stack([drawn, counts - drawn], axis=2).reshape(repeats, 2 * nodes)
        taken += nodes
    return counts[:, : shares.size]


def _binomial_quantiles(uniforms: FloatArray, trials: FloatArray, chance: FloatArray) -> FloatArray:
    """Return binomial quantiles: the least k with P(X <= k) >= u.

    They are found by bisection.
    """
    chance = np.broadcast_to(np.clip(chance, 0.0, 1.0), trials.shape)
    reach = 40 * np.sqrt(trials * chance * (1 - chance)) + 40  # beyond this lies less than 1e-300 of the probability
    low = np.maximum(np.floor(trials * chance - reach), 0.0) - 1  # P(X <= low) < u
    high = np.minimum(np.ceil(trials * chance + reach), trials)  # P(X <= high) >= u
    while (high - low).max() > 1:
        middle = np.floor((low + high) / 2)
        # P(X <= k) of a binomial, as an incomplete beta function.
        from scipy.special import betainc

        inside = (middle >= 0) & (middle < trials)
        below = betainc(np.where(inside, trials - middle, 1.0), np.where(inside, middle + 1, 1.0), 1 - chance)
        cumulative: FloatArray = np.where(inside, below, (middle >= trials).astype(np.float64))
        enough = cumulative >= uniforms
        is_open = high - low > 1
        high = np.where(is_open & enough, middle, high)
        low = np.where(is_open & ~enough, middle, low)
    quantiles: FloatArray = high
    return quantiles


@dataclass(frozen=True)
class Cache:
    """A folder of simulated errors, one file a setting.

    It has no values, guesses or reports. If the folder cannot be written or a file cannot be read, the setting is
    simulated again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.put("abc", np.array([0.5, 0.25]))
    ...     cache.get("abc"), cache.get("def")
    (array([0.5 , 0.25]), None)
    """

    folder: Path

    def get(self, key: str) -> FloatArray | None:
        """Return the errors stored under a fingerprint, if any."""
        try:
            record = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            kept = np.array(record["errors"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return kept if kept.ndim == 1 and np.isfinite(kept).all() else None

    def put(self, key: str, errors: FloatArray) -> None:
        """Store errors under a fingerprint, atomically."""
        import secrets  # imported late, because it loads much of the standard library

        # Written beside and then moved: a process that reads meanwhile sees a whole file or none.
        path = self.folder / f"{key}.json"
        beside = path.with_suffix(f".{secrets.token_hex(4)}.partial")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({"errors": errors.tolist()}), encoding="utf-8")
            beside.replace(path)


def usual_cache(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Cache:
    """Return the cache: the user's, or the one that CONFIDE_CACHE names.

    >>> usual_cache({"CONFIDE_CACHE": "there"}).folder.as_posix()
    'there/plans'
    """
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "confide"
    if environment.get("CONFIDE_CACHE"):
        folder = Path(environment["CONFIDE_CACHE"])
    elif platform == "darwin":
        folder = home / "Library" / "Caches" / "confide"
    elif platform == "win32":
        folder = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "confide" / "Cache"
    return Cache(folder / "plans")


def fingerprint(*things: Any) -> str:
    """Return a digest of values and of confide's own code.

    It is the same in every process.

    >>> from confide import IBU, Integers
    >>> fingerprint(Integers(0, 9), IBU()) == fingerprint(Integers(0, 9), IBU())
    True
    >>> fingerprint(IBU()) == fingerprint(IBU(delta=0.1))
    False
    """
    return digest(json.dumps([_code(), [_plain(thing) for thing in things]], allow_nan=True))


def _plain(thing: Any) -> Any:
    """Return a thing as JSON, complete, unlike a shortened repr."""
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
        return [type(thing).__module__, type(thing).__qualname__, parts]
    if isinstance(thing, np.ndarray):
        content = thing.tolist() if thing.dtype == object else digest(thing.tobytes())
        return ["array", str(thing.dtype), list(thing.shape), content]
    if isinstance(thing, tuple | list):
        return [_plain(one) for one in thing]
    return thing if isinstance(thing, str | int | float | bool | None) else repr(thing)


@cache
def _code() -> str:
    """Return a digest of confide's sources.

    Another version may simulate other numbers.
    """
    import scipy

    root = Path(__file__).parent.parent
    sources = sorted(root.rglob("*.py"))
    texts = [part for path in sources for part in (path.relative_to(root).as_posix(), path.read_bytes())]
    return digest(f"{np.__version__} {scipy.__version__}", *texts)
