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

from confide import datasets
from confide.alphabets import Alphabet, Categories, Grid, Integers, Lattice, Pairs
from confide.audits import Audit, audit
from confide.comparisons import Outcome, assess
from confide.distances import emd, hellinger, kl_divergence, total_variation
from confide.errors import ConfideError
from confide.estimates import Estimate, estimate
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy
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
from confide.methods import IBU, MLE, BitInversion, Choice, Inversion, Method, Smooth, Stacked, Status
from confide.reports import Counts, merge, tally
from confide.surveys import Survey, load_survey, parse_survey

__version__ = "0.1.0"

__all__ = [
    "IBU",
    "MLE",
    "Alphabet",
    "Audit",
    "BitInversion",
    "Categories",
    "Choice",
    "ConfideError",
    "Counts",
    "Estimate",
    "Exponential",
    "FromMatrix",
    "Geometric",
    "Grid",
    "Guarantee",
    "Integers",
    "Inversion",
    "Laplace",
    "Lattice",
    "LocalDP",
    "Mechanism",
    "Method",
    "MetricPrivacy",
    "Outcome",
    "Pairs",
    "PlanarGeometric",
    "PlanarLaplace",
    "Product",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Smooth",
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
    "datasets",
    "emd",
    "estimate",
    "hellinger",
    "kl_divergence",
    "load_survey",
    "merge",
    "parse_survey",
    "tally",
    "total_variation",
    "truncated",
]
