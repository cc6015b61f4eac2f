"""Notebook: an answer shows itself as its page, in a frame; by its text where there is no page."""

from __future__ import annotations

import html
import sys

import numpy as np
import pytest

import confide as cf

MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
COUNTS = MECHANISM.simulate_counts(np.array([0, 1, 4, 9, 16, 16, 9, 4, 1, 0]) * 20, rng=1)


def page_of(answer: object) -> str:
    shown = answer._repr_html_()  # type: ignore[attr-defined]
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert shown.count("<") == 2  # of the frame; those of the page are escaped
    return html.unescape(shown)


def test_an_estimate_and_a_diagnosis_show_their_pages() -> None:
    pytest.importorskip("matplotlib")
    estimate = cf.estimate(COUNTS, MECHANISM)
    page = page_of(estimate)
    assert estimate.windows().headline in page
    assert "truncated geometric" in page.split("<h1>")[1].split("</h1>")[0]
    diagnosis = cf.diagnose(COUNTS, MECHANISM, name="rooms")
    assert diagnosis.windows is not None
    assert diagnosis.windows.headline in page_of(diagnosis)


@pytest.mark.parametrize("keys", [("Oslo", "Rome"), (("Oslo", 1), ("Rome", 2))], ids=["names", "pairs"])
def test_groups_of_any_key_show_their_page(keys: tuple[object, object]) -> None:
    pytest.importorskip("matplotlib")
    other = MECHANISM.simulate_counts(np.full(10, 80), rng=2)
    page = page_of(cf.estimate_groups({keys[0]: COUNTS, keys[1]: other}, MECHANISM, cf.IBU()))
    assert "Oslo" in page
    assert "group" in page


def test_a_plan_and_an_audit_show_their_pages() -> None:
    pytest.importorskip("matplotlib")
    plan = cf.plan(MECHANISM, np.full(10, 0.1), people=500, repeats=4, cache=False)
    assert "The trade-off" in page_of(plan)
    audit = cf.audit(MECHANISM)
    page = page_of(audit)
    assert "The promise holds (" in page
    assert html.escape(audit.compared) in page
    assert str(audit.draws.sensitivity) in page


def test_text_has_to_do_where_there_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = cf.estimate_pool([(COUNTS, MECHANISM), (COUNTS, cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=2.0))])
    assert pool._repr_html_() is None
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cf.estimate(COUNTS, MECHANISM)._repr_html_() is None
