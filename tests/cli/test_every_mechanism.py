"""Every mechanism from values to an estimate through files, and what is said of it on the way."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Call, assert_refused
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey

import confide as cf
from confide.data.files import write_text
from confide.mechanisms import MECHANISMS

HEADER = 'name = "thing"\ntitle = "Things"\n'


def prepare(folder: Path, text: str) -> cf.Survey:
    """Write a survey and a file of values for it."""
    (folder / "s.toml").write_text(HEADER + text)
    contract = survey(text)
    values = some_values(contract.alphabet)
    names = contract.alphabet.field_names if contract.alphabet.parts > 1 else ("thing",)
    rows = [[*row, f"{number:032x}"] for number, row in enumerate(values.reshape(len(values), -1).tolist(), start=1)]
    with (folder / "v.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([[*names, "own"], *rows])
    return contract


def test_there_is_a_survey_of_every_kind() -> None:
    assert {survey(text).mechanism.kind for text in FINITE.values()} == set(MECHANISMS)


@pytest.mark.parametrize("name", FINITE)
def test_an_estimate_from_files_is_that_of_the_library(call: Call, folder: Path, name: str) -> None:
    contract = prepare(folder, FINITE[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--seed", "1").code == 0
    ending = call("estimate", "s.toml", "r.csv", "--json", "-o", "e.csv", "-o", "e.json")
    assert (ending.record["rows"]["read"], ending.record["rows"]["accepted"], ending.record["reports"]) == (300,) * 3
    counts = cf.tally(contract.mechanism.privatize(some_values(contract.alphabet), rng=1))
    expected = cf.estimate(counts, contract.mechanism)
    # Three hundred reports may be too few to tell anything, and one good survey in twenty fits poorly; nothing else.
    assert expected.fit.p_value > 0.01
    told = expected.uniformity
    said = [expected.fit.headline] if expected.fit.is_bad else []
    # Of two answers, half of the made-up people give each: a uniform population.
    said += [told.headline] if told and not told.is_rejected and not expected.identification.is_no else []
    assert len(ending.err.splitlines()) == len(said)
    assert all(words in ending.err for words in said)
    # Mixed reports are sorted by their texts in a file and as they come in the library, so sums may round apart.
    np.testing.assert_allclose(ending.record["distribution"], expected.distribution, rtol=1e-9, atol=1e-12)
    assert len((folder / "e.csv").read_text().splitlines()) == 1 + contract.alphabet.size


@pytest.mark.parametrize("name", FINITE)
def test_an_estimate_is_shown(call: Call, folder: Path, name: str) -> None:
    contract = prepare(folder, FINITE[name])
    secrets = [] if contract.mechanism.lasting is None else ["--secret", "own"]
    call("privatize", "s.toml", "v.csv", "-o", "r.csv", *secrets)
    ending = call("estimate", "s.toml", "r.csv")
    assert (ending.code, ending.err) == (0, "")
    assert "%" in ending.out
    assert "Goodness of fit" in ending.out or "Poor fit" in ending.out
    assert "nan" not in ending.out
    if list(FINITE).index(name) % 3 == 0:
        assert call("estimate", "s.toml", "r.csv", "--show", "all").code == 0


@pytest.mark.parametrize(
    "text", [*FINITE.values(), *UNBOUNDED.values()], ids=[*FINITE, *(f"unbounded {n}" for n in UNBOUNDED)]
)
def test_a_survey_is_explained(call: Call, folder: Path, text: str) -> None:
    (folder / "s.toml").write_text(HEADER + text)
    ending = call("show", "s.toml", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "observer who thought" in " ".join(ending.out.split())
    assert not [
        word for word in ("Attributes(", "Grid(", "Lattice(", "BitVectors(", "laplace", "rappor") if word in ending.out
    ]
    most = 3 if 'kind = "product"' not in text else 5  # of attributes one each, all of them, and the most that there is
    assert 1 <= len(call("show", "s.toml", "--json").record["examples"]) <= most


@pytest.mark.slow
@pytest.mark.parametrize("name", UNBOUNDED)
def test_values_without_an_end_are_estimated_among_the_likely_ones(call: Call, folder: Path, name: str) -> None:
    prepare(folder, UNBOUNDED[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--seed", "1").code == 0
    ending = call("estimate", "s.toml", "r.csv", "--truth", "v.csv", "-o", "e.csv", "-o", "e.html", "-v")
    assert (ending.code, ending.err) == (0, "")
    words = " ".join(ending.out.split())
    is_plane = "row" in header(folder)
    assert ("cells of the box around the reports" if is_plane else "(proposition likelylinear)") in words
    assert "from the truth" in words
    record = call("estimate", "s.toml", "r.csv", "--method", "mle", "--json").record
    assert record["considered"]["of"].startswith("Lattice(" if is_plane else "Integers(")
    assert record["considered"]["values"] == record["alphabet"]["size"] == len(record["distribution"])
    assert record["certificate"] <= 1e-6
    rows = (folder / "e.csv").read_text().splitlines()
    assert len(rows) == 1 + record["alphabet"]["size"]
    assert sum(float(row.rpartition(",")[2]) for row in rows[1:]) == pytest.approx(1.0)
    assert "Looked for among" in (folder / "e.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", UNBOUNDED)
def test_an_outlier_far_away_is_estimated_and_drawn(call: Call, folder: Path, name: str) -> None:
    prepare(folder, UNBOUNDED[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv").code == 0
    forget(folder)
    with (folder / "r.csv").open("a") as stream:
        stream.write("1000000,-1000000\n" if "row" in header(folder) else "1000000000\n")
    ending = call("estimate", "s.toml", "r.csv", "--method", "mle", "-o", "e.html", "-v")
    assert (ending.code, ending.err) == (0, "")
    assert "a mixture of" in " ".join(ending.out.split())
    assert "Looked for among" in (folder / "e.html").read_text()


@pytest.mark.parametrize("name", ["geometric", "taxicab"])
def test_a_truth_beyond_all_reports_is_refused(call: Call, folder: Path, name: str) -> None:
    prepare(folder, UNBOUNDED[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--seed", "1").code == 0
    is_plane = "row" in header(folder)
    with (folder / "v.csv").open("a") as stream:
        stream.write(f"{'5000,5000' if is_plane else '5000'},{5000:032x}\n")
    ending = call("estimate", "s.toml", "r.csv", "--truth", "v.csv", "-o", "e.csv")
    assert_refused(ending, 5, "1 of the distinct true values", "rows and columns" if is_plane else "low and high")
    assert not (folder / "e.csv").exists()


@pytest.mark.parametrize("name", UNBOUNDED)
def test_no_end_of_rows_cannot_be_inverted(call: Call, folder: Path, name: str) -> None:
    prepare(folder, UNBOUNDED[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv").code == 0
    assert_refused(call("estimate", "s.toml", "r.csv", "--method", "inversion-project"), 5, "is unbounded")


@pytest.mark.parametrize("name", UNBOUNDED)
def test_the_same_reports_are_estimated_over_values_with_an_end(call: Call, folder: Path, name: str) -> None:
    prepare(folder, UNBOUNDED[name])
    assert call("privatize", "s.toml", "v.csv", "-o", "r.csv").code == 0
    bounded = UNBOUNDED[name].replace("lattice", "grid").replace("[mechanism]", "rows = 12\ncolumns = 12\n[mechanism]")
    if "integers" in bounded:
        bounded = UNBOUNDED[name].replace("[mechanism]", "low = -10\nhigh = 10\n[mechanism]")
    (folder / "s.toml").write_text(HEADER + bounded)
    assert_refused(call("estimate", "s.toml", "r.csv", "--json"), 4, "was made under another survey")
    forget(folder)
    assert call("estimate", "s.toml", "r.csv", "--json").record["reports"] == 300


def forget(folder: Path) -> None:
    """Delete what is known of the reports, as whoever changes them has to."""
    (folder / "r.csv-metadata.json").unlink()


def header(folder: Path) -> str:
    return (folder / "r.csv").read_text().partition("\n")[0]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("rappor of 63 values", "report"),
        ("rappor of 64 values", "word0,word1"),
        ("rappor of 150 values", "word0,word1,word2"),
        ("laplace", "report"),
        ("planar-laplace", "row,column"),
        ("product", "age,sex"),
        ("product of three", "age,home_row,home_column,sex"),
        ("matrix", "report"),
    ],
)
def test_columns_of_reports(call: Call, folder: Path, name: str, columns: str) -> None:
    prepare(folder, FINITE[name])
    call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    assert header(folder) == columns


@pytest.mark.parametrize(
    ("name", "row", "reason"),
    [
        ("product", "17,f", "outside the alphabet"),
        ("product", "18.5,f", "not a whole number"),
        ("product", "x,f", "not a number"),
        ("product", "18,x", "outside the alphabet"),
        ("product", "18,", "missing"),
        ("product of three", "18,0,2,x", "outside the alphabet"),
        ("product of three", "18,0,1,f", "outside the alphabet"),
        ("product of three", "18,0.5,1,x", "not a whole number"),
        ("product of three", "17,0.5,1,x", "outside the alphabet"),
        ("product of three", "19,x,1,f", "not a number"),
        ("product of three", "19,1,,f", "missing"),
        ("laplace", "nan", "not a number"),
        ("laplace", "1e308", "outside the alphabet"),
        ("planar-laplace", "1.5,x", "not a number"),
        ("rappor of 63 values", str(2**63), "outside the alphabet"),
        ("rappor of 63 values", "-1", "outside the alphabet"),
        ("rappor of 63 values", "1.5", "not a whole number"),
        ("rappor of 64 values", "1,2", "outside the alphabet"),
        ("geometric", str(2**53 + 1), "outside the alphabet"),
    ],
)
@pytest.mark.slow
def test_reports_that_cannot_be(call: Call, folder: Path, name: str, row: str, reason: str) -> None:
    prepare(folder, FINITE[name])
    call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    write_text(folder / "bad.csv", (folder / "r.csv").read_text() + row + "\n")
    assert_refused(call("estimate", "s.toml", "bad.csv"), 4, f"line 302: {row!r} ({reason})")
    pytest.importorskip("duckdb")
    counted = call("count", "s.toml", "bad.csv", "-o", "c.parquet", "--json").record["rows"]
    assert (counted["accepted"], counted["rejected"]) == (300, 1)
    assert call("estimate", "s.toml", "c.parquet", "--json").record["rows"]["accepted"] == 300


def test_every_bit_of_a_word_counts(call: Call, folder: Path) -> None:
    """The largest word of 63 bits lies far beyond the integers that a float64 tells apart."""
    prepare(folder, FINITE["rappor of 63 values"])
    (folder / "r.csv").write_text(f"report,count\n{2**63 - 1},10\n{2**63 - 2},10\n{2**62},10\n")
    shares = call("estimate", "s.toml", "r.csv", "--json").record["distribution"]
    assert np.argmax(shares) == 62
    assert shares[0] < shares[1]


@pytest.mark.slow
def test_real_reports_that_a_spreadsheet_has_rounded(call: Call, folder: Path) -> None:
    prepare(folder, FINITE["laplace"])
    call("privatize", "s.toml", "v.csv", "-o", "r.csv", "--seed", "1")
    reports = [float(text) for text in (folder / "r.csv").read_text().split()[1:]]
    (folder / "rounded.csv").write_text("report\n" + "".join(f"{report:.4f}\n" for report in reports))
    exact, rounded = (call("estimate", "s.toml", name, "--json").record for name in ("r.csv", "rounded.csv"))
    assert rounded["rows"]["rejected"] == 0
    np.testing.assert_allclose(rounded["distribution"], exact["distribution"], atol=1e-3)


@pytest.mark.slow
def test_many_pairs_are_shown_part_by_part(call: Call, folder: Path) -> None:
    prepare(folder, FINITE["product of numbers"])
    call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    brief, full = (call("estimate", "s.toml", "r.csv", *option).out for option in ([], ["--show", "all"]))
    assert "Rooms" in brief
    assert "Cars" in brief
    assert "--show all shows every value" in call("estimate", "s.toml", "r.csv", "-v").out
    assert "(11, 2)" in full
    assert "(11, 2)" not in brief


def test_holes_are_blank_in_the_map(call: Call, folder: Path) -> None:
    prepare(folder, FINITE["truncated-planar-laplace"])
    call("privatize", "s.toml", "v.csv", "-o", "r.csv")
    lines = call("estimate", "s.toml", "r.csv").out.splitlines()
    north = next(place for place, line in enumerate(lines) if "north" in line)
    cells = [line.strip("│| ") for line in lines[north + 1 : north + 4]]
    assert [len(line) for line in cells] == [8, 8, 6]  # the hole in the south-west is stripped away
    assert cells[1][4:6] == "  "


def test_a_better_mechanism_is_named_by_show_and_audit(call: Call, folder: Path) -> None:
    names = ", ".join(f'"city {number}"' for number in range(100))
    cities = prepare(
        folder,
        f'[alphabet]\nkind = "categories"\nvalues = [{names}]\n'
        '[mechanism]\nkind = "randomized-response"\nepsilon = 1.0\n',
    )
    for command in ("show", "audit"):
        said = " ".join(call(command, "s.toml").out.split())
        assert "Consider Projective geometry response (projective-geometry) makes the same promise with about" in said
        assert " 0.33 of the error." in said
        assert "Consider" not in call(command, "survey.toml").out
    assert call("show", "s.toml", "--json").record["advice"] == cities.mechanism.advice
    assert call("show", "survey.toml", "--json").record["advice"] is None
