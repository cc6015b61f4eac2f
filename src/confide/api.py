"""Public names of confide: `import confide as cf` reaches them as `cf.NAME`.

Each is loaded when it is first used.
"""

import importlib
import typing

from confide.check.fit import fit
from confide.data import datasets
from confide.errors import ConfideError
from confide.estimates.estimate import assess, estimate, estimate_pool
from confide.estimates.groups import estimate_groups
from confide.evidence.counts import Counts, merge, tally
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
from confide.mechanisms.sampling import Permanent
from confide.solve.methods import (
    IBU,
    MLE,
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
)
from confide.values.base import register
from confide.values.distances import emd, total_variation
from confide.values.geojson import read_areas

if typing.TYPE_CHECKING:
    from confide.collector.reporter import Reporter
    from confide.data.counting import count, read_reports
    from confide.data.files import (
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
    "Alphabet",
    "Attributes",
    "Bins",
    "BlahutArimoto",
    "Categories",
    "Circle",
    "ConfideError",
    "Coordinates",
    "Counts",
    "Crosswise",
    "Dates",
    "Dice",
    "Exponential",
    "ForcedResponse",
    "FromMatrix",
    "Geometric",
    "Grid",
    "HadamardResponse",
    "Hours",
    "Integers",
    "Inversion",
    "KukCards",
    "Laplace",
    "Lattice",
    "Ledger",
    "LocalHashing",
    "Mechanism",
    "Method",
    "OneBitMean",
    "OptimizedUnary",
    "Permanent",
    "Places",
    "PlanarGeometric",
    "PlanarLaplace",
    "PlanarSquareWave",
    "Product",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Reporter",
    "Scale",
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
    "load_counts",
    "load_survey",
    "merge",
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
    "Reporter": "collector.reporter",
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
