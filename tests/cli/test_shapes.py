"""Shapes on the command line: declared in the survey, chosen afterwards, left out, and wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import ExitCode, app
from confide.present.pages import estimate_page

FALLING = np.linspace(1.0, 0.05, 10) ** 2
MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.6)
COUNTS = MECHANISM.simulate_counts(np.random.default_rng(1).multinomial(5000, FALLING / FALLING.sum()), rng=1)

TEXT = """
name = "age"
{shape}
[alphabet]
kind = "integers"
low = 0
high = 9
[mechanism]
kind = "truncated-geometric"
epsilon = 0.6
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{report},{count:g}" for report, count in zip(COUNTS.reports, COUNTS.counts, strict=True)]
    (tmp_path / "reports.csv").write_text("\n".join(["report,count", *rows]), encoding="utf-8")
    (tmp_path / "declared.toml").write_text(TEXT.format(shape='shape = "falling from 3"'), encoding="utf-8")
    (tmp_path / "bare.toml").write_text(TEXT.format(shape=""), encoding="utf-8")
    return tmp_path


def run(folder: Path, survey: str, *options: str) -> tuple[int, str]:
    command = ["estimate", str(folder / survey), str(folder / "reports.csv"), "--method", "mle", "-v", *options]
    result = CliRunner().invoke(app, command)
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.slow
def test_a_declared_shape_is_used_and_named(folder: Path) -> None:
    code, words = run(folder, "declared.toml", "--query", "age >= 7")
    assert code == 0
    assert "Shape falling from 3; declared in the survey" in words
    assert "Its fit" in words
    assert "above this one, among those of the shape" in words
    assert "if the shares fall from 3 on, as the survey declared" in words


@pytest.mark.slow
def test_a_shape_of_an_option_is_chosen_afterwards_unless_it_is_the_declared_one(folder: Path) -> None:
    assert "chosen afterwards, not declared in the survey" in run(folder, "bare.toml", "--shape", "falling from 3")[1]
    assert "declared in the survey" in run(folder, "declared.toml", "--shape", "Falling from 3")[1]
    assert "declares falling from 3, which was left out" in run(folder, "declared.toml", "--shape", "none")[1]


@pytest.mark.slow
def test_a_wrong_shape_has_a_note(folder: Path) -> None:
    words = run(folder, "bare.toml", "--shape", "rising", "--query", "mean")[1]
    assert "Wrong shape" in words
    assert "But These answers assume the shape, and the reports contradict it" in words


def test_json_has_the_shape_and_its_fit(folder: Path) -> None:
    path = folder / "estimate.json"
    run(folder, "declared.toml", "-o", str(path))
    record = json.loads(path.read_text(encoding="utf-8"))["shape"]
    assert record["words"] == ["falling from 3"]
    assert record["is_declared"]
    assert record["fit"]["verdict"] in ("fits", "cannot be tested here")
    run(folder, "bare.toml", "-o", str(path))
    assert json.loads(path.read_text(encoding="utf-8"))["shape"] is None


def test_a_shape_that_is_none_is_refused(folder: Path) -> None:
    code, words = run(folder, "bare.toml", "--shape", "fallen from 3")
    assert code != 0
    assert "no shape that is known here" in words


@pytest.mark.slow
def test_a_page_says_what_is_taken_for_granted_and_where_that_is_in_doubt() -> None:
    survey = cf.Survey(MECHANISM, "age", "Ages", shape=cf.evidence.Shape.of("falling from 3"))
    page = estimate_page(survey, COUNTS, [cf.assess(COUNTS, MECHANISM, cf.MLE(), shape=survey.shape)])
    assert "Answer and intervals assume that" in page
    assert "as the survey declared before any report was seen" in page
    assert "The shape is in doubt" not in page
    with pytest.warns(cf.errors.PoorFitWarning):
        wrong = cf.assess(COUNTS, MECHANISM, cf.MLE(), shape="rising")
    assert "The shape is in doubt" in estimate_page(survey, COUNTS, [wrong])


