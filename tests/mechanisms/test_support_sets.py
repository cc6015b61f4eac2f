"""Subset selection and local hashing, against their papers and brute force."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import confide as cf
from confide.channels import supports
from confide.channels.supports import PRIME, buckets_of, collision_share
from confide.collector.wire import Wire
from confide.data.files.counts_files import load_counts, save_counts
from confide.mechanisms.audits import Extent
from confide.mechanisms.sampling import Bits
from confide.mechanisms.support_sets import hash_numbers
from confide.theory.verdicts import Verdict
from confide.values import Indices

NINE = cf.Integers(0, 8)
HASHES = PRIME * (PRIME - 1)
TWO: tuple[cf.Mechanism, ...] = (cf.SubsetSelection(NINE, 1.0), cf.LocalHashing(NINE, 1.0))


@pytest.mark.parametrize(("epsilon", "variance"), [(2.0, 722.1), (4.0, 76.5)])
def test_the_variance_of_subset_selection_is_the_published_one(epsilon: float, variance: float) -> None:
    # k = 22,000 and 1,000 people: minilek/private_frequency_oracles, zipf1.0.
    mechanism = cf.SubsetSelection(cf.Integers(1, 22_000), epsilon)
    keep, flip = float(mechanism.keep), float(mechanism.flip)
    assert 1000 * flip * (1 - flip) / (keep - flip) ** 2 == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_local_hashing_has_the_variance_of_optimized_unary_encoding(epsilon: float) -> None:
    # Wang et al., USENIX Security 2017: 4 e^epsilon / (e^epsilon - 1)^2 for the best g, which is a whole number here.
    supports_of = cf.LocalHashing(cf.Integers(1, 10_000), epsilon).facts.supports
    assert supports_of is not None
    keep, flip = float(supports_of.keep), float(supports_of.flip)
    expected = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    assert flip * (1 - flip) / (keep - flip) ** 2 == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("epsilon", [1e-9, 0.4, 1.0, 3.0, 50.0])
def test_the_number_of_members_is_the_best(size: int, epsilon: float) -> None:
    def variance(members: int) -> Fraction:
        one = cf.SubsetSelection(cf.Integers(1, size), epsilon, members)
        each = one.keep * (1 - one.keep) + (size - 1) * one.flip * (1 - one.flip)
        return each / (one.keep - one.flip) ** 2

    chosen = cf.SubsetSelection(cf.Integers(1, size), epsilon).members
    assert chosen is not None
    assert variance(chosen) == min(map(variance, range(1, size)))


@pytest.mark.parametrize("members", [1, 2, 4])
def test_chances_of_subset_selection_are_counted_set_by_set(members: int) -> None:
    mechanism = cf.SubsetSelection(cf.Integers(0, 4), 1.0, members)
    ratio = Fraction(mechanism._ratio)
    sets = [frozenset(one) for one in combinations(range(5), members)]
    weights = {one: ratio if 2 in one else Fraction(1) for one in sets}
    total = sum(weights.values())
    assert mechanism.keep == sum(weight for one, weight in weights.items() if 2 in one) / total
    assert mechanism.flip == sum(weight for one, weight in weights.items() if 4 in one) / total
    row = mechanism.weights(2)
    for vector, weight in enumerate(row):
        named = frozenset(place for place in range(5) if vector >> place & 1)
        assert Fraction(weight, sum(row)) == weights.get(named, Fraction(0)) / total


def test_the_matrix_of_a_pool_is_that_of_its_hashes() -> None:
    mechanism = cf.LocalHashing(cf.Integers(10, 16), 1.0, buckets=3, seeds=5)
    ratio, whole = Fraction(mechanism._ratio), 2**64
    for seed in range(5):
        z = (seed + 1) * 0x9E3779B97F4A7C15 % whole
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % whole
        z = (z ^ z >> 27) * 0x94D049BB133111EB % whole
        number = (z ^ z >> 31) % HASHES
        for value in range(7):
            own = ((number // PRIME + 1) * value + number % PRIME) % PRIME % 3
            row = mechanism.weights(value)
            for bucket in range(3):
                expected = (ratio if bucket == own else 1) / (5 * (ratio + 2))
                assert Fraction(row[3 * seed + bucket], sum(row)) == expected
                assert mechanism.channel.dense()[value, 3 * seed + bucket] == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("buckets", [2, 3, 7, 40])
def test_every_two_values_share_a_bucket_equally_often(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supports, "PRIME", 31)
    multipliers, shifts = (one.reshape(-1) for one in np.meshgrid(np.arange(1, 31), np.arange(31)))
    table = np.array([buckets_of(np.array(value), multipliers, shifts, buckets) for value in range(31)])
    shares = {Fraction(int((table[x] == table[y]).sum()), 31 * 30) for x, y in combinations(range(31), 2)}
    assert shares == {collision_share(buckets)}


def test_hashes_of_a_pool_are_all_different() -> None:
    numbers = hash_numbers(2**16)
    assert np.unique(numbers).size == numbers.size
    assert (numbers >= 0).all()
    assert (numbers < HASHES).all()


@pytest.mark.parametrize("mechanism", TWO, ids=repr)
@pytest.mark.parametrize("off", [1.0, 1.3])
def test_inversion_has_the_variance_of_the_formula(mechanism: cf.Mechanism, off: float) -> None:
    # The squared error of all shares over 300 surveys, beside the sum of the variances; at another epsilon it differs.
    truth, people, repeats = np.array([500, 200, 100, 80, 50, 40, 20, 10, 0]), 1000, 300
    found = mechanism.at(off).facts.supports
    assert found is not None
    keep, flip = float(found.keep), float(found.flip)
    shares = truth / people
    spread = shares * keep * (1 - keep) + (1 - shares) * flip * (1 - flip)
    expected = float(spread.sum()) / people / (keep - flip) ** 2
    errors = []
    for seed in range(repeats):
        counts = cf.tally(mechanism.privatize(np.repeat(np.arange(9), truth), rng=seed))
        evidence = mechanism.observe(counts)
        errors.append(float(((cf.Inversion("none").solve(evidence).distribution - shares) ** 2).sum()))
    z = (np.mean(errors) / expected - 1) / (np.std(errors) / np.mean(errors) / math.sqrt(repeats))
    assert (abs(z) < 4) == (off == 1.0)


@pytest.mark.parametrize("off", [1.0, 1.1])
def test_free_seeds_are_even_and_their_buckets_are_scrambled(off: float) -> None:
    mechanism, value, people = cf.LocalHashing(cf.Integers(0, 49), 1.5, buckets=4), 37, 100_000
    seeds, buckets = mechanism.privatize(np.full(people, value), rng=5).T
    own = ((seeds // PRIME + 1) * value + seeds % PRIME) % PRIME % 4
    counts = np.bincount(8 * ((buckets - own) % 4) + seeds * 8 // HASHES, minlength=32)
    ratio = math.exp(1.5 * off)
    expected = people / 8 * np.repeat([ratio, 1, 1, 1], 8) / (ratio + 3)
    p = chi2.sf(((counts - expected) ** 2 / expected).sum(), 31)
    assert p > 1e-3 if off == 1.0 else p < 1e-9


def test_free_seeds_are_the_pool_of_all_hashes() -> None:
    # The same reports, as those of hashes that a pool happens to have.
    pool, free = cf.LocalHashing(NINE, 1.0, seeds=50), cf.LocalHashing(NINE, 1.0)
    reports = pool.privatize(np.arange(9).repeat(30), rng=1)
    named = np.column_stack([hash_numbers(50)[reports[:, 0]], reports[:, 1]])
    ours, theirs = pool.observe(cf.tally(reports)), free.observe(cf.tally(named))
    theta = np.random.default_rng(0).dirichlet(np.ones(9))
    fewer = math.log(HASHES / 50)  # each seed of the pool is so much likelier
    expected = ours.log_likelihood(theta) - 270 * fewer
    assert theirs.log_likelihood(theta) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seeds", range(2, 12))
@pytest.mark.parametrize("buckets", [2, 3])
def test_the_diagnosis_decides_what_a_pool_identifies(seeds: int, buckets: int) -> None:
    mechanism = cf.LocalHashing(cf.Integers(0, 9), 1.0, buckets, seeds)
    rank = np.linalg.matrix_rank(mechanism.channel.dense())
    found = cf.diagnose(None, mechanism).identification
    assert found.verdict is (Verdict.YES if rank == 10 else Verdict.NO)
    if seeds * (buckets - 1) + 1 < 10:
        assert "independent columns" in found.reason
        assert "More seeds" in found.reason


def test_sets_and_free_seeds_identify_everything() -> None:
    for mechanism in TWO:
        assert cf.diagnose(None, mechanism).identification.verdict is Verdict.YES


@pytest.mark.parametrize("mechanism", [*TWO, cf.LocalHashing(NINE, 1.0, seeds=30)], ids=repr)
def test_estimates_are_certified_and_near_the_truth(mechanism: cf.Mechanism) -> None:
    truth = np.array([500, 200, 100, 80, 50, 40, 20, 10, 0]) * 4
    counts = cf.tally(mechanism.privatize(np.repeat(np.arange(9), truth), rng=3))
    best = cf.estimate(counts, mechanism, cf.MLE())
    assert best.certificate < 1e-6
    assert best.distribution == pytest.approx(truth / 4000, abs=0.1)
    closed = cf.estimate(counts, mechanism, cf.Inversion("norm-sub"))
    assert closed.log_likelihood <= best.log_likelihood + 1e-6


@pytest.mark.parametrize("mechanism", [*TWO, cf.LocalHashing(NINE, 1.0, seeds=30)], ids=repr)
def test_reports_go_over_the_wire_and_to_disk(mechanism: cf.Mechanism, tmp_path: Path) -> None:
    survey = cf.Survey(mechanism, name="one")
    reports = mechanism.privatize(np.arange(9).repeat(3), rng=1)
    counts, wire = cf.tally(reports), Wire.of(survey)
    texts = wire.texts(reports)
    assert wire.to_counts({text: texts.count(text) for text in texts}) == counts
    save_counts(tmp_path / "counts.parquet", counts, survey)
    loaded = load_counts(tmp_path / "counts.parquet", survey)
    assert isinstance(loaded, cf.Counts)
    np.testing.assert_array_equal(loaded.reports, counts.reports)
    np.testing.assert_array_equal(loaded.counts, counts.counts)


def test_the_collector_refuses_a_set_of_another_size() -> None:
    wire = Wire.of(cf.Survey(cf.SubsetSelection(cf.Integers(0, 4), 1.0, 2)))
    judged = wire.judge(["11000", "11100"], b"")
    assert (judged.counts, len(judged.rejected)) == ({'"11000"': 1}, 1)


def test_another_epsilon_has_its_own_size_unless_one_was_chosen() -> None:
    values = cf.Integers(0, 99)
    assert cf.SubsetSelection(values, 1.0).at(3.0) == cf.SubsetSelection(values, 3.0)
    assert cf.SubsetSelection(values, 1.0, members=40).at(3.0).members == 40
    assert cf.LocalHashing(values, 1.0, seeds=9).at(3.0) == cf.LocalHashing(values, 3.0, seeds=9)
    assert cf.LocalHashing(values, 1.0, buckets=9).at(3.0).buckets == 9


def test_a_survey_keeps_sizes_and_seeds() -> None:
    values = 'name = "age"\n[alphabet]\nkind = "integers"\nlow = 0\nhigh = 99\n[mechanism]\nepsilon = 2\n'
    subset = cf.parse_survey(values + 'kind = "subset-selection"\n')
    assert subset.mechanism == cf.SubsetSelection(cf.Integers(0, 99), 2.0)
    assert '"members":12' in subset.to_json()
    hashing = cf.parse_survey(values + 'kind = "local-hashing"\nseeds = 500\n')
    assert hashing.mechanism == cf.LocalHashing(cf.Integers(0, 99), 2.0, seeds=500)
    assert '"buckets":8' in hashing.to_json()
    for survey in (subset, hashing):
        assert cf.Survey.from_json(survey.to_json()) == survey


@pytest.mark.parametrize(
    "mechanism", [cf.SubsetSelection(cf.Integers(0, 99), 1.0), cf.LocalHashing(NINE, 1.0)], ids=repr
)
def test_reports_too_many_to_list_are_audited_by_their_structure(mechanism: cf.Mechanism) -> None:
    found = cf.audit(mechanism, reports=100_000)
    assert found.holds, str(found)
    assert found.extent is Extent.STRUCTURE
    assert found.worst.log_ratio == pytest.approx(1.0, abs=1e-12)


def test_an_audit_notices_a_broken_promise_and_a_wrong_sampler() -> None:
    @dataclass(frozen=True, repr=False)
    class Loud(cf.SubsetSelection):
        @cached_property
        def _ratio(self) -> Fraction:
            return Fraction(math.exp(self.epsilon * 1.001))

    @dataclass(frozen=True, repr=False)
    class Skewed(cf.LocalHashing):
        def _draw(self, indices: Indices, bits: Bits) -> Indices:
            return cf.LocalHashing(self.alphabet, 1.2 * self.epsilon, self.buckets)._draw(indices, bits)

    assert "THE PROMISE IS BROKEN" in str(cf.audit(Loud(cf.Integers(0, 99), 1.0), reports=1000))
    assert "THE SAMPLER DRAWS SOMETHING ELSE" in str(cf.audit(Skewed(NINE, 1.0), reports=100_000))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cf.SubsetSelection(cf.Integers(0, 9), 1.0, 10), "members must be at most 9 of 10 values; got 10"),
        (lambda: cf.SubsetSelection(cf.Integers(0, 9), 1.0, 0), "members must be a whole number of at least 1; got 0"),
        (lambda: cf.SubsetSelection(cf.Integers(), 1.0), "SubsetSelection needs a finite alphabet"),
        (lambda: cf.SubsetSelection(cf.Integers(0, 0), 1.0), "at least two values"),
        (lambda: cf.SubsetSelection(cf.Integers(0, 9), 0.0), "epsilon"),
        (lambda: cf.LocalHashing(cf.Integers(0, 9), 1.0, buckets=1), "buckets must be a whole number of at least 2"),
        (lambda: cf.LocalHashing(cf.Integers(0, 9), 1.0, buckets=1025), "buckets must be at most 1,024; got 1,025"),
        (lambda: cf.LocalHashing(cf.Integers(0, 9), 1.0, seeds=1), "seeds must be a whole number of at least 2"),
        (lambda: cf.LocalHashing(cf.Integers(0, 9), 1.0, seeds=2**21), "at most 1,048,576 seeds.*Leave seeds out"),
        (lambda: cf.LocalHashing(cf.Integers(), 1.0), "LocalHashing needs a finite alphabet"),
        (lambda: cf.LocalHashing(cf.Integers(0, 0), 1.0), "at least two values"),
        (lambda: cf.LocalHashing(cf.Integers(0, PRIME), 1.0), "hashes at most 67,108,859 values"),
        (lambda: cf.LocalHashing(cf.Integers(0, 9), 1.0).channel, "too many to list.*observe"),
    ],
)
def test_bad_settings_are_refused(make: object, words: str) -> None:
    with pytest.raises(cf.ConfideError, match=words):
        make()  # type: ignore[operator]


def test_more_free_seeds_than_fit_name_the_cure() -> None:
    reports = np.column_stack([np.arange(200), np.zeros(200, dtype=np.int64)])
    with pytest.raises(cf.ConfideError, match=r"Declare a pool, such as seeds = 1000"):
        cf.LocalHashing(cf.Integers(0, 60_000_000), 1.0).observe(cf.tally(reports))


def test_bots_among_the_reports_of_a_pool_are_noticed() -> None:
    mechanism = cf.LocalHashing(cf.Integers(0, 29), 1.0, seeds=1000)
    reports = mechanism.privatize(np.arange(5000) % 30, rng=1)
    assert not cf.fit(cf.tally(reports), mechanism).is_bad
    bots = np.tile([[17, 1]], (150, 1))
    found = cf.fit(cf.tally(np.concatenate([reports, bots])), mechanism)
    assert found.is_bad
    # Seeds stand together in cells: reports of one seed are few.
    first, last = (int(one.strip("()").split(",")[0]) for one in found.outliers[0].report.split(" to "))
    assert first <= 17 <= last


def test_a_raw_estimate_that_does_not_add_up_is_no_distribution() -> None:
    mechanism = cf.OptimizedUnary(cf.Integers(0, 2), 1.0)
    counts = cf.tally(mechanism.report_alphabet.pack(np.ones((1, 3), dtype=bool)), [100])  # every bit always set
    raw = cf.estimate(counts, mechanism, cf.Inversion("none"))
    assert (raw.distribution > 1).all()
    assert not raw.is_distribution
    assert cf.estimate(counts, mechanism, cf.Inversion("norm-sub")).is_distribution
