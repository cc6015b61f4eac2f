"""Errors and warnings: what is wrong, what we got, the fix."""

from __future__ import annotations


class ConfideError(Exception):
    """Any failure that confide explains."""


class InvalidInputError(ConfideError, ValueError):
    """Input that cannot be used as it is."""


class ValueOutsideAlphabetError(InvalidInputError):
    """Values or reports outside their alphabet.

    Attributes
    ----------
    positions
        Where the offending values stand in the input, counted from 0.
    """

    def __init__(self, message: str, positions: tuple[int, ...]) -> None:
        super().__init__(message)
        self.positions = positions


class InvalidParameterError(InvalidInputError):
    """Invalid parameter of a mechanism, an alphabet or a method."""


class TooLargeError(InvalidParameterError):
    """More values than an array, or a matrix, can be made over."""


class BrokenPromiseError(InvalidParameterError):
    """A mechanism that breaks its stated guarantee."""


class InvalidCountsError(InvalidInputError):
    """Counts that cannot be counts: negative, not finite, or none at all."""


class InvalidDistributionError(InvalidInputError):
    """A vector that is not a probability distribution over the alphabet."""


class SurveyError(InvalidInputError):
    """A survey file that does not describe an alphabet and a mechanism."""


class DataFileError(InvalidInputError):
    """A file of values or reports that cannot be read as such."""


class ImpossibleReportError(InvalidInputError):
    """A report that has probability zero for every value."""


class NotInvertibleError(ConfideError):
    """Matrix inversion was asked of a mechanism whose matrix has no inverse."""


class NotIdentifiedWarning(UserWarning):
    """The distribution is not identifiable through this mechanism."""


class PoorFitWarning(UserWarning):
    """The reports do not fit the mechanism, for any true distribution."""


class UniformReportsWarning(UserWarning):
    """The reports are consistent with a uniform population.

    The shape of the estimate may be chance.
    """


class SimulatedReportsWarning(UserWarning):
    """Simulated reports are about to be written: they protect nobody."""


class SolverError(ConfideError):
    """A numerical solver did not finish, and its value is therefore withheld."""


class LimitError(ConfideError):
    """A report beyond the survey's limits, or one that cannot be counted."""


class UnreachableTargetError(ConfideError):
    """No number of people, or no epsilon, reaches the target error.

    Attributes
    ----------
    floor
        The expected error at the end of what was looked at.
    """

    def __init__(self, message: str, floor: float) -> None:
        super().__init__(message)
        self.floor = floor


EXTRAS = {
    "figures": ("matplotlib>=3.8",),
    "planar": ("POT>=0.9.5",),
    "counting": ("duckdb>=1.2", "pyarrow>=16"),
    "pandas": ("pandas>=2.0",),
    "polars": ("polars>=1.0",),
    "spark": ("pyspark>=3.5",),
    "regression": ("formulaic>=1.0", "pandas>=2.0"),
    "spss": ("pandas>=2.0", "pyreadstat>=1.2"),
    "stata": ("pandas>=2.0", "pyreadstat>=1.2"),
    "collector": ("orjson>=3.10", "uvicorn>=0.30", "httptools>=0.6", "uvloop>=0.19; sys_platform != 'win32'"),
    "postgresql": ("psycopg[binary]>=3.1",),
    "sql": ("sqlglot>=25.0",),
}
"""Packages of each extra, as pyproject.toml has them.

They are named themselves because `pip install 'confide[figures]'` asks an index for confide, which a clone need not
be on."""


class MissingExtraError(ConfideError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed. Run: {install_command(extra)}")
        self.package = package
        self.extra = extra


def install_command(extra: str) -> str:
    """Return what installs an extra, from a clone as from an index.

    >>> install_command("counting")
    "pip install 'duckdb>=1.2' 'pyarrow>=16'"
    """
    return f"pip install {' '.join(map(repr, EXTRAS[extra]))}"
