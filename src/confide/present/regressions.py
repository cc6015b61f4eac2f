"""Summary and picture of a regression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import confide
from confide.channels.base import FloatArray
from confide.estimates.inference import percent
from confide.present import summary as say
from confide.present.figures import style
from confide.present.summary import NONE, Caution, Cell, Line, Listing, Note, Picture, Row, Section, Summary
from confide.present.terminal import as_text
from confide.regression.answers import MODELS, Regression
from confide.values.wording import counted, listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_EFFECTIVE = 50
"""People of equal weight, below which standard errors are a guess."""

MOST_EFFECTS = 40
"""Coefficients that a picture shows."""

ERRORS = {
    "information": "observed information",
    "scores": "products of scores",
    "sandwich": "robust (sandwich)",
}


def summarise_regression(answer: Regression, *, is_page: bool = False) -> Summary:
    """Return all that a regression says; pictures only for a page."""
    picture = [Section("", [_picture(answer)], "hero")] if is_page else []
    return Summary(
        answer.survey.title if answer.survey.title != "Untitled survey" else answer.formula,
        say.about_reports(answer.survey, answer.nobs, answer.origin),
        _headline(answer),
        cautions=[*_cautions(answer), *say.caution_simulated(answer.origin, is_page=is_page)],
        sections=[*picture, _coefficients(answer), *_predictions(answer), *_covariates(answer)],
        verdict=_verdict(answer),
        details=_details(answer),
        origin=say.come_from(f"Made by confide {confide.__version__}: {answer!r}.", answer.survey, answer.origin),
    )


def text_of(answer: Regression) -> str:
    """Return what a terminal shows, as text."""
    return as_text(summarise_regression(answer))


def _headline(answer: Regression) -> str:
    """Return the effect that is clearest, in a sentence."""
    errors = answer.standard_errors
    effects = [at for at, name in enumerate(answer.names) if _is_effect(answer, name) and errors[at] > 0]
    if not effects:
        return ""
    place = max(effects, key=lambda at: abs(float(answer.estimates[at] / errors[at])))
    low, high = (float(one[place]) for one in answer.ends())
    if low <= 0 <= high:
        return f"None of these effects differs clearly from 0 ({percent(answer.level)} confidence)."
    ends: Callable[[float], str] = _number
    now, told = float(answer.estimates[place]), f"{percent(answer.level)} confidence"
    if answer.model in ("logit", "multinomial", "ordered"):
        category, _, term = answer.names[place].rpartition(": ")
        event = category or (answer.outcomes[-1] if answer.base == answer.outcomes[0] else answer.outcomes[0])
        of = "a higher answer" if answer.model == "ordered" else f"{event} against {answer.base}"
        times = [f"{math.exp(min(one, 700.0)):.3g}" for one in (now, low, high)]
        return f"{term}: the odds of {of} are {times[0]} times as large ({told}: {times[1]} to {times[2]})."
    outcome, alphabet = answer.outcomes[0], answer.survey.alphabet
    names = (answer.survey.name,) if alphabet.attributes is None else alphabet.attributes.names
    unit = plural(alphabet.unit) if outcome == answer.survey.name and alphabet.unit else ""
    if outcome not in (*names, *answer.public):  # a share, in percentage points
        ends, unit = (lambda number: f"{100 * number:.3g}"), "points"
    change = f"{'+' if now > 0 else ''}{ends(now)} {unit}".rstrip()
    return f"{answer.names[place]}: {change} in {outcome} ({told}: {ends(low)} to {ends(high)})."


def _is_effect(answer: Regression, name: str) -> bool:
    """Whether a coefficient is a covariate's, and no intercept, cut or spread."""
    if answer.private and (": " in name or name.startswith("log(")):  # of the model of the private value
        return False
    return name.rpartition(": ")[2] not in ("Intercept", "sigma") and " | " not in name


def _coefficients(answer: Regression) -> Section:
    """Return the table that readers of statsmodels know."""
    tail = (1 - answer.level) / 2
    headings = ["", "coef", "std err", "z", "P>|z|", f"[{tail:.3g}", f"{1 - tail:.3g}]", "naive", "privacy"]
    has_naive, has_privacy = answer.naive is not None, bool(np.isfinite(answer.privacy).any())
    kept = [True] * 7 + [has_naive, has_privacy]
    rows: list[Row] = []
    low, high = answer.ends()
    ratios, chances = answer.tvalues.to_numpy(), answer.pvalues.to_numpy()
    for at, name in enumerate(answer.names):
        error = answer.standard_errors[at]
        tested = [f"{ratios[at]:z.2f}", f"{chances[at]:.3f}"] if math.isfinite(error) else [NONE, NONE]
        row: list[Cell | str] = [name, _number(answer.estimates[at], error), _number(error), *tested]
        row += [_number(low[at]), _number(high[at])]
        row += [_number(answer.naive[at], error) if answer.naive is not None else NONE]
        row += [f"{answer.privacy[at]:.0%}" if math.isfinite(answer.privacy[at]) else NONE]
        rows.append([cell for cell, keep in zip(row, kept, strict=True) if keep])
    words = [f"{_model(answer)}."]
    words += ["Naive: the same regression on the reports, as if they were true."] * has_naive
    words += ["Privacy: the part of the standard error that is due to noise."] * has_privacy
    shown = [one for one, keep in zip(headings, kept, strict=True) if keep]
    return Section("Coefficients", [Listing(shown, rows), Note(" ".join(words))])


