"""Public names of confide: `import confide as cf` reaches them as `cf.NAME`, and loads them with the first one."""

import importlib
import typing

from confide import datasets
from confide.alphabets import (
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
from confide.channels import Channel, Dense
from confide.comparisons import Outcome, assess
from confide.counts import Accumulator, Counts, merge, tally
from confide.distances import emd, hellinger, kl_divergence, total_variation
from confide.errors import (
    ConfideError,
    LimitError,
    NotIdentifiedWarning,
    PoorFitWarning,
    SimulatedReportsWarning,
    UniformReportsWarning,
)
from confide.estimates import Estimate, estimate, estimate_pool
from confide.evidence import Evidence
from confide.geojson import read_areas
from confide.groups import GroupEstimates, estimate_groups
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.intervals import Band, Bootstrap, CrossTable, Interval, Likelihood, Prospect, Resolution, Windows
from confide.kinds import register
from confide.ledgers import Ledger
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
from confide.metrics import Circular, Discrete, Euclidean, Manhattan, Metric, Uneven
from confide.origins import Noise, Origin
from confide.polygons import Area
from confide.sampling import Permanent
from confide.shapes import Shape
from confide.surveys import Survey, load_survey, parse_survey
from confide.theory.differences import Difference, Differences
from confide.theory.fit import Fit, FitVerdict, GroupFits, fit, fit_groups, fit_pool
from confide.theory.likely_subsets import LikelySubset, likely_subset
from confide.theory.shapes import ShapeFit, smoothness_of
from confide.theory.uniformity import Uniformity

if typing.TYPE_CHECKING:
    from confide.audits import Audit, audit
    from confide.counting import count, read_reports
    from confide.diagnosis import Diagnosis, diagnose
    from confide.files import (
        CountedReports,
        GroupedCounts,
        Metadata,
        load_counts,
        read_metadata,
        save_counts,
        shuffle,
        write_reports,
    )
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
    "Audit": "audits",
    "CountedReports": "files",
    "Diagnosis": "diagnosis",
    "GroupedCounts": "files",
    "Metadata": "files",
    "Plan": "plans",
    "audit": "audits",
    "count": "counting",
    "diagnose": "diagnosis",
    "load_counts": "files",
    "plan": "plans",
    "read_metadata": "files",
    "read_reports": "counting",
    "save_counts": "files",
    "shuffle": "files",
    "write_reports": "files",
}
"""Names that are loaded when first asked for, and their modules: whoever blurs a value need not wait for them."""


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"confide.{_LATER[name]}"), name)
    return found
