"""confide: local privacy at both ends.

Mechanisms blur a private value before it leaves a person's device; methods recover the distribution of the true values
from the noisy reports, and say how good the answer is.

>>> import confide as cf
>>> ages = cf.Integers(0, 99)
>>> mechanism = cf.TruncatedGeometric(ages, epsilon=0.05)
>>> people = cf.datasets.adult_ages().values()
>>> counts = cf.tally(mechanism.privatize(people, rng=7))
>>> cf.estimate(counts, mechanism, cf.IBU()).status
<Status.SMALL_STEP: 'small step'>
"""

import importlib
import typing

from confide import datasets
from confide.alphabets import Alphabet, Categories, Grid, Integers, Lattice, Pairs
from confide.channels import Channel
from confide.comparisons import Outcome, assess
from confide.distances import emd, hellinger, kl_divergence, total_variation
from confide.errors import ConfideError, NotIdentifiedWarning
from confide.estimates import Estimate, estimate, estimate_groups, estimate_pool
from confide.evidence import Evidence
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.intervals import Band, Bootstrap, Interval, Likelihood
from confide.mechanisms import (
    Exponential,
    FromMatrix,
    Geometric,
    Laplace,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Product,
    RandomizedResponse,
    Rappor,
    Remapped,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    truncated,
)
from confide.methods import (
    IBU,
    MLE,
    BitInversion,
    Choice,
    EMMethod,
    Inversion,
    Method,
    Smooth,
    Solution,
    Stacked,
    Status,
)
from confide.reports import Counts, merge, tally
from confide.surveys import Survey, load_survey, parse_survey
from confide.theory.likely_subsets import LikelySubset, likely_subset

if typing.TYPE_CHECKING:
    from confide.audits import Audit, audit
    from confide.counting import CountedReports, GroupedCounts, count
    from confide.plans import Plan, plan
    from confide.theory.diagnosis import Diagnosis, diagnose

__version__ = "0.1.0"

__all__ = [
    "IBU",
    "MLE",
    "Alphabet",
    "Audit",
    "Band",
    "BitInversion",
    "Bootstrap",
    "Categories",
    "Channel",
    "Choice",
    "ConfideError",
    "CountedReports",
    "Counts",
    "Diagnosis",
    "EMMethod",
    "Estimate",
    "Evidence",
    "Exponential",
    "FromMatrix",
    "Geometric",
    "Grid",
    "GroupedCounts",
    "Guarantee",
    "Integers",
    "Interval",
    "Inversion",
    "Laplace",
    "Lattice",
    "Likelihood",
    "LikelySubset",
    "LocalDP",
    "Mechanism",
    "Method",
    "MetricPrivacy",
    "NotIdentifiedWarning",
    "Outcome",
    "Pairs",
    "Plan",
    "PlanarGeometric",
    "PlanarLaplace",
    "Product",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Smooth",
    "Solution",
    "Stacked",
    "Status",
    "Survey",
    "Taxicab",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "TruncatedPlanarGeometric",
    "TruncatedPlanarLaplace",
    "TruncatedTaxicab",
    "assess",
    "audit",
    "count",
    "datasets",
    "diagnose",
    "emd",
    "estimate",
    "estimate_groups",
    "estimate_pool",
    "hellinger",
    "kl_divergence",
    "likely_subset",
    "load_survey",
    "merge",
    "parse_survey",
    "plan",
    "tally",
    "total_variation",
    "truncated",
]

_LATER = {
    "Audit": "audits",
    "CountedReports": "counting",
    "Diagnosis": "theory.diagnosis",
    "GroupedCounts": "counting",
    "Plan": "plans",
    "audit": "audits",
    "count": "counting",
    "diagnose": "theory.diagnosis",
    "plan": "plans",
}
"""What is loaded when it is first asked for, and from where: whoever blurs a value need not wait for it."""

_LATER_MODULES = ("audits", "counting", "explanations", "plans", "tables")


def __getattr__(name: str) -> typing.Any:
    if name in _LATER_MODULES:
        return importlib.import_module(f"confide.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"confide.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_LATER_MODULES})
