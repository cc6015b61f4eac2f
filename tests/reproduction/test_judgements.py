"""Claims are judged by the right numbers, charts take the right rows, and the index marks the right method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import confide as cf
from reproduction import Binomial, Blur, Bundled, Comparison, Contender, Folder, Run, Table, cross, levels
from reproduction.cells import DEFAULT, FOR_BITS, USUAL, Draw
from reproduction.charts import BoxChart, box_comparison, panel
from reproduction.claims import Ruling, are_comparable, better_inversion, improves_with_epsilon, is_far_better, tally
from reproduction.experiments import COLUMNS, NUMBERS
from reproduction.page import reproduction_page
from reproduction.table import RESULTS

KINDS = {"mechanism": "text", "epsilon": "number", "method": "text", "emd": "number", "total_variation": "number"}


def errors(*lines: tuple[float, float, float, float]) -> dict[str, Table]:
    """Return a table of epsilon and the errors of IBU, INV-N and INV-P."""
    rows = [
        ("geometric", epsilon, method, error, error / 10)
        for epsilon, *found in lines
        for method, error in zip(("IBU", "INV-N", "INV-P"), found, strict=True)
    ]
    return {RESULTS: Table(KINDS, tuple(rows))}


def test_far_better_is_below_half_of_the_better_inversion_where_privacy_is_strong() -> None:
    def judged(*lines: tuple[float, float, float, float]) -> Ruling:
        return is_far_better("x", errors(*lines), ["geometric"], strong=0.1).verdict

    assert judged((0.1, 0.4, 1.0, 3.0), (0.3, 9.0, 1.0, 1.0)) is Ruling.HOLDS
    assert judged((0.1, 0.6, 3.0, 1.0)) is Ruling.DIFFERS
    assert better_inversion(errors((0.1, 0.6, 3.0, 1.0))[RESULTS]) == 1.0


def test_improving_is_asked_of_every_method() -> None:
    assert improves_with_epsilon("x", errors((0.1, 2, 2, 2), (0.3, 1, 1, 1))).verdict is Ruling.HOLDS
    assert improves_with_epsilon("x", errors((0.1, 2, 2, 2), (0.3, 1, 1, 2.5))).verdict is Ruling.DIFFERS


def test_comparable_is_within_a_factor_of_two_either_way() -> None:
    def judged(ibu: float, negligible: float = 0.0) -> Ruling:
        found = errors((0.1, ibu, 1.0, 1.0))[RESULTS]
        return are_comparable("x", found, ("INV-N", "INV-P"), negligible=negligible).verdict

    assert [judged(ibu) for ibu in (0.4, 0.6, 1.9, 2.1)] == [
        Ruling.DIFFERS,
        Ruling.HOLDS,
        Ruling.HOLDS,
        Ruling.DIFFERS,
    ]
    assert judged(0.4, negligible=1.0) is Ruling.HOLDS


def test_statements_are_counted_in_words() -> None:
    far = is_far_better("x", errors((0.1, 0.4, 1.0, 3.0)), ["geometric"], strong=0.1)
    assert tally([far] * 5) == "5 hold, none differs"
    assert tally([]) == "none holds, none differs"


def test_a_box_chart_takes_its_measure_level_by_level() -> None:
    tables = errors((0.1, 0.4, 1.0, 3.0), (0.3, 0.2, 0.5, 0.9))
    chart = BoxChart((panel("Geometric", "year", mechanism="geometric"),), "emd", "epsilon", "ε")
    axes = chart(tables).axes[0]
    assert axes.get_ylabel() == "EMD (years)"
    points = [line for line in axes.get_lines() if line.get_marker() == "o"]
    # Three methods beside each other, each with its two levels.
    assert [np.asarray(line.get_ydata()).tolist() for line in points] == [[0.4], [0.2], [1.0], [0.5], [3.0], [0.9]]
    assert [np.asarray(line.get_xdata())[0] for line in points] == pytest.approx(
        [-0.8 / 3, 1 - 0.8 / 3, 0, 1, 0.8 / 3, 1 + 0.8 / 3]
    )
    varied = BoxChart(chart.panels, "total_variation", "epsilon", "ε")(tables).axes[0]
    assert (varied.get_ylabel(), varied.get_yscale()) == ("total variation", "linear")


def test_both_figures_of_a_comparison_have_their_own_measure() -> None:
    made = box_comparison(
        (),
        "C.",
        level="epsilon",
        x_label="ε",
        name="x",
        title="X",
        settings=cross(Bundled("paris"), levels("rappor", 1)),
    )
    charts = [picture.draw for picture in made.pictures]
    assert [chart.measure for chart in charts if isinstance(chart, BoxChart)] == ["emd", "total_variation"]
    assert [picture.name for picture in made.pictures] == ["x-emd", "x-tv"]


def test_the_default_takes_part_and_changes_no_other_row() -> None:
    assert DEFAULT.method == cf.Stacked()
    assert USUAL[-1] == FOR_BITS[-1] == DEFAULT
    draw = Draw(Binomial(6, 0.5, people=500), Blur("truncated-geometric", 0.5), 0)
    assert len({draw.key(contender, is_kept=False) for contender in USUAL}) == len(USUAL)
    assert draw.key(DEFAULT, is_kept=False) != Draw(draw.source, draw.blur, 1).key(DEFAULT, is_kept=False)
    assert draw.setting(DEFAULT) == Draw(draw.source, draw.blur, 1).setting(DEFAULT)


def test_numbers_follow_the_order_of_the_paper() -> None:
    figures = [int(number.split()[1]) for number in NUMBERS.values() if number.startswith("Figure")]
    assert figures == sorted(set(figures))
    assert (figures[0], figures[-1]) == (1, 32)
    with pytest.raises(cf.ConfideError, match="The paper has no fig:none"):
        Comparison("x", "X", paper=("fig:none",))


def test_the_index_marks_the_smallest_median_and_names_the_figure(tmp_path: Path) -> None:
    experiment = Comparison(
        "small",
        "Small",
        paper=("fig:multiple_mles",),
        settings=cross(Binomial(5, 0.5, people=100), levels("truncated-geometric", 1.0)),
        contenders=(Contender(cf.IBU()), Contender(cf.MLE())),
    )
    row: dict[str, object] = dict.fromkeys(COLUMNS[RESULTS], 0)
    row |= {
        "data": "d",
        "mechanism": "m",
        "status": "",
        "note": "",
        "start": None,
    }
    rows = [
        row | {"method": method, "delta": None, "emd": emd, "total_variation": 0.5}
        for method, found in (("IBU", (4.0, 1.0, 2.0)), ("MLE", (3.0, 3.0, 9.0)))
        for emd in found
    ]
    folder = Folder(tmp_path)
    folder.prepare()
    folder.write_tables(experiment, {RESULTS: Table.of(COLUMNS[RESULTS], rows)})
    folder.write_run(Run("small", "0.2.0", 3, 6, 6, 0, 1.0, 1.0, ""))
    page = reproduction_page([experiment], folder)
    assert "<strong>2 (0.5)</strong>" in page
    assert '<td data-label="MLE">3 (0.5)</td>' in page
    assert "In the paper: Figure 7." in page
    assert page.index("<summary>How it was computed") < page.index("Figure 7 (fig:multiple_mles)")  # folded
    assert "6 cells (3 repeats)" in page
