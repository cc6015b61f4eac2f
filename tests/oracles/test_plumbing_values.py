"""Values, names and orders in their places: what no other test looked at when faults were planted there."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.collector.asking import serving
from tests.plans.test_records import LINE, SHARES, expect, given
from typer.testing import CliRunner

import confide as cf
from confide.cli import estimate as command
from confide.cli.main import app
from confide.collector.stores import open_store
from confide.data.files import Account, GroupedCounts
from confide.errors import InvalidCountsError
from confide.estimates import groups as grouping
from confide.estimates.groups import GroupEstimates, GroupReports
from confide.estimates.inference import Band, CrossTable
from confide.evidence.shapes import Shape
from confide.plans import Curve, Guess
from confide.plans.planning import Flattery, Outlook
from confide.plans.records import plan_csv, plan_record, range_cell, remarks
from confide.present.diagnoses import _queries
from confide.present.estimates import Findings, _show_distributions, tabulate_cross
from confide.present.figures import draw_ranges, draw_residuals
from confide.present.figures.maps import MapScene, _room
from confide.present.figures.style import Panel, Role
from confide.present.summary import NONE, Cards, Listing, Summary, people_in, state
from confide.present.surveys import audit_record
from confide.present.terminal import show_summary
from confide.solve.em import Status
from confide.theory.verdicts import Verdict

pytest.importorskip("matplotlib")

YES_NO = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)
MANY = cf.Categories([f"town {number}" for number in range(25)])


def some(**given: Any) -> Any:
    return SimpleNamespace(**given)


# Surveys and counts


def test_a_survey_with_permanent_noise_is_told_with_its_limits() -> None:
    survey = cf.Survey(YES_NO, most_reports=3, is_permanent=True)
    assert survey.contract.endswith(", at most 3 reports of one person, with permanent noise")


def test_groups_are_in_the_order_of_their_names() -> None:
    towns, ages = ("Oslo", "Bern"), ("young", "old")
    one, other = (
        cf.Survey(YES_NO, groups=dict(order)) for order in ((("b", towns), ("a", ages)), (("a", ages), ("b", towns)))
    )
    assert list(one.groups) == list(other.groups) == ["a", "b"]
    assert one.groups["b"] == towns
    assert one.text() == other.text()


def test_a_matrix_that_is_not_shown_has_its_own_rows_and_columns() -> None:
    matrix = cf.FromMatrix(cf.Categories(["a", "b", "c"]), [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    assert "matrix = []  # 3 rows of 2, not shown" in cf.Survey(matrix).text(2)


def test_distinct_cells_are_counted_and_not_their_parts() -> None:
    assert repr(cf.tally([(1, 2), (3, 4), (1, 2)])) == "Counts(3 reports, 2 distinct)"


# Groups


def test_a_group_is_too_small_where_half_the_line_would_not_show() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 10), 1.0)
    reports = {"near": 50, "far": 50, "few": 9, "ten": 10}
    seen = GroupReports({key: [(cf.tally([3], counts=[number]), mechanism)] for key, number in reports.items()})
    vars(seen)["differences"] = {
        key: some(visible=one) for key, one in (("near", 5.0), ("far", 5.1), ("few", 1.0), ("ten", 1.0))
    }
    assert seen.too_small == ["far", "few"]


def test_groups_that_are_solved_together_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 16.0])
    monkeypatch.setattr(grouping, "time", some(perf_counter=lambda: next(clock)))
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 2), 1.0)
    counts = cf.tally([0, 1, 2], counts=[50, 30, 20])
    found = grouping.recover_groups(dict.fromkeys("abc", counts), mechanism, cf.IBU())
    assert [one.seconds for one in found.values()] == [2.0, 2.0, 2.0]


def test_more_groups_that_cannot_be_told_are_those_that_are_not_named() -> None:
    found = GroupEstimates(dict.fromkeys("abcdefgh", some(uniformity=None)))
    for untold, words in (("abc", "a, b, c."), ("abcd", "a, b, c and 1 more.")):
        vars(found)["untold"] = list(untold)
        told = found.describe_untold()
        assert told.startswith(f"The reports of {len(untold)} of 8 groups")
        assert told.endswith(f"from those of a uniform population: {words}")


# Plans


def outlook(name: str, *errors: float) -> Outlook:
    people, epsilon = (Curve(along, (1.0, 2.0), tuple(map(expect, errors))) for along in ("people", "epsilon"))
    return Outlook(Guess(name, LINE, SHARES), expect(errors[0]), people, epsilon)


def test_every_shape_has_its_own_name_and_the_best_is_told_first() -> None:
    plan = given(outlooks=(outlook("peaked", 0.3, 0.2), outlook("rough", 0.5, 0.1)))
    assert range_cell(plan, "people", 1.0) == ("0.3 to 0.5 years", "peaked to rough")
    assert range_cell(plan, "epsilon", 2.0) == ("0.1 to 0.2 years", "rough to peaked")
    rows = [row for row in csv.DictReader(plan_csv(plan).splitlines()) if row["part"].startswith("by")]
    assert {(row["guess"], float(row["expected"])) for row in rows} >= {("peaked", 0.2), ("rough", 0.1)}
    assert ("rough", 0.2) not in {(row["guess"], float(row["expected"])) for row in rows}


def test_a_guess_that_flatters_has_its_own_rise() -> None:
    record = plan_record(given(flattery=Flattery(False, {"rough": expect(0.9)}, 0.4, 1.2, 2.5)))["flattery"]
    assert (record["part_of_usual_error"], record["rise"], record["usual_rise"]) == (0.4, 1.2, 2.5)


def test_an_interval_is_so_wide_in_a_shape_and_so_wide_without() -> None:
    told = " ".join(remarks(given(shape=Shape.of("falling"), interval_widths=(0.1, 0.2))))
    assert "will be about 0.100 wide in it, and 0.200 without" in told


# Figures


def test_the_widest_bars_have_their_own_names() -> None:
    highest = np.linspace(0.1, 0.9, 25)
    labels = [one.get_text() for one in draw_ranges(MANY, np.zeros(25), highest).axes[0].get_yticklabels()]
    assert labels == [f"town {number}" for number in range(24, 4, -1)]


def test_the_largest_residuals_have_their_own_names() -> None:
    residuals = np.where(np.arange(25) < 5, 0.0, 3.0)
    labels = [one.get_text() for one in draw_residuals(MANY, residuals).axes[0].get_yticklabels()]
    assert labels == [f"town {number}" for number in range(5, 25)]


def test_maps_of_people_beside_reports_show_shares_in_a_cell() -> None:
    panels = [Panel(role.value, np.full(4, 0.25), role=role) for role in (Role.NOISY, Role.ESTIMATE)]
    scenes = [MapScene(cf.Grid(2, 2), shown, "home") for shown in (tuple(panels), tuple(panels[:1]))]
    assert [scene._key_label() for scene in scenes] == ["share in a cell", "share of reports"]


# The command line


def test_rows_of_a_cross_table_have_an_entry_for_each_column() -> None:
    both = cf.Attributes(sex=cf.Categories(["f", "m"]), size=cf.Integers(0, 2))
    shares = np.array([0.1, 0.2, 0.3, 0.05, 0.15, 0.2])

    def band(alphabet: cf.Alphabet, shares: Any) -> Band:
        return Band(alphabet, shares, shares - 0.01, shares + 0.02, 0.95, "")

    sums = {name: band(both.part(name), both.margin(shares, name)) for name in both.names}
    table = tabulate_cross(CrossTable(both.names, band(both, shares), sums))
    out = StringIO()
    show_summary(Summary("", sections=[table]), Console(file=out, width=120))
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.getvalue().splitlines()[-3:]]
    assert [[one.split(" ")[0] for one in row] for row in rows] == [
        ["f", "10.0", "20.0", "30.0", "60.0"],
        ["m", "5.0", "15.0", "20.0", "40.0"],
        ["all", "15.0", "35.0", "50.0", "100"],
    ]
    assert rows[1][2] == "15.0 (14.0-17.0)"


def test_an_audit_has_ratio_and_bound_of_the_permanent_round() -> None:
    worst = some(log_ratio=0.4, bound=0.5)
    lasting = some(worst=worst, holds=True, faults=(), extent=some(value="every pair"))
    yes = cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)
    found = replace(cf.audit(yes), lasting=lasting)
    record = audit_record(cf.Survey(yes, "answer", "A question"), found)["any_number_of_reports"]
    assert (record["holds"], record["log_ratio"], record["bound"]) == (True, 0.4, 0.5)


def test_a_store_lists_accepted_reports_beside_the_rejected(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    store = open_store(place)
    with serving(store) as served:
        assert served.post(served.message([3, 4, 5, 70])).status == 200
    store.close()
    assert "3 accepted + 1 rejected" in " ".join(CliRunner().invoke(app, ["curate", place]).output.split())


def test_groups_that_end_by_either_limit_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    endings = (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.CERTIFIED)
    found: Any = {number: some(status=status) for number, status in enumerate(endings)}
    command._warn_of_endings(found, 5)
    told = " ".join(capsys.readouterr().err.split())
    assert "2 of 3 groups ended before their goal" in told
    assert "2 groups have no reports" in told


# Alphabets


def test_amounts_are_off_by_half_the_widest_bin() -> None:
    assert "up to 20 euros either way" in cf.Bins(edges=[0, 10, 50], unit="euro").mean_remark


def test_a_part_of_a_calendar_keeps_its_numbers_in_sql() -> None:
    part = cf.Dates("2026-01-01", "2026-12-31").between(31, 40)
    assert isinstance(part, cf.Dates)
    assert part.labels([0]) == ["2026-02-01"]
    duckdb = pytest.importorskip("duckdb")
    days = "(VALUES (DATE '2026-01-31'), (DATE '2026-02-01'), (DATE '2026-02-10'), (DATE '2026-02-11')) days(day)"
    found = duckdb.sql(f"SELECT {part.sql('day')} FROM {days}").fetchall()  # noqa: S608
    assert found == [(None,), (31,), (40,), (None,)]


def test_each_attribute_has_its_own_open_end() -> None:
    bins = cf.Bins(0, 20, 10, above=True)
    both = cf.Attributes(earned=bins, spent=bins)
    ends = both.beyond(both.take([(25, 5), (5, 30), (40, 50), (1, 2)]))
    assert {name: which.tolist() for name, which in ends.items()} == {
        "earned 20 or more": [True, False, True, False],
        "spent 20 or more": [False, True, True, False],
    }


def test_what_the_best_explanations_leave_open_is_told_as_what_it_is() -> None:
    """One answer, a range, or a range that the answers lie in at most."""
    known = {"query": "x == 1", "interval": None, "identification": some(verdict=Verdict.NO)}
    ends = [(None, None, False), (0.25, 0.25, False), (0.125, 0.5, False), (0.125, 0.5, True)]
    made = [some(**known, lowest=low, highest=high, is_outer=outer) for low, high, outer in ends]
    (table,) = _queries(made).parts
    assert isinstance(table, Listing)
    place = table.headings.index("Equally good explanations")
    told = [row[place] for row in table.rows]
    assert told == [NONE, "one answer", "12.50% to 50.00%", "12.50% to 50.00% at most"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("age >= 65", "are 65 or older"),
        ("Age < 20", "are younger than 20"),
        ("age == 40", "are 40"),
        ("age in {1, 2}", "have age in {1, 2}"),
        ("age in 40..49", "have age in 40..49"),
        ("income <= 20k", "have income 20k or less"),
        ("age >= 65 and sex == f", "have age >= 65 and sex == f"),
        ("within 2 km of 40.75, -73.98", "are within 2 km of 40.75, -73.98"),
        ("North", ""),
    ],
)
def test_a_question_about_people_goes_on_as_a_sentence(query: str, words: str) -> None:
    assert people_in(query) == words
    told = state(cf.estimates.Interval(query, 0.0426, 0.0075, 0.0784, 0.95, ""), "age")
    first = f"About 4% {words}" if words else f"{query}: about 4%"
    assert told == f"{first} (95% confidence: 1% to 8%)."


@pytest.mark.parametrize("seed", range(12))
def test_words_stand_within_their_district(seed: int) -> None:
    draw = np.random.default_rng(seed)
    inside = draw.random((6, 9)) < 0.85
    for height, breadth in draw.uniform(0.2, 4.5, (12, 2)).tolist():
        found = _room(inside, height, breadth)
        # All half cells that a box at the corner of one covers lie inside, or no box has room.
        fine = np.repeat(np.repeat(inside, 2, axis=0), 2, axis=1)
        sides = -int(-2 * height // 1), -int(-2 * breadth // 1)
        has_room = [
            bool(fine[top : top + sides[0], left : left + sides[1]].all())
            for top in range(12 - sides[0] + 1)
            for left in range(18 - sides[1] + 1)
        ]
        assert (found is not None) == any(has_room)
        if found is not None:
            top, left = (round(2 * middle - side / 2) for middle, side in zip(found, sides, strict=True))
            assert fine[top : top + sides[0], left : left + sides[1]].all()


@pytest.mark.parametrize("mechanism", [cf.TruncatedGeometric, cf.Geometric, cf.Rappor])
def test_the_truth_stands_behind_whatever_is_drawn_over_the_same_values(mechanism: Any) -> None:
    made = mechanism(cf.Integers(0, 5), epsilon=2.0)
    truth = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    counts = made.simulate_counts((truth * 2000).astype(int), rng=1)
    outcome = cf.assess(counts, made, cf.MLE(), truth=truth)
    known = Findings(cf.Survey(made, "age"), counts, (outcome,), truth)
    (section,) = _show_distributions(known)
    panels = {panel.title: panel for part in section.parts if isinstance(part, Cards) for panel in part.panels}
    reported = "What was reported" if known.is_comparable else "Bits set"
    assert set(panels) == {"The truth", "What was recovered", reported}
    behind = {title: None if one.reference is None else one.reference.tolist() for title, one in panels.items()}
    same = {"What was recovered", "What was reported"}
    assert behind == {title: truth.tolist() if title in same else None for title in panels}


@pytest.mark.parametrize("columns", [1, 2])
def test_a_group_has_one_name_for_each_column(columns: int) -> None:
    for names in range(4):
        groups = {tuple("abc"[:names]): cf.tally([3])}
        if names == columns:
            assert len(GroupedCounts(tuple("xyz"[:columns]), groups, Account(1))) == 1
            continue
        with pytest.raises(InvalidCountsError, match="A group is named by x"):
            GroupedCounts(tuple("xyz"[:columns]), groups, Account(1))


@pytest.mark.parametrize("option", ["--token read", "--invite 3 -o i.txt", "--upload token", "--upload closed", ""])
def test_nothing_is_done_about_a_survey_that_is_not_there(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known, strange = cf.Survey(YES_NO, "answer"), cf.Survey(YES_NO, "answer", most_reports=1)
    Path("strange.toml").write_text(strange.text())
    store = open_store("store.db")
    store.add_survey(known)
    for named in ("strange.toml", strange.fingerprint):
        ending = CliRunner().invoke(app, ["curate", "store.db", named, *option.split()])
        assert (ending.exit_code, "The store has no survey" in " ".join(ending.output.split())) == (2, True)
    assert (store.tokens(), [one.admission for one in store.surveys()], Path("i.txt").exists()) == ([], ["open"], False)
    store.close()
