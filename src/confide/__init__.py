"""confide: local privacy at both ends.

Mechanisms blur a private value before it leaves a person's device; methods recover the distribution of the true values
from the noisy reports, and say how good the answer is.

>>> import confide as cf
>>> ages = cf.Integers(0, 99)
>>> mechanism = cf.TruncatedGeometric(ages, epsilon=0.05)
>>> people = cf.datasets.adult_ages().values()
>>> counts = cf.tally(mechanism.privatize(people))
>>> cf.estimate(counts, mechanism, cf.IBU()).status
<Status.SMALL_STEP: 'small step'>
"""

import importlib

__version__ = "0.3.0"

TYPE_CHECKING = False  # the name that type checkers know; `typing` itself would be half of what this import takes

# Names are loaded when the first one is asked for, so that the command line can guard itself against an interruption
# before anything slow is imported (see __main__), and so that completion shows public names alone.
if TYPE_CHECKING:
    from confide import channels, check, data, errors, estimates, evidence, mechanisms, plans, solve, theory, values  # noqa: F401
    from confide.api import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        api = importlib.import_module("confide.api")
        if name == "__all__":
            return api.__all__
        if name in api.__all__:
            found = globals()[name] = getattr(api, name)
            return found
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"confide.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"confide.{name}":
                    raise
        moved = "" if name.startswith("_") else _room_of(name)
        raise AttributeError(f"module 'confide' has no attribute {name!r}{moved}")

    def _room_of(name: str) -> str:
        """Return where a name of version 0.2 stands now."""
        rooms = (
            "errors",
            "estimates",
            "check",
            "evidence",
            "mechanisms",
            "channels",
            "solve.methods",
            "theory",
            "values",
        )
        found = (room for room in rooms if hasattr(importlib.import_module(f"confide.{room}"), name))
        return next((f"; it is confide.{room}.{name}" for room in found), "")

    def __dir__() -> list[str]:
        public = importlib.import_module("confide.api").__all__
        return sorted([*(name for name in globals() if name.startswith("__")), *public])
