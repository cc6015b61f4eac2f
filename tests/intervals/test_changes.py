"""Changes between waves: coverage and width, with fresh and with permanent noise, of other people and of the same."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidParameterError
from confide.estimates.changes import Linked, Moments, in_order
from confide.estimates.inference.inference import Question
from confide.estimates.pseudo_values import PseudoValues
from confide.present.changes import say_change

ANSWERS = cf.Categories(["yes", "no"])
AGES = cf.Integers(0, 9, unit="year")
PEOPLE, REPEATS = 400, 600


@dataclass(frozen=True)
class Panel:
    """How people answer in three waves: with which noise, and whether they are the same."""

    mechanism: cf.Mechanism
    query: Any
    is_permanent: bool
    are_same: bool

    def draw(self, generator: np.random.Generator) -> Any:
        """Return the reports by number, with their waves and people."""
        size, matrix = self.mechanism.alphabet.size, self.mechanism.channel.dense()
        values, kept = generator.integers(0, max(2, size // 2), PEOPLE), np.zeros((PEOPLE, size), dtype=int)
        found = []
        for wave in range(3):
            if wave and not self.are_same:
                values = generator.integers(0, max(2, size // 2), PEOPLE)
            if wave == 2:  # a third of the people have another value at the end
                values = np.where(generator.random(PEOPLE) < 1 / 3, generator.integers(0, size, PEOPLE), values)
            if wave == 0 or not self.are_same or not self.is_permanent:
                # One report for each value that a person may have, as permanent noise has it.
                kept = (generator.random((PEOPLE, size, 1)) > np.cumsum(matrix, axis=1)).sum(axis=2)
            people = np.arange(PEOPLE) + (0 if self.are_same else wave * PEOPLE)
            found.append((kept[np.arange(PEOPLE), values], np.full(PEOPLE, wave), people))
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))


PANELS = {
    "fresh noise, other people": Panel(cf.RandomizedResponse(ANSWERS, 1.0), "answer == yes", False, False),
    "fresh noise, the same people": Panel(cf.RandomizedResponse(ANSWERS, 1.0), "answer == yes", False, True),
    "permanent noise, the same people": Panel(cf.RandomizedResponse(ANSWERS, 1.0), "answer == yes", True, True),
    "permanent noise, other people": Panel(cf.RandomizedResponse(ANSWERS, 1.0), "answer == yes", True, False),
    "a mean, permanent noise, the same people": Panel(cf.TruncatedGeometric(AGES, 0.5), "mean", True, True),
}


@pytest.mark.parametrize("name", PANELS)
def test_changes_have_the_right_standard_error(name: str) -> None:
    panel, generator = PANELS[name], np.random.default_rng(5)
    asked = PseudoValues.of(panel.mechanism, panel.query)
    table = asked.values(panel.mechanism.report_alphabet.decode(np.arange(panel.mechanism.report_alphabet.size)))
    changes, errors = [], []
    for _ in range(REPEATS):
        reports, waves, people = panel.draw(generator)
        now, error = Moments.of_people(table[reports], waves, people, 3).change(0, 2)
        changes.append(now)
        errors.append(error)
    misses = np.array(changes) - np.mean(changes)
    # A standard error that is 15 % off is five of its own errors away.
    assert np.mean(errors) == pytest.approx(np.std(misses), rel=0.09)
    assert 0.925 <= np.mean(np.abs(misses) <= 1.96 * np.array(errors)) <= 0.975


def waves_of(shares: dict[str, float], mechanism: cf.Mechanism, people: int, seed: int) -> dict[str, cf.Counts]:
    """Return counts of yes and no in each wave."""
    generator = np.random.default_rng(seed)
    chances = {wave: np.array([share, 1 - share]) @ mechanism.channel.dense() for wave, share in shares.items()}
    return {wave: cf.tally(["yes", "no"], generator.multinomial(people, one)) for wave, one in chances.items()}


def test_two_reports_of_a_person_in_one_wave_are_one_draw() -> None:
    values, generator = np.random.default_rng(3).normal(size=50), np.random.default_rng(3)
    once = Moments.of_people(np.tile(values, 2), np.repeat([0, 1], 50), generator.permutation(100), 2)
    twice = Moments.of_people(
        np.tile(values, 4), np.repeat([0, 0, 1, 1], 50), np.repeat([0, 0, 1, 1], 50) * 50 + np.tile(np.arange(50), 4), 2
    )
    np.testing.assert_allclose(once.covariance, twice.covariance, atol=1e-15)
    assert once.covariance[0, 0] == pytest.approx(values.var(ddof=1) / 50)


def test_a_test_for_any_change_keeps_its_level() -> None:
    panel, generator, chances = PANELS["fresh noise, the same people"], np.random.default_rng(7), []
    asked = PseudoValues.of(panel.mechanism, panel.query).values(ANSWERS.decode([0, 1]))
    for _ in range(500):
        # The same people, whose values do not change; fresh noise in each of four waves.
        values, waves = np.tile(generator.integers(0, 2, PEOPLE), 4), np.repeat(np.arange(4), PEOPLE)
        reports = (generator.random(4 * PEOPLE) > panel.mechanism.channel.dense()[values, 0]).astype(int)
        moments = Moments.of_people(asked[reports], waves, np.tile(np.arange(PEOPLE), 4), 4)
        assert moments.test().degrees == 3
        chances.append(moments.test().p_value)
    # Variances that are 20 % too small reject 9 %.
    assert 0.03 <= np.mean(np.array(chances) < 0.05) <= 0.075
    assert np.mean(chances) == pytest.approx(0.5, abs=0.04)


def test_counts_and_people_give_the_same_where_all_are_different() -> None:
    mechanism = cf.TruncatedGeometric(AGES, 0.5)
    reports = {wave: mechanism.privatize([wave, wave, 4] * 200, rng=wave) for wave in (1, 2, 3)}
    groups = cf.estimate_groups({wave: cf.tally(one) for wave, one in reports.items()}, mechanism)
    plain = groups.series("mean")
    every, waves = np.concatenate(list(reports.values())), [wave for wave in reports for _ in range(600)]
    linked = groups.series("mean", linked=Linked(every, waves, np.arange(1800)))
    assert plain.moments is not None
    assert linked.moments is not None
    np.testing.assert_allclose(plain.moments.means, linked.moments.means)
    np.testing.assert_allclose(plain.moments.covariance, linked.moments.covariance, atol=1e-12)
    assert cf.estimate_over(every, waves, mechanism, people=np.arange(1800)).overall == linked.overall
    assert plain.overall.contains(4 / 3)


def test_the_same_people_with_permanent_noise_know_more_of_their_change() -> None:
    panel, generator = PANELS["permanent noise, the same people"], np.random.default_rng(1)
    reports, waves, people = panel.draw(generator)
    labels = ANSWERS.decode(reports)
    own = cf.estimate_over(labels, waves, panel.mechanism, panel.query, people=people)
    alone = cf.estimate_over(labels, waves, panel.mechanism, panel.query)
    assert own.is_linked
    assert not alone.is_linked
    assert own.overall.width < 0.75 * alone.overall.width
    assert own.overall.estimate == pytest.approx(alone.overall.estimate)
    # Nobody changed between the first two waves, so nothing did.
    assert (own.change(0, 1).estimate, own.change(0, 1).width) == (0.0, 0.0)


def test_thresholds_under_metric_noise_use_the_intervals_of_both() -> None:
    mechanism, held = cf.TruncatedGeometric(cf.Integers(0, 99), 0.05), []
    ages = np.arange(100)
    shapes = [np.exp(-(((ages - middle) / 15) ** 2)) for middle in (40, 50)]
    truths = [one / one.sum() for one in shapes]
    change = float(truths[1][60:].sum() - truths[0][60:].sum())
    for seed in range(8):
        counts = {
            wave: mechanism.simulate_counts(np.rint(3000 * one), rng=2 * seed + wave) for wave, one in enumerate(truths)
        }
        with warnings.catch_warnings(action="ignore"):
            series = cf.estimate_groups(counts, mechanism, cf.IBU()).series("age >= 60")
        assert not series.is_unbiased
        first, last = series.answers.values()
        low, high = series.overall
        assert (series.overall.estimate - low) ** 2 == pytest.approx(
            (last.estimate - last.low) ** 2 + (first.high - first.estimate) ** 2
        )
        assert (high - series.overall.estimate) ** 2 == pytest.approx(
            (last.high - last.estimate) ** 2 + (first.estimate - first.low) ** 2
        )
        held.append(low <= change <= high)
        # No unbiased answer: the whole distribution is tested.
        assert "distribution" in series.test.hypothesis
        said = say_change(series)
        assert ("The distribution changed" if series.test.is_seen else "No change of the distribution is seen") in said
        assert math.isnan(series.test.statistic)
    assert np.mean(held) >= 0.85


def test_a_change_is_found_and_shows_itself(tmp_path: Any) -> None:
    mechanism = cf.RandomizedResponse(ANSWERS, 2.0)
    shares = {"wave 10": 0.6, "wave 2": 0.4, "wave 9": 0.45}
    series = cf.estimate_groups(waves_of(shares, mechanism, 3000, 1), mechanism).series("answer == yes", 0.9)
    assert series.waves == ["wave 2", "wave 9", "wave 10"]
    assert series.test.is_seen
    assert [one.question.partition(" from ")[2] for one in series.steps] == ["wave 2 to wave 9", "wave 9 to wave 10"]
    assert series.overall.level == 0.9
    assert series.overall.contains(0.2)
    back = series.change("wave 10", "wave 2")
    assert (back.estimate, back.low, back.high) == (
        -series.overall.estimate, -series.overall.high, -series.overall.low,
    )  # fmt: skip
    frame = series.to_frame()
    assert list(frame["time"]) == series.waves
    assert list(frame["change"][1:]) == [one.estimate for one in series.steps]
    assert math.isnan(frame["change"][0])
    assert series.plot().get_ylabel() == "answer == yes"
    series.save(tmp_path / "series.html")
    assert "by group" in (tmp_path / "series.html").read_text() or "by time" in (tmp_path / "series.html").read_text()
    series.save(tmp_path / "series.json")
    assert "wave 10" in (tmp_path / "series.json").read_text()
    assert "p < 0.001" in repr(series)


def test_what_is_refused() -> None:
    mechanism = cf.RandomizedResponse(ANSWERS, 2.0)
    one = cf.estimate_groups(waves_of({"W1": 0.5}, mechanism, 100, 1), mechanism)
    with pytest.raises(InvalidParameterError, match="two waves or more"):
        one.series("answer == yes")
    two = cf.estimate_groups(waves_of({"W1": 0.5, "W2": 0.4}, mechanism, 1000, 1), mechanism)
    with pytest.raises(InvalidParameterError, match="There is no time 'W3'; there are W1, W2"):
        two.series("answer == yes").change("W1", "W3")
    with pytest.raises(InvalidParameterError, match="over has one entry for each report; got 1 for 2 reports"):
        cf.estimate_over(["yes", "no"], ["W1"], mechanism)
    with pytest.raises(InvalidParameterError, match="people has one entry"):
        cf.estimate_over(["yes", "no"], ["W1", "W2"], mechanism, people=["a"])
    assert in_order([("2026-W10",), ("2026-W9",)]) == [("2026-W9",), ("2026-W10",)]


def test_weights_have_the_errors_of_weighted_means() -> None:
    mechanism, generator = cf.RandomizedResponse(ANSWERS, 1.0), np.random.default_rng(4)
    reports = np.where(generator.random(PEOPLE) < 0.3, "yes", "no")
    # Those who say yes count for more, and for different amounts.
    weights = np.where(reports == "yes", generator.choice([2.0, 9.0], PEOPLE), 1.0)
    waves: list[Any] = [Wave({mechanism: cf.tally(reports, weights=weights).independent})]
    moments = Moments.of_counts(waves, QUESTION)
    values = cf.unbias(reports, mechanism, "answer == yes")
    mean = np.average(values, weights=weights)
    variance = (weights**2 * (values - mean) ** 2).sum() / weights.sum() ** 2
    assert moments.means[0] == pytest.approx(mean)
    assert moments.covariance[0, 0] == pytest.approx(variance, rel=0.02)  # but for people less one


@dataclass(frozen=True)
class Wave:
    """The part of an estimate that moments need."""

    groups: Any


QUESTION = Question("query", "answer == yes")