def test_a_misspelt_name_in_a_shape_is_refused_as_in_a_query(folder: Path) -> None:
    code, words = run(folder, "bare.toml", "--shape", "nobody where agee < 2")
    assert code == 2
    assert "agee" in words


def test_none_goes_with_no_other_shape(folder: Path) -> None:
    code, words = run(folder, "declared.toml", "--shape", "none", "--shape", "falling")
    assert code == 2
    assert "goes with no other" in words


def test_windows_are_not_drawn_in_a_shape_that_is_certainly_wrong(folder: Path) -> None:
    _, words = run(folder, "bare.toml", "--shape", "rising")
    assert "contradict the shape rising, so they would be wrong" in words
    assert "These reports resolve" not in words


def test_show_names_the_declared_shape(folder: Path) -> None:
    shown = CliRunner().invoke(app, ["show", str(folder / "declared.toml"), "-v"]).output
    assert "will assume that the shares fall from 3 on" in " ".join(shown.split())
    record = json.loads(CliRunner().invoke(app, ["show", str(folder / "declared.toml"), "--json"]).output)
    assert record["shape"] == {"words": ["falling from 3"], "condition": "the shares fall from 3 on"}
    assert json.loads(CliRunner().invoke(app, ["show", str(folder / "bare.toml"), "--json"]).output)["shape"] is None


@pytest.mark.parametrize("alphabet", ["integers", "grid"])
def test_the_shape_of_an_example_survey_can_be_declared(tmp_path: Path, alphabet: str) -> None:
    path = tmp_path / "survey.toml"
    CliRunner().invoke(app, ["new", str(path), alphabet])
    path.write_text(path.read_text(encoding="utf-8").replace("# shape =", "shape ="), encoding="utf-8")
    assert cf.load_survey(path).shape is not None


@pytest.mark.slow
def test_a_diagnosis_takes_the_declared_shape_for_granted(folder: Path) -> None:
    """Both ways of asking give the same interval, narrower than without the shape, and say what it rests on."""
    paths = [str(folder / "declared.toml"), str(folder / "reports.csv")]
    asked = ["--query", "age >= 7"]
    paths[0] = str(folder / "bare.toml")
    bare = json.loads(CliRunner().invoke(app, ["diagnose", *paths, *asked, "--json"]).output)
    paths[0] = str(folder / "declared.toml")
    page = folder / "page.html"
    result = CliRunner().invoke(app, ["diagnose", *paths, *asked, "--json", "-o", str(page)])
    record = json.loads(result.output)
    assert record["shape"]["words"] == ["falling from 3"]
    assert bare["shape"] is None
    assert "assume that the shares fall from 3 on, as the survey declared" in " ".join(record["words"])
    assert "assume that the shares fall from 3 on" in " ".join(page.read_text(encoding="utf-8").split())
    ends = [one["queries"][0] for one in (record, bare)]
    assert ends[0]["high"] - ends[0]["low"] < 0.9 * (ends[1]["high"] - ends[1]["low"])
    survey = cf.load_survey(folder / "declared.toml")
    same = cf.estimate(COUNTS, MECHANISM, shape=survey.shape).query("age >= 7")
    assert ends[0]["low"] == pytest.approx(same.low)


def test_a_diagnosis_in_a_wrong_shape_ends_a_strict_command(folder: Path) -> None:
    text = (folder / "declared.toml").read_text(encoding="utf-8").replace('"falling from 3"', '"rising"')
    (folder / "rising.toml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["diagnose", str(folder / "rising.toml"), str(folder / "reports.csv"), "--strict"])
    words = " ".join(result.output.split())
    assert result.exit_code == ExitCode.POOR_FIT
    assert "Wrong shape" in words
    assert "That depends on the shape, and the reports contradict it." in words
