"""Estimates, diagnoses and estimates of groups as CSV for people, as JSON for machines, as GeoJSON for maps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from confide.check.fit import Fit
from confide.check.uniformity import Uniformity
from confide.data.files.groups import GroupAnswers, Key, SurveyGroups, label_group
from confide.data.files.limits import LIMITS
from confide.data.files.writing import as_lists, as_shown, column_names, csv_text
from confide.estimates.comparisons import Outcome
from confide.estimates.diagnosis import Diagnosis, QueryAnswer
from confide.estimates.diagnosis.words import told_in_words, verdict_in_words
from confide.estimates.estimate import Estimate
from confide.estimates.explanations import describe_repetition
from confide.estimates.groups import GroupReports
from confide.estimates.inference import Band, CrossTable, Interval, Windows
from confide.evidence.counts import Counts
from confide.evidence.origins import Origin
from confide.surveys.survey import Survey
from confide.theory.inversion_error import InversionError
from confide.theory.verdicts import Finding
from confide.values import Alphabet, Indices

LABEL_COLUMN = "label"
"""Column beside a value that says what people call it, where that is another text."""


def estimate_csv(survey: Survey, estimate: Estimate, band: Band | None = None) -> str:
    """Return an estimate as CSV: each value, its probability and, with a band, its low and high end."""
    values = shown_values(estimate.alphabet)
    columns = {"probability": estimate.distribution} | ({} if band is None else {"low": band.low, "high": band.high})
    header = (*value_columns(survey, ("low", "high")), *columns)
    numbers = np.column_stack(list(columns.values())).tolist()
    return csv_text(map(as_shown, header), ([*value, *row] for value, row in zip(values, numbers, strict=True)))


def value_columns(survey: Survey, taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what the columns of a value are called beside its probability and other columns.

    Where people read another text than the value, it stands in a column of its own.
    """
    label = (LABEL_COLUMN,) if survey.alphabet.has_labels else ()
    others = ("probability", "reports", *label, *taken)
    return (*column_names(survey.alphabet, survey.name if survey.name not in others else "value"), *label)


def estimate_record(
    survey: Survey,
    counts: Counts,
    outcome: Outcome,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
    windows: Windows | None = None,
) -> dict[str, Any]:
    """Return everything that is known about an estimate, ready for :func:`to_json`."""
    answer, considered = outcome.estimate, outcome.estimate.considered
    return {
        "uniformity": None if answer.uniformity is None else uniformity_record(answer.uniformity),
        **_survey_record(survey, alphabet_record(answer.alphabet) | listed_values(answer.alphabet)),
        "guarantee": _guarantee(survey, counts.origin),
        "reports": counts.total,
        "origin": counts.origin.record,
        "method": answer.method.name,
        "settings": repr(answer.method),
        "status": str(answer.status),
        "explanation": answer.explanation,
        "repeats": {"most_of_one_person": answer.repeats, "words": answer.dependence or None},
        "choices": [asdict(choice) for choice in answer.choices],
        "iterations": answer.iterations,
        "seconds": answer.seconds,
        "log_likelihood": answer.log_likelihood,
        "certificate": answer.certificate if answer.method.seeks_maximum else None,
        "identification": finding_record(answer.identification),
        "fit": fit_record(answer.fit),
        "shape": None if answer.shape is None else _shape_record(answer),
        "emd": outcome.emd,
        "emd_unit": answer.alphabet.unit or None,
        "emd_left_out": outcome.emd_left_out or None,
        "total_variation": outcome.total_variation,
        "distribution": answer.distribution.tolist(),
        "considered": None
        if considered is None
        else {"values": considered.alphabet.size, "of": repr(considered.whole)} | _pick(considered, "proof", "reason"),
        "interval": None if band is None else _band_record(band),
        "queries": [answer_record(one) for one in answers if one.is_share],
        "statistics": [answer_record(one) for one in answers if not one.is_share],
        "windows": None if windows is None else windows_record(windows),
    }


