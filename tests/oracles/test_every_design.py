"""Weights, strata and clusters on every way that counts can go: the sums and the variance stay those of the people.

The reference is a list of people and two textbook formulas. Whichever way counts are made, kept, added up, grouped or
taken over into evidence, the variance of any scores must be that of the people themselves.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.oracles import plain
from typer.testing import CliRunner

import confide as cf
from confide.channels import ClampedPlanarConvolution
from confide.channels.composed import Blocks, Mixture, Points
from confide.channels.kernels import planar_geometric_kernel
from confide.cli.main import app
from confide.data.counting import merge_files
from confide.data.counting.waves import read_waves, summed_over
from confide.data.files import load_counts, read_counts, read_heading, save_counts
from confide.data.files.counts_files import CountedReports, GroupedCounts
from confide.estimates.changes import Moments
from confide.estimates.inference.inference import Question
from confide.evidence.counts import Accumulator, Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import observe_weighted

pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 6, unit="year"), 1.0), "age", "Ages")
OTHER = cf.Survey(cf.TruncatedGeometric(cf.Integers(2, 6, unit="year"), 2.0), "age", "Others")


class Person(NamedTuple):
    """One person: what was reported, and how they were drawn."""

    report: int
    weight: float
    region: str
    village: str
    town: str
    week: str


def people(seed: int, size: int = 150) -> list[Person]:
    """Return people of unlike weights, in unlike regions, whose villages have the same names in several."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(size):
        region = "north" if number % 5 < 2 else "south" if number % 5 < 4 else "isle"
        village = f"v{int(rng.integers(4))}" if region != "isle" else "v0"  # one village alone in its region
        report = 2 + int(rng.integers(2 + 3 * (region == "south")))
        weight = float(rng.integers(1, 30)) / 8  # whose sums and squares are exact
        found.append(Person(report, weight, region, village, f"t{int(rng.integers(3))}", f"2026-W{number % 3 + 1:02}"))
    return found


DESIGNS = [one for one in itertools.product((False, True), repeat=3) if any(one)]
"""Whether there are weights, strata and clusters."""

Design = tuple[bool, bool, bool]
every_design = pytest.mark.parametrize(
    "design", DESIGNS, ids=lambda one: "-".join(n for n, has in zip(("w", "s", "c"), one, strict=True) if has)
)


def columns_of(design: Design) -> dict[str, Any]:
    named = zip(("weights", "strata", "clusters"), ("weight", "region", "village"), design, strict=True)
    return {name: column for name, column, has in named if has}


