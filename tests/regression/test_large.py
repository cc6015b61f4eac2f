"""Files that DuckDB reads: the same numbers as row by row, from cells with counts and from sums alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import ImpossibleReportError, InvalidParameterError, TooLargeError
from confide.regression import large

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

AGES = cf.Survey(cf.Geometric(cf.Integers(0, 9, unit="year"), 0.6), "age", "Ages")
VOTES = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), 2.0), "vote")


@pytest.fixture
def data() -> Any:
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.integers(0, 4, 3000), "town": rng.choice(["Bern", "L'Aquila", "Rome"], 3000)})
    table["wealth"] = rng.normal(size=3000)
    table["weight"] = rng.integers(0, 3, 3000)
    table["report"] = AGES.mechanism.privatize(rng.binomial(9, 0.3 + 0.1 * table["x"]), rng=2)
    table.loc[[3, 8], "wealth"] = None
    return table


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE_ROWS", 100)
    monkeypatch.setattr(large, "LARGE_BYTES", 100)


def saved(data: Any, place: Path, ending: str = ".parquet") -> Path:
    path = place / f"r{ending}"
    data.to_csv(path, index=False) if ending == ".csv" else data.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize(
    "formula", ["age ~ x + town + wealth", "age ~ x * town + C(x):wealth", "age >= 3 ~ C(town) + wealth", "age ~ 1"]
)
@pytest.mark.parametrize("weights", [None, "weight"])
def test_sums_have_the_numbers_of_rows(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, formula: str, weights: str | None
) -> None:
    known = cf.regress(formula, data, AGES, weights=weights)
    monkeypatch.setattr(large, "MOST_CELLS", 0)
    found = cf.regress(formula, saved(data, tmp_path, ending), AGES, weights=weights)
    assert found.predictor is None
    assert (found.names, found.nobs) == (known.names, known.nobs)
    assert found.estimates == pytest.approx(known.estimates, abs=1e-9)
    assert found.covariance == pytest.approx(known.covariance, rel=1e-8, abs=1e-12)
    assert (found.naive is None) == (known.naive is None)
    if found.naive is not None:
        assert found.naive == pytest.approx(known.naive, abs=1e-9)
    assert found.privacy == pytest.approx(known.privacy, abs=1e-6)
    with pytest.raises(InvalidParameterError, match="too many rows"):
        found.predict()
    assert "give most people away" in str(found) or formula == "age ~ 1"


def test_cells_have_the_numbers_of_rows(data: Any, tmp_path: Path) -> None:
    reports = VOTES.mechanism.privatize(np.where(np.arange(3000) % 3, "yes", "no"), rng=3)
    table = data.drop(columns=["report", "wealth"]).assign(report=reports)
    found, known = (
        cf.regress("vote ~ x + town", one, VOTES, weights="weight") for one in (saved(table, tmp_path), table)
    )
    assert found.estimates == pytest.approx(known.estimates, abs=1e-7)
    assert found.standard_errors == pytest.approx(known.standard_errors, rel=1e-6)
    assert found.nobs == known.nobs
    assert found.predict()["estimate"].to_numpy() == pytest.approx(known.predict()["estimate"].to_numpy(), abs=1e-7)


def test_what_sums_cannot_do_is_refused(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "MOST_CELLS", 0)
    path = saved(data, tmp_path)
    with pytest.raises(InvalidParameterError, match="is none"):
        cf.regress("age ~ np.log(x + 1)", path, AGES)
    with pytest.raises(InvalidParameterError, match="sum of multiples"):
        cf.regress("age ~ x + twice", saved(data.assign(twice=2.0 * data["x"]), tmp_path), AGES)
    with pytest.raises(InvalidParameterError, match="at least 0"):
        cf.regress("age ~ x", saved(data.assign(weight=-1.0), tmp_path), AGES, weights="weight")
    with pytest.raises(InvalidParameterError, match="no column 'y'"):
        cf.regress("age ~ y", path, AGES)
    for settings in ({"model": "normal"}, {"clusters": "town"}):
        with pytest.raises(TooLargeError, match="only least squares"):
            cf.regress("age ~ x", path, AGES, **settings)  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match="only least squares"):
        cf.regress("wealth ~ age", path, AGES)
    with pytest.raises(ImpossibleReportError):
        cf.regress("vote == yes ~ x", path, VOTES)
