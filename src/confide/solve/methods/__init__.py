"""Methods, which recover a distribution. confide.register adds one of your own."""

from confide.solve.em import Monitor, Status
from confide.solve.methods.base import IBU, MLE, Choice, EMMethod, Method, Progress, Solution
from confide.solve.methods.inversion import BitInversion, Inversion
from confide.solve.methods.shaped import Projected
from confide.solve.methods.stacked import Smooth, Stacked
from confide.values.base import Kinds

METHODS: Kinds[Method] = Kinds(
    Method,
    {
        "stacked": Stacked(),
        "ibu": IBU(),
        "ibu-held-out": IBU(stop="held-out"),
        "smooth": Smooth(),
        "mle": MLE(),
        "inversion-normalize": Inversion("normalize"),
        "inversion-project": Inversion("project"),
        "inversion-raw": Inversion("none"),
        "rappor-normalize": BitInversion("normalize"),
        "rappor-project": BitInversion("project"),
    },
)
"""Every method with its default settings, by its name on the command line."""

__all__ = [
    "IBU",
    "METHODS",
    "MLE",
    "BitInversion",
    "Choice",
    "EMMethod",
    "Inversion",
    "Method",
    "Monitor",
    "Progress",
    "Projected",
    "Smooth",
    "Solution",
    "Stacked",
    "Status",
]
