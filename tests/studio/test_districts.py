"""Districts of one's own on Look: named, shaded, with their intervals, from a file that stays in the browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.studio.looking import watch
from tests.studio.running import RunningStudio
from tests.studio.test_journey import look_at, post

import confide as cf
from confide.errors import InvalidParameterError
from confide.studio.drafts import chosen_districts

if TYPE_CHECKING:
    from playwright.sync_api import Page

AREA = cf.Places(south=59.90, west=10.70, north=59.95, east=10.80, cell="1 km")


def box(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def collection(**areas: Any) -> dict[str, Any]:
    features = [
        {"type": "Feature", "properties": {"id": 7, "name": name}, "geometry": {"type": kind, "coordinates": rings}}
        for name, (kind, rings) in areas.items()
    ]
    return {"type": "FeatureCollection", "features": features}


WEST = box(10.69, 59.89, 10.75, 59.96)
EAST = box(10.75, 59.89, 10.81, 59.96)
HOLE = box(10.76, 59.91, 10.79, 59.94)


@pytest.mark.slow
def test_named_districts_are_shaded_with_their_intervals(studio: RunningStudio, page: Page) -> None:
    survey = cf.Survey(cf.TruncatedPlanarLaplace(AREA, 2.2), "home", "Where do you live?")
    assert studio.ask("/v1/surveys", survey.to_json().encode()).status == 201
    post(studio, survey, 3_000, values=np.array([(0, 0), (1, 1), (4, 4), (2, 4)]))
    watched = watch(page)
    look_at(page, studio, survey.fingerprint)
    page.locator(".picture svg").first.wait_for()
    given = collection(Vest=("Polygon", [WEST]), Øst=("MultiPolygon", [[EAST, HOLE]]))
    file = {"name": "oslo.geojson", "mimeType": "application/geo+json", "buffer": json.dumps(given).encode()}
    page.get_by_label("Districts of your own").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_text("2 districts of oslo.geojson").wait_for()
    page.locator(".picture .district", has_text="Vest").first.wait_for()
    page.get_by_text("Numbers", exact=True).first.click()
    rows = page.get_by_role("region", name="Windows in numbers").locator("tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["Vest", "Øst"]
    # By hand: the middles of cells in the west, and of those in the east that are not in the hole.
    centres = np.asarray(AREA.centres(np.arange(AREA.size)))
    north, east = centres[:, 0], centres[:, 1]
    is_west, in_hole = east < 10.75, (north > 59.91) & (north < 59.94) & (east > 10.76) & (east < 10.79)
    districts = [
        {"name": "Vest", "cells": np.flatnonzero(is_west).tolist()},
        {"name": "Øst", "cells": np.flatnonzero(~is_west & ~in_hole).tolist()},
    ]
    work = {"kind": "look", "survey": survey.fingerprint, "queries": [], "methods": [], "more": True}
    found = studio.work(work | {"districts": districts})
    assert [one["indices"] for one in found["districts"]] == [one["cells"] for one in districts]
    for one, row in zip(found["districts"], rows, strict=True):
        share = sum(found["distribution"][cell] for cell in one["indices"])
        assert one["estimate"] == pytest.approx(share, abs=1e-9)
        assert one["low"] < one["estimate"] < one["high"]
        told = [float(number) for number in re.findall(r"([\d.]+)%", row)]
        assert told == pytest.approx([100 * one[key] for key in ("estimate", "low", "high")], abs=0.6)
    assert page.locator(".picture h3, .picture .map-title, .picture text", has_text="by district").count() > 0
    # What is no file of areas is refused in words, and what was shown stays.
    for text, words in (
        ("{", "no JSON"),
        ("{}", "no areas"),
        (json.dumps(collection(A=("Polygon", [box(0, 0, 1, 1)]))), "No cell"),
    ):
        page.get_by_label("Districts of your own").set_input_files(
            {"name": "x.json", "mimeType": "application/json", "buffer": text.encode()}
        )
        page.locator(".drop-place .trouble", has_text=words).wait_for()
    page.get_by_role("button", name="Forget them").click()
    page.locator(".picture .district", has_text="Vest").first.wait_for(state="detached")
    assert watched.complaints == []


@pytest.mark.parametrize(
    "wrong",
    [
        "Oslo",
        [7],
        [{"name": "a"}],
        [{"name": "a", "cells": []}],
        [{"name": "a", "cells": [4]}],
        [{"name": "a", "cells": [-1]}],
        [{"name": "a", "cells": [True]}],
        [{"name": "", "cells": [1]}],
        [{"name": 81 * "a", "cells": [1]}],
        61 * [{"name": "a", "cells": [1]}],
    ],
)
def test_what_is_no_district_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError):
        chosen_districts(wrong, 4)
    assert chosen_districts([{"name": "a", "cells": [3, 0]}, {"name": "a", "cells": [1]}], 4) == {"a": [0, 1, 3]}