def tables_record(
    marginals: Mapping[str, tuple[Estimate, Windows | None]], crosses: Sequence[CrossTable]
) -> dict[str, Any]:
    """Return what is known about single attributes, and about several together, ready for :func:`to_json`."""
    return {
        "marginals": {
            name: alphabet_record(one.alphabet)
            | listed_values(one.alphabet)
            | {
                "distribution": one.distribution.tolist(),
                "fit": fit_record(one.fit),
                "windows": None if windows is None else windows_record(windows),
            }
            for name, (one, windows) in marginals.items()
        },
        "cross": [
            {"names": list(table.names), "together": table.together, "entries": _total_record(table.band)}
            | {"totals": {name: _total_record(total) for name, total in table.totals.items()}}
            for table in crosses
        ],
    }


def _total_record(band: Band) -> dict[str, Any]:
    return listed_values(band.alphabet) | {"estimate": band.estimate.tolist()} | _band_record(band)


def margin_csv(name: str, estimate: Estimate, windows: Windows | None) -> str:
    """Return the estimate of one attribute as CSV: each value, its probability, and the window it is in, with ends."""
    alphabet, columns = estimate.alphabet, [[share] for share in estimate.distribution.tolist()]
    header = [*((name,) if alphabet.parts == 1 else alphabet.field_names), *([LABEL_COLUMN] * alphabet.has_labels)]
    header += ["probability"]
    if windows is not None:
        header += ["window", "share", "low", "high"]
        for label, members, one in zip(windows.labels, windows.members, windows.answers, strict=True):
            for place in members.tolist():
                columns[place] += [as_shown(label), one.estimate, one.low, one.high]
    rows = zip(shown_values(alphabet), columns, strict=True)
    return csv_text(map(as_shown, header), ([*value, *row] for value, row in rows))


def cross_csv(table: CrossTable) -> str:
    """Return a cross table as CSV, one row an entry: its values, its probability, its low and high end."""
    band = table.band
    header = [*band.alphabet.field_names, *([LABEL_COLUMN] * band.alphabet.has_labels), "probability", "low", "high"]
    rows = zip(shown_values(band.alphabet), band.estimate.tolist(), band.low.tolist(), band.high.tolist(), strict=True)
    return csv_text(map(as_shown, header), ([*value, *ends] for value, *ends in rows))


def windows_record(windows: Windows) -> dict[str, Any]:
    """Return windows with their intervals and the values of each, ready for :func:`to_json`."""
    found = zip(windows.labels, windows.members, windows.told, windows.answers, strict=True)
    return {
        "words": windows.headline,
        "error": windows.error,
        "level": windows.level,
        "windows": [
            {"label": label, "values": windows.alphabet.decode(members).tolist(), "is_told": is_told}
            | answer_record(answer)
            for label, members, is_told, answer in found
        ],
    }


def _pick(thing: object, *names: str) -> dict[str, Any]:
    """Return some attributes under their own names."""
    return {name: getattr(thing, name) for name in names}


def _survey_record(survey: Survey, alphabet: dict[str, Any]) -> dict[str, Any]:
    mechanism = {"kind": survey.mechanism.kind, "description": repr(survey.mechanism)}
    return {"survey": _pick(survey, "name", "title"), "alphabet": alphabet, "mechanism": mechanism}


