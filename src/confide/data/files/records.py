"""Estimates, diagnoses and groups as CSV, JSON and GeoJSON."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from confide.check.answers import Fit
from confide.check.uniformity import Uniformity
from confide.data.files.counts_files import CountsFile, Key, label_group
from confide.data.files.sheets import LIMITS
from confide.data.files.writing import as_lists, as_shown, column_names, csv_text
from confide.errors import DataFileError
from confide.estimates.changes import Linked, Series, follow, name_wave
from confide.estimates.diagnosis import Diagnosis, QueryAnswer, told_in_words, verdict_in_words
from confide.estimates.estimate import Estimate, Outcome
from confide.estimates.explanations import describe_repetition
from confide.estimates.groups import GroupEstimates, GroupReports, recover_pools
from confide.estimates.inference import Band, CrossTable, Interval, Windows
from confide.estimates.inference.inference import Question
from confide.evidence.counts import Counts, Origin, describe_weights, design_effect_of
from confide.solve.methods import Method, Progress
from confide.surveys.survey import Survey
from confide.theory.verdicts import Finding
from confide.values import Alphabet, Indices
from confide.values.queries import Query, describe_query


@dataclass(frozen=True, eq=False, repr=False)
class SurveyGroups(GroupEstimates):
    """Estimates of the groups of a survey.

    Attributes
    ----------
    survey
        The survey.
    by
        The columns that name a group.
    origin
        Origin of the noise of the reports; by default the sum over the groups.
    files
        Number of files of reports; one person may be in each.
    """

    survey: Survey
    by: tuple[str, ...]
    origin: Origin = field(default_factory=Origin)
    files: int = 1

    @property
    def ranked(self) -> list[Key]:
        """The groups, those that differ first, then the largest."""
        different = self.differences.different
        return [*different, *(key for key in self.largest if not self.differences[key].is_different)]

    def __post_init__(self) -> None:
        if not self.origin.total:
            parts = (part.origin for one in self.values() for part in one.groups.values())
            object.__setattr__(self, "origin", sum(parts, Origin()))


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """Answers of all groups to questions, and intervals.

    Attributes
    ----------
    questions
        The answers to each question, by group: mean and median if values are numbers, and queries.
    bands
        An interval for every value of each group, if requested.
    """

    questions: Mapping[str, Mapping[Key, Interval]] = field(default_factory=dict)
    bands: Mapping[Key, Band] = field(default_factory=dict)

    @property
    def ordered(self) -> list[str]:
        """The questions, shares first, which the user asked for."""
        asked = [name for name, found in self.questions.items() if next(iter(found.values())).is_share]
        return list(dict.fromkeys([*asked, *self.questions]))

    @property
    def main(self) -> str | None:
        """The question to show first, if any."""
        return next(iter(self.ordered), None)


def estimate_file(
    counts: CountsFile, survey: Survey, method: Method, *, progress: Progress | None = None
) -> SurveyGroups:
    """Estimate the distribution of every group in a file of counts."""
    pools = counts.pools
    if not pools:
        raise DataFileError("The counts add up to 0; an estimate needs at least one report.")
    # All groups at once, which is faster than one by one.
    found = recover_pools(pools, method, progress)
    return SurveyGroups(found.estimates, survey, counts.heading.by, counts.origin, counts.heading.files)


def ask_groups(
    groups: SurveyGroups,
    queries: Sequence[Query],
    level: float,
    *,
    quantiles: Sequence[float] = (),
    progress: Progress | None = None,
) -> dict[str, dict[Key, Interval]]:
    """Ask all groups for mean, quantiles and queries at once."""
    questions = questions_of(groups, queries, quantiles)
    answers = groups.answer(list(questions.values()), level, progress=progress)
    return dict(zip(questions, answers, strict=True))


def questions_of(
    groups: SurveyGroups, queries: Sequence[Query], quantiles: Sequence[float] = ()
) -> dict[str, Question]:
    """Return what groups are asked: of numbers mean and median too."""
    questions: dict[str, Question] = {}
    if groups.has_numbers:
        if groups.first.alphabet.has_mean:
            questions["mean"] = Question("mean")
        # Always include the median, and only once if the user names it too.
        for share in dict.fromkeys([0.5, *quantiles]):
            name = "median" if share == 0.5 else f"quantile {share:g}"
            questions[name] = Question("quantile", share=share)
    for query in queries:
        questions[describe_query(query)] = Question("query", query, groups.survey.name)
    return questions


def shares_of(survey: Survey) -> list[Query]:
    """Return the shares of a few values, or of one of two."""
    labels = survey.alphabet.labels(range(1 if survey.alphabet.size == 2 else min(survey.alphabet.size, 6)))
    return [f"{survey.name} == {one if one.isalnum() else repr(one)}" for one in labels]


def follow_groups(
    groups: SurveyGroups,
    answers: GroupAnswers,
    questions: Mapping[str, Question],
    linked: Linked | None = None,
) -> list[Series]:
    """Return all answers over time, the main one first."""
    by = groups.by[0]
    return [follow(groups, questions[name], answers.questions[name], linked, by) for name in answers.ordered]


def series_record(series: Series) -> dict[str, Any]:
    """Return one answer over time, and all its changes, as JSON values."""
    waves, test = series.waves, series.test
    pairs = [(one, other) for place, one in enumerate(waves) for other in waves[place + 1 :]]
    # Of many waves only those that follow each other, and each against the first.
    few = pairs if len(waves) <= 60 else [*itertools.pairwise(waves), *((waves[0], one) for one in waves[2:])]
    return {
        "question": series.question,
        "over": series.by,
        "test": {name: plain(one) for name, one in asdict(test).items()},
        "is_linked": series.is_linked,
        "rests_on": series.rests_on,
        "waves": [
            {series.by: name_wave(key), "reports": series.groups.reports[key]} | ends_record(one)
            for key, one in series.answers.items()
        ],
        "changes": [
            {"from": name_wave(one), "to": name_wave(other)} | ends_record(series.change(one, other))
            for one, other in few
        ],
    }


def series_columns(series: Series) -> dict[str, list[Any]]:
    """Return a series as columns: answers, and changes from the wave before."""
    steps = [None, *series.steps]
    columns: dict[str, list[Any]] = {series.by: list(map(name_wave, series.waves))}
    columns["reports"] = [series.groups.reports[key] for key in series.waves]
    for name in ("estimate", "low", "high"):
        columns[name] = [getattr(one, name) for one in series.answers.values()]
    for name in ("estimate", "low", "high"):
        column = "change" if name == "estimate" else f"change_{name}"
        columns[column] = [None if one is None else getattr(one, name) for one in steps]
    return columns


def series_csv(found: Sequence[Series]) -> str:
    """Return one tidy table of all answers over time."""
    header, rows = ["question"], list[tuple[Any, ...]]()
    for series in found:
        columns = series_columns(series)
        header = ["question", *columns]
        rows += [tuple(map(as_shown, (series.question, *row))) for row in zip(*columns.values(), strict=True)]
    return csv_text(map(as_shown, header), rows)


def ends_record(answer: Interval) -> dict[str, float]:
    """Return an estimate with the ends of its interval."""
    return {"estimate": answer.estimate, "low": answer.low, "high": answer.high}


def plain(thing: Any) -> Any:
    """Return a result, an array or a tuple as JSON values."""
    found = thing
    match thing:
        case float() | int() | str() | None:
            pass  # as nearly always
        case np.ndarray():
            found = thing.tolist()
        case tuple():
            found = list(map(plain, thing))
        case Finding():
            found = _pick(thing, "verdict", "reason", "source") | {"numbers": dict(thing.numbers)}
        case Fit():
            # The fields are measured; verdict and words are computed from them.
            found = asdict(thing) | {"verdict": thing.verdict, "words": str(thing)}
        case Uniformity():
            found = {"words": str(thing)} | _pick(thing, *UNIFORMITY, "epsilon")
        case Interval():
            found = answer_record(thing)
        case Band():
            found = _pick(thing, "level", "low", "high", "rests_on", "undetermined")
        case Windows():
            windows = zip(thing.labels, thing.members, thing.told, thing.answers, strict=True)
            listed = [
                {"label": label, "values": thing.alphabet.decode(members).tolist(), "is_told": told} | plain(answer)
                for label, members, told, answer in windows
            ]
            found = {"words": thing.headline, **_pick(thing, "error", "level"), "windows": listed}
    return found


UNIFORMITY = ("is_rejected", "is_weak", "p_value", "people")
"""Fields of a group's uniformity test, without the epsilon, which takes a search."""


