"""Page of an estimate: distributions, intervals, and the methods in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

import confide
from confide.alphabets import LineGeometry, PlaneGeometry
from confide.comparisons import Outcome
from confide.counts import Counts
from confide.diagnosis import why_undivided
from confide.estimates import Estimate
from confide.explanations import CERTIFICATE_MEANING, explain_choices
from confide.figures.panels import FloatArray
from confide.intervals import Band, CrossTable, Interval, Windows, percent
from confide.pages.markup import (
    NONE,
    answer_list,
    bullets,
    document,
    ends_beside,
    fact_list,
    fold,
    mark_simulated,
    note,
    pair,
    paragraph,
    provenance,
    remark_open,
    section,
    state_promise,
    table,
    text,
    warn_dependent,
    warn_not_identified,
    warn_poor_fit,
    warn_uniform,
    warn_wrong_shape,
)
from confide.pages.pictures import show_cross, show_distributions, show_marginal, show_path, show_windows
from confide.pages.story import (
    Story,
    bound_certificate,
    describe_bases,
    describe_emd,
    describe_ends,
    describe_question,
    describe_seconds,
    describe_total_variation,
    gather,
    list_facts,
    summarise,
)
from confide.surveys import Survey
from confide.theory.fit import IN_DOUBT
from confide.theory.shapes import AFTERWARDS, SHAPE_IN_DOUBT
from confide.wording import listed, plural

# Rows up to which a page stays quick to open.
MOST_ROWS = 2_000
# The level of intervals if none is asked for.
USUAL_LEVEL = 0.95
# Values without an order that a page begins with: those that most people have.
MOST_FULLEST = 3
QUARTILES = {0.25: "quantile 0.25", 0.5: "median", 0.75: "quantile 0.75"}

LOG_LIKELIHOOD = "Log\N{NON-BREAKING HYPHEN}likelihood"
LEVEL_MEANING = (
    "The level is the share of surveys like this one, were they repeated, whose interval would hold the truth. The "
    "intervals of single values hold each by itself, not all of them at once."
)


def estimate_page(  # noqa: PLR0913 - all that a page may show
    survey: Survey,
    counts: Counts,
    outcomes: Sequence[Outcome],
    truth: ArrayLike | None = None,
    noisy: ArrayLike | None = None,
    *,
    band: Band | None = None,
    answers: Sequence[Interval] = (),
    windows: Windows | None = None,
    marginals: Mapping[str, tuple[Estimate, Windows | None]] | None = None,
    crosses: Sequence[CrossTable] = (),
    background: Sequence[FloatArray] = (),
    notes: Sequence[str] = (),
    files: int = 1,
) -> str:
    """Return one self-contained HTML document that shows estimates, what they rest on and how they were reached.

    Parameters
    ----------
    survey
        What was asked and how answers were blurred.
    counts
        The reports; the page says of their noise what their `origin` states, and no more.
    outcomes
        What :func:`confide.assess` returned, one for each method.
    truth
        The true distribution over the alphabet, where it is known.
    noisy
        The share of each report; computed from the counts if left out.
    band
        The intervals of all values of the first estimate, :meth:`confide.Estimate.interval`.
    answers
        What was asked of the first estimate, :meth:`confide.Estimate.query` and the like.
    windows
        The windows of the first estimate, :meth:`confide.Estimate.windows`; found if left out, unless there are very
        many values or the reports certainly do not come from the mechanism.
    marginals, crosses
        Of several attributes, the estimate of each with its windows, :meth:`confide.Estimate.marginal`, and cross
        tables, :meth:`confide.Estimate.cross`.
    background
        Lines to draw on maps of places, as :func:`confide.geojson.read_lines` returns them.
    notes
        Which metadata are missing, :attr:`confide.counting.ReportInput.notes`.
    files
        How many files of reports were counted together; one person may be in each of them.

    >>> import confide as cf
    >>> survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), "answer", "A question")
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> page = estimate_page(survey, counts, [cf.assess(counts, survey.mechanism, cf.IBU())])
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    gathered = gather(survey, counts, outcomes, truth, noisy)
    story = replace(
        gathered,
        band=band,
        answers=_with_statistics(gathered, answers),
        windows=windows if windows is not None or marginals else _find_windows(gathered, answers),
        background=tuple(background),
    )
    known, fit = story.outcomes[0].estimate.identification, story.outcomes[0].estimate.fit
    windows_shown = show_windows(story)
    sections = (
        warn_uniform(story.outcomes[0].estimate.uniformity),
        warn_dependent(story.outcomes[0].estimate.dependence),
        warn_poor_fit(fit),  # what speaks against an answer stands before it
        warn_wrong_shape(story.outcomes[0].estimate.shape_fit),
        warn_not_identified(known),
        mark_simulated(counts.origin),
        answer_list([*map(_in_short, _leading(story)), *_fullest(story)]),
        windows_shown or show_distributions(story),
        *(show_marginal(name, *one) for name, one in (marginals or {}).items()),
        *(show_cross(table) for table in crosses),
        pair(
            section("In words", paragraph(summarise(story)) + _say_undivided(story))
            + ("" if fit.is_bad else section("Do the reports fit the survey?", paragraph(str(fit))))
            + _show_shape(story.outcomes[0].estimate),
            state_promise(survey, counts.origin, files),
        ),
        show_distributions(story) if windows_shown else "",
        _show_certainty(story),
        fold("Technical details", _show_methods(story), _ways(story), _show_shares(story)),
    )
    return document(
        title=text(survey.title),
        facts=fact_list(list_facts(story)),
        body="\n".join(sections),
        footer=_provenance(story, notes),
    )


