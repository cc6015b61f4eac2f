"""Raking to known totals: weights that meet them, and the variance of residuals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide as cf
from confide.data.counting.duck import merge_files
from confide.data.files.counts_files import GroupedCounts
from confide.data.files.reading import read_totals
from confide.errors import DataFileError, InvalidCountsError, InvalidParameterError
from confide.estimates.groups import recover_groups
from confide.evidence.totals import rake

YES_NO = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=2.5)
LINE = cf.Geometric(cf.Integers(0, 9), epsilon=1.0)
TOTALS: dict[str, dict[str, float]] = {"sex": {"f": 60, "m": 40}, "region": {"n": 0.2, "s": 0.3, "e": 0.5}}
Floats = NDArray[np.float64]


def sample(seed: int, people: int = 2500) -> tuple[dict[str, Any], Floats, Any, Any]:
    """Return margins, weights and values that depend on the margins: yes or no, and a number."""
    rng = np.random.default_rng(seed)
    sex, region = rng.choice(["f", "m"], people), rng.choice(["n", "s", "e"], people, p=[0.4, 0.4, 0.2])
    lift = 2.0 * (sex == "f") + 1.5 * (region == "e")
    agrees = np.where(rng.random(people) < 0.1 + 0.22 * lift, "yes", "no")
    numbers = np.clip(np.rint(2 + 1.5 * lift + rng.normal(size=people)), 0, 9).astype(int)
    return {"sex": sex, "region": region}, rng.uniform(0.5, 3, people), agrees, numbers


def by_hand(scores: Floats, weights: Floats, margins: dict[str, Any]) -> tuple[Floats, float, Floats]:
    """Return raked weights, the mean, and each person's term of its error, as textbooks have it."""
    raked = weights.copy()
    for _ in range(200):
        for name, column in margins.items():
            for label, total in TOTALS[name].items():
                own = column == label
                raked[own] *= total / sum(TOTALS[name].values()) * weights.sum() / raked[own].sum()
    mean = float(raked @ scores / raked.sum())
    classes = [(column == label).astype(float) for name, column in margins.items() for label in TOTALS[name]]
    design, root = np.column_stack(classes), np.sqrt(raked)
    slopes = np.linalg.lstsq(root[:, None] * design, root * (scores - mean), rcond=None)[0]
    return raked, mean, raked * (scores - mean - design @ slopes) / raked.sum()


@pytest.mark.parametrize("drawn", [(), ("strata",), ("clusters",), ("strata", "clusters")])
def test_an_interval_has_the_variance_of_residuals(drawn: tuple[str, ...]) -> None:
    margins, weights, agrees, _ = sample(1)
    rng, reports = np.random.default_rng(2), YES_NO.privatize(agrees, rng=1)
    labels = {"strata": rng.integers(0, 3, weights.size), "clusters": rng.integers(0, 50, weights.size)}
    given: dict[str, Any] = {name: labels[name] for name in drawn}
    counts = cf.tally(reports, weights=weights, margins=margins, totals=TOTALS, **given)
    answer = cf.estimate(counts, YES_NO, cf.MLE()).query("answer == yes")
    raked, mean, terms = by_hand(cf.unbias(reports, YES_NO, "answer == yes"), weights, margins)
    variance, quantile, strata = 0.0, 1.959964, given.get("strata", np.zeros(weights.size, dtype=int))
    for one in np.unique(strata):
        here = strata == one
        sums = terms[here] if "clusters" not in given else np.bincount(given["clusters"][here], terms[here])
        variance += sums.size * float(sums.var(ddof=1))
    if "clusters" in given:
        quantile = {("clusters",): 2.009575, ("strata", "clusters"): 1.976233}[drawn]  # Student's: 49 and 147
    assert answer.estimate == pytest.approx(mean, abs=1e-6)
    assert answer.width == pytest.approx(2 * quantile * math.sqrt(variance), rel=1e-5 if "clusters" in given else 1e-3)
    assert counts.weights is not None
    assert counts.weights.sum() == pytest.approx(raked.sum())
    plain = cf.estimate(cf.tally(reports, weights=raked), YES_NO, cf.MLE()).query("answer == yes")
    assert plain.estimate == pytest.approx(mean, abs=1e-6)
    assert answer.width < 0.95 * plain.width


