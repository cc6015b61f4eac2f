"""Coherence: ends for a set never lie inside those for a smaller one, and complements mirror each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.laws.examples import FEW_EXAMPLES, label

from confide import IBU, Integers, Mechanism, RandomizedResponse, TruncatedGeometric, estimate
from confide.errors import InvalidParameterError
from confide.estimates import Estimate
from confide.estimates.inference.inference import is_unbiased

CLOSE = 1e-4
"""What the searches for two ends leave between them: a part in twenty thousand of an interval."""


def nested(size: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Return sets of values, each a part of the next."""
    order = generator.permutation(size)
    cuts = sorted({1, max(1, size // 4), max(1, size // 2), max(1, size - 1)})
    return [np.isin(np.arange(size), order[:cut]).astype(float) for cut in cuts]


def check_nested(answer: Estimate, sets: list[np.ndarray]) -> None:
    ends = np.array([list(answer.query(one)) for one in sets])
    assert (np.diff(ends, axis=0) >= -CLOSE).all()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [one for one in FEW_EXAMPLES if one.alphabet.size <= 100], ids=label)
def test_every_mechanism_is_coherent(mechanism: Mechanism) -> None:
    size, generator = mechanism.alphabet.size, np.random.default_rng(3)
    people = generator.multinomial(3000, generator.dirichlet(np.full(size, 0.3)))
    answer = estimate(mechanism.simulate_counts(people, rng=generator), mechanism, IBU())
    for sets in ([np.arange(size) >= low for low in range(size - 1, 0, -max(1, size // 3))], nested(size, generator)):
        asked = [np.asarray(one, dtype=float) for one in sets]
        if not is_unbiased(answer._inference.evidence) or (np.diff(asked, axis=1) != 0).sum(axis=1).max() <= 1:
            check_nested(answer, asked)
        for one in asked[:1]:
            low, high = answer.query(one)
            mirrored = answer.query(1 - one)
            assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high), abs=1e-12)


def test_tails_are_coherent_under_randomized_response() -> None:
    """With many empty values plain inversion is not: half of their shares come out below nothing."""
    mechanism = RandomizedResponse(Integers(0, 19), 1.0)
    people = np.zeros(20, dtype=int)
    people[[3, 12]] = 4000, 2000
    answer = estimate(mechanism.simulate_counts(people, rng=2), mechanism, IBU())
    tails = [f"x >= {low}" for low in range(19, 0, -1)]
    heads = [f"x < {high}" for high in range(1, 20)]
    for chain in (tails, heads):
        ends = np.array([list(answer.query(one)) for one in chain])
        assert (np.diff(ends, axis=0) >= 0).all()
    shares = (answer._inference.evidence.frequencies - mechanism.channel.dense()[0, 1])[::-1]
    assert (shares < 0).sum() > 4


def test_several_questions_hold_together() -> None:
    mechanism = TruncatedGeometric(Integers(0, 9), 0.8)
    answer = estimate(mechanism.simulate_counts([50] * 10, rng=1), mechanism, IBU())
    asked = ["x < 3", "x > 6", "x in 4..5"]
    alone, joint = answer.queries(asked), answer.queries(asked, joint=True)
    for one, other, question in zip(alone, joint, asked, strict=True):
        assert list(one) == pytest.approx(list(answer.query(question)), rel=1e-9)
        assert list(other) == pytest.approx(list(answer.query(question, 1 - 0.05 / 3)), rel=1e-9)
        assert list(answer.query(question)) == list(answer.query(question))
        assert (one.together, other.together, other.level) == (1, 3, 0.95)
        assert "each of 3 has 98.3333% confidence, so that all together have 95%" in other.rests_on
    assert str(joint[0]).endswith("at 95% for all 3 together")
    bad: Any
    for bad in ("x < 3", []):
        with pytest.raises(InvalidParameterError, match="list of at least one question"):
            answer.queries(bad)
