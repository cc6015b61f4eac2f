"""Methods, which recover a distribution. confide.register adds one of your own."""

from confide.em import Monitor, Status
from confide.kinds import Kinds
from confide.methods.base import Choice, EMMethod, Method, Progress, Solution
from confide.methods.ibu import IBU
from confide.methods.inversion import BitInversion, Inversion
from confide.methods.mle import MLE
from confide.methods.shaped import Projected
from confide.methods.smooth import Smooth
from confide.methods.stacked import Stacked

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
