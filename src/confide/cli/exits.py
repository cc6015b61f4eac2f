"""Exit codes that scripts can rely on, and which failure ends with which."""

from __future__ import annotations

from enum import IntEnum

from confide.errors import (
    BrokenPromiseError,
    ConfideError,
    InvalidInputError,
    InvalidParameterError,
    MissingExtraError,
    NotInvertibleError,
    SolverError,
    SurveyError,
    UnreachableTargetError,
)


class ExitCode(IntEnum):
    """How the command line ends."""

    SUCCESS = 0
    UNEXPECTED = 1
    USAGE = 2
    SURVEY = 3
    DATA = 4
    NO_ANSWER = 5
    MISSING_PACKAGE = 6
    BROKEN_PROMISE = 7
    INTERRUPTED = 130


class NoAnswerError(ConfideError):
    """A survey is sound, but this mechanism cannot be estimated from or audited."""


MEANINGS = {
    ExitCode.SUCCESS: "success",
    ExitCode.UNEXPECTED: "something unexpected",
    ExitCode.USAGE: "wrong usage of a command or an option",
    ExitCode.SURVEY: "a bad survey file",
    ExitCode.DATA: "bad data: values, reports, counts or truth, or a file that cannot be read or written",
    ExitCode.NO_ANSWER: "no answer: no inverse, no end of values or reports, or a plan that cannot reach its target",
    ExitCode.MISSING_PACKAGE: "an optional package is not installed",
    ExitCode.BROKEN_PROMISE: "an audit found that the promise is broken",
    ExitCode.INTERRUPTED: "interrupted from the keyboard",
}
"""What each exit code means, as `confide --help` lists it."""

BY_ERROR: tuple[tuple[type[ConfideError], ExitCode], ...] = (
    (SurveyError, ExitCode.SURVEY),
    (BrokenPromiseError, ExitCode.BROKEN_PROMISE),
    (InvalidParameterError, ExitCode.USAGE),
    (MissingExtraError, ExitCode.MISSING_PACKAGE),
    (NoAnswerError, ExitCode.NO_ANSWER),
    (NotInvertibleError, ExitCode.NO_ANSWER),
    (SolverError, ExitCode.NO_ANSWER),
    (UnreachableTargetError, ExitCode.NO_ANSWER),
    (InvalidInputError, ExitCode.DATA),
)
"""The first line whose error fits decides; anything else is unexpected."""


def exit_code_of(error: ConfideError) -> ExitCode:
    """Return the exit code for a failure.

    >>> exit_code_of(SurveyError("no alphabet"))
    <ExitCode.SURVEY: 3>
    """
    return next((code for kind, code in BY_ERROR if isinstance(error, kind)), ExitCode.UNEXPECTED)
