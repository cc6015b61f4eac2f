"""confide demo: blur real ages, recover their distribution, and look at it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from confide.cli.terminal import progress, say, say_exactly, show, show_pairs, warn
from confide.data.datasets import Dataset, adult_ages
from confide.data.files import check_writable, write_text
from confide.errors import MissingExtraError
from confide.estimates.estimate import Outcome, assess
from confide.evidence.counts import Counts, tally
from confide.mechanisms import TruncatedGeometric
from confide.solve.methods import IBU, Inversion, Method, Stacked
from confide.surveys.survey import Survey
from confide.values import Integers
from confide.values.distances import emd, total_variation
from confide.values.queries import as_weights

EXAMPLES = ("confide demo", "confide demo --output ages.html")

AGES = Integers(0, 99, unit="year")
EPSILON = 0.05
SEED = 7
METHODS: tuple[Method, ...] = (Stacked(), IBU(delta=0.01), Inversion("normalize"), Inversion("project"))
QUESTION = "age >= 65"


def demo(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page.")] = Path(
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
    survey = Survey(TruncatedGeometric(AGES, EPSILON), name="age", title="Ages, UCI Adult")
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
    is_drawn = True
    try:
        with progress("Drawing the page", is_noted=True):
            page = estimate_page(survey, counts, outcomes, truth=people.distribution, band=band, answers=[answer])
            write_text(output, page)
    except MissingExtraError as error:
        is_drawn = False
        warn(f"The page is left out. {error}")
    _introduce(people, survey)
    _show_table(survey, people, counts, outcomes)
    _explain(survey, outcomes)
    truth = float(as_weights(QUESTION, people.alphabet) @ people.distribution)
    say(
        f"How many are 65 or older? {answer.estimate:.1%}, and with 95 % confidence between {answer.low:.1%} and "
        f"{answer.high:.1%}. In truth it is {truth:.1%}."
    )
    say()
    if is_drawn:
        say_exactly(f"Wrote {output}. Open it in a browser:")
        say_exactly(f"  {output.resolve().as_uri()}")
        say()

    _point_onwards()


def _introduce(people: Dataset, survey: Survey) -> None:
    from confide.estimates.explanations import describe_mechanism, explain_guarantee

    promise = survey.mechanism.guarantee
    say(f"{people.total:,} real ages, each blurred on its own, then recovered as a distribution", style="bold")
    say()
    show_pairs(
        [
            ("Data", f"{people.title}: {people.citation}"),
            ("Mechanism", f"{describe_mechanism(survey)}, epsilon {EPSILON:g} per {survey.alphabet.unit}"),
            ("Noise", f"simulated with seed {SEED}, so that you see what we see; without a seed it is secure"),
            ("Promise", f"none of these reports, for whoever knows the seed; without one, {promise}"),
            *zip(("For example", "", ""), explain_guarantee(survey), strict=False),
        ]
    )
    say()


def _show_table(survey: Survey, people: Dataset, counts: Counts, outcomes: list[Outcome]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from confide.values.wording import plural

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", style="bold", no_wrap=True)
    unit = plural(survey.alphabet.unit)
    for name in (f"EMD\n({unit})", "total\nvariation", "log-\nlikelihood", "iterations", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    noisy, truth = survey.mechanism.lay_out(counts) / counts.total, people.distribution
    distances = emd(noisy, truth, survey.alphabet), total_variation(noisy, truth)
    table.add_row("noisy reports", f"{distances[0]:.2f}", f"{distances[1]:.3f}", "-", "-", "-", style="dim")
    for outcome in outcomes:
        answer = outcome.estimate
        table.add_row(
            answer.method.name,
            "" if outcome.emd is None else f"{outcome.emd:.2f}",
            "" if outcome.total_variation is None else f"{outcome.total_variation:.3f}",
            f"{answer.log_likelihood:,.1f}",
            f"{answer.iterations:,}" if answer.iterations else "none",
            f"{answer.seconds * 1000:,.1f} ms",
        )
    show(table)


def _explain(survey: Survey, outcomes: list[Outcome]) -> None:
    from confide.values.wording import with_unit

    best, _, *inversions = [outcome.emd for outcome in outcomes if outcome.emd is not None]
    say(
        f"A report says little about one person, yet from all of them the default, {outcomes[0].estimate.method.name}, "
        f"finds the distribution of ages to within {with_unit(best, survey.alphabet.unit)} (earth mover's distance, "
        f"EMD: how far people would have to be moved on average). Matrix inversion magnifies the chance part of the "
        f"noise: its answers lie {min(inversions) / best:.0f} and {max(inversions) / best:.0f} times as far from the "
        f"truth."
    )
    say()


def _point_onwards() -> None:
    if shutil.which("confide") is None:
        say("Then do it yourself, after: . .venv/bin/activate")
    else:
        say("Then do it yourself:")
    for command in (
        "confide init                                                   # a survey to edit",
        "confide datasets adult_ages --export values.csv                # values to try it on",
        "confide privatize survey.toml values.csv -o reports.csv        # what devices do",
        "confide estimate survey.toml reports.csv --truth values.csv    # what the curator does",
    ):
        say_exactly(f"  {command}")