def _pick(thing: object, *names: str) -> dict[str, Any]:
    """Return some attributes under their own names."""
    return {name: plain(getattr(thing, name)) for name in names}


def answer_record(answer: Interval) -> dict[str, Any]:
    """Return an answer with its interval as JSON values."""
    return {
        "query": answer.question,
        **_pick(answer, "estimate", "low", "high", "level", "rests_on", "together"),
        "remark": answer.remark or None,
        "undetermined": plain(answer.undetermined),
        **({"labels": list(answer.labels)} if answer.labels else {}),
    }


def estimate_csv(survey: Survey, estimate: Estimate, band: Band | None = None) -> str:
    """Return an estimate as CSV.

    Values, probabilities and, with a band, their ends.
    """
    columns = {"probability": estimate.distribution.tolist()}
    columns |= {} if band is None else {"low": band.low.tolist(), "high": band.high.tolist()}
    return _value_table(_value_names(survey, ("low", "high")), estimate.alphabet, columns)


def margin_csv(name: str, estimate: Estimate, windows: Windows | None) -> str:
    """Return the estimate of one attribute as CSV, with windows."""
    alphabet, columns = estimate.alphabet, {"probability": estimate.distribution.tolist()}
    if windows is not None:
        where = windows.window_of.tolist()
        columns["window"] = [as_shown(windows.labels[place]) for place in where]
        for end in ("estimate", "low", "high"):
            columns["share" if end == "estimate" else end] = [getattr(windows.answers[place], end) for place in where]
    return _value_table((name,) if alphabet.parts == 1 else alphabet.field_names, alphabet, columns)


