"""Results that show themselves: in notebooks, plots, data frames and files.

The methods of :class:`confide.values.wording.Shown` call these functions. Everything comes from the summaries, pages,
figures and records that the command line uses.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.check.answers import Fit
from confide.data.files import (
    GroupAnswers,
    SurveyGroups,
    alphabet_record,
    diagnosis_record,
    groups_record,
    series_columns,
    series_record,
    to_json,
    write_text,
)
from confide.data.files.records import estimate_record, plain, weights_record
from confide.data.files.writing import as_lists, as_shown, column_names, csv_text
from confide.errors import ConfideError, DataFileError, InvalidParameterError, MissingExtraError
from confide.estimates.changes import Series, name_wave
from confide.estimates.diagnosis import Diagnosis, findings
from confide.estimates.estimate import Estimate, Outcome
from confide.estimates.explanations import describe_mechanism
from confide.estimates.groups import GroupEstimates
from confide.estimates.inference import Interval
from confide.evidence.counts import Counts
from confide.mechanisms.audits import Audit
from confide.mechanisms.base import Mechanism
from confide.plans import Plan
from confide.plans.records import plan_record
from confide.present.changes import summarise_series
from confide.present.diagnoses import summarise_diagnosis
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.present.figures import Panel, style, to_svg_file
from confide.present.figures.certainty import draw_series
from confide.present.figures.shares import choose_scene
from confide.present.figures.style import Role, choose_colors
from confide.present.figures.tradeoffs import draw_curve
from confide.present.groups import summarise_groups
from confide.present.pages import show_page, text
from confide.present.regressions import (
    columns_of_regression,
    draw_coefficients,
    regression_record,
    size_of,
    summarise_regression,
)
from confide.present.summary import Lines, Listing, Part, Section, Summary, confidence, explain_width, state, texts
from confide.present.surveys import audit_record, summarise_audit, summarise_plan, summarise_survey, survey_record
from confide.regression.answers import Regression
from confide.surveys.survey import Survey
from confide.values import Alphabet, Categories, Integers
from confide.values.order import has_order, natural_order
from confide.values.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = dict[str, list[Any]]


MOST_ROWS = 8
"""Rows that a card lists."""

FIT_FRAME = (
    "const page=this.contentDocument.documentElement;"
    "new ResizeObserver(()=>this.style.height=Math.min(page.offsetHeight,1200)+'px').observe(page)"
)
"""Script of a frame: as tall as its page, up to 1,200 pixels. Where it is stripped, the height of the style stays."""


def show_in_notebook(answer: object) -> str | None:
    """Return a result's notebook view; `None` if only text exists.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> show_in_notebook(cf.diagnose(None, mechanism))[:15]
    '<iframe srcdoc='
    """
    # Small results: a notebook shows them as a card rather than as a page.
    cards = (Interval, Fit, Counts, Mechanism, Survey)
    try:
        page = page_of(answer)
    except ConfideError:  # matplotlib is missing, or no survey file can name a mechanism of one's own
        return None
    # A frame keeps the page's style and the notebook's apart, and drawings are chosen by its width.
    look = f"width:100%;height:{'20rem' if isinstance(answer, cards) else '40rem'};border:0"
    return f'<iframe srcdoc="{text(page)}" title="confide" style="{look}" onload="{FIT_FRAME}"></iframe>'


def page_of(answer: object) -> str:
    """Return the self-contained HTML page of a result."""
    return show_page(_summary(answer, is_page=True))


def _summary(answer: object, *, is_page: bool = False) -> Summary:  # noqa: C901, PLR0911 - one for each kind of result
    """Return the summary that page, card and record open with."""
    match answer:
        case Estimate():
            return summarise_estimate(_found(answer), is_page=is_page)
        case GroupEstimates() | Series():
            return _summarise_groups(answer, is_page=is_page)
        case Regression():
            return summarise_regression(answer, is_page=is_page)
        case Diagnosis():
            return summarise_diagnosis(_survey_of(answer.mechanism, answer.name), answer, is_page=is_page)
        case Plan():
            return summarise_plan(_survey_of(answer.mechanism), answer)
        case Audit():
            return summarise_audit(_survey_of(answer.mechanism), answer)
        case Interval():
            known: list[Part] = [one for one in (answer.remark, f"It rests on {answer.rests_on}.") if one]
            ends = [(answer.question, texts(answer)[0], f"{confidence(answer)}: {texts(answer)[1]}")]
            folded = [Section("What it rests on", known, "fold")]
            return Summary(answer.question, (), state(answer, ""), ends, verdict=explain_width(answer), sections=folded)
        case Fit():
            facts = [("Verdict", str(answer.verdict)), ("p-value", f"{answer.p_value:.2g}")]
            details = [Section("Details", list(answer.details))]
            return Summary("Goodness of fit", headline=answer.headline, facts=facts, sections=details)
        case Counts():
            columns = columns_of(answer)
            order = np.argsort(-answer.counts, kind="stable")[:MOST_ROWS].tolist()
            rows = [
                [
                    f"{one[place]:,.10g}" if name in ("count", "weights", "squares") else str(one[place])
                    for name, one in columns.items()
                ]
                for place in order
            ]
            distinct = counted(answer.reports.shape[0], "distinct report")
            listing = Listing(list(columns), rows, tuple(range(len(columns) - 1)))
            heading = "Most frequent reports" if answer.reports.shape[0] > MOST_ROWS else "Reports"
            words = f"{distinct}. {answer.weighting}" if answer.weighting else distinct
            return Summary(f"{answer.total:,.10g} reports", headline=words, sections=[Section(heading, [listing])])
        case Mechanism() | Survey():
            return summarise_survey(answer if isinstance(answer, Survey) else _survey_of(answer))
    raise InvalidParameterError(f"A {type(answer).__name__} has no page.")


def plot(answer: object, ax: Axes | None = None) -> Axes:
    """Draw a result into given or new matplotlib axes; return them."""
    with style.styled():
        size, draw = _painter(answer)
        if ax is None:
            pyplot = importlib.import_module("matplotlib.pyplot")  # so that a notebook shows the figure
            ax = pyplot.figure(figsize=size, layout="constrained").add_subplot()
        draw(ax)
    return ax


def _painter(answer: object) -> tuple[tuple[float, float], Callable[[Axes], object]]:
    """Return what draws a result into axes, and the inches it takes."""
    match answer:
        case Interval():
            return (style.PANEL, 1.4), lambda axes: _draw_intervals(axes, {answer.question: answer})
        case GroupEstimates():
            found = _compared(answer)
            is_line = has_order([(name,) for name in found])
            size = (style.MIDDLE, 2.6) if is_line else (style.PANEL, 0.95 + 0.27 * max(3, len(answer)))
            return size, lambda axes: _draw_intervals(axes, found)
        case Series():
            waves = {name_wave(key): one for key, one in answer.answers.items()}
            return (style.MIDDLE, 2.6), lambda axes: draw_series(axes, waves)
        case Regression():
            return size_of(answer, style.MIDDLE), lambda axes: draw_coefficients(axes, answer)
        case Plan():
            return (style.PANEL, 3.2), lambda axes: draw_curve(axes, answer, answer.by_people)
        case Estimate() | Counts() | Mechanism() | Survey():
            alphabet, panel, name = _panel(answer)
            scene, (color,) = choose_scene(alphabet, (panel,), name), choose_colors([panel])
            return scene.size, lambda axes: scene.draw(axes, panel, color)
    raise InvalidParameterError(
        f"{type(answer).__name__} has no plot of its own. You can plot an Estimate, GroupEstimates, an Interval, a "
        f'Plan, a Regression, Counts, a Mechanism or a Survey. Its page has the pictures: .save("result.html").'
    )


def _panel(answer: object) -> tuple[Alphabet, Panel, str]:
    """Return a distribution over an alphabet, and what its values are called."""
    if isinstance(answer, Estimate):
        windows = _found(answer).windows if len(answer.groups) == 1 else None
        return answer.alphabet, Panel("", answer.distribution, windows=windows, color=style.STACKED), "value"
    if isinstance(answer, Counts):
        if answer.reports.ndim > 1:
            raise InvalidParameterError("Counts of reports with several parts have no plot; plot their Estimate.")
        whole = answer.reports.dtype.kind in "iu" and int(np.ptp(answer.reports)) < 10_000
        if not whole:
            return Categories(list(map(str, answer.reports))), _shares(answer.counts), "report"
        alphabet = Integers(int(answer.reports.min()), int(answer.reports.max()))
        seen = np.zeros(alphabet.size)
        seen[alphabet.encode(answer.reports)] = answer.counts
        return alphabet, _shares(seen), "report"
    mechanism = answer.mechanism if isinstance(answer, Survey) else answer
    if not isinstance(mechanism, Mechanism) or not mechanism.has_channel:
        raise InvalidParameterError("This mechanism has more reports than a picture can show.")
    # What someone with the middle value reports: the noise around one value is what people ask for.
    middle = mechanism.alphabet.size // 2
    row = mechanism.channel.select(np.array([middle]))[0]
    label = mechanism.alphabet.labels([middle])[0]
    return mechanism.report_alphabet, _shares(row), f"report of someone with {label}"


def _shares(numbers: Any) -> Panel:
    shares = np.asarray(numbers, dtype=np.float64)
    return Panel("", shares / shares.sum(), role=Role.NOISY)


def _compared(groups: GroupEstimates) -> dict[str, Interval]:
    """Return what groups are compared by.

    The mean, or the share of the most common value.
    """
    first = groups.first.alphabet
    if first.has_mean and groups.has_numbers:
        found = groups.mean()
    else:
        place = int(groups.overall.argmax())
        title = f"share of {first.labels([place])[0]}"
        weights = np.zeros(first.size)
        weights[place] = 1.0
        found = {key: replace(one, question=title) for key, one in groups.query(weights).items()}
    return {_name(key): one for key, one in found.items()}


def _name(key: object) -> str:
    return " / ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _draw_intervals(axes: Axes, answers: dict[str, Interval]) -> None:
    """Draw intervals below each other, the first on top.

    Over time where they follow each other.
    """
    if has_order([(name,) for name in answers]):
        draw_series(axes, {name: answers[name] for (name,) in natural_order([(name,) for name in answers])})
        return
    now, low, high = np.array([(one.estimate, one.low, one.high) for one in answers.values()]).T
    ends = np.maximum([now - low, high - now], 0.0)
    axes.errorbar(now, np.arange(now.size), xerr=ends, fmt="o", color=style.STACKED, capsize=3, markersize=4.5)
    style.lay_bars(axes, style.shorten(list(answers)))
    first = next(iter(answers.values()))
    if first.is_share:
        style.show_percent(axes.xaxis)
    axes.set_xlabel(f"{first.question} ({first.shown_level} confidence)")


def columns_of(answer: object) -> Columns:  # noqa: PLR0911 - one for each kind of result
    """Return a result as columns, for data frames and CSV files."""
    match answer:
        case Estimate():
            return _values(answer.alphabet, "value") | {"probability": answer.distribution.tolist()}
        case GroupEstimates() | Series():
            return _group_columns(answer)
        case Interval():
            parts = answer.parts
            row = {name: getattr(answer, name) for name in ("question", "estimate", "low", "high", "level")}
            row |= {name: None if parts is None else getattr(parts, name) for name in ("sampling", "privacy")}
        case Regression():
            return columns_of_regression(answer)
        case Diagnosis():
            found = [(question, str(one.verdict), one.reason) for question, one in findings(answer)]
            return dict(zip(("question", "verdict", "reason"), map(list, zip(*found, strict=True)), strict=True))
        case Plan():
            return _plan_columns(answer)
        case Fit():
            row = {"verdict": str(answer.verdict)}
            row |= {
                name: getattr(answer, name) for name in ("p_value", "statistic", "degrees", "reports", "replicates")
            }
        case Counts():
            return _count_columns(answer)
        case Audit() | Mechanism() | Survey():
            summary = _summary(answer)
            folded = [part for one in summary.sections for part in one.parts if isinstance(part, Lines)]
            lines = [*summary.facts, *(line for part in folded for line in part.lines)]
            return {"name": [name for name, _ in lines], "words": [words for _, words in lines]}
        case _:
            raise InvalidParameterError(f"A {type(answer).__name__} has no table.")
    return {name: [value] for name, value in row.items()}


def _values(alphabet: Alphabet, name: str) -> Columns:
    """Return the columns of all values, with labels if any."""
    values = as_lists(alphabet.decode(np.arange(alphabet.size)))
    found = dict(zip(column_names(alphabet, name), map(list, zip(*values, strict=True)), strict=True))
    return found | ({"label": list(alphabet.labels())} if alphabet.has_labels else {})


def _count_columns(answer: Counts) -> Columns:
    """Return the distinct reports, and how often each was seen."""
    parts_of = as_lists(answer.reports)
    names = ["report"] if answer.reports.ndim == 1 else [f"part {n + 1}" for n in range(len(parts_of[0]))]
    rows = dict(zip(names, map(list, zip(*parts_of, strict=True)), strict=True))
    sums = {"count": answer.counts, "weights": answer.weights, "squares": answer.squares}
    return rows | {name: one.tolist() for name, one in sums.items() if one is not None}


def _plan_columns(answer: Plan) -> Columns:
    """Return the points of a plan's curves."""
    curves = [one for one in (answer.by_people, answer.by_epsilon) if one is not None]
    points = [(one.along, *pair) for one in curves for pair in zip(one.places, one.predictions, strict=True)]
    return {
        "along": [along for along, _, _ in points],
        "place": [place for _, place, _ in points],
        "error": [one.mean for _, _, one in points],
        "margin": [one.margin for _, _, one in points],
    }


