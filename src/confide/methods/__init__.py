"""How to recover a distribution. One method a file; a new one joins by standing in METHODS."""

from confide.methods.base import Method, Monitor, Solution, Status
from confide.methods.ibu import IBU
from confide.methods.inversion import Inversion

METHODS: dict[str, Method] = {
    "ibu": IBU(),
    "inversion-normalize": Inversion("normalize"),
    "inversion-project": Inversion("project"),
    "inversion-raw": Inversion("none"),
}
"""Every method with its default settings, by its name on the command line."""

__all__ = ["IBU", "METHODS", "Inversion", "Method", "Monitor", "Solution", "Status"]