def cross_csv(table: CrossTable) -> str:
    """Return a cross table as CSV, one row per entry."""
    band = table.band
    columns = {"probability": band.estimate.tolist(), "low": band.low.tolist(), "high": band.high.tolist()}
    return _value_table(band.alphabet.field_names, band.alphabet, columns)


def _value_table(names: Sequence[str], alphabet: Alphabet, columns: Mapping[str, Sequence[Any]]) -> str:
    """Return CSV with a row per value.

    Its parts, its label if any, and the columns.
    """
    header = [*names, *(["label"] if alphabet.has_labels else []), *columns]
    rows = zip(shown_values(alphabet), *columns.values(), strict=True)
    return csv_text(map(as_shown, header), ([*value, *row] for value, *row in rows))


def _value_names(survey: Survey, taken: Iterable[str]) -> tuple[str, ...]:
    """Return names for a value's columns that differ from all others."""
    others = ("probability", "reports", *(["label"] if survey.alphabet.has_labels else []), *taken)
    return column_names(survey.alphabet, survey.name if survey.name not in others else "value")


def shown_values(alphabet: Alphabet) -> list[list[Any]]:
    """Return all values for a spreadsheet, with labels if any."""
    values = as_lists(alphabet.decode(np.arange(alphabet.size)))
    if alphabet.has_labels:
        values = [[*value, label] for value, label in zip(values, alphabet.labels(), strict=True)]
    # All values have the same types, so the first shows whether there are texts; numbers need no escaping.
    has_texts = bool(values) and any(isinstance(part, str) for part in values[0])
    return [list(map(as_shown, value)) for value in values] if has_texts else values


def groups_csv(groups: SurveyGroups, answers: GroupAnswers | None = None) -> str:
    """Return one tidy table with a row per group and value.

    With bands there are columns low and high. Answers of a group are repeated in each of its rows.
    """
    found, label = answers or GroupAnswers(), ["label"] if groups.survey.alphabet.has_labels else []
    ends = ("low", "high") if found.bands else ()
    asked = [column for question in found.questions for column in (question, f"{question} low", f"{question} high")]
    after = ("probability", *ends, "reports", *(["differs", *asked] if found.questions else []))
    header = (*groups.by, *_value_names(groups.survey, (*groups.by, *after)), *label, *after)
    rows: list[tuple[Any, ...]] = []
    for key, one in groups.estimates.items():
        values, band = shown_values(one.alphabet), found.bands.get(key)
        # Expected reports may be fractions; 17 digits restore each exactly.
        shown, reports = tuple(map(as_shown, key)), f"{groups.reports[key]:.17g}"
        answers_of = [by_group[key] for by_group in found.questions.values()]
        told = [number for each in answers_of for number in (each.estimate, each.low, each.high)]
        differs = [{True: "yes", False: "no", None: ""}[_is_different(groups, key)]] if answers_of else []
        pairs = [()] * len(values) if band is None else zip(band.low.tolist(), band.high.tolist(), strict=True)
        for value, share, pair in zip(values, one.distribution.tolist(), pairs, strict=True):
            rows.append((*shown, *value, share, *pair, reports, *differs, *told))
    return csv_text(map(as_shown, header), rows)


