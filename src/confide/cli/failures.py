"""How commands fail: one message and one exit code.

Nothing heavy is imported here: `confide --version` and a typo should answer at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from confide.errors import (
    BrokenPromiseError,
    ConfideError,
    InvalidInputError,
    InvalidParameterError,
    LimitError,
    MissingExtraError,
    NotInvertibleError,
    SolverError,
    SurveyError,
    TooLargeError,
    UnreachableTargetError,
)


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    SUCCESS = 0
    UNEXPECTED = 1
    USAGE = 2
    SURVEY = 3
    DATA = 4
    NO_ANSWER = 5
    MISSING_PACKAGE = 6
    BROKEN_PROMISE = 7
    POOR_FIT = 8
    INTERRUPTED = 130


class NoAnswerError(ConfideError):
    """The survey is sound, but its mechanism cannot be estimated or audited."""


MEANINGS = {
    ExitCode.SUCCESS: "success",
    ExitCode.UNEXPECTED: "something unexpected, or nobody read the output to its end",
    ExitCode.USAGE: "wrong usage of a command or an option",
    ExitCode.SURVEY: "a bad survey file",
    ExitCode.DATA: "bad data: values, reports, counts or truth, or a file that cannot be read or written",
    ExitCode.NO_ANSWER: "no answer: no inverse, unbounded or too many values or reports, a plan out of reach, a limit",
    ExitCode.MISSING_PACKAGE: "an optional package is not installed",
    ExitCode.BROKEN_PROMISE: "an audit found that the promise is broken",
    ExitCode.POOR_FIT: "with --strict: the reports fit mechanism or shape poorly (1 good survey of 20) or not at all",
    ExitCode.INTERRUPTED: "interrupted from the keyboard",
}
"""Meaning of each exit code, as `confide --help` lists it."""

BY_ERROR: tuple[tuple[type[ConfideError], ExitCode], ...] = (
    (SurveyError, ExitCode.SURVEY),
    (BrokenPromiseError, ExitCode.BROKEN_PROMISE),
    (TooLargeError, ExitCode.NO_ANSWER),
    (InvalidParameterError, ExitCode.USAGE),
    (MissingExtraError, ExitCode.MISSING_PACKAGE),
    (NoAnswerError, ExitCode.NO_ANSWER),
    (NotInvertibleError, ExitCode.NO_ANSWER),
    (SolverError, ExitCode.NO_ANSWER),
    (UnreachableTargetError, ExitCode.NO_ANSWER),
    (LimitError, ExitCode.NO_ANSWER),
    (InvalidInputError, ExitCode.DATA),
)
"""The first line whose error fits decides; anything else is unexpected."""


def exit_code_of(error: ConfideError) -> ExitCode:
    """Return the exit code for a failure.

    >>> exit_code_of(SurveyError("no alphabet"))
    <ExitCode.SURVEY: 3>
    """
    return next((code for kind, code in BY_ERROR if isinstance(error, kind)), ExitCode.UNEXPECTED)


@contextmanager
def explained_failures() -> Iterator[None]:
    """End a failure with a message and exit code, no traceback."""
    try:
        yield
    except ConfideError as error:
        _complain(str(error))
        raise typer.Exit(int(exit_code_of(error))) from None
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        _complain(f"So many values or reports do not fit into memory{reason}. Use fewer or coarser values.")
        raise typer.Exit(int(ExitCode.NO_ANSWER)) from None
    except BrokenPipeError:
        raise  # typer ends it quietly: whoever read the output has seen enough
    except OSError as error:
        raise typer.Exit(int(refuse_output(error))) from None


def refuse_output(error: OSError) -> ExitCode:
    """Report that the output cannot be written; return the exit code."""
    _complain(f"The output cannot be written: {error.strerror or error}.")
    return ExitCode.DATA


def _complain(message: str) -> None:
    from confide.cli.terminal import complain

    complain(message)