def sums_of(some: list[Person], design: Design) -> dict[tuple[str, str, int], tuple[float, float, float]]:
    """Return people, weights and squares by stratum, cluster and report."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in some:
        weight = one.weight if design[0] else 1.0
        own = found[one.region if design[1] else "", one.village if design[2] else "", one.report]
        for place, part in enumerate((1.0, weight, weight**2)):
            own[place] += part
    return {key: (one, two, three) for key, (one, two, three) in found.items()}


def variance_of(some: list[Person], design: Design, score: Callable[[int], float]) -> float:
    """Return the variance of the weighted sum of scores, as any textbook has it.

    A village that is alone in its region counts with its distance from nothing, and where there are few villages the
    quantile of Student's law takes the place of 1.96.
    """
    units: dict[str, dict[object, float]] = defaultdict(lambda: defaultdict(float))
    for number, one in enumerate(some):
        unit: object = one.village if design[2] else number
        weight = one.weight if design[0] else 1.0
        units[one.region if design[1] else ""][unit] += weight * score(one.report)
    if not (design[1] or design[2]):  # weights alone: the sum itself is random, and not only its parts
        return sum(part**2 for own in units.values() for part in own.values())
    total = 0.0
    for own in units.values():
        sums, many = list(own.values()), len(own)
        middle = sum(sums) / many if many > 1 else 0.0
        total += (many / (many - 1) if many > 1 else 1.0) * sum((one - middle) ** 2 for one in sums)
    freedom = sum(len(own) for own in units.values()) - len(units)
    return total * (float(stdtrit(max(1, freedom), 0.975)) / 1.959964) ** 2 if design[2] else total


SCORES = np.random.default_rng(3).normal(size=(4, 8))


def agree(counts: Counts, some: list[Person], design: Design) -> None:
    """Check counts against people: sums by block and report, and the variance of scores."""
    sums = sums_of(some, design)
    reports = sorted({one.report for one in some})
    assert counts.reports.tolist() == reports
    for place, column in enumerate((counts.counts, counts.weights, counts.squares)):
        assert column is not None
        expected = [sum(one[place] for (_, _, own), one in sums.items() if own == report) for report in reports]
        assert column.tolist() == expected, place
    if design[1] or design[2]:
        assert counts.blocks is not None
        known = {(*names, reports[place]): one for (names, place), one in counts.blocks._by_name.items()}
        assert known == sums
        assert counts.blocks.has_clusters is design[2]
    else:
        assert counts.blocks is None
    for row in SCORES:
        scores = dict(zip(range(2, 7), row, strict=False))
        ours = counts.variance(np.array([scores[report] for report in reports]))
        assert ours == pytest.approx(variance_of(some, design, scores.__getitem__))


def tallied(some: list[Person], design: Design) -> Counts:
    given: dict[str, Any] = {
        name: [getattr(one, column) for one in some] for name, column in columns_of(design).items()
    }
    return cf.tally([one.report for one in some], **given)


def write(path: Path, some: list[Person]) -> Path:
    plain.write_rows(path, [{("report" if n == "report" else n): v for n, v in one._asdict().items()} for one in some])
    return path


@every_design
def test_counts_made_in_memory_and_added_up(design: Design) -> None:
    some = people(1)
    agree(tallied(some, design), some, design)
    parts = [tallied(some[start::3], design) for start in range(3)]
    agree(cf.merge(parts), some, design)
    running = Accumulator()
    for part in parts:
        running.add(part)
    agree(running.counts, some, design)
    twice = cf.merge([*parts, *parts])
    if not design[2]:  # the same villages again are no new ones
        agree(twice, some * 2, design)
    moved = tallied(some, design).with_reports([2, 2, 4, 5, 6])  # three comes to lie on two
    agree(moved, [one._replace(report=max(one.report, 2) if one.report != 3 else 2) for one in some], design)


@pytest.mark.parametrize(
    ("ending", "design"), [*(("csv", one) for one in DESIGNS), ("jsonl", DESIGNS[-1]), ("parquet", DESIGNS[-1])]
)
def test_counts_of_files_in_groups_and_without(design: Design, ending: str, tmp_path: Path) -> None:
    some = people(2)
    path, named = write(tmp_path / f"r.{ending}", some), columns_of(design)
    found = cf.count(path, AGES, **named)
    assert isinstance(found, CountedReports)
    agree(found, some, design)
    grouped = cf.count(path, AGES, by=("week", "town"), **named)
    assert isinstance(grouped, GroupedCounts)
    for (week, town), one in grouped.items():
        agree(one, [who for who in some if (who.week, who.town) == (week, town)], design)
    agree(grouped.merged, some, design)
    both: tuple[Counts | GroupedCounts, ...] = (found, grouped)
    for number, counts in enumerate(both):
        save_counts(tmp_path / f"{number}.parquet", counts, AGES)
        back = load_counts(tmp_path / f"{number}.parquet")
        agree(back.merged if isinstance(back, GroupedCounts) else back, some, design)


@pytest.mark.parametrize("design", [(True, False, False), (False, True, False), (True, True, True)])
def test_counts_of_the_command_line_merged_and_over_weeks(
    design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    some, named = people(3), columns_of(design)
    (tmp_path / "s.toml").write_text(AGES.text())
    options = [word for name, column in named.items() for word in (f"--{name}", column)]
    for number in range(3):
        write(tmp_path / f"{number}.csv", some[number::3])
        words = ["count", "s.toml", f"{number}.csv", "--by", "week,town", *options, "-o", f"{number}.parquet"]
        said = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
        mine = some[number::3]
        assert (said["reports"], said["groups"]) == (len(mine), len({(one.week, one.town) for one in mine}))
        keys = [(one.week, one.town, *(getattr(one, c) for c in list(named.values())[design[0] :])) for one in mine]
        assert said["distinct"] == len({(*key, one.report) for key, one in zip(keys, mine, strict=True)})
        for kind, words_of in (said["design"] or {}).items():
            places = [(one.region if design[1] else "", one.village) for one in mine]
            many = len({place[0] for place in places}) if kind == "strata" else len(set(places))
            assert words_of.startswith(f"{many} {kind}"), kind
        assert set(said["design"] or {}) == {"strata", "clusters"} & set(named)
        assert (said["weights"] or {}).get("column") == named.get("weights")
    first, last = ["0.parquet", "1.parquet"], ["2.parquet", "some.parquet"]
    merge_files(first, "some.parquet")
    merge_files(last, "all.parquet")
    heading = read_heading("all.parquet")
    assert {
        name: getattr(heading, name) for name in ("weights", "strata", "clusters") if getattr(heading, name)
    } == named
    assert heading.files == 3
    file = read_counts("all.parquet")
    agree(file.merged, some, design)
    for over in ("week", "town"):
        for (key,), parts in summed_over(file, over).groups.items():
            agree(parts[0], [one for one in some if getattr(one, over) == key], design)
    by_week, _ = read_waves("all.parquet", AGES, "week")
    assert sorted(by_week.groups) == [(f"2026-W0{week}",) for week in (1, 2, 3)]


@every_design
def test_evidence_of_a_mechanism_keeps_the_variance_whatever_is_made_of_it(design: Design) -> None:
    some, rng = people(4), np.random.default_rng(5)
    counts = tallied(some, design).independent  # as estimates take them: scaled to the effective number of people
    scale = counts.total / counts.as_counted.weight
    one, other = (observe_weighted(survey.mechanism, counts, None) for survey in (AGES, OTHER))
    for row in SCORES:
        slopes, scores = row[:5], dict(zip(range(2, 7), row, strict=False))
        expected = scale**2 * variance_of(some, design, scores.__getitem__)
        assert float(one.quadratic(slopes)) == pytest.approx(expected)
        numbers = np.array([0, 1, 0, 1, 2])
        assert float(one.gathered(numbers).quadratic(row[:3])) == pytest.approx(float(one.quadratic(row[:3][numbers])))
        mixed = one.mixed(Mixture(5, (Points(np.array([0, 2, 4])),)))
        assert float(mixed.quadratic(slopes)) == pytest.approx(expected)
        each = rng.normal(size=(3, 5))
        alone = sum(float(part.quadratic(own)) for part, own in zip((one, other, one), each, strict=True))
        assert float(Evidence.pool([one, other, one]).quadratic(each.reshape(-1))) == pytest.approx(alone)


@every_design
def test_evidence_of_a_map_keeps_the_variance_in_blocks_of_cells(design: Design) -> None:
    shape = (6, 5)
    some = [one._replace(report=one.report * 4 + place % 5) for place, one in enumerate(people(6))]  # a cell each
    counts = tallied(some, design)
    cells = np.zeros((3, 30))
    assert counts.weights is not None
    assert counts.squares is not None
    cells[:, counts.reports] = counts.counts, counts.weights, counts.squares
    moved = None if counts.blocks is None else counts.blocks.moved(counts.reports).covariance(30)
    channel = ClampedPlanarConvolution(planar_geometric_kernel(shape, 1.0))
    seen = Evidence(channel, cells[1], variances=cells[2] if moved is None else moved.variances, design=moved)
    blocks = Blocks(shape, 2)
    few = seen.in_blocks(blocks)
    assert few is not None
    for row in np.random.default_rng(7).normal(size=(4, blocks.count)):
        slopes = blocks.spread(row * blocks.nearest(np.ones(30)))  # the same for each cell of a block
        expected = variance_of(some, design, slopes.__getitem__)
        assert float(seen.quadratic(slopes)) == pytest.approx(expected)
        assert float(few.quadratic(row)) == pytest.approx(expected)


@every_design
def test_waves_have_errors_of_their_people(design: Design) -> None:
    some = people(7)
    waves = {week: [one for one in some if one.week == week] for week in sorted({one.week for one in some})}
    found = cf.estimate_groups({week: tallied(own, design) for week, own in waves.items()}, AGES.mechanism, cf.MLE())
    moments = Moments.of_counts(list(found.values()), Question("mean"))
    values = dict(zip(range(2, 7), cf.unbias([2, 3, 4, 5, 6], AGES.mechanism).tolist(), strict=True))
    for place, own in enumerate(waves.values()):
        weights = [one.weight if design[0] else 1.0 for one in own]
        middle = sum(w * values[one.report] for w, one in zip(weights, own, strict=True)) / sum(weights)
        assert moments.means[place] == pytest.approx(middle)
        centred = {report: value - middle for report, value in values.items()}
        spread = variance_of(own, design, centred.__getitem__) / sum(weights) ** 2
        effective = found[list(waves)[place]].groups[AGES.mechanism].total
        assert math.sqrt(moments.covariance[place, place]) == pytest.approx(
            math.sqrt(spread * effective / (effective - 1)), rel=1e-6
        )


@every_design
def test_counts_that_differ_in_one_part_are_not_equal(design: Design) -> None:
    some = people(8)
    counts = tallied(some, design)
    assert counts == tallied(some[::-1], design)
    heavier = [some[0]._replace(weight=some[0].weight + 1), *some[1:]]
    elsewhere = [some[0]._replace(region="isle" if some[0].region != "isle" else "north", village="v9"), *some[1:]]
    other = [some[0]._replace(report=2 + (some[0].report - 1) % 5), *some[1:]]
    assert (tallied(heavier, design) != counts) is design[0]
    assert (tallied(elsewhere, design) != counts) is (design[1] or design[2])
    assert tallied(other, design) != counts
    assert tallied(some[1:], design) != counts
    assert counts.unweighted != counts


def test_a_group_in_which_nobody_counts_has_no_estimate(tmp_path: Path) -> None:
    some = [one._replace(weight=0.0) if one.town == "t1" else one for one in people(9)]
    found = cf.count(write(tmp_path / "r.csv", some), AGES, by="town", weights="weight")
    save_counts(tmp_path / "c.parquet", found, AGES)
    assert list(read_counts(tmp_path / "c.parquet").groups) == [("t0",), ("t1",), ("t2",)]
    assert list(read_counts(tmp_path / "c.parquet").pools) == [("t0",), ("t2",)]