def _is_different(groups: SurveyGroups, key: Key) -> bool | None:
    """Return whether a group differs from the others.

    Return None if it is alone.
    """
    return groups.differences[key].is_different if len(groups.estimates) > 1 else None


def estimate_record(
    survey: Survey,
    counts: Counts,
    outcome: Outcome,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
    windows: Windows | None = None,
) -> dict[str, Any]:
    """Return an estimate with all its results as JSON values."""
    answer, considered = outcome.estimate, outcome.estimate.considered
    known = None if considered is None else {"values": considered.alphabet.size, "of": repr(considered.whole)}
    return {
        "uniformity": plain(answer.uniformity),
        **_head(survey, alphabet_record(answer.alphabet) | listed_values(answer.alphabet), counts, answer),
        "status": str(answer.status),
        "explanation": answer.explanation,
        "repeats": {"most_of_one_person": answer.repeats, "words": answer.dependence or None},
        "weights": weights_record(answer.groups.values()),
        "choices": [asdict(choice) for choice in answer.choices],
        **_pick(answer, "iterations", "seconds", "log_likelihood"),
        # Only a maximum of the likelihood has a certificate; for other methods the number means nothing.
        "certificate": answer.certificate if answer.method.seeks_maximum else None,
        **_pick(answer, "identification", "fit"),
        "shape": _shape_record(answer),
        "emd": outcome.emd,
        "emd_unit": answer.alphabet.unit or None,
        "emd_left_out": outcome.emd_left_out or None,
        "total_variation": outcome.total_variation,
        "distribution": answer.distribution.tolist(),
        "considered": known and known | _pick(considered, "proof", "reason"),
        "interval": plain(band),
        "queries": [plain(one) for one in answers if one.is_share],
        "statistics": [plain(one) for one in answers if not one.is_share],
        "windows": plain(windows),
    }


def _head(survey: Survey, alphabet: dict[str, Any], reports: Counts | SurveyGroups, answer: Estimate) -> dict[str, Any]:
    """Return survey, reports and method of an estimate."""
    origin = reports.origin
    return {
        **_survey_record(survey, alphabet),
        # Simulated reports have no guarantee.
        "guarantee": None if origin.is_simulated else str(survey.mechanism.guarantee),
        "reports": reports.total,
        "origin": origin.record,
        "method": answer.method.name,
        "settings": repr(answer.method),
    }


def weights_record(parts: Iterable[Counts]) -> dict[str, Any] | None:
    """Return what weights add up to and cost; None without weights."""
    every = [part.as_counted for part in parts]
    words, effect = describe_weights(every), design_effect_of(every)
    if not words:
        return None
    worth, total = sum(part.total for part in every) / effect, sum(part.weight for part in every)
    return {"sum": total, "design_effect": effect, "effective_reports": worth, "words": words}


def _survey_record(survey: Survey, alphabet: dict[str, Any]) -> dict[str, Any]:
    mechanism = {"kind": survey.mechanism.kind, "description": repr(survey.mechanism)}
    return {"survey": _pick(survey, "name", "title"), "alphabet": alphabet, "mechanism": mechanism}


def _shape_record(answer: Estimate) -> dict[str, Any] | None:
    """Return the shape, whether the survey declared it, and its fit."""
    shape, found = answer.shape, answer.shape_fit
    if shape is None:
        return None
    if found is None:
        return {}
    # The shape stands beside it already, in words.
    fit = {name: value for name, value in asdict(found).items() if name != "shape"}
    words = {"verdict": str(found.verdict), "words": str(found)}
    return {"words": list(shape.words), "is_declared": shape.is_declared, "fit": fit | words}