def _model(answer: Regression) -> str:
    words = _method(answer)
    words = f"{words[:1].upper()}{words[1:]}"
    if answer.base:
        return f"{words}: log-odds against {answer.base}"
    return f"{words}: log-odds of a higher answer, then the cuts" if answer.model == "ordered" else words


def _method(answer: Regression) -> str:
    if not answer.private:
        return MODELS[answer.model]
    if answer.llf is None:
        return "least squares" if answer.model == "linear" else MODELS[answer.model]
    return f"{'normal regression' if answer.model == 'linear' else 'logit'}, by joint likelihood"


def _predictions(answer: Regression) -> list[Section]:
    """Return predicted shares and average marginal effects."""
    if answer.predictor is None:
        return []
    tail = "from", "to"
    is_share = answer.predictor.is_share
    shown: Callable[[float], str] = (lambda number: f"{100 * number:.1f}%") if is_share else _number
    shares: list[Row] = [
        [
            str(one.get("outcome", answer.outcomes[0])),
            shown(one["estimate"]),
            *(NONE if math.isnan(one[name]) else shown(one[name]) for name in ("low", "high")),
        ]
        for one in answer.predicted
    ]
    title = "Predicted shares" if is_share else "Predicted mean"
    found = [Section(title, [Listing(["", "estimate", *tail], shares)])]
    effects: list[Row] = [
        [one["covariate"], one["outcome"], *(f"{100 * one[name]:+.1f}" for name in ("effect", "low", "high"))]
        for one in (answer.effects if is_share else [])  # of a straight line they are its coefficients
    ]
    if effects:
        headings = ["covariate", "outcome", "points", *tail]
        note = Note(
            "In percentage points: for one more of a number, or against the first class; averaged over all people."
        )
        found.append(Section("Average marginal effects", [Listing(headings, effects, (0, 1)), note]))
    return found


def _cautions(answer: Regression) -> list[Caution]:
    found = []
    if answer.separated:
        words = (
            f"The likelihood grows without end along {listed(answer.separated[:4])}: no estimate of these is finite.",
            "Some people all seem to have one answer (separation). Merge classes, or leave the covariate out.",
        )
        found.append(Caution("But", "Some coefficients have no estimate", words))
    elif not answer.is_done:
        words = ("The search did not reach a maximum.", "Use fewer covariates, or merge answers that are rare.")
        found.append(Caution("But", "The search did not end", words))
    effective = answer.nobs / answer.facts.get("design effect", 1.0)
    if effective < LEAST_EFFECTIVE and answer.nobs >= LEAST_EFFECTIVE:
        words = (
            f"{answer.nobs:,.0f} people are worth {effective:,.3g} of equal weight: few have most of the weight.",
            "Standard errors are then too small. Trim the largest weights.",
        )
        found.append(Caution("But", "Few people have most of the weight", words))
    if answer.rare > 0 and answer.public:
        share = percent(round(answer.rare / answer.nobs, 2) or round(answer.rare / answer.nobs, 4))
        words = (
            f"{share} of these people share {listed(answer.public)} with fewer than four others.",
            f"{_sent(answer)} unblurred: who knows that can find these rows. What is private stays blurred.",
        )
        found.append(Caution("Covariates", "Covariates may give people away", words))
    return found


def _covariates(answer: Regression) -> list[Section]:
    """Return that covariates are not blurred.

    A caution says it where they are rare.
    """
    if answer.rare > 0 or not answer.public:
        return []
    if math.isnan(answer.rare):
        rows = "the promise covers the private value alone. So many different rows give most people away."
        return [Section("", [Note(f"{_sent(answer)} unblurred: {rows}")])]
    words = "the promise covers the private value alone. Here at least five people share each combination."
    return [Section("", [Note(f"{_sent(answer)} unblurred: {words}")])]


def _sent(answer: Regression) -> str:
    return f"{listed(answer.public)} {'is' if len(answer.public) == 1 else 'are'} sent"


def _verdict(answer: Regression) -> str:
    """Return how much of the width is due to noise."""
    known = answer.privacy[np.isfinite(answer.privacy)]
    if not known.size:
        return ""
    low, high = (f"{end:.0%}" for end in (known.min(), known.max()))
    return f"Privacy noise makes {low if low == high else f'{low} to {high}'} of the width of these intervals."


