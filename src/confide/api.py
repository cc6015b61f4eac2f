"""Public names of confide: `import confide as cf` reaches them as `cf.NAME`, and loads them with the first one."""

import importlib
import typing

from confide.channels import Channel, Dense
from confide.check.differences import Difference, Differences
from confide.check.fit import Fit, FitVerdict, GroupFits, fit, fit_groups, fit_pool
from confide.check.shapes import ShapeFit, smoothness_of
from confide.check.uniformity import Uniformity
from confide.data import datasets
from confide.errors import (
    ConfideError,
    LimitError,
    NotIdentifiedWarning,
    PoorFitWarning,
    SimulatedReportsWarning,
    UniformReportsWarning,
)
from confide.estimates.comparisons import Outcome, assess
from confide.estimates.estimate import Estimate, estimate, estimate_pool
from confide.estimates.groups import GroupEstimates, estimate_groups
from confide.estimates.inference import Band, Bootstrap, CrossTable, Interval, Likelihood, Prospect, Resolution, Windows
from confide.evidence.counts import Accumulator, Counts, merge, tally
from confide.evidence.evidence import Evidence
from confide.evidence.origins import Noise, Origin
from confide.evidence.shapes import Shape
from confide.mechanisms import (
    Bound,
    Exponential,
    Facts,
    FromMatrix,
    Geometric,
    Laplace,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Premise,
    Product,
    Proof,
    RandomizedResponse,
    Rappor,
    Remapped,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    TwoRounds,
    Unary,
    UnaryEncoding,
    WrappedGeometric,
    truncated,
)
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.mechanisms.sampling import Permanent
from confide.solve.methods import (
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
from confide.surveys.ledgers import Ledger
from confide.surveys.survey import Survey, load_survey, parse_survey
from confide.theory.likely_subsets import LikelySubset, likely_subset
from confide.values import (
    Alphabet,
    Attributes,
    Bins,
    BitVectors,
    Categories,
    Circle,
    Coordinates,
    Dates,
    Grid,
    Hours,
    Integers,
    Lattice,
    Places,
    Scale,
    Weekdays,
)
from confide.values.distances import emd, hellinger, kl_divergence, total_variation
from confide.values.geojson import read_areas
from confide.values.kinds import register
from confide.values.metrics import Circular, Discrete, Euclidean, Manhattan, Metric, Uneven
from confide.values.polygons import Area

if typing.TYPE_CHECKING:
    from confide.data.counting import count, read_reports
    from confide.data.files import (
        CountedReports,
        GroupedCounts,
        Metadata,
        load_counts,
        read_metadata,
        save_counts,
        shuffle,
        write_reports,
    )
    from confide.estimates.diagnosis import Diagnosis, diagnose
    from confide.mechanisms.audits import Audit, audit
    from confide.plans import Plan, plan

__all__ = [
    "IBU",
    "MLE",
    "Accumulator",
    "Alphabet",
    "Area",
    "Attributes",
    "Audit",
    "Band",
    "Bins",
    "BitInversion",
    "BitVectors",
    "Bootstrap",
    "Bound",
    "Categories",
    "Channel",
    "Choice",
    "Circle",
    "Circular",
    "ConfideError",
    "Coordinates",
    "CountedReports",
    "Counts",
    "CrossTable",
    "Dates",
    "Dense",
    "Diagnosis",
    "Difference",
    "Differences",
    "Discrete",
    "EMMethod",
    "Estimate",
    "Euclidean",
    "Evidence",
    "Exponential",
    "Facts",
    "Fit",
    "FitVerdict",
    "FromMatrix",
    "Geometric",
    "Grid",
    "GroupEstimates",
    "GroupFits",
    "GroupedCounts",
    "Guarantee",
    "Hours",
    "Integers",
    "Interval",
    "Inversion",
    "Laplace",
    "Lattice",
    "Ledger",
    "Likelihood",
    "LikelySubset",
    "LimitError",
    "LocalDP",
    "Manhattan",
    "Mechanism",
    "Metadata",
    "Method",
    "Metric",
    "MetricPrivacy",
    "Noise",
    "NotIdentifiedWarning",
    "Origin",
    "Outcome",
    "Permanent",
    "Places",
    "Plan",
    "PlanarGeometric",
    "PlanarLaplace",
    "PoorFitWarning",
    "Premise",
    "Product",
    "Proof",
    "Prospect",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Resolution",
    "Scale",
    "Shape",
    "ShapeFit",
    "SimulatedReportsWarning",
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
    "TwoRounds",
    "Unary",
    "UnaryEncoding",
    "Uneven",
    "UniformReportsWarning",
    "Uniformity",
    "Weekdays",
    "Windows",
    "WrappedGeometric",
    "assess",
    "audit",
    "count",
    "datasets",
    "diagnose",
    "emd",
    "estimate",
    "estimate_groups",
    "estimate_pool",
    "fit",
    "fit_groups",
    "fit_pool",
    "hellinger",
    "kl_divergence",
    "likely_subset",
    "load_counts",
    "load_survey",
    "merge",
    "parse_survey",
    "plan",
    "read_areas",
    "read_metadata",
    "read_reports",
    "register",
    "save_counts",
    "shuffle",
    "smoothness_of",
    "tally",
    "total_variation",
    "truncated",
    "write_reports",
]

_LATER = {
    "Audit": "mechanisms.audits",
    "CountedReports": "data.files",
    "Diagnosis": "estimates.diagnosis",
    "GroupedCounts": "data.files",
    "Metadata": "data.files",
    "Plan": "plans",
    "audit": "mechanisms.audits",
    "count": "data.counting",
    "diagnose": "estimates.diagnosis",
    "load_counts": "data.files",
    "plan": "plans",
    "read_metadata": "data.files",
    "read_reports": "data.counting",
    "save_counts": "data.files",
    "shuffle": "data.files",
    "write_reports": "data.files",
}
"""Names that are loaded when first asked for, and their modules: whoever blurs a value need not wait for them."""


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"confide.{_LATER[name]}"), name)
    return found
