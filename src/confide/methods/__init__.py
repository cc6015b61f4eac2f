"""How to recover a distribution. One method a file; a new one joins by standing in METHODS."""

from confide.methods.base import Choice, Method, Monitor, Solution, Status
from confide.methods.ibu import IBU
from confide.methods.inversion import Inversion
from confide.methods.mle import MLE
from confide.methods.rappor import BitInversion
from confide.methods.smooth import Smooth
from confide.methods.stacked import Stacked

METHODS: dict[str, Method] = {
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
}
"""Every method with its default settings, by its name on the command line."""

__all__ = [
    "IBU",
    "METHODS",
    "MLE",
    "BitInversion",
    "Choice",
    "Inversion",
    "Method",
    "Monitor",
    "Smooth",
    "Solution",
    "Stacked",
    "Status",
]
