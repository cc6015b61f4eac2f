"""confide demo: blur real ages, recover their distribution, and look at it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from confide.cli.terminal import console, progress, say, say_exactly, warn
from confide.cli.usage import argument
from confide.data.datasets import Dataset, adult_ages
from confide.data.files import check_writable, write_text
from confide.errors import MissingExtraError
from confide.estimates.estimate import Outcome, assess
from confide.estimates.explanations import explain_guarantee
from confide.estimates.inference import Interval
from confide.evidence.counts import Counts, tally
from confide.mechanisms import TruncatedGeometric
from confide.present.estimates import describe_seconds
from confide.present.summary import BOTH_TRUE, Lines, Listing, Section, Summary, about_reports, state
from confide.present.terminal import show_summary
from confide.solve.methods import IBU, Inversion, Method, Stacked
from confide.surveys.survey import Survey
from confide.values import Integers
from confide.values.distances import emd, total_variation
from confide.values.queries import as_weights
from confide.values.wording import plural, with_unit

EXAMPLES = ("confide demo", "confide demo ages.html")

SEED = 7
METHODS: tuple[Method, ...] = (Stacked(), IBU(delta=0.01), Inversion("normalize"), Inversion("project"))
QUESTION = "age >= 65"


def demo(
    output: Annotated[Path, argument("Where to write the page.", "PAGE", show_default=True)] = Path(
        "confide-demo.html"
    ),
) -> None:
    """Blur 48,842 real ages and recover their distribution.

    The ages of UCI Adult go through the truncated geometric mechanism at epsilon 0.05 per year. Four methods then
    recover their distribution from the reports alone: the default, IBU, and matrix inversion repaired in two ways.
    """
    from confide.present.pages import estimate_page

    check_writable(output)
    people = adult_ages()
    ages = Integers(0, 99, unit="year")
    survey = Survey(TruncatedGeometric(ages, 0.05), name="age", title="Ages, UCI Adult")
    with progress("Blurring each age", is_noted=True):
        counts = tally(survey.mechanism.privatize(people.values(), rng=SEED, taken=True))
    outcomes = []
    for method in METHODS:
        with progress(f"Recovering with {method.name}", is_noted=True) as monitor:
            outcomes.append(assess(counts, survey.mechanism, method, truth=people.distribution, monitor=monitor))
    with progress("Finding intervals", is_noted=True):
        best = outcomes[0].estimate
        band, answer = best.interval(), best.query(QUESTION)
    # The page comes before the first word: whoever reads one line of the output has it all the same.
    # The page needs matplotlib, which is an extra; the demo is worth showing without it.
    is_drawn = True
    try:
        with progress("Drawing the page", is_noted=True):
            page = estimate_page(survey, counts, outcomes, truth=people.distribution, band=band, answers=[answer])
            write_text(output, page)
    except MissingExtraError as error:
        is_drawn = False
        warn(f"The page is left out. {error}")
    show_summary(_summarise(survey, people, counts, outcomes, answer), console())
    say()
    if is_drawn:
        say_exactly(f"Wrote {output}. Open it in a browser:")
        say_exactly(f"  {output.resolve().as_uri()}")
        say()
    say("Then do it yourself:" if shutil.which("confide") else "Then do it yourself, after: . .venv/bin/activate")
    for command in (
        "confide datasets adult_ages values.csv                       # values to try it on",
        "confide new values.csv                                       # a survey, from a look at them",
        "confide privatize survey.toml values.csv -o reports.csv      # what devices do",
        "confide estimate survey.toml reports.csv --truth values.csv  # what you do",
    ):
        say_exactly(f"  {command}")


def _summarise(survey: Survey, people: Dataset, counts: Counts, outcomes: list[Outcome], answer: Interval) -> Summary:
    """Return what the demo shows: answer, methods beside the truth, promise."""
    truth, noisy = people.distribution, survey.mechanism.lay_out(counts) / counts.total
    distances = emd(noisy, truth, survey.alphabet), total_variation(noisy, truth)
    rows: list[list[str]] = [["noisy reports", f"{distances[0]:.2f}", f"{distances[1]:.3f}", "-", "-"]]
    for outcome in outcomes:
        one = outcome.estimate
        moved = "" if outcome.emd is None else f"{outcome.emd:.2f}"
        varied = "" if outcome.total_variation is None else f"{outcome.total_variation:.3f}"
        steps = f"{one.iterations:,}" if one.iterations else "none"
        rows.append([one.method.name, moved, varied, steps, describe_seconds(one.seconds)])
    # In the order of METHODS: the default, IBU, and the two ways to repair inversion.
    best, _, *inversions = [outcome.emd for outcome in outcomes if outcome.emd is not None]
    words = (
        f"Each report says little about one person. Together they give the distribution of ages to within "
        f"{with_unit(best, survey.alphabet.unit)} (earth mover's distance, EMD: how far people would have to be moved "
        f"on average). Matrix inversion amplifies the noise: its answers are {min(inversions) / best:.0f} and "
        f"{max(inversions) / best:.0f} times as far off."
    )
    headings = ["method", f"EMD ({plural(survey.alphabet.unit)})", "total variation", "iterations", "time"]
    promise, true = survey.mechanism.guarantee, float(as_weights(QUESTION, people.alphabet) @ truth)
    facts = [
        ("Data", f"{people.title}: {people.citation}"),
        ("Noise", f"simulated with seed {SEED}, so that you see what we see; without a seed it is secure"),
        ("Promise", f"none here, because the seed is known; without one, {promise}"),
        *zip(("For example", "", ""), explain_guarantee(survey), strict=False),
    ]
    return Summary(
        f"{people.total:,} real ages, blurred one by one and recovered as a distribution",
        about_reports(survey, counts.total, counts.origin)[1:],
        headline=f"{state(answer, survey.name)} In truth it is {true:.1%}.",
        sections=[Section("", [Listing(headings, rows)]), Section("", [words, BOTH_TRUE]), Section("", [Lines(facts)])],
    )
