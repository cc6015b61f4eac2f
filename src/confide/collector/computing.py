"""Answers that take a while, computed from counts in a process of their own."""

from __future__ import annotations

import json
import warnings

from confide.collector.client import to_counts_file
from confide.comparisons import assess_pool
from confide.counts import Counts
from confide.diagnosis import diagnose
from confide.errors import ConfideError
from confide.files import diagnosis_record, estimate_record, to_json
from confide.files.records import fit_record
from confide.methods import Stacked
from confide.surveys import Survey
from confide.theory.fit import fit

KINDS = ("estimate", "diagnosis", "fit", "page")


def compute(kind: str, document: str, record: bytes) -> tuple[bool, bytes]:
    """Return whether there is an answer to counts as a collector gives them, and it, or why there is none.

    A failure is returned rather than raised, for what an exception carries need not survive the way back.
    """
    try:
        survey = Survey.from_json(document)
        # As whoever pulls them: with permanent noise, several days may be of the same people.
        counts = to_counts_file(survey, json.loads(record)).groups[()][0]
        with warnings.catch_warnings(action="ignore"):  # what they say stands in the answer
            return True, _ANSWERS[kind](survey, counts).encode()
    except ConfideError as error:
        return False, str(error).encode()


def _estimate(survey: Survey, counts: Counts) -> str:
    outcome = assess_pool([(counts, survey.mechanism)], Stacked(), shape=survey.shape)
    return to_json(estimate_record(survey, counts, outcome))


def _diagnosis(survey: Survey, counts: Counts) -> str:
    found = diagnose(counts, survey.mechanism, name=survey.name, shape=survey.shape)
    return to_json(diagnosis_record(survey, found))


def _fit(survey: Survey, counts: Counts) -> str:
    return to_json(fit_record(fit(counts, survey.mechanism)))


def _page(survey: Survey, counts: Counts) -> str:
    from confide.pages import estimate_page

    outcome = assess_pool([(counts, survey.mechanism)], Stacked(), shape=survey.shape)
    return estimate_page(survey, counts, [outcome])


_ANSWERS = {"estimate": _estimate, "diagnosis": _diagnosis, "fit": _fit, "page": _page}