def _group_columns(answer: GroupEstimates | Series) -> Columns:
    """Return one row for each group and value, or for each wave."""
    if isinstance(answer, Series):
        return series_columns(answer)
    groups, found = _survey_groups(answer), dict[str, list[Any]]()
    for key, one in groups.estimates.items():
        values = _values(one.alphabet, groups.survey.name)
        size = one.alphabet.size
        same = {name: [part] * size for name, part in zip(groups.by, key, strict=True)}
        block = same | values | {"probability": one.distribution.tolist(), "reports": [groups.reports[key]] * size}
        for name, column in block.items():
            found.setdefault(name, []).extend(column)
    return found


def to_frame(answer: object, backend: str = "pandas") -> Any:
    """Return a result as a data frame of pandas or polars."""
    if backend not in ("pandas", "polars"):
        raise InvalidParameterError(f'backend must be "pandas" or "polars"; got {backend!r}.')
    try:
        module = importlib.import_module(backend)
    except ImportError:
        raise MissingExtraError(backend, "A data frame", backend) from None
    return module.DataFrame(columns_of(answer))


def record_of(answer: object) -> dict[str, Any]:
    """Return a result's JSON record, without facts known only from files."""
    summary = _summary(answer)
    match answer:
        case Estimate():
            found = _found(answer)
            record = estimate_record(found.survey, found.counts, found.outcomes[0], None, found.answers, found.windows)
        case GroupEstimates() | Series():
            record = series_record(answer) if isinstance(answer, Series) else groups_record(_survey_groups(answer))
        case Regression():
            record = regression_record(answer)
        case Diagnosis():
            record = diagnosis_record(_survey_of(answer.mechanism, answer.name), answer)
        case Plan():
            survey = _survey_of(answer.mechanism)
            record = {"survey": {"name": survey.name, "title": survey.title}} | plan_record(answer)
        case Audit():
            record = audit_record(_survey_of(answer.mechanism), answer)
        case Survey():
            record = survey_record(answer)
        case Mechanism():
            words = {"kind": answer.kind, "description": repr(answer), "guarantee": str(answer.guarantee)}
            record = words | {"fine_print": list(answer.fine_print), "alphabet": alphabet_record(answer.alphabet)}
        case Counts():
            sizes = {"reports": answer.total, "distinct": answer.reports.shape[0], "repeats": answer.repeats}
            sizes |= {"weights": weights_record([answer])}
            record = sizes | {"origin": answer.origin.record, "counts": columns_of(answer)}
        case _:
            record = plain(answer)
    return summary.open(record)


