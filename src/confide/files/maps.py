"""Estimates of places as GeoJSON (RFC 7946): one feature a cell, with its share and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.alphabets import Alphabet, Indices
from confide.comparisons import Outcome
from confide.files.records import answer_record, to_json
from confide.intervals import Band, Interval, Windows
from confide.surveys import Survey

MOST_FEATURES = 100_000
"""Cells that a file of features has at most, the fullest ones: 30 MB, which programs for maps still open."""


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
    columns = _columns(estimate.alphabet, cells) | {"share": estimate.distribution[cells].tolist()}
    if band is not None:
        columns |= {"low": band.low[cells].tolist(), "high": band.high[cells].tolist()}
    if windows is not None:
        columns |= _district_columns(windows, cells)
    features = [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": dict(properties)}
        for ring, properties in zip(_rings(estimate.alphabet, cells), _rows(columns), strict=True)
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
    if alphabet.size <= MOST_FEATURES:
        return ""
    return f"It has the {MOST_FEATURES:,} fullest of {alphabet.size:,} cells, and says how many people the others hold."


def _shown(distribution: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[Indices, dict[str, Any] | None]:
    """Return the cells that get a feature, in their order, and what the others come to."""
    if distribution.size <= MOST_FEATURES:
        return np.arange(distribution.size), None
    fullest = np.argpartition(-distribution, MOST_FEATURES)[:MOST_FEATURES]
    others = {"cells": distribution.size - MOST_FEATURES, "share": float(1 - distribution[fullest].sum())}
    return np.sort(fullest), others


def _columns(alphabet: Alphabet, cells: Indices) -> dict[str, list[Any]]:
    values = alphabet.decode(cells)
    return {"row": values[:, 0].tolist(), "column": values[:, 1].tolist(), "label": alphabet.labels(cells)}


def _district_columns(windows: Windows, cells: Indices) -> dict[str, list[Any]]:
    district = windows.window_of[cells]
    ends = {"share": "estimate", "low": "low", "high": "high"}
    known = {name: np.array([getattr(one, end) for one in windows.answers]) for name, end in ends.items()}
    return {"district": district.tolist()} | {
        f"district_{name}": all_[district].tolist() for name, all_ in known.items()
    }


def _rows(columns: dict[str, list[Any]]) -> list[list[tuple[str, Any]]]:
    names = list(columns)
    return [list(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rings(alphabet: Alphabet, cells: Indices) -> list[list[list[float]]]:
    """Return the outline of each cell, anticlockwise and closed, longitude first, to a thousandth of a cell."""
    corners = alphabet.corners(cells)[..., ::-1]
    size = float(np.ptp(corners, axis=1).min())
    digits = max(6, 3 - math.floor(math.log10(size)))
    rings: list[list[list[float]]] = np.concatenate([corners, corners[:, :1]], axis=1).round(digits).tolist()
    return rings