def tables_record(
    marginals: Mapping[str, tuple[Estimate, Windows | None]], crosses: Sequence[CrossTable]
) -> dict[str, Any]:
    """Return estimates of single attributes and cross tables as JSON values."""

    def total(band: Band) -> dict[str, Any]:
        return {**listed_values(band.alphabet), **_pick(band, "estimate"), **plain(band)}

    return {
        "marginals": {
            name: alphabet_record(one.alphabet)
            | listed_values(one.alphabet)
            | _pick(one, "distribution", "fit")
            | {"windows": plain(windows)}
            for name, (one, windows) in marginals.items()
        },
        "cross": [
            _pick(table, "names", "together")
            | {"entries": total(table.band), "totals": {name: total(one) for name, one in table.totals.items()}}
            for table in crosses
        ],
    }


def groups_record(groups: SurveyGroups, answers: GroupAnswers | None = None) -> dict[str, Any]:
    """Return the estimates of groups with all results as JSON values."""
    survey, first = groups.survey, groups.first
    # On an unbounded alphabet, each group lists the values that it considered.
    values = listed_values(first.alphabet) if survey.alphabet.is_finite else {"values": None}
    return {
        **_head(survey, alphabet_record(survey.alphabet) | values, groups, first),
        "weights": weights_record(groups.seen.counts),
        "identification": plain(groups.identification),
        "uniform": {"words": groups.describe_untold(label_group), "groups": len(groups.untold)},
        "fit": plain(groups.fits.together),
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
        "weights": weights_record(one.groups.values()),
        "status": str(one.status),
        "explanation": one.ending,
        "identified": str(one.identification.verdict),
        "uniformity": None if one.uniformity is None else _pick(one.uniformity, *UNIFORMITY),
        "fit": _pick(groups.fits.groups[key], "verdict", "p_value"),
        "difference": {
            "is_different": _is_different(groups, key),
            "p_value": difference.p_value,
            "words": groups.describe_difference(key),
            "visible": difference.visible,
        },
        **_pick(one, "iterations", "log_likelihood"),
        "certificate": one.certificate if one.method.seeks_maximum else None,
        "answers": [answer_record(by_group[key]) for by_group in answers.questions.values()],
        **({} if groups.survey.alphabet.is_finite else listed_values(one.alphabet)),
        "distribution": one.distribution.tolist(),
        **({} if band is None else _pick(band, "low", "high")),
    }


def group_reports_record(seen: GroupReports, by: Sequence[str]) -> dict[str, Any]:
    """Return fit and differences of groups, before any estimate, as JSON values."""
    return {
        "by": list(by),
        "groups_fit": plain(seen.fits.together),
        "groups": [
            {
                "group": dict(zip(by, key, strict=True)),
                "reports": reports,
                "is_too_small": key in seen.too_small,
                "fit": _pick(seen.fits.groups[key], "verdict", "p_value"),
                "difference": _pick(seen.differences[key], "is_different", "p_value", "visible"),
            }
            for key, reports in seen.reports.items()
        ],
    }


def diagnosis_record(survey: Survey, diagnosis: Diagnosis, answers: Sequence[QueryAnswer] = ()) -> dict[str, Any]:
    """Return a diagnosis as JSON values."""
    counts, error = diagnosis.counts, diagnosis.inversion
    parts, best, partition, maximum, bound = diagnosis.partition, diagnosis.known_maximum, None, None, None
    if parts is not None:
        classes = None if parts.is_trivial else [parts.alphabet.decode(members).tolist() for members in parts.classes]
        told = {"classes": classes, "shares": plain(diagnosis.class_shares)}
        partition = _pick(parts, "size", "is_trivial") | told | _pick(parts, "identification")
    # List the bounds of every value, unless the estimate is unique or there are no reports.
    if best is not None:
        maximum = _pick(best, "dimension", "certificate", "point")
        if best.is_small:
            maximum |= _pick(best, "is_exact") | listed_values(best.alphabet) | _pick(best, "lowest", "highest")
    if error.bound is not None:
        bound = {"kind": error.bound.kind, "times_reports": error.bound.per_report}
        bound |= _pick(error.bound, "proposition", "holds", "condition")
    return {
        **_survey_record(survey, alphabet_record(survey.alphabet)),
        "reports": None if counts is None else counts.as_counted.total,
        "weights": None if counts is None else weights_record([counts]),
        "origin": None if counts is None else counts.origin.record,
        "repetition": describe_repetition(survey),
        "words": [*told_in_words(diagnosis), *verdict_in_words(diagnosis)],
        "shape": None if diagnosis.shape_fit is None else _shape_record(diagnosis.estimate),
        **_pick(diagnosis, "windows", "identification"),
        "consistency": _pick(diagnosis.consistency, "verdict", "continuity", "dominance"),
        "fit": plain(diagnosis.fit),
        "partition": partition,
        "strict_concavity": plain(diagnosis.concavity),
        "uniqueness": plain(diagnosis.uniqueness),
        "maximum_set": maximum,
        "inversion": {
            "mean_squared_error_times_reports": error.per_report,
            "mean_squared_error": error.mean_squared,
            "reason": error.reason or None,
            "bound": bound,
        },
        "chance": None if diagnosis.chance is None else vars(diagnosis.chance),
        "queries": [
            (plain(one.interval) or {}) | _pick(one, "query", "identification", "lowest", "highest", "is_outer")
            for one in answers
        ],
    }