def test_noise_without_bounds_is_clamped_before_residuals() -> None:
    margins, weights, _, numbers = sample(3)
    reports = LINE.privatize(numbers, rng=1)
    answer = cf.estimate(cf.tally(reports, weights=weights, margins=margins, totals=TOTALS), LINE, cf.MLE()).mean()
    _, mean, terms = by_hand(cf.unbias(reports, LINE, "mean"), weights, margins)
    assert answer.estimate == pytest.approx(mean, abs=0.01)
    assert answer.width == pytest.approx(2 * 1.96 * math.sqrt(float(terms @ terms)), rel=0.02)


def test_intervals_of_raked_surveys_cover() -> None:
    truth = 0.1 + 0.22 * (2 * 0.6 + 1.5 * 0.5)  # of a population with these totals
    surveys = {}
    for seed in range(150):
        margins, weights, agrees, _ = sample(seed, 800)
        reports = YES_NO.privatize(agrees, rng=seed)
        surveys[seed] = cf.tally(reports, weights=weights, margins=margins, totals=TOTALS)
    found = list(recover_groups(surveys, YES_NO, cf.MLE()).query("answer == yes").values())
    assert abs(np.mean([one.contains(truth) for one in found]) - 0.95) < 0.04
    spread = np.std([one.estimate for one in found])
    assert abs(np.mean([one.width for one in found]) / 3.92 / spread - 1) < 0.12


def test_halves_are_raked_again_when_they_are_added() -> None:
    margins, weights, agrees, _ = sample(4)
    reports, cut = YES_NO.privatize(agrees, rng=1), 700
    halves = [
        cf.tally(reports[some], weights=weights[some], margins={n: c[some] for n, c in margins.items()}, totals=TOTALS)
        for some in (slice(cut), slice(cut, None))
    ]
    whole = cf.tally(reports, weights=weights, margins=margins, totals=TOTALS)
    added = cf.merge(halves)
    assert added.weights == pytest.approx(whole.weights)
    assert added.squares == pytest.approx(whole.squares)
    one, other = (cf.estimate(some, YES_NO, cf.MLE()).query("answer == yes") for some in (added, whole))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)
    assert "2,500 reports, raked to totals of region and sex, are worth" in whole.weighting
    with pytest.raises(InvalidCountsError, match="different known totals"):
        cf.merge([halves[0], cf.tally(reports, margins={"sex": margins["sex"]}, totals={"sex": TOTALS["sex"]})])


def test_only_ratios_of_totals_and_weights_matter() -> None:
    margins, weights, agrees, _ = sample(5, 300)
    reports = YES_NO.privatize(agrees, rng=1)
    more = {name: {label: 1e6 * total for label, total in classes.items()} for name, classes in TOTALS.items()}
    one = cf.tally(reports, weights=weights, margins=margins, totals=TOTALS)
    other = cf.tally(reports, weights=7 * weights, margins=margins, totals=more)
    assert other.weights == pytest.approx(7 * np.asarray(one.weights))
    # A class without people in the population has no weight.
    none = cf.tally(["yes", "no", "no"], margins={"sex": ["f", "m", "x"]}, totals={"sex": {"f": 1, "m": 1, "x": 0}})
    assert none.weights is not None
    assert none.weights.tolist() == [1.5, 1.5]


