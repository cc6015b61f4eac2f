"""Estimates as GeoJSON: valid by RFC 7946, with every share and interval."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.surveys import HALVES

import confide as cf
from confide.data.files import describe_left_out, estimate_geojson
from confide.data.files.sheets import LIMITS
from confide.values.geojson import read_areas

PLACES = cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3)
MECHANISM = cf.TruncatedPlanarLaplace(PLACES, epsilon=1.0)
SURVEY = cf.Survey(MECHANISM, "home", "Where people live")
COUNTS = MECHANISM.simulate_counts(np.arange(1, 13) * 50, rng=1)


@pytest.fixture(scope="module")
def outcome() -> cf.estimates.Outcome:
    return cf.assess(COUNTS, MECHANISM, cf.IBU())


def test_a_feature_for_each_cell(outcome: cf.estimates.Outcome) -> None:
    band, windows = outcome.estimate.interval(basis=cf.estimates.Likelihood()), outcome.estimate.windows()
    (answer,) = outcome.estimate.queries(read_areas(HALVES["features"][0]))
    content = json.loads(estimate_geojson(SURVEY, outcome, band, [answer], windows))
    assert content["type"] == "FeatureCollection"
    assert [one["properties"]["share"] for one in content["features"]] == outcome.estimate.distribution.tolist()
    for number, one in enumerate(content["features"]):
        properties = one["properties"]
        assert [properties["row"], properties["column"]] == PLACES.decode([number])[0].tolist()
        assert properties["low"] <= properties["share"] <= properties["high"]
        assert properties["low"] == band.low[number]
        district = windows.answers[properties["district"]]
        assert (properties["district_share"], properties["district_low"]) == (district.estimate, district.low)
        assert number in windows.members[properties["district"]]
    assert content["confide"]["queries"][0]["query"] == "within South"
    assert content["confide"]["left_out"] is None


def test_rings_are_closed_and_run_anticlockwise(outcome: cf.estimates.Outcome) -> None:
    content = json.loads(estimate_geojson(SURVEY, outcome))
    areas = read_areas(content)  # which is strict
    assert len(areas) == PLACES.size
    for number, area in enumerate(areas):
        ring = area.polygons[0][0]
        turned = np.sum(ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1])
        assert turned > 0
        assert area.contains(PLACES.centres([number]))[0]


def test_of_very_many_cells_the_fullest_are_written(
    outcome: cf.estimates.Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(LIMITS), "most_features", 5)
    content = json.loads(estimate_geojson(SURVEY, outcome))
    shares = np.sort(outcome.estimate.distribution)
    assert sorted(one["properties"]["share"] for one in content["features"]) == shares[-5:].tolist()
    assert content["confide"]["left_out"] == {"cells": 7, "share": pytest.approx(shares[:-5].sum())}
    assert "5 fullest of 12 cells" in describe_left_out(PLACES)