def alphabet_record(alphabet: Alphabet) -> dict[str, Any]:
    """Return an alphabet as JSON values."""
    # A user's own class is named in the style of surveys: bit-vectors for BitVectors.
    own = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in type(alphabet).__name__)
    return {
        "kind": vars(type(alphabet)).get("kind") or own.lstrip("-"),
        # JSON readers have 64-bit integers, and products of attributes can be larger.
        "size": alphabet.size if alphabet.is_finite and alphabet.size < 2**63 else None,
        "unit": alphabet.unit or None,
        "fields": list(alphabet.field_names),
        "description": repr(alphabet),
    }


def listed_values(alphabet: Alphabet) -> dict[str, Any]:
    """Return all values as JSON values, and their labels if these differ."""
    values = {"values": alphabet.decode(np.arange(alphabet.size)).tolist()}
    return values | ({"labels": alphabet.labels()} if alphabet.has_labels else {})


def to_json(record: dict[str, Any]) -> str:
    """Return a record as strict JSON; nan and infinity become null.

    >>> to_json({"certificate": float("inf")})
    '{"certificate": null}'
    """
    return json.dumps(_finite(record), allow_nan=False, ensure_ascii=False)


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
    """Return an estimate over places as GeoJSON, with a polygon per cell.

    Cells have the properties `row`, `column`, `label` and `share`; with a band `low` and `high`; and with windows
    `district`, the number of their district, with `district_share`, `district_low` and `district_high`. The collection
    also has the queries, the level, and the number of cells left out above a hundred thousand.
    """
    estimate = outcome.estimate
    cells, left_out = np.arange(estimate.distribution.size), None
    if cells.size > LIMITS.most_features:
        distribution = estimate.distribution
        fullest = np.argpartition(-distribution, LIMITS.most_features)[: LIMITS.most_features]
        left_out = {"cells": cells.size - fullest.size, "share": float(1 - distribution[fullest].sum())}
        cells = np.sort(fullest)
    places = estimate.alphabet.decode(cells)
    columns = {"row": places[:, 0].tolist(), "column": places[:, 1].tolist(), "label": estimate.alphabet.labels(cells)}
    columns["share"] = estimate.distribution[cells].tolist()
    if band is not None:
        columns |= {"low": band.low[cells].tolist(), "high": band.high[cells].tolist()}
    if windows is not None:
        columns |= district_columns(windows, cells)
    # Outline each cell anticlockwise and closed, longitude first, to a thousandth of a cell.
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


def district_columns(windows: Windows, cells: Indices) -> dict[str, list[Any]]:
    """Return each cell's district, with the share and interval of that district."""
    district = windows.window_of[cells]
    columns = {"district": district.tolist()}
    for name, end in {"share": "estimate", "low": "low", "high": "high"}.items():
        ends = np.array([getattr(one, end) for one in windows.answers])
        columns[f"district_{name}"] = ends[district].tolist()
    return columns


def describe_left_out(alphabet: Alphabet) -> str:
    """Say which cells a GeoJSON file leaves out; empty if none."""
    if alphabet.size <= LIMITS.most_features:
        return ""
    fullest = f"{LIMITS.most_features:,} fullest of {alphabet.size:,} cells"
    return f"It has the {fullest}, and says how many people the others hold."
