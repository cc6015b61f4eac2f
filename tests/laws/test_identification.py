"""Every estimate, of every mechanism and by every method, says whether the mechanism identifies the distribution."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given
from tests.cases import each
from tests.laws.examples import FAMILIES, METHOD_VALUES, is_unbounded, label, mechanisms
from tests.laws.test_methods import drawn_counts

from confide import IBU, Categories, FromMatrix, Integers, Mechanism, Method, Remapped, estimate
from confide.errors import NotIdentifiedWarning, NotInvertibleError, PoorFitWarning, UniformReportsWarning
from confide.mechanisms import RandomizedResponse
from confide.theory.identification import pool_identification
from confide.theory.verdicts import Verdict

EVERY_KIND = [family.examples[0] for family in FAMILIES.values()]
LETTERS = Categories(["a", "b", "c"])
UNIDENTIFIED = [
    FromMatrix(LETTERS, [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]]),
    FromMatrix(LETTERS, [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]]),
    FromMatrix(LETTERS, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.375, 0.375, 0.25]]),
    Remapped(RandomizedResponse(LETTERS, 1.0), Categories(["x", "y"]), (0, 1, 1)),
    Remapped(RandomizedResponse(LETTERS, 1.0), Integers(1, 3), (0, 0, 2)),
]
"""Too few outputs, twins, one row between two others, and outputs that are merged, or merged and one never used."""


def rank(mechanism: Mechanism) -> int:
    return int(np.linalg.matrix_rank(mechanism.channel.dense()))


@each("mechanism", EVERY_KIND, ids=label)
def test_an_estimate_of_every_kind_of_mechanism_knows(mechanism: Mechanism) -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        answer = estimate(drawn_counts(mechanism), mechanism, IBU())
    known = answer.identification
    assert known == pool_identification((mechanism,))
    assert known.verdict in (Verdict.YES, Verdict.NO)
    # Invented counts may well fit badly, or be few, which is another warning's business.
    found = [warning.category for warning in caught if warning.category not in (PoorFitWarning, UniformReportsWarning)]
    assert found == [NotIdentifiedWarning] * known.is_no
    assert answer.explanation.endswith(answer.ending) is known.is_yes


@each("method", METHOD_VALUES, ids=label)
@each("mechanism", UNIDENTIFIED, ids=label)
def test_no_method_is_silent_where_the_answer_is_one_of_many(mechanism: Mechanism, method: Method) -> None:
    counts = drawn_counts(mechanism)
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            answer = estimate(counts, mechanism, method)
        except NotInvertibleError:
            return  # said even louder
    (warning,) = (one for one in caught if one.category is not PoorFitWarning)
    assert (warning.category, warning.filename) == (NotIdentifiedWarning, __file__)
    assert "cannot identify the distribution" in str(warning.message)
    assert answer.identification.is_no
    assert f"{answer.ending}. These reports cannot identify the distribution" in answer.explanation
    for cure in ("diagnose", ".query(", ".interval()", "merge values", answer.identification.reason):
        assert cure in answer.explanation


@given(mechanisms)
def test_verdicts_agree_with_the_rank(mechanism: Mechanism) -> None:
    """NumPy's own judgement of rank, which knows no lemma, is the oracle; doubt is allowed, contradiction is not."""
    if is_unbounded(mechanism) or mechanism.report_alphabet.size > 4096:
        return
    values, verdict = mechanism.alphabet.size, pool_identification((mechanism,)).verdict
    if verdict is Verdict.NO:
        assert rank(mechanism) < values
    elif rank(mechanism) == values:
        assert verdict in (Verdict.YES, Verdict.TOO_CLOSE)
