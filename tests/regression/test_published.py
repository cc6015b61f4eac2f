"""A published table: the Nigerian survey of the R package rr, whose coefficients regress() has to five digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "raw" / "nigeria.csv"
PLACES = [DATA, *(one / "shared/data/raw/nigeria.csv" for one in Path(__file__).resolve().parents)]
"""Where the data may lie; they are not part of this repository."""

FORCED = cf.FromMatrix(cf.Categories(["no", "yes"]), [[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
"""Two of three answer truly, one in six says yes and one in six no, by a die."""

COEFFICIENTS = [-0.34017, 0.07896, -0.26743, -0.35283, 0.04099, -0.00691, -0.55439]
ERRORS = [0.50856, 0.04136, 0.25451, 0.26423, 0.02603, 0.04558, 0.16244]


def test_the_table_of_forced_response_in_nigeria() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    found = next((one for one in PLACES if one.is_file()), None)
    if found is None:
        pytest.skip("nigeria.csv is not here: it comes with R's package rr")
    data = pandas.read_csv(found)
    data["report"] = data["report"].map({0.0: "no", 1.0: "yes"})
    data["decades"] = data["age"] / 10
    formula = "answer ~ asset + married + decades + I(decades ** 2) + education + female"
    answer = cf.regress(formula, data, cf.Survey(FORCED, "answer"), errors="scores")
    # The published search stopped a few millionths before the maximum.
    assert answer.estimates == pytest.approx(COEFFICIENTS, abs=1.0e-5)
    assert answer.standard_errors == pytest.approx(ERRORS, abs=1.0e-5)
    assert answer.llf == pytest.approx(-1540.11785, abs=5e-6)
    assert answer.agreeing == answer.starts == 5
    assert answer.left_out == "34 rows with gaps"
    # Reports taken as true lose two fifths of every effect.
    assert answer.naive is not None
    assert np.abs(answer.naive[1:]).sum() < 0.65 * np.abs(answer.estimates[1:]).sum()
