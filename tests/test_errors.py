"""Errors: one root, families that scripts can catch, and messages with what, got and cure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide import errors

GEOMETRIC = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0)
KRR = cf.RandomizedResponse(cf.Integers(0, 2), 1.0)

CASES: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    ("value outside", lambda: GEOMETRIC.privatize([1, 12]), errors.ValueOutsideAlphabetError, "1 of 2 .*12.*Clip"),
    ("NaN", lambda: GEOMETRIC.privatize([1, float("nan")]), errors.ValueOutsideAlphabetError, "nan at position 1"),
    ("negative counts", lambda: cf.tally([1], [-1]), errors.InvalidCountsError, "not negative; got -1 at position 0"),
    ("no reports", lambda: cf.estimate(cf.tally([]), KRR, cf.IBU()), errors.InvalidCountsError, "at least one"),
    (
        "rows that do not sum to one",
        lambda: cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [0.5, 0.6]]),
        errors.InvalidParameterError,
        "row 1 sums to 1.1. Divide each row by its sum",
    ),
    (
        "negative probability",
        lambda: cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [-0.5, 1.5]]),
        errors.InvalidParameterError,
        "finite and not negative; got -0.5 in row 1, column 0",
    ),
    (
        "NaN in a matrix",
        lambda: cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [float("nan"), 1]]),
        errors.InvalidParameterError,
        "got nan in row 1, column 0",
    ),
    (
        "ragged matrix",
        lambda: cf.FromMatrix(cf.Integers(0, 1), [[0.5, 0.5], [1.0]]),
        errors.InvalidParameterError,
        "rectangle of numbers, one row a value",
    ),
    (
        "matrix of the wrong height",
        lambda: cf.FromMatrix(cf.Integers(0, 2), np.eye(2)),
        errors.InvalidParameterError,
        r"needs 3 rows, one a value; got shape \(2, 2\)",
    ),
    (
        "matrix without columns",
        lambda: cf.FromMatrix(cf.Integers(0, 1), np.zeros((2, 0))),
        errors.InvalidParameterError,
        r"got shape \(2, 0\)",
    ),
    (
        "outputs of another length",
        lambda: cf.FromMatrix(cf.Integers(0, 1), np.eye(2), cf.Integers(0, 2)),
        errors.InvalidParameterError,
        r"2 columns, but Integers\(0, 2\) has 3 outputs",
    ),
    (
        "impossible report",
        lambda: cf.estimate(cf.tally([7]), KRR, cf.IBU()),
        errors.ImpossibleReportError,
        "first: 7, seen 1 times. Were the reports made with another survey",
    ),
    (
        "reports of another kind",
        lambda: cf.estimate(cf.tally(["yes"]), KRR, cf.IBU()),
        errors.ImpossibleReportError,
        "first: 'yes'",
    ),
    ("start with a zero", lambda: cf.IBU(start=[1, 0]), errors.InvalidDistributionError, "got 0 at position 1. Mix"),
    (
        "truth of the wrong length",
        lambda: cf.assess(cf.tally([1]), KRR, cf.IBU(), truth=[0.5, 0.5]),
        errors.InvalidDistributionError,
        r"truth must hold one probability for each of 3 values; got an array of shape \(2,\)",
    ),
    ("one category", lambda: cf.RandomizedResponse(cf.Integers(3, 3), 1.0), errors.InvalidParameterError, "two values"),
    (
        "geometric on categories",
        lambda: cf.TruncatedGeometric(cf.Categories(["a"]), 1.0),
        errors.InvalidParameterError,
        r"whole numbers on a line, Integers\(low, high\); got Categories",
    ),
    (
        "reports where counts belong",
        lambda: cf.estimate([1, 2], KRR, cf.IBU()),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        r"counts must be Counts; got list. Call confide.tally\(reports\) first",
    ),
    (
        "pairs where counts belong",
        lambda: cf.estimate([(cf.tally([1]), KRR)], KRR),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        r"counts must be Counts; got list. confide.estimate_pool\(pairs\) takes pairs \(counts, mechanism\)",
    ),
    (
        "an alphabet where a mechanism belongs",
        lambda: cf.estimate(cf.tally([1]), cf.Integers(0, 2), cf.IBU()),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        "mechanism must be a Mechanism such as TruncatedGeometric; got Integers",
    ),
    (
        "a method's class",
        lambda: cf.estimate(cf.tally([1]), KRR, cf.IBU),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        r"method must be a Method such as IBU\(\); got the class IBU",
    ),
    (
        "a list where an alphabet belongs",
        lambda: cf.RandomizedResponse(["yes", "no"], 1.0),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        "alphabet",
    ),
    (
        "a list where a matrix's alphabet belongs",
        lambda: cf.FromMatrix(["yes", "no"], np.eye(2)),  # type: ignore[arg-type]
        errors.InvalidParameterError,
        "alphabet",
    ),
]


@each(("call", "kind", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input_is_answered(call: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, cf.ConfideError)
    assert "Traceback" not in str(caught.value)
    # The cause would show as "During handling of the above exception ..." and bury the message.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_every_error_has_the_same_root() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) >= 12
    assert all(issubclass(kind, errors.ConfideError) for kind in kinds if not issubclass(kind, Warning))
    warned = {kind for kind in kinds if issubclass(kind, Warning)}
    assert warned == {
        cf.errors.NotIdentifiedWarning,
        cf.errors.PoorFitWarning,
        cf.errors.SimulatedReportsWarning,
        cf.errors.UniformReportsWarning,
    }


def test_errors_are_what_python_programmers_expect() -> None:
    assert issubclass(errors.InvalidInputError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    for kind in (
        "ValueOutsideAlphabet",
        "InvalidParameter",
        "InvalidCounts",
        "InvalidDistribution",
        "ImpossibleReport",
    ):
        assert issubclass(getattr(errors, f"{kind}Error"), errors.InvalidInputError)
    assert not issubclass(errors.NotInvertibleError, ValueError)


def test_a_missing_extra_is_named_with_its_command() -> None:
    error = errors.MissingExtraError("matplotlib", "Drawing", "figures")
    assert str(error) == "Drawing needs matplotlib, which is not installed. Run: pip install 'matplotlib>=3.8'"
