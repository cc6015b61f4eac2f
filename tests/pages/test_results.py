"""Results that show themselves: every class in a notebook, as a plot, as a data frame, as a file."""

from __future__ import annotations

import csv
import html
import json
import sys
import warnings
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import DataFileError, InvalidParameterError, MissingExtraError
from confide.estimates.inference import Interval
from confide.evidence.counts import Counts

MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
ANSWERS = cf.RandomizedResponse(cf.Categories(["yes", "=no", "maybe"]), epsilon=1.0)
PEOPLE = np.array([0, 1, 4, 9, 16, 16, 9, 4, 1, 0]) * 20


@cache
def results() -> dict[str, Any]:
    counts = MECHANISM.simulate_counts(PEOPLE, rng=1)
    other = MECHANISM.simulate_counts(np.full(10, 30), rng=2)
    said = cf.tally(["yes", "=no", "maybe"], counts=[500, 300, 200])
    with warnings.catch_warnings(action="ignore"):
        estimate = cf.estimate(counts, MECHANISM, cf.IBU())
        return {
            "Estimate": estimate,
            "Estimate of categories": cf.estimate(said, ANSWERS, cf.IBU()),
            "GroupEstimates": cf.estimate_groups({"Oslo": counts, "Rome": other}, MECHANISM, cf.IBU()),
            "GroupEstimates of categories": cf.estimate_groups(
                {("Oslo", 1): said, ("Rome", 2): cf.tally(["yes", "=no"], [40, 60])}, ANSWERS, cf.IBU()
            ),
            "Interval": estimate.query("x >= 5"),
            "Diagnosis": cf.diagnose(counts, MECHANISM),
            "Plan": cf.plan(MECHANISM, np.full(10, 0.1), people=500, repeats=4, cache=False),
            "Audit": cf.audit(MECHANISM),
            "Fit": estimate.fit,
            "Counts": counts,
            "Counts of texts": said,
            "Counts of cells": cf.tally([[1, 7], [0, 3], [1, 2]], counts=[5, 1200, 30]),
            "Mechanism": MECHANISM,
            "Survey": cf.Survey(MECHANISM, "rooms", "How many rooms?"),
        }


NAMES = tuple(results())
PLOTTED = [name for name in NAMES if name not in ("Diagnosis", "Audit", "Fit", "Counts of cells")]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_every_result_in_a_frame_of_its_own(name: str) -> None:
    pytest.importorskip("matplotlib")
    shown = results()[name]._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    page = html.unescape(shown)
    assert "prefers-color-scheme: dark" in page or "prefers-color-scheme:dark" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_every_result_is_a_frame_and_the_same_table_as_csv(name: str, backend: Any, tmp_path: Path) -> None:
    pytest.importorskip(backend)
    frame = results()[name].to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    results()[name].save(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(frame.columns)
    assert len(rows) == frame.shape[0] > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_a_page_and_a_record(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = results()[name]
    answer.save(str(tmp_path / "x.html"))
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    answer.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PLOTTED)
def test_a_plot_goes_into_axes_and_into_a_file(name: str, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure

    answer, axes = results()[name], Figure().add_subplot()
    assert answer.plot(axes) is axes
    assert axes.has_data()
    assert answer.plot().has_data()
    plt.close("all")
    answer.save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PLOTTED) - {"Counts of cells"}))
def test_a_result_without_a_plot_says_what_can_be_plotted(name: str, tmp_path: Path) -> None:
    for ask in (results()[name].plot, lambda: results()[name].save(tmp_path / "x.svg")):
        with pytest.raises(InvalidParameterError, match=rf"{name} has no plot of its own. You can plot an Estimate"):
            ask()
    assert not list(tmp_path.iterdir())


