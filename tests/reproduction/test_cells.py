"""One drawing of reports, seen by every method."""

from __future__ import annotations

import numpy as np
import pytest

import confide as cf
from reproduction import Binomial, Blur, Bundled, EvenOver, Source
from reproduction.cells import Contender, Draw, Record, Unprocessed, run_draw

AGES = cf.Integers(0, 99, unit="year")
CONTENDERS = tuple(map(Contender, (cf.IBU(delta=0.1), cf.Inversion("project"), cf.MLE())))


def test_a_row_can_be_recomputed_from_its_seed() -> None:
    draw = Draw(Bundled("adult_ages"), Blur("truncated-geometric", 0.1), 2)
    rows = [record.row for record in run_draw(draw, CONTENDERS, is_kept=False)]
    ages = cf.datasets.adult_ages()
    mechanism = cf.TruncatedGeometric(AGES, 0.1)
    counts = mechanism.simulate_counts(ages.histogram, rng=rows[0].seed)
    for row, contender in zip(rows, CONTENDERS, strict=True):
        outcome = cf.assess(counts, mechanism, contender.method, truth=ages.distribution)
        assert (row.emd, row.total_variation) == (outcome.emd, outcome.total_variation)
        assert row.iterations == outcome.estimate.iterations
        moved = np.abs(np.cumsum(outcome.estimate.distribution - ages.distribution)).sum()
        assert row.emd == pytest.approx(moved, rel=1e-9)


def test_a_sample_is_compared_with_itself() -> None:
    draw = Draw(Bundled("adult_ages", 500), Blur("truncated-geometric", 0.3), 0)
    row = run_draw(draw, CONTENDERS[:1], is_kept=True)[0]
    generator = np.random.default_rng(draw.seed)
    ages = cf.datasets.adult_ages()
    people = generator.multinomial(500, ages.distribution)
    assert row.truth == tuple((people / 500).tolist())
    mechanism = cf.TruncatedGeometric(AGES, 0.3)
    answer = cf.estimate(mechanism.simulate_counts(people, rng=generator), mechanism, cf.IBU(delta=0.1))
    assert row.shares == tuple(answer.distribution.tolist())


@pytest.mark.parametrize("source", [Binomial(10, 0.5, people=999), EvenOver((3, 4), 10, people=999)])
def test_synthetic_people_are_drawn_once(source: Source) -> None:
    first, second = (source.histogram(np.random.default_rng(seed)) for seed in (1, 2))
    assert (first == second).all()
    assert first.sum() == 999


def test_stored_and_fast_mechanisms_see_the_same_reports() -> None:
    rows = [
        run_draw(
            Draw(Binomial(20, 0.5), Blur("truncated-geometric", 0.3, is_stored=stored), 0), CONTENDERS, is_kept=False
        )
        for stored in (True, False)
    ]
    for stored, fast in zip(*rows, strict=True):
        assert stored.row.emd == pytest.approx(fast.row.emd, rel=1e-6)
        assert stored.row.mechanism == f"{fast.row.mechanism}, stored"


def test_an_incompatible_method_is_a_row_that_says_why() -> None:
    draw = Draw(Binomial(10, 0.5, people=1000), Blur("square-wave", 1.0), 0)
    record = run_draw(draw, [Contender(cf.Inversion("project")), *CONTENDERS[:1]], is_kept=False)
    assert record[0].row.status == "incompatible"
    assert "no inverse" in record[0].row.note
    assert record[0].row.emd is None
    assert record[1].row.emd is not None


def test_an_incompatible_mechanism_is_a_row_that_says_why() -> None:
    records = run_draw(Draw(Bundled("paris"), Blur("truncated-geometric", 1.0), 0), CONTENDERS, is_kept=False)
    assert {record.row.status for record in records} == {"incompatible"}
    assert all("whole numbers on a line" in record.row.note for record in records)


def test_reports_as_they_came() -> None:
    draw = Draw(Bundled("manhattan"), Blur("truncated-taxicab", 1.0), 0)
    noisy = run_draw(draw, [Contender(Unprocessed())], is_kept=True)[0]
    assert noisy.row.emd == pytest.approx(0.87, abs=0.01)  # the paper prints 0.8719
    assert noisy.shares is not None
    assert sum(noisy.shares) == pytest.approx(1)


def test_a_record_survives_the_disk() -> None:
    record = run_draw(Draw(Binomial(5, 0.5), Blur("truncated-geometric", 0.3), 0), CONTENDERS[1:2], is_kept=True)[0]
    assert Record.from_plain(record.to_plain()) == record


def test_unknown_mechanisms_and_data_are_refused() -> None:
    with pytest.raises(cf.ConfideError, match="no mechanism 'gaussian'"):
        Blur("gaussian", 1.0)
    with pytest.raises(cf.ConfideError, match="no dataset 'london'"):
        Bundled("london")
    with pytest.raises(cf.ConfideError, match="share must lie"):
        Binomial(10, 1.5)
    with pytest.raises(cf.ConfideError, match="values must lie"):
        EvenOver((3, 10), 10)
