"""Many groups at once: the same answer as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.surveys import FINITE, survey

import confide as cf
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.solve.methods import METHODS


def towns(mechanism: cf.Mechanism, number: int = 7) -> dict[int, cf.Counts]:
    """Return groups of several sizes, each with a distribution of its own."""
    generator = np.random.default_rng(3)
    groups = {}
    for town in range(number):
        shares = generator.dirichlet(np.full(mechanism.alphabet.size, 0.5))
        values = generator.choice(mechanism.alphabet.size, size=40 * (town + 1), p=shares)
        groups[town] = cf.tally(mechanism.privatize(mechanism.alphabet.decode(values), rng=town, taken=True))
    return groups


@pytest.mark.parametrize("name", FINITE)
def test_groups_are_estimated_as_if_they_were_alone(name: str) -> None:
    """Every mechanism, by two rules of when to stop in turns."""
    method = (cf.IBU(), cf.IBU(stop="certificate", tolerance=2.0))[list(FINITE).index(name) % 2]
    mechanism = survey(FINITE[name]).mechanism
    groups = towns(mechanism)
    found = cf.estimate_groups(groups, mechanism, method)
    assert list(found) == list(groups)
    for town, counts in groups.items():
        alone = cf.estimate(counts, mechanism, method)
        assert (found[town].status, found[town].iterations) == (alone.status, alone.iterations)
        assert found[town].explanation == alone.explanation
        np.testing.assert_allclose(found[town].distribution, alone.distribution, rtol=1e-9, atol=1e-12)
        assert found[town].log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


@pytest.mark.parametrize("method", ["ibu-held-out", "inversion-project"])
def test_other_methods_take_groups_one_by_one(method: str) -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    groups, done = towns(mechanism, 3), list[int]()
    found = cf.estimate_groups(groups, mechanism, METHODS[method], progress=done.append)
    assert done == [1, 2, 3]
    for town, counts in groups.items():
        alone = cf.estimate(counts, mechanism, METHODS[method])
        np.testing.assert_allclose(found[town].distribution, alone.distribution)


def test_groups_go_in_blocks_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.solve.methods.base.STACK", 40)
    mechanism, done = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0), list[int]()
    groups = towns(mechanism)
    found = cf.estimate_groups(groups, mechanism, cf.IBU(), progress=done.append)
    assert done == [4, 7]
    np.testing.assert_allclose(found[6].distribution, cf.estimate(groups[6], mechanism, cf.IBU()).distribution)


def test_a_limit_ends_every_group() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    found = cf.estimate_groups(towns(mechanism), mechanism, cf.IBU(iteration_limit=3, delta=1e-9))
    assert {(one.status, one.iterations) for one in found.values()} == {(cf.Status.ITERATION_LIMIT, 3)}


def test_what_cannot_be_estimated() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="at least one"):
        cf.estimate_groups({}, mechanism, cf.IBU())
    with pytest.raises(InvalidParameterError, match="method must be Method or None; got str"):
        cf.estimate_groups(towns(mechanism), mechanism, "ibu")  # type: ignore[arg-type]
    with pytest.raises(InvalidCountsError, match="no reports"):
        cf.estimate_groups({"none": cf.tally([])}, mechanism, cf.IBU())


def test_groups_with_channels_of_their_own_are_counted_one_after_the_other() -> None:
    mechanism, done = cf.Rappor(cf.Integers(0, 5), epsilon=2.0), list[int]()
    groups = towns(mechanism, 4)
    found = cf.estimate_groups(groups, mechanism, cf.IBU(), progress=done.append)
    assert done == [1, 2, 3, 4]
    for town, counts in groups.items():
        np.testing.assert_allclose(found[town].distribution, cf.estimate(counts, mechanism, cf.IBU()).distribution)


def test_the_default_is_that_of_everything_else() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    groups = towns(mechanism, 2)
    for town, answer in cf.estimate_groups(groups, mechanism).items():
        assert answer.method == cf.Stacked()
        np.testing.assert_allclose(answer.distribution, cf.estimate(groups[town], mechanism).distribution, atol=1e-12)


@pytest.mark.parametrize("name", ["truncated-geometric", "k-rr", "rappor"])
def test_the_default_solves_groups_together_as_if_they_were_alone(name: str) -> None:
    """The same folds, the same path: products of matrices in place of vectors leave the last digits open, no more."""
    mechanism = survey(FINITE[name]).mechanism if name in FINITE else cf.TruncatedGeometric(cf.Integers(0, 29), 0.3)
    groups, done = towns(mechanism, 5), list[int]()
    groups[99] = cf.tally(groups[0].reports[:1])  # too small to hold anything out
    found = cf.estimate_groups(groups, mechanism, progress=done.append)
    assert done[-1] == len(groups)
    assert done == sorted(done)
    for town, counts in groups.items():
        alone = cf.estimate(counts, mechanism)
        np.testing.assert_allclose(found[town].distribution, alone.distribution, atol=1e-10)
        assert found[town].explanation == alone.explanation
        assert [one.share for one in found[town].choices] == pytest.approx([one.share for one in alone.choices])


def test_maxima_of_groups_are_proven_as_alone() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 29), epsilon=0.3)
    groups = towns(mechanism, 5)
    for town, answer in cf.estimate_groups(groups, mechanism, cf.MLE()).items():
        alone = cf.estimate(groups[town], mechanism, cf.MLE())
        assert answer.status is cf.Status.CERTIFIED
        assert answer.certificate <= 1e-6
        assert answer.log_likelihood == pytest.approx(alone.log_likelihood, abs=2e-6)
