"""A vector of the wrong length is refused by every channel, not broadcast."""

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import InvalidDistributionError

MECHANISMS = [
    cf.RandomizedResponse(cf.Integers(0, 9), 1.0),
    cf.TruncatedGeometric(cf.Integers(0, 9), 1.0),
    cf.Exponential(cf.Integers(0, 9), 1.0),
    cf.TruncatedTaxicab(cf.Grid(30, 30), 1.0),
    cf.TruncatedPlanarLaplace(cf.Grid(30, 30), 1.0),
    cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
]


@each("mechanism", MECHANISMS, ids=repr)
@each("length", [0, 1, 7])
def test_a_wrong_length_is_refused(mechanism: cf.Mechanism, length: int) -> None:
    for product, kind in ((mechanism.channel.push, "value"), (mechanism.channel.pull, "output")):
        with pytest.raises(InvalidDistributionError, match=f"one for each {kind}; got shape"):
            product(np.ones(length))