def write(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    path.write_text("report,w,sex,region,week\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def test_files_of_counts_keep_totals_and_merge(tmp_path: Path) -> None:
    margins, weights, agrees, _ = sample(6, 600)
    survey = cf.Survey(YES_NO, "answer")
    reports = YES_NO.privatize(agrees, rng=1)
    rows = list(zip(reports, weights, margins["sex"], margins["region"], [1, 2, 2] * 200, strict=True))
    (tmp_path / "census.csv").write_text(
        "column,value,total\n" + "".join(f"{n},{v},{t}\n" for n, some in TOTALS.items() for v, t in some.items())
    )
    totals = read_totals(tmp_path / "census.csv")
    assert totals == TOTALS
    # A stratum may be a margin too.
    design: dict[str, Any] = {"weights": "w", "strata": "region", "totals": totals}
    whole = cf.count(write(tmp_path / "all.csv", rows), survey, **design)
    for number, some in enumerate((rows[:250], rows[250:])):
        counts = cf.count(write(tmp_path / f"{number}.csv", some), survey, **design)
        cf.save_counts(tmp_path / f"{number}.parquet", counts, survey)
    merge_files([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "sum.parquet")
    merged = cf.load_counts(tmp_path / "sum.parquet", survey)
    given: dict[str, Any] = {"weights": weights, "strata": margins["region"]}
    tallied = cf.tally(reports, margins=margins, totals=TOTALS, **given)
    for one in (whole, merged):
        assert isinstance(one, cf.Counts)
        assert one.weights == pytest.approx(tallied.weights)
        assert one.squares == pytest.approx(tallied.squares)
        assert one.blocks is not None
        assert one.variance(np.array([0.0, 1.0])) == pytest.approx(tallied.variance(np.array([0.0, 1.0])))
    weeks = cf.count(tmp_path / "all.csv", survey, by="week", **design)
    second = np.array([1, 2, 2] * 200) == 2
    own = {name: column[second] for name, column in margins.items()}
    alone = cf.tally(reports[second], weights=weights[second], margins=own, totals=TOTALS)
    assert weeks["2",].weights == pytest.approx(alone.weights)
    cf.save_counts(tmp_path / "x.parquet", cf.count(tmp_path / "all.csv", survey, weights="w"), survey)
    with pytest.raises(DataFileError, match="is counted by"):
        merge_files([tmp_path / "0.parquet", tmp_path / "x.parquet"], tmp_path / "y.parquet")
    design["totals"] = {"region": {"n": 1, "s": 1, "e": 1}, "sex": TOTALS["sex"]}
    cf.save_counts(tmp_path / "z.parquet", cf.count(tmp_path / "all.csv", survey, **design), survey)
    with pytest.raises(DataFileError, match="raked to different totals"):
        merge_files([tmp_path / "0.parquet", tmp_path / "z.parquet"], tmp_path / "y.parquet")
    few = write(tmp_path / "one.csv", [("yes", 1, "x", "n", 1), ("no", 1, "f", "n", 2)])
    with pytest.raises(InvalidCountsError, match=r"^2: Nobody in the sample has sex = 'x'"):
        cf.count(few, survey, by="week", totals={"sex": {"f": 0, "x": 1}})


def test_groups_that_were_counted_become_classes(tmp_path: Path) -> None:
    margins, _, agrees, _ = sample(7, 600)
    survey = cf.Survey(YES_NO, "answer", groups={"sex": ("f", "m"), "region": ("n", "s", "e")})
    reports = YES_NO.privatize(agrees, rng=1)
    rows = list(zip(reports, [1] * 600, margins["sex"], margins["region"], [1, 2, 2] * 200, strict=True))
    counts = cf.count(write(tmp_path / "all.csv", rows), survey, by=("week", "sex", "region"))
    cf.save_counts(tmp_path / "groups.parquet", counts, survey)
    merge_files([tmp_path / "groups.parquet"], tmp_path / "raked.parquet", totals=TOTALS)
    found = cf.load_counts(tmp_path / "raked.parquet", survey)
    expected = cf.count(tmp_path / "all.csv", survey, by="week", totals=TOTALS)
    assert isinstance(found, GroupedCounts)
    assert isinstance(expected, GroupedCounts)
    assert dict(found) == dict(expected)
    assert list(found) == [("1",), ("2",)]
    with pytest.raises(InvalidParameterError, match="raked to totals of region and sex already"):
        merge_files([tmp_path / "raked.parquet"], tmp_path / "x.parquet", totals=TOTALS)
    with pytest.raises(InvalidParameterError, match=r"The totals are of 'age', and these counts are by week, sex"):
        merge_files([tmp_path / "groups.parquet"], tmp_path / "x.parquet", totals={"age": {"young": 1}})
    with pytest.raises(InvalidCountsError, match="1, e: The known totals of 'sex' have none for 'm'"):
        merge_files([tmp_path / "groups.parquet"], tmp_path / "x.parquet", totals={"sex": {"f": 1}})
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize(
    ("totals", "what"),
    [
        ({"sex": {"f": 1}}, "have none for 'm', which people in the sample have"),
        ({"sex": {"f": 1, "m": 1, "x": 2}}, "Nobody in the sample has sex = 'x' and a weight above 0"),
        ({"sex": {"f": 3, "m": 1}, "job": {"a": 1, "b": 1}}, "No weights meet all known totals: after 2,000 rounds"),
    ],
)
def test_totals_that_cannot_be_met(totals: dict[str, dict[str, float]], what: str) -> None:
    # Every woman has job a, and every man job b.
    margins = {"sex": ["f", "m", "f"], "job": ["a", "b", "a"]}
    with pytest.raises(InvalidCountsError, match=what):
        cf.tally([0, 1, 1], margins={name: margins[name] for name in totals}, totals=totals)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"margins": {"sex": ["f", "m"]}}, "margins go with totals"),
        ({"totals": {"sex": {"f": 1, "m": 1}}}, "totals go with margins"),
        ({"margins": {"age": ["f", "m"]}, "totals": {"sex": {"f": 1}}}, "a column for each of the known totals, 'sex'"),
        ({"margins": {"sex": ["f"]}, "totals": {"sex": {"f": 1}}}, "one of the labels of 'sex' for each of 2 reports"),
        ({"margins": {"sex": ["f", "m"]}, "totals": {"sex": {"f": -1, "m": 1}}}, "0 or more, or a share; got -1"),
        ({"margins": {"sex": ["f", "m"]}, "totals": {"sex": {"f": math.nan}}}, "got nan"),
        ({"margins": {"sex": ["f", "m"]}, "totals": {"sex": {"f": 0, "m": 0}}}, "add up to nothing"),
        ({"margins": {"sex": ["f", "m"]}, "totals": {"sex": [1, 2]}}, "from each class to its total; got list"),
        ({"margins": {"sex": ["f", "m"]}, "totals": 3}, "totals must be a mapping"),
    ],
)
def test_misuse(given: dict[str, Any], what: str) -> None:
    with pytest.raises((InvalidParameterError, InvalidCountsError), match=what):
        cf.tally([0, 1], **given)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("col,value,total\nsex,f,1\n", "has no column 'column'; it has col, value, total"),
        ("column,value,total\nsex,f,many\n", "Line 2 of .* names no class and its total; got 'sex,f,many'"),
        ("column,value,total\nsex,f,-3\n", "names no class and its total"),
        ("column,value,total\nsex,,3\n", "names no class and its total"),
        ("column,value,total\nsex,f,1\nsex,f,2\n", "Line 3 of .* has sex = f again"),
        ("column,value,total\n", "has no totals below its header"),
    ],
)
def test_a_file_of_totals_that_is_none(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "census.csv").write_text(text)
    with pytest.raises(DataFileError, match=what):
        read_totals(tmp_path / "census.csv")


def test_two_margins_meet_in_a_few_rounds() -> None:
    cells = [("f", "n"), ("f", "s"), ("m", "n"), ("m", "s")]
    masses = np.array([10.0, 30.0, 40.0, 20.0])
    totals = {"sex": {"f": 1, "m": 1}, "region": {"n": 3, "s": 1}}
    found = (masses * rake(totals, cells, masses)).reshape(2, 2)
    assert found.sum(axis=1) == pytest.approx([50, 50])
    assert found.sum(axis=0) == pytest.approx([75, 25])
    # Raking keeps what is between the margins: the odds ratio.
    assert found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0] == pytest.approx(10 * 20 / 30 / 40)
