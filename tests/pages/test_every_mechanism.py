"""A page for every mechanism: complete, and with a survey that can be read again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import each
from tests.cli.surveys import FINITE, UNBOUNDED, some_values, survey
from tests.pages.test_estimate_page import Reader

import confide as cf
from confide.present.estimates import summarise_reports
from confide.present.pages import estimate_page
from confide.present.summary import MOST_ENTRIES

pytestmark = pytest.mark.slow


def case(name: str) -> tuple[cf.Survey, cf.Counts]:
    contract = survey(FINITE[name])
    return contract, cf.tally(contract.mechanism.privatize(some_values(contract.alphabet), rng=1))


@pytest.mark.parametrize("name", FINITE)
def test_a_page_of_every_kind(name: str) -> None:
    pytest.importorskip("matplotlib")
    contract, counts = case(name)
    outcome = cf.assess(counts, contract.mechanism, cf.IBU())
    page = Reader(estimate_page(contract, counts, [outcome]))
    assert page.seen.count("svg") >= 3  # the reports, the estimate, and the path to it
    for word in ("Guarantee", "laplace mechanism", "rappor mechanism", "nan", "Attributes(", "[18, "):
        assert word not in page.text


@each("text", [*FINITE.values(), *UNBOUNDED.values()], ids=[*FINITE, *(f"unbounded {n}" for n in UNBOUNDED)])
def test_the_survey_in_the_footer_can_be_read_again(text: str) -> None:
    assert cf.parse_survey(survey(text).text(MOST_ENTRIES)) == survey(text)


@pytest.mark.parametrize("name", ["geometric", "laplace", "taxicab", "planar-geometric", "planar-laplace"])
def test_reports_without_an_end_are_moved_to_the_nearest_value(name: str) -> None:
    contract, counts = case(name)
    noisy = summarise_reports(contract, counts)
    assert noisy is not None
    assert noisy.remark == ""
    assert noisy.shares.shape == (contract.alphabet.size,)
    assert noisy.shares.sum() == pytest.approx(1)
    assert "nearest value" in noisy.how


def test_a_report_in_a_hole_is_counted_beside_it() -> None:
    grid = cf.Grid(3, 3, holes=((1, 1), (0, 0)))
    noisy = summarise_reports(cf.Survey(cf.PlanarLaplace(grid, 1.0)), cf.tally([(1.0, 1.25), (-5.5, -7.0), (9.0, 2.0)]))
    assert noisy is not None
    assert noisy.shares.sum() == pytest.approx(1)
    assert noisy.shares[grid.encode([(2, 2)])] == pytest.approx(1 / 3)


def test_rappor_shows_how_often_each_bit_is_set() -> None:
    colours = cf.Categories(["red", "green", "blue"])
    noisy = summarise_reports(cf.Survey(cf.Rappor(colours, 1.0)), cf.tally([0b101, 0b001], [3, 1]))
    assert noisy is not None
    assert noisy.shares.tolist() == [1.0, 0.0, 0.75]
    assert "bit" in noisy.remark


def test_many_pairs_are_drawn_part_by_part() -> None:
    pytest.importorskip("matplotlib")
    contract, counts = case("product of numbers")
    truth = np.full(contract.alphabet.size, 1 / contract.alphabet.size)
    page = Reader(estimate_page(contract, counts, [cf.assess(counts, contract.mechanism, cf.IBU())], truth=truth))
    assert "rooms, on its own" in page.text
    assert page.seen.count("svg") == 2 * 3 + 3 + 2  # the path, and the windows


def test_pairs_are_judged_by_total_variation() -> None:
    from dataclasses import replace

    pytest.importorskip("matplotlib")
    contract, counts = case("product")
    truth = np.full(contract.alphabet.size, 1 / contract.alphabet.size)
    outcome = replace(cf.assess(counts, contract.mechanism, cf.IBU()), total_variation=0.125)
    page = Reader(estimate_page(contract, counts, [outcome], truth=truth)).text
    assert "IBU came within 0.125 (total variation) of the truth" in page
    assert "Earth mover" not in page