def save(answer: object, path: str | Path) -> None:
    """Write a result to a new file; its ending chooses the format."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".html", ".json", ".csv", ".svg"):
        raise InvalidParameterError(f"{path} should end in .html, .json, .csv or .svg: the ending names the format.")
    if path.exists():
        raise DataFileError(f"{path} exists already, and save() does not replace files. Delete it, or name another.")
    if ending == ".svg":
        with style.styled():
            size, draw = _painter(answer)
            figure = style.new_figure(*size)
            draw(figure.add_subplot())
        to_svg_file(figure, path, str(answer) if isinstance(answer, Interval) else repr(answer))
        return
    write_text(path, content_of(answer, ending))


def content_of(answer: object, ending: str) -> str:
    """Return a result as a text: CSV, HTML or JSON."""
    if ending == ".csv":
        columns = columns_of(answer)
        rows = zip(*columns.values(), strict=True)
        return csv_text(map(as_shown, columns), (map(as_shown, row) for row in rows))
    return page_of(answer) if ending == ".html" else to_json(record_of(answer)) + "\n"


def _found(answer: Estimate) -> Findings:
    """Return all that a page of an estimate shows."""
    return complete(Findings(*_survey_and_counts(answer), (Outcome(answer, (), None, None),)))


def _survey_and_counts(answer: Estimate) -> tuple[Survey, Counts]:
    """Return the survey of an estimate; a pool of mechanisms has none."""
    if len(answer.groups) != 1:
        raise InvalidParameterError(
            "A page or record shows one survey, and this estimate is of several mechanisms. Use .to_frame() or .csv."
        )
    ((mechanism, counts),) = answer.groups.items()
    return _survey_of(mechanism), counts.as_counted


def _summarise_groups(series: GroupEstimates | Series, *, is_page: bool) -> Summary:
    """Return the summary of groups, or of an answer over time."""
    if not isinstance(series, Series):
        return summarise_groups(_survey_groups(series), GroupAnswers(), is_page=is_page)
    groups = _survey_groups(series.groups)
    named = dict(zip(series.groups, groups, strict=True))
    own = replace(series, groups=groups, answers={named[key]: one for key, one in series.answers.items()})
    return summarise_series(groups, GroupAnswers({own.question: own.answers}), [own], is_page=is_page)


def _survey_groups(answer: GroupEstimates) -> SurveyGroups:
    """Return groups named as in a survey: one word for each column."""
    if isinstance(answer, SurveyGroups):
        return answer
    keys = [key if isinstance(key, tuple) else (key,) for key in answer]
    estimates = {tuple(map(str, key)): one for key, one in zip(keys, answer.values(), strict=True)}
    by = ("group",) if len(keys[0]) == 1 else tuple(f"group {place + 1}" for place in range(len(keys[0])))
    survey, _ = _survey_and_counts(answer.first)
    return SurveyGroups(estimates, survey, by)


def _survey_of(mechanism: Mechanism, name: str = "value") -> Survey:
    """Return a survey titled by its mechanism, the rest unknown."""
    described = describe_mechanism(Survey(mechanism))
    return Survey(mechanism, name, f"{described[:1].upper()}{described[1:]}")
