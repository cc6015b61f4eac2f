"""Every experiment that is declared: it runs small, every figure draws, every claim can be judged."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.cases import each
from tests.reproduction.tiny import invent, run_tiny, tiny_tables

import confide as cf
from confide.present.figures import to_pdf
from reproduction import EXPERIMENTS, Comparison, Experiment, Ruling, find
from reproduction.catalogue import inversion, likelihood

pytestmark = pytest.mark.slow

ALL = each("name", EXPERIMENTS)
COMPARISONS = {name: one for name, one in EXPERIMENTS.items() if isinstance(one, Comparison)}

OF_PAPER = {
    "fig:geometric_on_ages",
    "fig:sconcavity_depends_on_observations",
    "fig:uniqueness_vs_sconcavity",
    "fig:probability_of_s_concavity_rappor",
    "fig:multiple_mles",
    "fig:manhattan_map",
    "fig:taxicab_on_grid",
    "fig:box_estimators_dprivacy",
    "fig:box_estimators_geind",
    "fig:box_estimators_krr_emd",
    "fig:rappor_on_line_em",
    "fig:box_estimators_rappor",
    "fig:box_var_data_lgeom_emd",
    "fig:box_var_data_taxicab_emd",
    "fig:box_var_data_krr_emd",
    "fig:EMD_ini_delta",
    "fig:distributions",
    "fig:time_alphabet_delta",
    "fig:convex_likely_linear",
    "fig:likely_planar",
    "fig:box_estimators_dprivacy_tv",
    "fig:box_estimators_geind_tv",
    "fig:box_estimators_krr_tv",
    "fig:box_estimators_rappor_tv",
    "fig:box_var_data_lgeom_tv",
    "fig:box_var_data_taxicab_tv",
    "fig:box_var_data_krr_tv",
    "fig:box_estimators_labTests_emd",
    "fig:box_estimators_paris_emd",
    "tab:experiments",
    "prop:invKrrBound",
    "prop:invTLinGeomBound",
    "prop:invTTaxicabBound",
}


def test_nothing_of_the_paper_is_left_out() -> None:
    assert {label for experiment in EXPERIMENTS.values() for label in experiment.paper} == OF_PAPER


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "DRAWS", 4)
    monkeypatch.setattr(inversion, "REPEATS", 1)
    monkeypatch.setattr(likelihood, "TRIALS", 10)
    monkeypatch.setattr(likelihood, "TOLERANCE", 10.0)
    monkeypatch.setattr(likelihood, "STEPS", 12)


@ALL
def test_every_figure_draws_from_a_tiny_run(name: str) -> None:
    experiment = EXPERIMENTS[name]
    tables = tiny_tables(name)
    assert {table: list(columns) for table, columns in experiment.columns.items()} == {
        table: list(found.kinds) for table, found in tables.items()
    }
    for picture in experiment.pictures:
        figure = picture.draw(tables)
        assert all(axes.get_xlabel() for axes in _panels(figure))
        assert any(axes.get_ylabel() for axes in _panels(figure))
        figure.set_layout_engine("none")  # the layout takes longest, and nothing here looks at it
        figure.draw_without_rendering()


def _panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


@ALL
def test_experiments_travel_to_other_processes(name: str) -> None:
    assert pickle.loads(pickle.dumps(EXPERIMENTS[name])).name == name  # noqa: S301  our own bytes


@ALL
def test_names_and_captions_are_in_order(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert experiment.paper or experiment.notes, "what is no figure of the paper says what it is for"
    assert all(picture.name.startswith(name) and picture.caption.endswith(".") for picture in experiment.pictures)
    assert all(note.endswith(".") for note in experiment.notes)


@each("name", [name for name, one in COMPARISONS.items() if one.claims])
def test_claims_follow_the_numbers(name: str) -> None:
    """What the paper says holds where IBU is a hundred times better, or as good; and fails where it is worse."""
    experiment = COMPARISONS[name]
    assert experiment.claims is not None
    verdicts = [
        [claim.verdict for claim in experiment.claims(invent(experiment, ibu=ibu, others=others))]
        for ibu, others in ((0.0075, 0.75), (0.1, 0.1), (10.0, 0.01))
    ]
    assert len({tuple(found) for found in verdicts}) > 1, "no claim depends on the errors"
    assert Ruling.DIFFERS in verdicts[2]


def test_what_is_drawn_at_random_is_the_same_twice() -> None:
    for name in ("rappor-concavity", "inversion-bounds", "san-francisco"):
        first, second = (run_tiny(EXPERIMENTS[name]) for _ in range(2))
        assert {key: table.to_csv() for key, table in first.items()} == {
            key: table.to_csv() for key, table in second.items()
        }


def test_pdf_files_are_the_same_twice(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["rappor-concavity"]
    figure = experiment.pictures[0].draw(tiny_tables("rappor-concavity"))
    for name in ("first", "second"):
        to_pdf(figure, tmp_path / f"{name}.pdf")
    assert (tmp_path / "first.pdf").read_bytes() == (tmp_path / "second.pdf").read_bytes()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("manhatan-heatmaps", "manhattan-heatmaps"), ("ages", "ages-"), ("paris", "paris-levels")],
)
def test_an_unknown_name_gets_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(cf.ConfideError, match=rf"There is no experiment '{name}'. Did you mean .*{hint}"):
        find([name])


def test_no_name_means_all() -> None:
    found: list[Experiment] = find([])
    assert [experiment.name for experiment in found] == list(EXPERIMENTS)
    assert [experiment.name for experiment in find(["krr-levels", "ages-levels", "krr-levels"])] == [
        "krr-levels",
        "ages-levels",
    ]