def _guarantee(survey: Survey, origin: Origin) -> str | None:
    """Return what the survey promises; nothing where reports are simulated, for these have no promise."""
    return None if origin.is_simulated else str(survey.mechanism.guarantee)


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a verdict, its reason and what it rests on, ready for :func:`to_json`."""
    numbers = {"numbers": dict(finding.numbers)}
    return {"verdict": str(finding.verdict)} | _pick(finding, "reason", "source") | numbers


def uniformity_record(found: Uniformity) -> dict[str, Any]:
    """Return whether the reports tell their people from a uniform population, ready for :func:`to_json`."""
    return {"words": str(found)} | _short_uniformity(found) | {"epsilon": found.epsilon}


def _short_uniformity(found: Uniformity) -> dict[str, Any]:
    """Return the same without the epsilon that would do, which takes a search: for each of many groups."""
    people = found.people if math.isfinite(found.people) else None
    return _pick(found, "is_rejected", "is_weak", "p_value") | {"people": people}


def fit_record(fit: Fit) -> dict[str, Any]:
    """Return whether the reports fit the mechanism, and all that the test found, ready for :func:`to_json`."""
    return asdict(fit) | {"verdict": str(fit.verdict), "words": str(fit)}


def _short_fit(fit: Fit) -> dict[str, Any]:
    return {"verdict": str(fit.verdict), "p_value": fit.p_value}


def _shape_record(answer: Estimate) -> dict[str, Any]:
    """Return the shape, whether a survey declared it, and how it fits."""
    shape, found = answer.shape, answer.shape_fit
    if shape is None or found is None:
        return {}
    fit = {name: value for name, value in asdict(found).items() if name != "shape"}
    words = {"verdict": str(found.verdict), "words": str(found)}
    return {"words": list(shape.words), "is_declared": shape.is_declared, "fit": fit | words}


def _band_record(band: Band) -> dict[str, Any]:
    return {
        "level": band.level,
        "low": band.low.tolist(),
        "high": band.high.tolist(),
        "rests_on": band.rests_on,
        "undetermined": None if band.undetermined is None else [ends.tolist() for ends in band.undetermined],
    }


def answer_record(answer: Interval) -> dict[str, Any]:
    """Return an answer with its interval, ready for :func:`to_json`."""
    return {
        "query": answer.question,
        **_pick(answer, "estimate", "low", "high", "level", "rests_on", "together"),
        "prospect": answer.prospect or None,
        "remark": answer.remark or None,
        "undetermined": None if answer.undetermined is None else list(answer.undetermined),
        **({"labels": list(answer.labels)} if answer.labels else {}),
    }


def alphabet_record(alphabet: Alphabet) -> dict[str, Any]:
    """Return what an alphabet is, ready for :func:`to_json`."""
    # A class of one's own is named as names are written in a survey: bit-vectors for BitVectors.
    own = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in type(alphabet).__name__)
    return {
        "kind": vars(type(alphabet)).get("kind") or own.lstrip("-"),
        "size": alphabet.size if alphabet.is_finite and alphabet.size < 2**63 else None,
        "unit": alphabet.unit or None,
        "fields": list(alphabet.field_names),
        "description": repr(alphabet),
    }


def to_json(record: dict[str, Any]) -> str:
    """Return a record as strict JSON, where what is not a finite number is null.

    >>> to_json({"certificate": float("inf")})
    '{"certificate": null}'
    """
    return json.dumps(_finite(record), allow_nan=False, ensure_ascii=False)


def groups_csv(groups: SurveyGroups, answers: GroupAnswers | None = None) -> str:
    """Return one tidy table: a row for each group and value, with its probability and the reports of the group.

    With bands there are columns low and high; whatever was asked of each group besides stands in every row of it.
    """
    found = answers or GroupAnswers()
    ends = ("low", "high") if found.bands else ()
    asked = [column for question in found.questions for column in (question, f"{question} low", f"{question} high")]
    after = ("probability", *ends, "reports", *(["differs", *asked] if found.questions else []))
    header = (*groups.by, *value_columns(groups.survey, (*groups.by, *after)), *after)
    rows: list[tuple[Any, ...]] = []
    for key, one in groups.estimates.items():
        values, band = shown_values(one.alphabet), found.bands.get(key)
        shown, reports = tuple(map(as_shown, key)), f"{groups.reports[key]:.17g}"
        answers_of = [by_group[key] for by_group in found.questions.values()]
        told = [number for each in answers_of for number in (each.estimate, each.low, each.high)]
        differs = [{True: "yes", False: "no", None: ""}[_is_different(groups, key)]] if answers_of else []
        pairs = [()] * len(values) if band is None else zip(band.low.tolist(), band.high.tolist(), strict=True)
        for value, share, pair in zip(values, one.distribution.tolist(), pairs, strict=True):
            rows.append((*shown, *value, share, *pair, reports, *differs, *told))
    return csv_text(map(as_shown, header), rows)


def _is_different(groups: SurveyGroups, key: Key) -> bool | None:
    """Return whether a group differs from the others; None where there are no others."""
    return groups.differences[key].is_different if len(groups.estimates) > 1 else None


def shown_values(alphabet: Alphabet) -> list[list[Any]]:
    """Return all values for a spreadsheet, each with its label where it has one; numbers need no second look."""
    values = as_lists(alphabet.decode(np.arange(alphabet.size)))
    if alphabet.has_labels:
        values = [[*value, label] for value, label in zip(values, alphabet.labels(), strict=True)]
    has_texts = bool(values) and any(isinstance(part, str) for part in values[0])
    return [list(map(as_shown, value)) for value in values] if has_texts else values


def listed_values(alphabet: Alphabet) -> dict[str, Any]:
    """Return all values as JSON has them, and beside them their labels where these are other texts."""
    values = {"values": alphabet.decode(np.arange(alphabet.size)).tolist()}
    return values | ({"labels": alphabet.labels()} if alphabet.has_labels else {})


def groups_record(groups: SurveyGroups, answers: GroupAnswers | None = None) -> dict[str, Any]:
    """Return everything that is known about the estimates, ready for :func:`confide.data.files.to_json`."""
    survey, first = groups.survey, groups.first
    values = listed_values(first.alphabet) if survey.alphabet.is_finite else {"values": None}
    return {
        **_survey_record(survey, alphabet_record(survey.alphabet) | values),
        "guarantee": _guarantee(survey, groups.origin),
        "reports": groups.total,
        "origin": groups.origin.record,
        "method": first.method.name,
        "settings": repr(first.method),
        "identification": finding_record(groups.identification),
        "uniform": {"words": groups.describe_untold(label_group), "groups": len(groups.untold)},
        "fit": fit_record(groups.fits.together),
        "differences": {
            "false_discovery_rate": groups.differences.level,
            "different": len(groups.differences.different),
        },
        "by": list(groups.by),
        "groups": [_group_record(groups, key, one, answers or GroupAnswers()) for key, one in groups.estimates.items()],
    }


def _group_record(groups: SurveyGroups, key: Key, one: Estimate, answers: GroupAnswers) -> dict[str, Any]:
    difference, band = groups.differences[key], answers.bands.get(key)
    return {
        "group": dict(zip(groups.by, key, strict=True)),
        "reports": groups.reports[key],
        "status": str(one.status),
        "explanation": one.ending,
        "identified": str(one.identification.verdict),
        "uniformity": None if one.uniformity is None else _short_uniformity(one.uniformity),
        "fit": _short_fit(groups.fits.groups[key]),
        "difference": {
            "is_different": _is_different(groups, key),
            "p_value": difference.p_value,
            "words": groups.describe_difference(key),
            "visible": difference.visible,
        },
        "iterations": one.iterations,
        "log_likelihood": one.log_likelihood,
        "certificate": one.certificate if one.method.seeks_maximum else None,
        "answers": [answer_record(by_group[key]) for by_group in answers.questions.values()],
        **({} if groups.survey.alphabet.is_finite else listed_values(one.alphabet)),
        "distribution": one.distribution.tolist(),
        **({} if band is None else {"low": band.low.tolist(), "high": band.high.tolist()}),
    }


def group_reports_record(seen: GroupReports, by: Sequence[str]) -> dict[str, Any]:
    """Return what the reports of groups tell before anything is estimated, ready for :func:`to_json`."""
    return {
        "by": list(by),
        "groups_fit": fit_record(seen.fits.together),
        "groups": [
            {
                "group": dict(zip(by, key, strict=True)),
                "reports": reports,
                "is_too_small": key in seen.too_small,
                "fit": _short_fit(seen.fits.groups[key]),
                "difference": _pick(seen.differences[key], "is_different", "p_value", "visible"),
            }
            for key, reports in seen.reports.items()
        ],
    }


def diagnosis_record(survey: Survey, diagnosis: Diagnosis, answers: Sequence[QueryAnswer] = ()) -> dict[str, Any]:
    """Return everything that a diagnosis found, ready for :func:`confide.data.files.to_json`."""
    return {
        **_survey_record(survey, alphabet_record(survey.alphabet)),
        "reports": None if diagnosis.counts is None else diagnosis.counts.total,
        "origin": None if diagnosis.counts is None else diagnosis.counts.origin.record,
        "repetition": describe_repetition(survey),
        "words": [*told_in_words(diagnosis), *verdict_in_words(diagnosis)],
        "shape": None if diagnosis.shape_fit is None else _shape_record(diagnosis.estimate),
        "windows": None if diagnosis.windows is None else windows_record(diagnosis.windows),
        "identification": _finding(diagnosis.identification),
        "consistency": {
            "verdict": str(diagnosis.consistency.verdict),
            "continuity": _finding(diagnosis.consistency.continuity),
            "dominance": _finding(diagnosis.consistency.dominance),
        },
        "fit": None if diagnosis.fit is None else fit_record(diagnosis.fit),
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
    record = _pick(best, "dimension", "certificate") | {"point": best.point.tolist()}
    if best.is_small:
        ends = {"lowest": best.lowest.tolist(), "highest": best.highest.tolist()}
        record |= {"is_exact": best.is_exact} | listed_values(best.alphabet) | ends
    return record


def _inversion(error: InversionError) -> dict[str, Any]:
    bound = error.bound
    names = ("proposition", "holds", "condition")
    told = {} if bound is None else {"kind": bound.kind, "times_reports": bound.per_report} | _pick(bound, *names)
    return {
        "mean_squared_error_times_reports": error.per_report,
        "mean_squared_error": error.mean_squared,
        "reason": error.reason or None,
        "bound": told or None,
    }


def _answer(answer: QueryAnswer) -> dict[str, Any]:
    found = answer.interval
    return ({} if found is None else answer_record(found)) | {
        "query": answer.query,
        "identification": _finding(answer.identification),
        **_pick(answer, "lowest", "highest", "is_outer"),
    }


def _finite(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {key: _finite(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_finite(value) for value in thing]
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing


def estimate_geojson(
    survey: Survey,
    outcome: Outcome,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
    windows: Windows | None = None,
) -> str:
    """Return an estimate over places as a FeatureCollection: a polygon for each cell, with all that is known of it.

    Cells have the properties `row`, `column`, `label` and `share`; with a band `low` and `high`; and with windows
    `district`, the number of the district that they are in, whose share and interval are `district_share`,
    `district_low` and `district_high`. Beside the features stand what was asked, the level, and the cells that are left
    out where there are more than a hundred thousand.
    """
    estimate = outcome.estimate
    cells, left_out = _shown(estimate.distribution)
    places = estimate.alphabet.decode(cells)
    columns = {"row": places[:, 0].tolist(), "column": places[:, 1].tolist(), "label": estimate.alphabet.labels(cells)}
    columns["share"] = estimate.distribution[cells].tolist()
    if band is not None:
        columns |= {"low": band.low[cells].tolist(), "high": band.high[cells].tolist()}
    if windows is not None:
        columns |= district_columns(windows, cells)
    # The outline of each cell, anticlockwise and closed, longitude first, to a thousandth of a cell.
    corners = estimate.alphabet.corners(cells)[..., ::-1]
    digits = max(6, 3 - math.floor(math.log10(float(np.ptp(corners, axis=1).min()))))
    rings = np.concatenate([corners, corners[:, :1]], axis=1).round(digits).tolist()
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [ring]},
            "properties": dict(zip(columns, row, strict=True)),
        }
        for ring, row in zip(rings, zip(*columns.values(), strict=True), strict=True)
    ]
    about = {
        "title": survey.title,
        "level": None if band is None else band.level,
        "method": estimate.method.name,
        "emd": outcome.emd,
        "emd_unit": estimate.alphabet.unit or None,
        "queries": [answer_record(one) for one in answers if one.is_share],
        "left_out": left_out,
    }
    collection = {"type": "FeatureCollection", "features": features, "confide": about}
    return to_json(collection) + "\n"


def describe_left_out(alphabet: Alphabet) -> str:
    """Say which cells a file of features leaves out; nothing where it has all."""
    if alphabet.size <= LIMITS.most_features:
        return ""
    fullest = f"{LIMITS.most_features:,} fullest of {alphabet.size:,} cells"
    return f"It has the {fullest}, and says how many people the others hold."


def _shown(distribution: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[Indices, dict[str, Any] | None]:
    """Return the cells that get a feature, in their order, and what the others come to."""
    if distribution.size <= LIMITS.most_features:
        return np.arange(distribution.size), None
    fullest = np.argpartition(-distribution, LIMITS.most_features)[: LIMITS.most_features]
    others = {"cells": distribution.size - LIMITS.most_features, "share": float(1 - distribution[fullest].sum())}
    return np.sort(fullest), others


def district_columns(windows: Windows, cells: Indices) -> dict[str, list[Any]]:
    """Return of each cell the number of its district, and the district's share and interval."""
    district = windows.window_of[cells]
    columns = {"district": district.tolist()}
    for name, end in {"share": "estimate", "low": "low", "high": "high"}.items():
        ends = np.array([getattr(one, end) for one in windows.answers])
        columns[f"district_{name}"] = ends[district].tolist()
    return columns