def test_values_cell_by_cell_in_groups_of_unequal_size() -> None:
    pytest.importorskip("pandas")
    groups = results()["GroupEstimates"]
    frame = groups.to_frame()
    assert list(frame.columns) == ["group", "value", "probability", "reports"]
    assert frame["group"].tolist() == ["Oslo"] * 10 + ["Rome"] * 10
    assert frame["value"].tolist() == [*range(10), *range(10)]
    assert frame["probability"].tolist() == [*groups["Oslo"].distribution, *groups["Rome"].distribution]
    assert frame["reports"].tolist() == [PEOPLE.sum()] * 10 + [300] * 10
    pairs = results()["GroupEstimates of categories"].to_frame()
    assert pairs["group 1"].tolist() == ["Oslo"] * 3 + ["Rome"] * 3
    assert pairs["group 2"].tolist() == ["1"] * 3 + ["2"] * 3
    assert pairs["reports"].tolist() == [1000] * 3 + [100] * 3


def test_values_cell_by_cell_of_small_results(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    answer: Interval = results()["Interval"]
    (row,) = answer.to_frame().to_dict("records")
    assert answer.parts is not None
    assert row == {
        "question": "x >= 5",
        "estimate": answer.estimate,
        "low": answer.low,
        "high": answer.high,
        "level": 0.95,
        "sampling": answer.parts.sampling,
        "privacy": answer.parts.privacy,
    }
    counts = results()["Counts"].to_frame()
    assert counts["count"].tolist() == results()["Counts"].counts.tolist()
    assert counts["report"].tolist() == results()["Counts"].reports.tolist()
    plan = results()["Plan"]
    table = plan.to_frame()
    along = table[table["along"] == "people"]
    assert along["place"].tolist() == list(plan.by_people.places)
    assert along["error"].tolist() == [one.mean for one in plan.by_people.predictions]
    # A frame has what was said; a CSV file, which a spreadsheet may open, cannot run it as a formula.
    said = results()["Counts of texts"]
    assert set(said.to_frame()["report"]) == {"yes", "=no", "maybe"}
    said.save(tmp_path / "x.csv")
    assert "'=no,300" in (tmp_path / "x.csv").read_text(encoding="utf-8")


def spread(name: str, curve: Any) -> list[tuple[object, ...]]:
    pairs = zip(curve.places, curve.predictions, strict=True)
    return [(name, place, one.mean, one.margin) for place, one in pairs]


def every_cell() -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, from what a result says of itself."""
    found, rows = results(), {}
    names = ("question", "estimate", "low", "high", "level")
    for name, values in (("Estimate", range(10)), ("Estimate of categories", ("yes", "=no", "maybe"))):
        shares = zip(values, found[name].distribution.tolist(), strict=True)
        rows[name] = [{"value": value, "probability": share} for value, share in shares]
    of_keys = {"GroupEstimates": ("group",), "GroupEstimates of categories": ("group 1", "group 2")}
    for name, by in of_keys.items():
        rows[name] = [
            dict(zip(by, map(str, key if isinstance(key, tuple) else (key,)), strict=True))
            | {"value": value, "probability": share, "reports": sum(counts.counts.tolist())}
            for key, one in found[name].items()
            for counts in one.groups.values()
            for value, share in zip(one.alphabet.decode(range(one.alphabet.size)), one.distribution, strict=True)
        ]
    answer, fit, plan = found["Interval"], found["Fit"], found["Plan"]
    parts = {"sampling": answer.parts.sampling, "privacy": answer.parts.privacy}
    rows["Interval"] = [{name: getattr(answer, name) for name in names} | parts]
    of_fit = ("p_value", "statistic", "degrees", "reports", "replicates")
    rows["Fit"] = [{"verdict": str(fit.verdict)} | {name: getattr(fit, name) for name in of_fit}]
    along = spread("people", plan.by_people) + spread("epsilon", plan.by_epsilon)
    rows["Plan"] = [dict(zip(("along", "place", "error", "margin"), one, strict=True)) for one in along]
    for name in ("Counts", "Counts of texts"):
        pairs = zip(found[name].reports.tolist(), found[name].counts.tolist(), strict=True)
        rows[name] = [{"report": report, "count": number} for report, number in pairs]
    rows["Counts of cells"] = [
        {"part 1": 0, "part 2": 3, "count": 1200.0},
        {"part 1": 1, "part 2": 2, "count": 30.0},
        {"part 1": 1, "part 2": 7, "count": 5.0},
    ]
    return rows


@pytest.mark.parametrize("name", every_cell())
def test_every_cell_of_every_table(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    answer, expected = results()[name], every_cell()[name]
    assert answer.to_frame().to_dict("records") == expected
    answer.save(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        saved = list(csv.DictReader(file))
    # What a spreadsheet would run has an apostrophe in front.
    as_text = {"=no": "'=no", None: ""}
    assert saved == [{key: str(as_text.get(one, one)) for key, one in row.items()} for row in expected]


def test_every_entry_of_small_records(tmp_path: Path) -> None:
    found = results()

    def saved(name: str) -> Any:
        path = tmp_path / f"{name}.json"
        found[name].save(path)
        return json.loads(path.read_text(encoding="utf-8"))

    for name, distinct, total in (("Counts of texts", 3, 1000), ("Counts of cells", 3, 1235)):
        columns = {key: [row[key] for row in every_cell()[name]] for key in every_cell()[name][0]}
        sizes: dict[str, Any] = {"reports": total, "distinct": distinct, "repeats": 1, "weights": None}
        sizes |= {"headline": f"{distinct} distinct reports"}
        sizes |= {"summary": [f"{total:,} reports", f"{distinct} distinct reports"]}
        assert saved(name) == sizes | {"origin": found[name].origin.record, "counts": columns}
    record = saved("Interval")
    assert record["query"] == "x >= 5"
    for name in ("estimate", "low", "high", "level", "rests_on"):
        assert record[name] == getattr(found["Interval"], name)
    record = saved("Fit")
    assert [record[name] for name in ("verdict", "p_value", "statistic", "degrees", "reports")] == [
        str(found["Fit"].verdict),
        *(getattr(found["Fit"], name) for name in ("p_value", "statistic", "degrees", "reports")),
    ]
    record = saved("Mechanism")
    assert record["kind"] == "truncated-geometric"
    assert (record["description"], record["guarantee"]) == (repr(MECHANISM), str(MECHANISM.guarantee))
    assert (record["fine_print"], record["alphabet"]["size"]) == (list(MECHANISM.fine_print), 10)
    record = saved("Plan")
    assert (record["people"], record["survey"]["name"]) == (500, "value")
    record = saved("GroupEstimates")
    assert [one["reports"] for one in record["groups"]] == [PEOPLE.sum(), 300]
    assert [one["group"] for one in record["groups"]] == [{"group": "Oslo"}, {"group": "Rome"}]
    record = saved("Estimate")
    assert (record["reports"], record["method"]) == (PEOPLE.sum(), "IBU")
    assert record["distribution"] == found["Estimate"].distribution.tolist()


class Texts(HTMLParser):
    """Texts of a page by the tag that they stand in, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self._open.append(tag)
        self.found.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        for tag in self._open:
            self.found[tag][-1] += data


def texts_of(answer: Any) -> dict[str, list[str]]:
    framed = answer._repr_html_()
    return Texts(html.unescape(framed.partition('srcdoc="')[2].partition('" title=')[0])).found


def test_a_card_lists_the_most_frequent_reports_first() -> None:
    pytest.importorskip("matplotlib")
    numbers = [5, 1000, 20, 7, 1000, 3, 60, 2, 900, 40]
    found = texts_of(cf.tally([f"r{place}" for place in range(10)], numbers))
    ordered = sorted(range(10), key=lambda place: (-numbers[place], place))[:8]
    assert found["th"] == ["report", "count"]
    assert found["td"] == [text for place in ordered for text in (f"r{place}", f"{numbers[place]:,}")]
    assert (found["h1"], found["h2"][:1]) == (["3,037 reports"], ["Most frequent reports"])
    few = texts_of(results()["Counts of cells"])
    assert few["th"] == ["part 1", "part 2", "count"]
    assert few["td"] == ["0", "3", "1,200", "1", "2", "30", "1", "7", "5"]
    assert (few["h1"], few["h2"][:1]) == (["1,235 reports"], ["Reports"])


def test_a_card_is_half_as_high_as_a_page() -> None:
    pytest.importorskip("matplotlib")
    small = {"Interval", "Fit", "Counts", "Counts of texts", "Counts of cells", "Mechanism", "Survey"}
    for name, answer in results().items():
        height = "20rem" if name in small else "40rem"
        assert f'style="width:100%;height:{height};border:0"' in answer._repr_html_(), name


def test_small_cards_have_every_number_under_its_name() -> None:
    pytest.importorskip("matplotlib")
    answer, fit = results()["Interval"], results()["Fit"]
    found = texts_of(answer)
    now, low, high = (f"{100 * one:.0f}%" for one in (answer.estimate, answer.low, answer.high))
    assert (found["dt"], found["dd"]) == (["x >= 5"], [now, f"95% confidence: {low} to {high}"])
    sampling = round(100 * answer.parts.sampling)
    assert f"Uncertainty: {sampling}% sampling, {100 - sampling}% privacy noise." in found["p"]
    found = texts_of(fit)
    facts = {"Verdict": str(fit.verdict), "p-value": f"{fit.p_value:.2g}"}
    assert dict(zip(found["dt"], found["dd"], strict=True)) == facts


def drawn(answer: Any) -> list[Any]:
    """Return the numbers of everything that a plot draws."""
    from matplotlib.figure import Figure
    from matplotlib.patches import StepPatch

    axes = answer.plot(Figure().add_subplot())
    lines = [line.get_xydata().tolist() for line in axes.lines]
    data = [one.get_data() for one in axes.patches if isinstance(one, StepPatch)]
    steps = [(values.tolist(), edges.tolist()) for values, edges, _ in data]
    return [lines, steps, axes.get_xlim(), axes.get_ylim()]


def test_counts_are_drawn_where_their_reports_lie() -> None:
    pytest.importorskip("matplotlib")
    few = cf.tally([3, 5, 9], [10, 30, 20])
    every = Counts(np.arange(3, 10), np.array([10.0, 0, 30, 0, 0, 0, 20]))
    assert drawn(few) == drawn(every)
    assert drawn(few) != drawn(cf.tally([3, 4, 9], [10, 30, 20]))


def test_a_mechanism_is_drawn_as_what_someone_in_the_middle_reports() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    for name in ("Mechanism", "Survey"):
        (shares, edges), *_ = drawn(results()[name])[1]
        assert shares == pytest.approx(MECHANISM.channel.select(np.array([5]))[0].tolist())
        assert edges == [place - 0.5 for place in range(11)]
        axes = results()[name].plot(Figure().add_subplot())
        assert "report of someone with 5" in axes.get_xlabel()


def test_plots_show_the_numbers() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    groups = results()["GroupEstimates"]
    axes = groups.plot(Figure().add_subplot())
    means = [one.estimate for one in groups.mean().values()]
    assert axes.containers[0].lines[0].get_xdata().tolist() == pytest.approx(means)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Oslo", "Rome"]
    answer = results()["Interval"]
    drawn = answer.plot(Figure().add_subplot()).containers[0].lines[2][0].get_segments()[0]
    assert drawn[:, 0].tolist() == pytest.approx([answer.low, answer.high])


def test_files_that_are_there_and_endings_that_mean_nothing_are_rejected(tmp_path: Path) -> None:
    answer = results()["Interval"]
    (tmp_path / "x.json").write_text("mine")
    with pytest.raises(DataFileError, match="exists already, and save"):
        answer.save(tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == "mine"
    with pytest.raises(InvalidParameterError, match=r"should end in .html, .json, .csv or .svg"):
        answer.save(tmp_path / "x.xlsx")
    with pytest.raises(InvalidParameterError, match='backend must be "pandas" or "polars"'):
        answer.to_frame("arrow")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_missing_package_is_named_with_what_installs_it(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(MissingExtraError, match=rf"pip install '{backend}>="):
        results()["Interval"].to_frame(backend)


def test_plotting_without_matplotlib_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="pip install 'matplotlib>="):
        results()["Interval"].plot()


def test_a_pool_has_a_table_and_no_page(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pool = cf.estimate_pool(
        [(results()["Counts"], MECHANISM), (results()["Counts"], cf.TruncatedGeometric(cf.Integers(0, 9), 2.0))]
    )
    assert pool.to_frame()["probability"].tolist() == pool.distribution.tolist()
    with pytest.raises(InvalidParameterError, match="this estimate is of several mechanisms"):
        pool.save(tmp_path / "x.html")
