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
from confide.estimates.pseudo_values import PseudoValues

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

    def draw(self, generator: np.random.Generator) -> tuple[Any, Any, Any, float]:
        """Return the reports with their waves and people, and the true change from the first wave to the last."""
        size, matrix = self.mechanism.alphabet.size, self.mechanism.channel.dense()
        values = generator.integers(0, size // 2, PEOPLE)
        waves, people, reports = [], [], []
        truth = []
        for wave in range(3):
            if wave and not self.are_same:
                values = generator.integers(0, size // 2, PEOPLE)
            if wave == 2:  # a third of the people have another value at the end
                values = np.where(generator.random(PEOPLE) < 1 / 3, generator.integers(0, size, PEOPLE), values)
            if wave == 0 or not self.are_same or not self.is_permanent:
                # One report for each value that a person may have, as permanent noise has it.
                kept = (generator.random((PEOPLE, size, 1)) > np.cumsum(matrix, axis=1)).sum(axis=2)
            reports.append(kept[np.arange(PEOPLE), values])
            waves.append(np.full(PEOPLE, wave))
            people.append(np.arange(PEOPLE) + (0 if self.are_same else wave * PEOPLE))
            truth.append(values)
        weights = PseudoValues.of(self.mechanism, self.query).weights
        change = float(weights[truth[2]].mean() - weights[truth[0]].mean())
        return (np.concatenate(one) for one in (reports, waves, people)), change  # type: ignore[return-value]


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
    misses, errors, held, chances = [], [], 0, []
    for _ in range(REPEATS):
        (reports, waves, people), truth = panel.draw(generator)  # type: ignore[misc]
        moments = Moments.of_people(table[reports], waves, people, 3)
        now, error = moments.change(0, 2)
        # Errors are those of a sample: the truth of the population is the mean over all that might have been drawn.
        misses.append(now)
        errors.append(error)
        chances.append(moments.test().p_value)
    misses = np.array(misses) - np.mean(misses)
    held = np.mean(np.abs(misses) <= 1.96 * np.array(errors))
    # A standard error that is 15 % off is five of its own errors away.
    assert np.mean(errors) == pytest.approx(np.std(misses), rel=0.09)
    assert 0.925 <= held <= 0.975
