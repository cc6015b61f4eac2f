"""Whether reports tell their people from a uniform population: the test, what would tell them, and where it is said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.check.uniformity import LEVEL, Uniformity, _Gains, uniformity_test
from confide.cli.main import app
from confide.estimates.estimate import assess_pool, observe_groups, recover
from confide.evidence.evidence import Evidence
from confide.present.pages import estimate_page

YEARS = cf.Integers(0, 99)
WEAK = cf.RandomizedResponse(YEARS, 0.5)
MECHANISMS: dict[str, tuple[cf.Mechanism, int]] = {
    "weak response": (WEAK, 100_000),
    "few of many categories": (cf.RandomizedResponse(cf.Categories([f"c{i}" for i in range(50)]), 3.0), 40),
    "line": (cf.TruncatedGeometric(YEARS, 0.05), 3_000),
    "weak noise, few reports": (cf.TruncatedGeometric(YEARS, 1.0), 60),
    "continuous": (cf.Laplace(cf.Integers(0, 29), 0.3), 300),
    "plane with a lake": (cf.TruncatedTaxicab(cf.Grid(6, 5, holes=((2, 2), (2, 3))), 0.5), 500),
    "bits": (cf.Rappor(cf.Categories(list("abcdefgh")), 1.0), 400),
}


def lay(mechanism: cf.Mechanism, counts: cf.Counts) -> Evidence:
    return Evidence.pool(observe_groups({mechanism: counts}, None))


def drawn(mechanism: cf.Mechanism, people: int, seed: int, truth: np.ndarray | None = None) -> cf.Counts:
    rng = np.random.default_rng([seed, 77])
    size = mechanism.alphabet.size
    histogram = rng.multinomial(people, np.full(size, 1 / size) if truth is None else truth)
    return mechanism.simulate_counts(histogram, rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_uniform_population_is_hardly_ever_told_to_be_none(name: str) -> None:
    mechanism, people = MECHANISMS[name]
    p_values = [uniformity_test(lay(mechanism, drawn(mechanism, people, seed))).p_value for seed in range(150)]
    # Of 150 surveys 1.5 are expected at most; more than 6 would come by chance once in a thousand.
    assert sum(p < LEVEL for p in p_values) <= 6
    assert min(p_values) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weak response", "line", "plane with a lake", "bits", "continuous"])
def test_as_many_people_as_are_said_to_do_tell_halves_apart_nine_times_in_ten(name: str) -> None:
    mechanism, people = MECHANISMS[name]
    size = mechanism.alphabet.size
    needed = uniformity_test(lay(mechanism, drawn(mechanism, people, 0))).people
    halves = np.where(np.arange(size) < size / 2, 1.5, 0.5)
    halves /= halves.sum()
    seen = [uniformity_test(lay(mechanism, drawn(mechanism, int(needed), seed, halves))).is_seen for seed in range(60)]
    fewer = [
        uniformity_test(lay(mechanism, drawn(mechanism, int(needed / 8), seed, halves))).is_seen for seed in range(60)
    ]
    assert sum(seen) >= 45
    assert sum(fewer) <= 30


def test_a_spike_and_a_rough_truth_are_seen_without_order() -> None:
    colours = cf.RandomizedResponse(cf.Categories([f"c{i}" for i in range(60)]), 2.0)
    spike = np.full(60, 0.8 / 60)
    spike[17] += 0.2
    assert uniformity_test(lay(colours, drawn(colours, 3_000, 1, spike))).is_seen
    rough = np.random.default_rng(1).dirichlet(np.full(60, 0.7))
    assert uniformity_test(lay(colours, drawn(colours, 20_000, 1, rough))).is_seen


def test_scaled_columns_change_nothing() -> None:
    line, raw = cf.TruncatedGeometric(YEARS, 0.05), cf.Geometric(YEARS, 0.05)
    counts = drawn(line, 2_000, 3)
    one, other = uniformity_test(lay(line, counts)), uniformity_test(lay(raw, counts))
    assert other.people == pytest.approx(one.people, rel=0.3)


def test_weak_reports_warn_and_their_estimate_says_so_first() -> None:
    counts = drawn(WEAK, 100_000, 1)
    with pytest.warns(
        cf.errors.UniformReportsWarning, match="cannot be distinguished from those of a uniform population"
    ) as caught:
        answer = cf.estimate(counts, WEAK, cf.IBU())
    assert caught[0].filename == __file__
    found = answer.uniformity
    assert found is not None
    assert found.is_weak
    assert not answer.is_told
    assert answer.explanation.startswith(found.headline)
    assert "indistinguishable from uniform" in repr(answer)
    assert "2,500,000 people, or epsilon 1.5" in str(found)


def test_the_epsilon_that_is_named_would_do() -> None:
    found = recover([(drawn(WEAK, 100_000, 1), WEAK)], cf.IBU()).uniformity
    assert found is not None
    assert found.epsilon is not None
    better = cf.RandomizedResponse(YEARS, found.epsilon * 1.02)
    assert uniformity_test(lay(better, drawn(better, 100_000, 1))).people < 100_000
    worse = cf.RandomizedResponse(YEARS, found.epsilon / 1.1)
    assert uniformity_test(lay(worse, drawn(worse, 100_000, 1))).people > 100_000


def test_a_population_that_is_uniform_and_told_to_be_does_not_warn() -> None:
    strong = cf.TruncatedGeometric(YEARS, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = cf.estimate(drawn(strong, 20_000, 2), strong, cf.IBU())
    found = answer.uniformity
    assert found is not None
    assert not found.is_weak
    assert not found.is_rejected
    assert "They would have shown" in answer.explanation


def test_nothing_is_said_where_reports_tell_and_where_there_is_no_uniform_population() -> None:
    line = cf.TruncatedGeometric(YEARS, 0.05)
    ages = cf.datasets.adult_ages()
    told = recover([(line.simulate_counts(ages.histogram, rng=1), line)], cf.IBU())
    assert told.is_told
    assert told.uniformity is not None
    assert str(told.uniformity).startswith("The population is not uniform")
    assert "uniform" not in told.explanation
    unbounded = cf.Geometric(cf.Integers(), 0.5)
    assert recover([(cf.tally(unbounded.privatize([3, 4, 5] * 30, rng=1)), unbounded)], cf.MLE()).uniformity is None


def test_a_mechanism_that_tells_nothing_has_no_number_of_people() -> None:
    blind = cf.FromMatrix(cf.Integers(1, 3), [[0.5, 0.5]] * 3)
    found = Uniformity.of((blind,), lay(blind, cf.tally([0, 1], [40, 60])))
    assert found is not None
    assert found.is_weak
    assert "No number of such reports" in str(found)


def test_page_terminal_and_json_say_it_first(tmp_path: Path) -> None:
    survey = cf.Survey(WEAK, "age", "Ages")
    counts = drawn(WEAK, 100_000, 1)
    outcome = assess_pool([(counts, WEAK)], cf.IBU())
    page = estimate_page(survey, counts, [outcome])
    assert page.index("cannot be distinguished from those of a uniform population") < page.index("recovered how")
    assert "These reports say next to nothing" in page
    (tmp_path / "survey.toml").write_text(
        'name = "age"\n[alphabet]\nkind = "integers"\nlow = 0\nhigh = 99\n'
        '[mechanism]\nkind = "randomized-response"\nepsilon = 0.5\n'
    )
    rows = "\n".join(f"{report},{count:g}" for report, count in zip(counts.reports, counts.counts, strict=True))
    (tmp_path / "reports.csv").write_text(f"age,count\n{rows}\n")
    command = ["estimate", str(tmp_path / "survey.toml"), str(tmp_path / "reports.csv"), "--method", "ibu"]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0, said.output
    _, first, *_ = filter(None, said.stdout.splitlines())  # right below the title
    assert first.startswith("But:")
    assert "cannot be distinguished from those of a uniform population" in first
    as_json = CliRunner().invoke(app, [*command, "--json"])
    record = json.loads(as_json.stdout)
    assert next(iter(record)) == "headline"
    assert list(record)[:2] == ["headline", "summary"]
    assert "cannot be distinguished from those of a uniform population" in " ".join(record["summary"])
    assert record["uniformity"]["is_weak"]
    assert record["uniformity"]["people"] == pytest.approx(2.46e6, rel=0.05)
    assert "cannot be distinguished" in as_json.stderr


@pytest.mark.parametrize("tiny", [2e-257, 1e-160, 1e-140])
def test_a_report_that_hardly_ever_comes_says_nothing(tiny: float) -> None:
    """The square of its probability is nothing in float64, which must not be divided by."""
    mechanism = cf.FromMatrix(cf.Integers(0, 1), [[1.0, tiny], [1.0, 0.0]], cf.Integers(0, 1))
    assert not uniformity_test(lay(mechanism, cf.tally([0], [200]))).is_seen


def test_a_local_promise_is_not_scaled_by_the_spacing() -> None:
    """The search for a larger epsilon once asked k-RR for 137, where steps are 0.1 apart."""
    mechanism = cf.RandomizedResponse(cf.Integers(-20, 20, spacing=0.1), 0.5)
    estimate = cf.estimate(mechanism.simulate_counts(np.full(41, 25), rng=0), mechanism, cf.MLE())
    assert estimate.uniformity is not None
    assert estimate.uniformity.is_weak
    assert estimate.uniformity.epsilon == pytest.approx(
        cf.estimate(
            (plain := cf.RandomizedResponse(cf.Integers(-20, 20), 0.5)).simulate_counts(np.full(41, 25), rng=0),
            plain,
            cf.MLE(),
        ).uniformity.epsilon  # type: ignore[union-attr]
    )


SETS = [
    cf.HadamardResponse(cf.Integers(1, 90), 1.0),
    cf.ProjectiveGeometryResponse(cf.Integers(1, 90), 1.0),
    cf.LocalHashing(cf.Integers(1, 90), 1.0, seeds=20),
    cf.OptimizedUnary(cf.Integers(1, 90), 1.0),
]


@pytest.mark.parametrize("mechanism", SETS, ids=lambda one: one.kind)
def test_sets_of_values_are_tested_by_sums_as_by_their_matrix(mechanism: cf.Mechanism) -> None:
    people = np.random.default_rng(1).integers(1, 91, 2_000)
    evidence = mechanism.observe(cf.tally(mechanism.privatize(people, rng=2)))
    whole, sums = _Gains.of(evidence), _Gains._of_sets(evidence, evidence.channel)  # type: ignore[arg-type]
    assert whole is not None
    for name in ("gain", "spread", "own", "trace"):
        np.testing.assert_allclose(getattr(sums, name), getattr(whole, name), atol=1e-10)
    assert (sums.most >= whole.most - 1e-9).all()  # a bound for all values
    assert sums.most.max() == pytest.approx(whole.most.max())


def test_a_long_list_is_distinguished_from_a_uniform_one() -> None:
    mechanism, size = cf.ProjectiveGeometryResponse(cf.Integers(1, 2_500), 2.0), 2_500
    assert np.prod(mechanism.channel.shape) > 4_000_000  # too large for its matrix
    shares = 1 / np.arange(1, size + 1)
    generator, verdicts = np.random.default_rng(3), []
    for truth in (shares / shares.sum(), np.full(size, 1 / size)):
        people = generator.choice(size, 20_000, p=truth) + 1
        verdicts.append(uniformity_test(mechanism.observe(cf.tally(mechanism.privatize(people, rng=4)))).is_seen)
    assert verdicts == [True, False]