def _details(answer: Regression) -> list[Line]:
    lines = [("Formula", answer.formula), ("Model", _method(answer))]
    if answer.private:
        words = "by corrected scores: nothing is assumed of their distribution"
        words = words if answer.llf is None else "which have a model of their own, given the other covariates"
        lines.append(("Private", f"{listed(answer.private)}, {words}"))
    if answer.llf is not None:
        lines.append(("Log-likelihood", f"{answer.llf:,.5f}"))
        words = f"{answer.agreeing} of {counted(answer.starts, 'start')} reached this maximum"
        lines.append(("Search", f"{words}. The likelihood is not concave: a higher one is possible."))
    lines.append(("Standard errors", ERRORS[answer.errors]))
    if "cells" in answer.facts:
        lines.append(("Cells", f"{answer.facts['cells']:,.0f} distinct pairs of covariates and report"))
    if "clusters" in answer.facts:
        lines.append(("Clusters", f"{answer.facts['clusters']:,.0f}"))
    if "design effect" in answer.facts:
        lines.append(("Design effect", f"{answer.facts['design effect']:.2f}, by the weights"))
    return [*lines, *([("Left out", answer.left_out)] if answer.left_out else [])]


def _number(number: float, error: float = 0.0) -> str:
    """Return a number with digits that a table can do with.

    >>> _number(0.123456), _number(12345.678), _number(float("inf")), _number(1.9e-16, error=0.04)
    ('0.1235', '12,346', 'inf', '0.0000')
    """
    # What is left of 0 after rounding is another number on every machine.
    number = 0.0 if abs(number) < 1e-9 * error < math.inf else number
    size = abs(float(number))
    if not math.isfinite(size):
        return f"{number:.0f}"
    return (
        f"{number:,.0f}" if size >= 10_000 else f"{number:.4f}" if 1e-3 <= size < 100 or size == 0 else f"{number:.4g}"
    )


def draw_coefficients(axes: Axes, answer: Regression, *, has_legend: bool = True) -> None:
    """Draw coefficients with their intervals, and the naive ones beside them."""
    places = [at for at, name in enumerate(answer.names) if _is_effect(answer, name)][:MOST_EFFECTS]
    places = places or list(range(len(answer.names)))
    now, naive = answer.estimates[places], None if answer.naive is None else answer.naive[places]
    low, high = (np.where(np.isfinite(one[places]), one[places], now) for one in answer.ends())
    rows = np.arange(len(places))
    axes.axvline(0, color=style.FAINT, linewidth=1)
    axes.errorbar(
        now,
        rows,
        xerr=[now - low, high - now],
        fmt="o",
        color=style.STACKED,
        capsize=3,
        markersize=4.5,
        label="private values",
    )
    if naive is not None:
        axes.plot(naive, rows + 0.22, "x", color=style.NOISY, markersize=5, label="reports taken as true")
    if naive is not None and has_legend:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0, fontsize=style.SMALL)
    style.lay_bars(axes, style.shorten([answer.names[at] for at in places]))
    is_odds = answer.model in ("logit", "multinomial", "ordered")
    what = "change in log-odds" if is_odds else f"change in {answer.outcomes[0]}"
    axes.set_xlabel(f"{what} ({percent(answer.level)} confidence)")


def size_of(answer: Regression, width: float) -> tuple[float, float]:
    """Return the inches that a picture of the coefficients takes."""
    shown = min(MOST_EFFECTS, sum(_is_effect(answer, one) for one in answer.names) or len(answer.names))
    return width, 1.1 + 0.3 * max(2, shown)


def _picture(answer: Regression) -> Picture:
    def draw(width: float) -> Figure:
        with style.styled():
            figure = style.new_figure(*size_of(answer, width))
            draw_coefficients(figure.add_subplot(), answer, has_legend=False)
        return figure

    told = f"Coefficients with intervals. {_headline(answer)}".strip()
    crosses = "" if answer.naive is None else " Crosses: reports taken as true."
    return Picture(draw, told, f"Points: the estimates, with their intervals.{crosses}")


def columns_of_regression(answer: Regression) -> dict[str, list[Any]]:
    """Return the table of coefficients as columns."""
    low, high = answer.ends()
    ratios = answer.tvalues.to_numpy()
    found: dict[str, list[Any]] = {"name": list(answer.names)}
    numbers: Sequence[tuple[str, FloatArray | None]] = (
        ("coef", answer.estimates),
        ("std err", answer.standard_errors),
        ("z", ratios),
        ("P>|z|", answer.pvalues.to_numpy()),
        ("low", low),
        ("high", high),
        ("naive", answer.naive),
        ("privacy", answer.privacy),
    )
    for name, column in numbers:
        numbers_of = [math.nan] * len(answer.names) if column is None else column.tolist()
        found[name] = [None if math.isnan(one) else one for one in numbers_of]
    return found


def regression_record(answer: Regression) -> dict[str, Any]:
    """Return a regression for JSON."""
    columns = columns_of_regression(answer)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    has_predictor = answer.predictor is not None
    return {
        "formula": answer.formula,
        "model": answer.model,
        "people": answer.nobs,
        "log_likelihood": answer.llf,
        "errors": answer.errors,
        "level": answer.level,
        "coefficients": rows,
        "predicted": answer.predicted if has_predictor else None,
        "marginal_effects": answer.effects if has_predictor else None,
        "starts": answer.starts or None,
        "agreeing": answer.agreeing or None,
        "separated": list(answer.separated),
        "people_with_rare_covariates": None if math.isnan(answer.rare) else answer.rare,
        "left_out": answer.left_out or None,
        "facts": dict(answer.facts),
    }
