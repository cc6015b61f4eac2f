"""A diagnosis as a record for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.surveys import Survey
from confide.tables.writing import alphabet_record, finding_record
from confide.theory.diagnosis import Diagnosis, QueryAnswer
from confide.theory.inversion_error import InversionError
from confide.theory.maximum_set import MaximumSet
from confide.theory.verdicts import Finding
from confide.theory.words import verdict_in_words


def diagnosis_record(survey: Survey, diagnosis: Diagnosis, answers: Sequence[QueryAnswer] = ()) -> dict[str, Any]:
    """Return everything that a diagnosis found, ready for :func:`confide.tables.to_json`."""
    return {
        "survey": {"name": survey.name, "title": survey.title},
        "alphabet": alphabet_record(survey.alphabet),
        "mechanism": {"kind": survey.mechanism.kind, "description": repr(survey.mechanism)},
        "reports": None if diagnosis.counts is None else diagnosis.counts.total,
        "words": verdict_in_words(diagnosis),
        "identification": _finding(diagnosis.identification),
        "consistency": {
            "verdict": str(diagnosis.consistency.verdict),
            "continuity": _finding(diagnosis.consistency.continuity),
            "dominance": _finding(diagnosis.consistency.dominance),
        },
        "partition": _partition(diagnosis),
        "strict_concavity": _finding(diagnosis.concavity),
        "uniqueness": _finding(diagnosis.uniqueness),
        "maximum_set": _maximum_set(diagnosis),
        "inversion": _inversion(diagnosis.inversion),
        "chance": None if diagnosis.chance is None else vars(diagnosis.chance),
        "queries": [_answer(answer) for answer in answers],
    }


def _finding(finding: Finding | None) -> dict[str, Any] | None:
    return None if finding is None else finding_record(finding)


def _partition(diagnosis: Diagnosis) -> dict[str, Any] | None:
    parts, shares = diagnosis.partition, diagnosis.class_shares
    if parts is None:
        return None
    return {
        "size": parts.size,
        "is_trivial": parts.is_trivial,
        "classes": None if parts.is_trivial else [parts.alphabet.decode(members).tolist() for members in parts.classes],
        "shares": None if shares is None else shares.tolist(),
        "identification": _finding(parts.identification),
    }


def _maximum_set(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the bounds of every value; None where the estimate is unique without them, or there are no reports."""
    best = diagnosis.known_maximum
    if best is None:
        return None
    record = {"dimension": best.dimension, "certificate": best.certificate, "point": best.point.tolist()}
    return record | ({"is_exact": best.is_exact} | _bounds(best) if best.is_small else {})


def _bounds(best: MaximumSet) -> dict[str, Any]:
    values = best.alphabet.decode(np.arange(best.alphabet.size)).tolist()
    return {"values": values, "lowest": best.lowest.tolist(), "highest": best.highest.tolist()}


def _inversion(error: InversionError) -> dict[str, Any]:
    bound = error.bound
    return {
        "mean_squared_error_times_reports": error.per_report,
        "mean_squared_error": error.mean_squared,
        "reason": error.reason or None,
        "bound": None
        if bound is None
        else {
            "kind": bound.kind,
            "times_reports": bound.per_report,
            "proposition": bound.proposition,
            "holds": bound.holds,
            "condition": bound.condition,
        },
    }


def _answer(answer: QueryAnswer) -> dict[str, Any]:
    return {
        "query": answer.query,
        "identification": _finding(answer.identification),
        "lowest": answer.lowest,
        "highest": answer.highest,
        "is_outer": answer.is_outer,
    }
