"""Names of methods: short for tables, full for sentences."""

from __future__ import annotations

import pytest
from tests.cases import each

import confide as cf
from confide.solve.methods import METHODS, Method

FULL = {
    cf.IBU(): "the iterative Bayesian update (IBU)",
    cf.IBU(stop="held-out"): "the iterative Bayesian update, stopped by held-out reports (held-out IBU)",
    cf.IBU(stop="certificate"): "the iterative Bayesian update, stopped by its certificate (certified IBU)",
    cf.MLE(): "the maximum of the likelihood (MLE)",
    cf.Smooth(): "an average over smooth priors (Smooth)",
    cf.Stacked(): "a mixture of several methods, weighed by held-out reports (Stacked)",
    cf.Inversion("none"): "raw matrix inversion (INV)",
    cf.Inversion("normalize"): "normalised matrix inversion (INV-N)",
    cf.Inversion("project"): "projected matrix inversion (INV-P)",
    cf.solve.methods.BitInversion("none"): "RAPPOR's raw estimator (RAP)",
    cf.solve.methods.BitInversion("normalize"): "RAPPOR's normalised estimator (RAP-N)",
    cf.solve.methods.BitInversion("project"): "RAPPOR's projected estimator (RAP-P)",
}


@each(("method", "name"), FULL.items(), ids=lambda one: getattr(one, "name", ""))
def test_full_names(method: Method, name: str) -> None:
    assert method.full_name == name


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_full_name_of_every_method_ends_with_its_short_one(method: Method) -> None:
    assert method.full_name.endswith(f"({method.name})")
