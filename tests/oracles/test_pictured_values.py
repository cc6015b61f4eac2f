"""Values as a page draws them: where each lies, what it is called and how far apart they are, for every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide.present.figures import draw_path, to_pdf
from confide.studio.drafts import values_record

BOX = (40.70, -74.02, 40.79, -73.94)
PLANES = {
    "grid": cf.Grid(3, 5, spacing=2.5),
    "grid elsewhere": cf.Grid(3, 5, spacing=0.5, first_row=10, first_column=-4),
    "grid with holes": cf.Grid(3, 4, spacing=4.0, holes=((0, 1), (2, 3))),
    "places": cf.Places(*BOX, cell="2 km"),
    "places in metres": cf.Places(*BOX, cell="2 km", unit="m"),
}
LINES = {
    "numbers": (cf.Integers(3, 9, spacing=2.0, unit="year"), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
    "words": (cf.Scale(["low", "mid", "high"], positions=[0, 1, 5]), [0.0, 1.0, 5.0]),
    "bins": (cf.Bins(edges=[0, 10, 30, 100]), [5.0, 20.0, 65.0]),
}


@pytest.mark.parametrize("kind", PLANES)
def test_cells_lie_in_their_rows_and_columns_as_far_apart_as_they_are(kind: str) -> None:
    grid = PLANES[kind]
    found = values_record(grid)
    plane = found["plane"]
    assert (plane["rows"], plane["columns"], plane["spacing"]) == (grid.rows, grid.columns, grid.spacing)
    assert (found["size"], len(found["labels"]), len(plane["cells"])) == (grid.size,) * 3
    assert found["labels"] == grid.labels()
    assert found["positions"] is None
    cells = np.array(plane["cells"])
    assert cells.min() == 0
    assert (cells.max(axis=0) < (grid.rows, grid.columns)).all()
    one, other = 0, grid.size - 1
    apart = np.hypot(*(cells[one] - cells[other])) * plane["spacing"]
    ends = [tuple(grid.decode([place])[0].tolist()) for place in (one, other)]
    assert apart == pytest.approx(grid.distance(*ends))
    if plane["degrees"] is None:
        assert not isinstance(grid, cf.Places)
    else:
        centres = grid.centres(range(grid.size))
        south, north, west, east = (plane["degrees"][side] for side in ("south", "north", "west", "east"))
        latitude = south + (cells[:, 0] + 0.5) / grid.rows * (north - south)
        longitude = west + (cells[:, 1] + 0.5) / grid.columns * (east - west)
        np.testing.assert_allclose(np.stack([latitude, longitude], axis=1), centres)


@pytest.mark.parametrize("kind", LINES)
def test_values_on_a_line_lie_at_their_positions(kind: str) -> None:
    alphabet, positions = LINES[kind]
    found = values_record(alphabet)
    assert (found["positions"], found["plane"], found["size"]) == (positions, None, len(positions))
    assert found["labels"] == alphabet.labels()
    assert found["unit"] == (alphabet.unit or None)


def test_letters_of_a_pdf_stay_letters(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    to_pdf(draw_path({"IBU": [-3.0, -2.0]}), tmp_path / "path.pdf")
    content = (tmp_path / "path.pdf").read_bytes()
    assert b"/Type3" not in content, "journals refuse outlines of type 3"
    assert b"/CIDFontType2" in content
