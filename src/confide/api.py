"""Public names of confide: `import confide as cf` reaches them as `cf.NAME`.

Each is loaded when it is first used.
"""

import importlib
import typing

from confide.channels import Channel, Dense
from confide.check.fit import fit, fit_groups, fit_pool
from confide.data import datasets
from confide.errors import (
    ConfideError,
    LimitError,
    NotIdentifiedWarning,
    PoorFitWarning,
    SimulatedReportsWarning,
    UniformReportsWarning,
)
from confide.estimates.estimate import Estimate, assess, estimate, estimate_pool
from confide.estimates.groups import estimate_groups
from confide.estimates.inference import Bootstrap, Likelihood
from confide.evidence.counts import Accumulator, Counts, merge, tally
from confide.evidence.shapes import Shape
from confide.mechanisms import (
    BlahutArimoto,
    Crosswise,
    Dice,
    Exponential,
    ForcedResponse,
    FromMatrix,
    Geometric,
    HadamardResponse,
    KukCards,
    Laplace,
    LocalHashing,
    Mechanism,
    OneBitMean,
    OptimizedUnary,
    PlanarGeometric,
    PlanarLaplace,
    PlanarSquareWave,
    Product,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    Remapped,
    SquareWave,
    SubsetSelection,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
    TwoRounds,
    Unary,
    UnrelatedQuestion,
    WrappedGeometric,
)
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.mechanisms.sampling import Permanent
from confide.solve.methods import (
    IBU,
    MLE,
    BitInversion,
    Inversion,
    Method,
    Smooth,
    Solution,
    Stacked,
    Status,
)
from confide.surveys.ledgers import Ledger
from confide.surveys.survey import Survey, load_survey, parse_survey
from confide.values import (
    Alphabet,
    Attributes,
    Bins,
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
    metrics,
)
from confide.values.base import register
from confide.values.distances import emd, total_variation
from confide.values.geojson import read_areas

if typing.TYPE_CHECKING:
    from confide.data.counting import count, read_reports
    from confide.data.files import (
        GroupedCounts,
        load_counts,
        read_metadata,
        save_counts,
        shuffle,
        write_reports,
    )
    from confide.estimates.changes import estimate_over
    from confide.estimates.diagnosis import diagnose
    from confide.estimates.pseudo_values import unbias
    from confide.mechanisms.audits import audit
    from confide.plans import plan, rank
    from confide.regression.fitting import regress

__all__ = [
    "IBU",
    "MLE",
    "Accumulator",
    "Alphabet",
    "Attributes",
    "Bins",
    "BitInversion",
    "BlahutArimoto",
    "Bootstrap",
    "Categories",
    "Channel",
    "Circle",
    "ConfideError",
    "Coordinates",
    "Counts",
    "Crosswise",
    "Dates",
    "Dense",
    "Dice",
    "Estimate",
    "Exponential",
    "ForcedResponse",
    "FromMatrix",
    "Geometric",
    "Grid",
    "GroupedCounts",
    "HadamardResponse",
    "Hours",
    "Integers",
    "Inversion",
    "KukCards",
    "Laplace",
    "Lattice",
    "Ledger",
    "Likelihood",
    "LimitError",
    "LocalDP",
    "LocalHashing",
    "Mechanism",
    "Method",
    "MetricPrivacy",
    "NotIdentifiedWarning",
    "OneBitMean",
    "OptimizedUnary",
    "Permanent",
    "Places",
    "PlanarGeometric",
    "PlanarLaplace",
    "PlanarSquareWave",
    "PoorFitWarning",
    "Product",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Scale",
    "Shape",
    "SimulatedReportsWarning",
    "Smooth",
    "Solution",
    "SquareWave",
    "Stacked",
    "Status",
    "SubsetSelection",
    "Survey",
    "Taxicab",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "TruncatedPlanarGeometric",
    "TruncatedPlanarLaplace",
    "TruncatedTaxicab",
    "TwoRounds",
    "Unary",
    "UniformReportsWarning",
    "UnrelatedQuestion",
    "Weekdays",
    "WrappedGeometric",
    "assess",
    "audit",
    "count",
    "datasets",
    "diagnose",
    "emd",
    "estimate",
    "estimate_groups",
    "estimate_over",
    "estimate_pool",
    "fit",
    "fit_groups",
    "fit_pool",
    "load_counts",
    "load_survey",
    "merge",
    "metrics",
    "parse_survey",
    "plan",
    "rank",
    "read_areas",
    "read_metadata",
    "read_reports",
    "register",
    "regress",
    "save_counts",
    "shuffle",
    "tally",
    "total_variation",
    "unbias",
    "write_reports",
]

_LATER = {
    "GroupedCounts": "data.files",
    "audit": "mechanisms.audits",
    "count": "data.counting",
    "diagnose": "estimates.diagnosis",
    "estimate_over": "estimates.changes",
    "load_counts": "data.files",
    "plan": "plans",
    "rank": "plans",
    "read_metadata": "data.files",
    "read_reports": "data.counting",
    "regress": "regression.fitting",
    "save_counts": "data.files",
    "shuffle": "data.files",
    "unbias": "estimates.pseudo_values",
    "write_reports": "data.files",
}
"""Names that are loaded when first asked for, and their modules: whoever blurs a value need not wait for them."""


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"confide.{_LATER[name]}"), name)
    return found
