"""Reports and covariates from files: the same numbers as from memory, gaps left out, bad rows named, origins known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import DataFileError

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")

VOTES = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=2.0), "vote", "Votes")
PAIR = cf.Survey(
    cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 5), 1.0), vote=cf.RandomizedResponse(cf.Categories(["no", "yes"]), 2.0)
    ),
    "both",
)


@pytest.fixture
def data() -> Any:
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.integers(0, 5, 400), "town": rng.choice(["007", "010"], 400)})
    table["weight"] = rng.random(400).round(3)
    table["report"] = VOTES.mechanism.privatize(np.where(rng.random(400) < 0.2 + 0.1 * table["x"], "yes", "no"), rng=2)
    return table


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_file_says_what_its_table_says(data: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        data.to_parquet(path)
    else:
        data.to_csv(path, index=False)
    formula = "vote ~ x + town"
    found, known = (cf.regress(formula, one, VOTES, weights="weight") for one in (path, data))
    assert found.names == known.names == ("Intercept", "x", "town[T.010]")
    assert found.estimates == pytest.approx(known.estimates, abs=1e-9)
    assert found.standard_errors == pytest.approx(known.standard_errors)


def test_gaps_are_left_out_and_rows_that_cannot_be_read_are_named(data: Any, tmp_path: Path) -> None:
    path, text = tmp_path / "r.csv", data.to_csv(index=False).splitlines()
    text[3] = text[3].rpartition(",")[0] + ","
    text[5] = "," + text[5].partition(",")[2]
    path.write_text("\n".join(text) + "\n")
    found = cf.regress("vote ~ x", path, VOTES)
    assert (found.nobs, found.left_out) == (398, "2 rows with gaps")
    rest = cf.regress("vote ~ x", data.drop(index=[2, 4]), VOTES)
    assert found.estimates == pytest.approx(rest.estimates, abs=1e-9)
    text[7] = text[7].rpartition(",")[0] + ",perhaps"
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(DataFileError, match="perhaps"):
        cf.regress("vote ~ x", path, VOTES)
    with pytest.raises(DataFileError, match=r"no column 'y'"):
        cf.regress("vote ~ y", path, VOTES)


def test_a_column_of_counts_says_how_many_people_a_row_is(data: Any, tmp_path: Path) -> None:
    counted = data.groupby(["x", "report"]).size().rename("count").reset_index()
    counted.to_csv(tmp_path / "c.csv", index=False)
    found, known = cf.regress("vote ~ x", tmp_path / "c.csv", VOTES), cf.regress("vote ~ x", data, VOTES)
    assert found.nobs == 400
    assert found.estimates == pytest.approx(known.estimates, abs=1e-9)
    assert found.standard_errors == pytest.approx(known.standard_errors)
    assert found.predict()["estimate"].to_numpy() == pytest.approx(known.predict()["estimate"].to_numpy())
    assert found.get_margeff()["effect"].to_numpy() == pytest.approx(known.get_margeff()["effect"].to_numpy())


def test_files_say_how_they_were_made_and_whose_they_are(tmp_path: Path) -> None:
    values = [(age % 6, ["no", "yes"][age % 2]) for age in range(300)]
    cf.write_reports(tmp_path / "both.csv", PAIR.privatize(values, rng=1), PAIR)
    found = cf.regress("vote ~ age", tmp_path / "both.csv", PAIR)
    assert found.private == ("age",)
    assert found.origin.is_simulated
    assert "simulated" in str(found)
    with pytest.raises(DataFileError, match="survey"):
        cf.regress("vote ~ 1", tmp_path / "both.csv", VOTES)


def test_shares_are_averaged_over_people_and_not_over_classes() -> None:
    x = np.repeat([0, 1], [3600, 400])
    truth = np.where(np.arange(4000) % 10 < np.where(x == 1, 9, 1), "yes", "no")
    data = {"x": x, "report": VOTES.mechanism.privatize(truth, rng=4)}
    shares = cf.regress("vote ~ x", data, VOTES).predict().set_index("outcome")["estimate"]
    assert shares["yes"] == pytest.approx(0.18, abs=0.03)
