"""Mechanisms that the library has never heard of get all that it offers, with nothing in src/ touched.

Optimized unary encoding (Wang et al., USENIX Security 2017), once on the shared base and once from its weights alone,
and the square wave (Li et al., SIGMOD 2020) on cells of a line, from its weights alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import confide as cf
from confide.errors import DataFileError, InvalidParameterError, NotInvertibleError
from confide.estimates.explanations import describe_mechanism
from confide.mechanisms.sampling import ratio_above
from confide.present.pages import diagnosis_page, estimate_page
from confide.solve.support_newton import Clock, support_newton
from confide.theory.identification import is_positive, log_smallest
from confide.theory.maximum_set import concavity_chance, strict_concavity
from confide.theory.verdicts import Verdict

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class OptimizedUnary(cf.mechanisms.UnaryEncoding):
    """A bit of the true value is a fair coin; the others are set as seldom as epsilon allows."""

    kind: ClassVar[str] = "own-unary"
    alphabet: cf.Alphabet
    epsilon: float

    @property
    def keep(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def flip(self) -> Fraction:
        ratio = ratio_above(Fraction(self.epsilon))
        return ratio / (1 + ratio)


@dataclass(frozen=True, repr=False)
class ListedUnary(cf.Mechanism):
    """The same distribution from a row of weights over all bit vectors, as somebody writes who knows no base."""

    kind: ClassVar[str] = "listed-unary"
    alphabet: cf.Alphabet
    epsilon: float

    @property
    def guarantee(self) -> cf.mechanisms.LocalDP:
        return cf.mechanisms.LocalDP(self.epsilon)

    @property
    def report_alphabet(self) -> cf.values.BitVectors:
        return cf.values.BitVectors(self.alphabet.size)

    def weights(self, index: int) -> list[int]:
        ratio, others = ratio_above(Fraction(self.epsilon)), self.alphabet.size - 1
        ones = [(vector & ~(1 << index)).bit_count() for vector in range(2**self.alphabet.size)]
        return [ratio.numerator**one * ratio.denominator ** (others - one) for one in ones]


@dataclass(frozen=True, repr=False)
class SquareWave(cf.Mechanism):
    """Report a cell within `reach` of the value with e^epsilon times the weight of any other."""

    kind: ClassVar[str] = "own-wave"
    alphabet: cf.Integers
    epsilon: float

    @property
    def reach(self) -> int:
        grown = math.exp(self.epsilon)
        width = (self.epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - self.epsilon))
        return round(width * self.alphabet.size)

    @property
    def guarantee(self) -> cf.mechanisms.LocalDP:
        return cf.mechanisms.LocalDP(self.epsilon)

    @property
    def report_alphabet(self) -> cf.Integers:
        low, high = self.alphabet.span
        return cf.Integers(low - self.reach, high + self.reach)

    def weights(self, index: int) -> list[int]:
        ratio = ratio_above(Fraction(self.epsilon))
        near = range(index, index + 2 * self.reach + 1)
        return [ratio.denominator if z in near else ratio.numerator for z in range(self.report_alphabet.size)]


AGES = cf.Integers(0, 29)
COLOURS = cf.Categories(list("abcdefghij"))
OWN: dict[str, cf.Mechanism] = {
    "unary encoding": OptimizedUnary(COLOURS, 1.0),
    "unary encoding by weights": ListedUnary(COLOURS, 1.0),
    "square wave": SquareWave(AGES, 1.0),
}


def dense(mechanism: cf.Mechanism) -> Array:
    """Return the whole matrix from the exact weights."""
    rows = [mechanism.weights(index) for index in range(mechanism.alphabet.size)]
    return np.array([[weight / total for weight in row] for row, total in ((row, sum(row)) for row in rows)])


def truth_of(mechanism: cf.Mechanism) -> Array:
    shares: Array = np.exp(-(((np.arange(mechanism.alphabet.size) - 4) / 5.0) ** 2)) + 0.05
    return shares / float(shares.sum())


def reports_of(mechanism: cf.Mechanism, people: int = 4000, seed: int = 1) -> cf.Counts:
    truth = truth_of(mechanism)
    values = mechanism.alphabet.decode(np.random.default_rng(seed).choice(truth.size, people, p=truth))
    return cf.tally(mechanism.privatize(values, rng=seed + 1000))  # another stream than that of the values


def drawn_shares(mechanism: cf.Mechanism, index: int, people: int) -> Array:
    reports = mechanism.privatize(mechanism.alphabet.decode(np.full(people, index)), rng=5)
    numbers = mechanism.report_alphabet.locate(reports)
    return np.bincount(numbers, minlength=mechanism.report_alphabet.size).astype(np.float64)


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.slow
def test_reports_are_drawn_from_the_weights(mechanism: cf.Mechanism) -> None:
    people = 60_000
    seen = drawn_shares(mechanism, 3, people)
    expected = people * dense(mechanism)[3]
    few = expected < 5  # taken together, as the test asks for
    seen = np.append(seen[~few], seen[few].sum()) if few.any() else seen
    right, wrong = dense(mechanism)[3], dense(mechanism)[4]
    statistics = []
    for row in (right, wrong):
        expected = people * (np.append(row[~few], row[few].sum()) if few.any() else row)
        statistics.append(float(((seen - expected) ** 2 / expected).sum()))
    limit = chi2.ppf(1 - 1e-6, seen.size - 1)
    assert statistics[0] < limit < statistics[1]


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.slow
def test_the_audit_is_right(mechanism: cf.Mechanism) -> None:
    result = cf.audit(mechanism, reports=100_000)
    assert result.holds
    logs = np.log(dense(mechanism))
    assert result.worst.log_ratio == pytest.approx(float((logs.max(axis=0) - logs.min(axis=0)).max()), rel=1e-9)
    assert result.worst.relative == pytest.approx(1.0, rel=1e-9)  # all of epsilon is used


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.parametrize("method", [cf.IBU(), cf.MLE(), None], ids=["IBU", "MLE", "default"])
@pytest.mark.slow
def test_likelihood_and_certificate_are_those_of_the_matrix(mechanism: cf.Mechanism, method: cf.Method | None) -> None:
    counts = reports_of(mechanism)
    answer = cf.estimate(counts, mechanism) if method is None else cf.estimate(counts, mechanism, method)
    seen = mechanism.report_alphabet.locate(counts.reports)
    outputs = (answer.distribution @ dense(mechanism))[seen]
    likelihood = float(counts.counts @ np.log(outputs))
    assert answer.log_likelihood == pytest.approx(likelihood, rel=1e-10)
    gain = dense(mechanism)[:, seen] @ (counts.counts / counts.total / outputs)
    assert answer.certificate == pytest.approx(counts.total * math.log(gain.max()), rel=1e-6, abs=1e-9)
    found = support_newton(
        mechanism.observe(counts),
        np.full(truth_of(mechanism).size, 1 / truth_of(mechanism).size),
        Clock(1e-9, 500, 60.0),
        lambda *_: None,
    )
    best = float(counts.counts @ np.log((found.distribution @ dense(mechanism))[seen]))
    assert best <= likelihood + answer.certificate + 1e-7


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
def test_the_truth_is_recovered(mechanism: cf.Mechanism) -> None:
    answer = cf.estimate(reports_of(mechanism, 40_000), mechanism)
    assert cf.total_variation(answer.distribution, truth_of(mechanism)) < 0.1
    assert answer.identification.verdict is Verdict.YES


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.slow
def test_the_diagnosis_is_that_of_the_matrix(mechanism: cf.Mechanism) -> None:
    counts = reports_of(mechanism)
    answer = cf.diagnose(counts, mechanism)
    matrix = dense(mechanism)
    assert np.linalg.matrix_rank(matrix) == mechanism.alphabet.size
    assert answer.identification.verdict is Verdict.YES
    assert answer.consistency.verdict is Verdict.YES
    assert is_positive(mechanism)
    assert log_smallest(mechanism) == pytest.approx(math.log(matrix.min()), rel=1e-9)
    assert answer.concavity is not None
    seen = mechanism.report_alphabet.locate(counts.reports)
    rank = np.linalg.matrix_rank(np.column_stack([matrix[:, seen], np.ones(matrix.shape[0])]))
    assert answer.concavity.is_yes == (rank == matrix.shape[0])
    assert answer.uniqueness is not None
    assert answer.uniqueness.is_yes
    for word in ("no end", "endless", "unbounded"):
        assert word not in str(answer)


def test_stored_weights_know_which_values_are_neighbours() -> None:
    layout = OWN["square wave"].channel.layout
    assert layout is not None
    assert layout.shape == (30,)
    assert OWN["unary encoding by weights"].channel.layout is None


def test_a_diagnosis_counts_bit_vectors() -> None:
    words = str(cf.diagnose(None, OWN["unary encoding"]))
    assert "1,024 outputs" in words
    assert "the best explanation is unique with a probability of at least 99%" in words
    listed = str(cf.diagnose(None, OWN["unary encoding by weights"]))
    assert "10 values and 1,024 outputs has no inverse" in listed


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.slow
def test_intervals_hold_the_truth(mechanism: cf.Mechanism) -> None:
    truth = truth_of(mechanism)
    answer = cf.estimate(reports_of(mechanism, 20_000, seed=3), mechanism, cf.MLE())
    share = np.zeros(truth.size)
    share[:5] = 1.0
    interval = answer.query(share)
    assert interval.low < float(truth[:5].sum()) < interval.high
    assert interval.high - interval.low < 0.3
    band = answer.interval(basis=cf.estimates.Bootstrap(replicates=120))
    assert np.mean((band.low <= truth) & (truth <= band.high)) > 0.8


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
def test_saved_counts_are_loaded_where_the_survey_is_given(mechanism: cf.Mechanism, tmp_path: Path) -> None:
    path, survey, counts = tmp_path / "counts.parquet", cf.Survey(mechanism, "x"), reports_of(mechanism, 300)
    cf.save_counts(path, counts, survey)
    for known in (survey, cf.Survey(mechanism, "another name")):
        loaded = cf.load_counts(path, known)
        assert isinstance(loaded, cf.Counts)
        assert loaded.counts.tolist() == counts.counts.tolist()
        assert loaded.reports.tolist() == counts.reports.tolist()
    with pytest.raises(DataFileError):
        cf.load_counts(path, cf.Survey(mechanism, "x", most_reports=2))
    with pytest.raises(DataFileError, match=r"unknown kind .* load_counts\(path, survey\)"):
        cf.load_counts(path)


@pytest.mark.parametrize("mechanism", OWN.values(), ids=OWN)
@pytest.mark.slow
def test_there_is_a_page(mechanism: cf.Mechanism) -> None:
    survey, counts = cf.Survey(mechanism, "answer", "A survey of our own"), reports_of(mechanism)
    outcome = cf.assess(counts, mechanism, cf.IBU(), truth=truth_of(mechanism))
    page = estimate_page(survey, counts, [outcome], truth=truth_of(mechanism))
    assert f"blurred by {describe_mechanism(survey)}" in page
    assert "4,000 reports, each blurred by" in page
    assert mechanism.kind in page
    words = diagnosis_page(survey, cf.diagnose(counts, mechanism))
    assert "can reveal the distribution" in words


@pytest.mark.slow
def test_inverting_bits_knows_both_probabilities() -> None:
    """Under optimized unary encoding it took q for 1 - p: the raw vector summed to -3.49."""
    mechanism = OWN["unary encoding"]
    truth = truth_of(mechanism)
    vectors = np.arange(1024)
    expected = cf.Counts(vectors, 1e6 * truth @ dense(mechanism))
    raw = cf.estimate(expected, mechanism, cf.solve.methods.BitInversion("none")).distribution
    np.testing.assert_allclose(raw, truth, atol=1e-12)
    for repair in ("normalize", "project"):
        fixed = cf.estimate(reports_of(mechanism, 40_000), mechanism, cf.solve.methods.BitInversion(repair))
        assert cf.total_variation(fixed.distribution, truth) < 0.05
    with pytest.raises(NotInvertibleError, match="bit vectors"):
        cf.estimate(reports_of(OWN["square wave"]), OWN["square wave"], cf.solve.methods.BitInversion())


@pytest.mark.slow
def test_its_variance_is_the_published_one() -> None:
    """4 e^epsilon / (e^epsilon - 1)^2 for a value that nobody has: 3.68 at epsilon 1."""
    mechanism = OptimizedUnary(COLOURS, 1.0)
    flip, keep = float(mechanism.flip), float(mechanism.keep)
    assert flip * (1 - flip) / (keep - flip) ** 2 == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=1e-12)
    people, rounds = 1000, 400
    reports = mechanism.privatize(np.repeat("a", people * rounds), rng=2)
    shares = [
        cf.solve.methods.BitInversion("none")
        .solve(mechanism.observe(cf.tally(reports[start : start + people])))
        .distribution[1:]
        for start in range(0, people * rounds, people)
    ]
    assert float(np.mean(np.square(shares))) * people == pytest.approx(3.6827, rel=0.06)


def test_a_unary_encoding_checks_its_probabilities() -> None:
    class Useless(OptimizedUnary):
        @property
        def keep(self) -> Fraction:
            return self.flip

    with pytest.raises(cf.ConfideError, match=r"0 < flip < keep < 1; got flip 0\.2689"):
        Useless(COLOURS, 1.0)
    with pytest.raises(cf.ConfideError, match="at least two values"):
        OptimizedUnary(cf.Categories(["a"]), 1.0)


@dataclass(frozen=True, repr=False)
class AnyUnary(cf.mechanisms.UnaryEncoding):
    """A pair of probabilities that is neither symmetric nor optimal."""

    kind: ClassVar[str] = "any-unary"
    alphabet: cf.Alphabet
    epsilon: float
    pair: tuple[Fraction, Fraction]

    @property
    def keep(self) -> Fraction:
        return self.pair[0]

    @property
    def flip(self) -> Fraction:
        return self.pair[1]


@pytest.mark.parametrize(("keep", "flip", "scale"), [(9, 3, 10), (95, 60, 100), (999, 1, 1000), (40, 5, 100)])
def test_bits_are_tossed_with_any_two_probabilities(keep: int, flip: int, scale: int) -> None:
    epsilon = math.log(keep / (scale - keep) * (scale - flip) / flip)
    mechanism = AnyUnary(cf.Integers(0, 2), epsilon * (1 + 1e-12), (Fraction(keep, scale), Fraction(flip, scale)))
    people = 40_000
    bits = mechanism.report_alphabet.unpack(mechanism.privatize([1] * people, rng=3)).mean(axis=0)
    expected = np.array([flip, keep, flip]) / scale
    assert (np.abs(bits - expected) <= 5 * np.sqrt(expected * (1 - expected) / people)).all()
    np.testing.assert_allclose(
        mechanism.observe(cf.tally([5])).log_likelihood(np.eye(3)[1]), math.log(dense(mechanism)[1, 5]), rtol=1e-12
    )
    assert cf.audit(mechanism, reports=100_000).holds


def test_the_chance_of_strict_concavity_counts_the_most_biased_bit() -> None:
    """Under optimized unary encoding that is a bit of another value, which is 0 with probability 0.73, not 1/2."""
    mechanism = OptimizedUnary(cf.Integers(0, 3), 1.0)
    miss = [(1 - float(mechanism.flip)) ** 12 * 2**place for place in range(4)]
    assert concavity_chance(mechanism, 12) == pytest.approx(float(np.prod(1 - np.array(miss))), rel=1e-9)
    strict = [
        strict_concavity(mechanism, cf.tally(mechanism.privatize([1] * 12, rng=seed))).is_yes for seed in range(200)
    ]
    assert np.mean(strict) >= concavity_chance(mechanism, 12) - 0.05


def test_as_many_bit_vectors_as_values_are_not_enough_by_count() -> None:
    """The rows of three vectors, of which the third is all ones, have rank two with the ones."""
    mechanism = OptimizedUnary(cf.Integers(0, 2), 1.0)
    assert strict_concavity(mechanism, cf.tally([0b001, 0b110, 0b111])).verdict is Verdict.NO
    assert strict_concavity(mechanism, cf.tally([0b001, 0b010, 0b111])).verdict is Verdict.YES


@pytest.mark.slow
def test_many_bits_are_no_hindrance() -> None:
    mechanism = OptimizedUnary(cf.Integers(0, 199), 3.0)
    counts = cf.tally(mechanism.privatize(np.arange(20_000) % 50, rng=3))
    answer = cf.estimate(counts, mechanism, cf.IBU())
    assert answer.distribution[:50].sum() > 0.9
    assert "about 2^200 outputs" in str(cf.diagnose(None, mechanism))


def test_a_mechanism_without_weights_is_told_what_it_lacks() -> None:
    @dataclass(frozen=True, repr=False)
    class Nothing(cf.Mechanism):
        alphabet: cf.Integers

        @property
        def guarantee(self) -> cf.mechanisms.LocalDP:
            return cf.mechanisms.LocalDP(1.0)

    with pytest.raises(NotImplementedError, match=r"Nothing must define weights\(index\)"):
        Nothing(cf.Integers(0, 3)).privatize([1], rng=1)


@dataclass(frozen=True, repr=False)
class SubsetSelection(cf.Mechanism):
    """Report a set of values that holds the true one rather often (Ye and Barg 2018); how many depends on epsilon."""

    kind: ClassVar[str] = "subset-selection"
    alphabet: cf.Alphabet
    epsilon: float

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        width = max(1, round(self.alphabet.size / (math.exp(self.epsilon) + 1)))
        return list(combinations(range(self.alphabet.size), width))

    @property
    def guarantee(self) -> cf.mechanisms.LocalDP:
        return cf.mechanisms.LocalDP(self.epsilon)

    @property
    def report_alphabet(self) -> cf.Categories:
        return cf.Categories(["".join(map(str, subset)) for subset in self.subsets])

    def weights(self, index: int) -> list[int]:
        ratio = ratio_above(Fraction(self.epsilon))
        return [ratio.denominator if index in subset else ratio.numerator for subset in self.subsets]


@pytest.mark.parametrize(
    "mechanism",
    # At 1.001 times its epsilon the one has other reports than its own, and at 1.02 times, as the other has at 0.999.
    [SubsetSelection(COLOURS, 1.386), SubsetSelection(cf.Categories(list("abcdefghi")), 1.0), SquareWave(AGES, 1.0)],
    ids=["ten", "nine", "wave"],
)
def test_reports_that_depend_on_epsilon_are_tested_at_their_own(mechanism: cf.Mechanism) -> None:
    counts = reports_of(mechanism)
    answer = cf.estimate(counts, mechanism)
    assert abs(answer.distribution - truth_of(mechanism)).sum() / 2 < 0.25
    assert "epsilon" not in str(answer.fit) or "a wrong epsilon (1.2x)" in str(answer.fit)
    assert cf.diagnose(counts, mechanism).uniqueness is not None
    assert cf.audit(mechanism, reports=100_000).holds
    repeated = cf.tally(np.append(np.repeat(counts.reports, counts.counts.astype(int)), [counts.reports[0]] * 3000))
    with pytest.warns(cf.errors.PoorFitWarning, match="bots"):
        cf.estimate(repeated, mechanism)


class PlainResponse(cf.Mechanism):
    """Randomized response by somebody who writes no dataclass."""

    kind: ClassVar[str] = "plain-response"

    def __init__(self, alphabet: cf.Alphabet, epsilon: float) -> None:
        self.alphabet, self.epsilon = alphabet, epsilon

    @property
    def guarantee(self) -> cf.mechanisms.LocalDP:
        return cf.mechanisms.LocalDP(self.epsilon)

    def weights(self, index: int) -> list[int]:
        ratio = ratio_above(Fraction(self.epsilon))
        return [ratio.denominator if z == index else ratio.numerator for z in range(self.alphabet.size)]


def test_a_mechanism_need_not_be_a_dataclass() -> None:
    mechanism = PlainResponse(COLOURS, 2.0)
    counts = reports_of(mechanism)
    assert "epsilon" not in str(cf.estimate(counts, mechanism).fit)
    assert cf.diagnose(counts, mechanism).uniqueness is not None
    with pytest.raises(InvalidParameterError, match="no epsilon of its own"):
        cf.plan(mechanism, people=100, target_emd=0.01)


def test_a_mechanism_that_can_change_is_refused_with_a_cure() -> None:
    @dataclass
    class Changeable(PlainResponse):
        alphabet: cf.Alphabet
        epsilon: float

    with pytest.raises(InvalidParameterError, match=r"Changeable.* must be hashable.*@dataclass\(frozen=True"):
        cf.estimate(cf.tally(["a"]), Changeable(COLOURS, 2.0))
