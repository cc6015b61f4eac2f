"""Page of an estimate: distributions, intervals, and the methods in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from confide.comparisons import Outcome
from confide.counts import Counts
from confide.estimates import Estimate
from confide.figures.panels import FloatArray
from confide.intervals import Band, CrossTable, Interval, Windows
from confide.pages.markup import show_page
from confide.present.estimates import Findings, complete, summarise_estimate
from confide.surveys import Survey


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
    found = Findings(
        survey,
        counts,
        tuple(outcomes),
        truth,  # type: ignore[arg-type]  # it is checked, and then an array
        band=band,
        answers=tuple(answers),
        windows=windows,
        marginals=marginals,
        crosses=crosses,
        background=tuple(background),
        given=noisy,
        notes=notes,
        files=files,
    )
    return show_page(summarise_estimate(complete(found), is_page=True))