def _show_shape(answer: Estimate) -> str:
    """Return what the answer takes for granted of the distribution, and what the reports say of it."""
    if answer.shape is None or answer.shape_fit is None:
        return ""
    said = "as the survey declared before any report was seen" if answer.shape.is_declared else AFTERWARDS
    words = f"Answer and intervals take for granted that {answer.shape.condition}, {said}."
    tested = [] if answer.shape_fit.is_bad else [paragraph(str(answer.shape_fit))]  # a box says it already
    return section("What is taken for granted", paragraph(words), *tested)


def _ways(story: Story) -> str:
    endings = [f"{name}: {outcome.estimate.ending}." for name, outcome in zip(story.names, story.outcomes, strict=True)]
    return section(
        "How the answer was reached",
        bullets(endings),
        remark_open(story.outcomes[0].estimate.identification),
        _looked_among(story),
        *_choices(story),
        show_path(story),
        paragraph(CERTIFICATE_MEANING) if _is_certified(story) else "",
        is_part=True,
    )


def _is_certified(story: Story) -> bool:
    """Whether some method seeks the maximum, so that a certificate measures it."""
    return any(outcome.estimate.method.seeks_maximum for outcome in story.outcomes)


def _leading(story: Story) -> list[Interval]:
    """Return what the page begins with: the median, the mean, then what was asked; quartiles stand in the table."""
    first = [one for name in ("median", "mean") for one in story.answers if one.question == name]
    return [*first, *(one for one in story.answers if one.is_share)]


def _in_short(answer: Interval) -> tuple[str, str, str]:
    now, low, high = describe_ends(answer)
    question = answer.question if answer.is_share else answer.question.capitalize()
    remark = f"; {answer.remark}" if answer.remark else ""
    return f"{question}, at {answer.shown_level}", now, f"{low} to {high}{remark}"


def _with_ends(answer: Interval, *, has_level: bool) -> str:
    """Return a cell of a table: the answer, and beside it between what it lies."""
    now, low, high = describe_ends(answer)
    return f"{text(now)} {ends_beside(f'{low} to {high}' + f', at {answer.shown_level}' * has_level)}"


def _fullest(story: Story) -> list[tuple[str, str, str]]:
    """Return what a page of values without an order begins with: where most people are."""
    windows = story.windows
    if windows is None or isinstance(story.alphabet.geometry, LineGeometry):
        return []
    order = sorted(range(len(windows)), key=lambda place: -windows.answers[place].estimate)[:MOST_FULLEST]
    return [
        (f"{windows.labels[place]}, at {percent(windows.level)}", *_shares_of(windows.answers[place]))
        for place in order
    ]


def _shares_of(answer: Interval) -> tuple[str, str]:
    now, low, high = answer.texts(1)
    return now, f"{low} to {high}"


def _find_windows(story: Story, answers: Sequence[Interval]) -> Windows | None:
    answer = story.outcomes[0].estimate
    if why_undivided(answer):
        return None
    return answer.windows(level=answers[0].level if answers else USUAL_LEVEL, name=story.survey.name)


def _say_undivided(story: Story) -> str:
    """Say why a map has no districts, where it has none."""
    why = (
        why_undivided(story.outcomes[0].estimate)
        if story.windows is None and isinstance(story.alphabet.geometry, PlaneGeometry)
        else ""
    )
    return paragraph(f"Districts are left out: {why}.") if why else ""


def _with_statistics(story: Story, answers: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return mean, quartiles and median of ordered values with what was asked, at its level; each question once.

    It takes half a second for a hundred values; of more than two thousand, and of reports that certainly do not come
    from the mechanism, only what is asked for is shown.
    """
    answer = story.outcomes[0].estimate
    if not isinstance(story.alphabet.geometry, LineGeometry) or why_undivided(answer):
        return tuple(answers)
    level = answers[0].level if answers else USUAL_LEVEL
    shown = {one.question: one for one in answers}
    missing = [share for share, question in QUARTILES.items() if question not in shown]
    has_mean = answer.alphabet.has_mean and "mean" not in shown
    return (*shown.values(), *answer.statistics(missing, level, mean=has_mean))


def _looked_among(story: Story) -> str:
    """Say among which values the answers were looked for, where not among all."""
    subsets = [outcome.estimate.considered for outcome in story.outcomes]
    return "".join(paragraph(subset.explain()) for subset in dict.fromkeys(subsets) if subset is not None)


def _choices(story: Story) -> list[str]:
    """Return what the answers were mixed from, for those that were."""
    return [
        paragraph(f"What {name} is mixed from:") + bullets(explain_choices(outcome.estimate.choices))
        for name, outcome in zip(story.names, story.outcomes, strict=True)
        if outcome.estimate.choices
    ]


def _provenance(story: Story, notes: Sequence[str]) -> str:
    methods = listed([repr(outcome.estimate.method) for outcome in story.outcomes])
    made = f"Made by confide {confide.__version__} with {methods}."
    return provenance(made, story.survey, story.counts.origin, notes)


def _show_methods(story: Story) -> str:
    """Return one line a method, and what the columns mean."""
    headings = [
        "Method",
        *_accuracy_headings(story),
        LOG_LIKELIHOOD,
        *(["Below the maximum by"] if _is_certified(story) else []),
        "Iterations",
        "Ended by",
        "Time",
    ]
    rows = [
        _method_cells(story, name, outcome, is_best=place in story.closest)
        for place, (name, outcome) in enumerate(zip(story.names, story.outcomes, strict=True))
    ]
    left = (0, headings.index("Ended by"))
    return section("The methods in numbers", table(headings, rows, words=left), _meaning(story), is_part=True)


def _show_certainty(story: Story) -> str:
    """Return what was asked, with intervals, and what these rest on; nothing where nothing was asked."""
    levels = list(dict.fromkeys(one.shown_level for one in story.answers))
    headings = ["Asked", f"Answer, and its ends at {', '.join(levels)}"]
    rows = [[text(describe_question(one)), _with_ends(one, has_level=len(levels) > 1)] for one in story.answers]
    shown = table(headings, rows) if rows else ""
    prospects = [f"The interval of {describe_question(one)} is {one.prospect}" for one in story.answers if one.prospect]
    prospects += [f"{one.question[0].upper()}{one.question[1:]}: {one.remark}." for one in story.answers if one.remark]
    bases = describe_bases(story.band, story.answers)
    first = story.outcomes[0].estimate
    doubt = [IN_DOUBT] if bases and first.fit.is_bad else []
    doubt += [SHAPE_IN_DOUBT] if bases and first.shape_fit is not None and first.shape_fit.is_bad else []
    words = map(paragraph, doubt + prospects + bases)
    said = "".join([*words, note(LEVEL_MEANING) if bases else ""])
    return section("How sure it is", pair(shown, said))


def _show_shares(story: Story) -> str:
    """Return every share of every distribution, folded away."""
    columns = _share_columns(story)
    names = [field.capitalize() for field in story.alphabet.field_names]
    names = [story.survey.name] if len(names) == 1 else names
    shown = min(MOST_ROWS, story.alphabet.size)
    rows = table([*names, *columns], _share_rows(story, list(columns.values()), shown), words=(), kind="tall")
    note = _truncation_note(story.alphabet.size)
    return (
        f"<details><summary>All shares: {story.alphabet.size:,} values, in percent</summary>\n{note}{rows}\n</details>"
    )


def _method_cells(story: Story, name: str, outcome: Outcome, *, is_best: bool) -> list[str]:
    estimate = outcome.estimate
    cells = [name]
    if story.truth is not None:
        cells += [describe_emd(story, outcome)] if story.has_distances else []
        cells += [describe_total_variation(outcome)]
    cells += [
        _number(estimate.log_likelihood),
        *([bound_certificate(outcome)] if _is_certified(story) else []),
        f"{estimate.iterations:,}" if estimate.iterations else NONE,
        str(estimate.status),
        describe_seconds(estimate.seconds),
    ]
    if is_best and len(story.closest) < len(story.outcomes):
        return [f"<strong>{text(cell)}</strong>" for cell in cells]
    return [text(cell) for cell in cells]


def _accuracy_headings(story: Story) -> list[str]:
    if story.truth is None:
        return []
    return ["Earth mover's distance", "Total variation"] if story.has_distances else ["Total variation"]


def _meaning(story: Story) -> str:
    if story.truth is None:
        return ""
    unit = f", in {plural(story.alphabet.unit)}" if story.alphabet.unit else ""
    moved = (
        f"The earth mover's distance is how far shares have to be moved, on average over all people, to turn the "
        f"estimate into the truth{unit}. "
    )
    varied = "Total variation is the largest error in the share of any set of values, between 0 and 1."
    missing = next((one.emd_left_out for one in story.outcomes if one.emd_left_out), "")
    about = f"The earth mover's distance: {missing}. " if missing else moved if story.has_distances else ""
    return note(f"{about}{varied} Smaller is better.")


def _number(amount: float) -> str:
    if math.isnan(amount):
        return NONE
    return "\N{MINUS SIGN}∞" if math.isinf(amount) else f"{amount:,.2f}".replace("-", "\N{MINUS SIGN}")


def _share_columns(story: Story) -> dict[str, FloatArray]:
    columns = {} if story.truth is None else {"Original": story.truth}
    if story.is_comparable and story.noisy is not None:
        columns["Noisy"] = story.noisy.shares
    for name, outcome in zip(story.names, story.outcomes, strict=True):
        columns[name] = outcome.estimate.distribution
        if outcome is story.outcomes[0] and story.band is not None:
            columns |= {f"{name}, low": story.band.low, f"{name}, high": story.band.high}
    return columns


def _share_rows(story: Story, columns: list[FloatArray], shown: int) -> Iterator[list[str]]:
    for index, value in enumerate(story.alphabet.decode(range(shown)).tolist()):
        parts = value if isinstance(value, list) else [value]
        shares = (f"{100 * float(column[index]):.4f}".replace("-", "\N{MINUS SIGN}") for column in columns)
        yield [*map(text, parts), *shares]


def _truncation_note(size: int) -> str:
    if size <= MOST_ROWS:
        return ""
    return note(
        f"The first {MOST_ROWS:,} of {size:,} values are shown. Write the estimate as CSV or JSON for all of them."
    )
