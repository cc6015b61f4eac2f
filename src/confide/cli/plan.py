"""confide plan: what to expect of a survey before anyone is asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from confide.cli.terminal import console, say, say_exactly, show_json, ticker
from confide.cli.usage import (
    AsJson,
    ShapeWords,
    SurveyPath,
    Verbose,
    as_amount,
    as_count,
    check_formats,
    check_outputs,
    choose_shape,
    more_of,
    option,
    outputs_option,
)
from confide.data.files import to_json, write_text
from confide.errors import InvalidParameterError
from confide.plans import SHAPES, Plan
from confide.plans.planning import expected_surveys
from confide.plans.planning import plan as make_plan
from confide.plans.ranking import rank_like
from confide.plans.records import plan_csv, plan_record
from confide.plans.simulations import within
from confide.present.surveys import summarise_plan, summarise_ranking
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, load_survey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = (
    "confide plan survey.toml --people 50,000",
    "confide plan survey.toml --people 50,000 --guess adult_ages",
    "confide plan survey.toml --people 50,000 --target 0.5    # which epsilon?",
    "confide plan survey.toml --epsilon 0.05 --target 0.5     # how many people?",
    "confide plan survey.toml --people 50,000 --mechanisms all",
    'confide plan survey.toml --people 9k --query "age >= 65" -o plan.html',
)


def plan(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    *,
    people: Annotated[int | None, option("How many people will report.", "N", parser=as_count)] = None,
    epsilon: Annotated[
        float | None, option("The privacy parameter. [default: the survey's, unless solved for]", "X", parser=as_amount)
    ] = None,
    target: Annotated[
        float | None,
        option(
            "Error to reach: EMD (total variation on categories); with --query the half-width, such as 0.01.",
            "X",
            parser=as_amount,
        ),
    ] = None,
    query: Annotated[
        str | None, option('Plan for one question, such as "age >= 65", not for the whole distribution.', "QUERY")
    ] = None,
    guess: Annotated[
        str | None,
        option(
            "What the truth may look like: a dataset, an estimate's file, a file of values, or "
            f"{', '.join(SHAPES)}. [default: all of these shapes]",
            "GUESS",
        ),
    ] = None,
    span: Annotated[
        str | None,
        option(
            "For unbounded values: the range they will lie in, 0..99, or the size of the map, 20x14.",
            "LOW..HIGH|ROWSxCOLUMNS",
        ),
    ] = None,
    mechanisms: Annotated[
        str | None,
        option(
            "Rank mechanisms with the survey's promise instead: all that suit its values, or those that you name.",
            "all|KIND,KIND",
        ),
    ] = None,
    shape: ShapeWords = None,
    output: Annotated[list[Path] | None, outputs_option("a .html page, .csv, .json or .png")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Predict the error of a survey, or what a target takes.

    Give two of --people, --epsilon and --target; the third is solved for. The survey's own epsilon counts as given. The
    plan simulates the whole survey with people drawn from the guess, so it is as good as the guess. Without one it
    covers several shapes and meets a target for the worst. A target out of reach ends with exit code 5. Simulated
    numbers are cached in your cache folder, or in the one that CONFIDE_CACHE names.
    """
    outputs, files = output or [], [Path(guess)] if guess is not None and Path(guess).is_file() else []
    check_formats(outputs, (".html", ".csv", ".json", ".png"))
    check_outputs(outputs, [survey, *files])
    contract = load_survey(survey)
    if mechanisms is not None:
        if people is None or target is not None or outputs:
            raise InvalidParameterError("--mechanisms needs --people, and takes neither --target nor -o.")
        with ticker("Ranking"):
            ranking = rank_like(
                contract.mechanism, people=people, epsilon=epsilon, only=mechanisms, guess=guess, query=query
            )
        if as_json:
            show_json(ranking.record())
        else:
            show_summary(summarise_ranking(contract, ranking), console())
        return
    limits = None if span is None else as_span(span)
    with ticker("Simulating") as tell:
        mechanism = within(contract.mechanism, limits)
        clock = SurveyClock(partial(expected_surveys, mechanism, guess, is_solved=target is not None), tell)
        made = make_plan(
            contract.mechanism,
            guess,
            people=people,
            epsilon=epsilon,
            target_emd=target if query is None else None,
            target_width=None if query is None else target,
            query=query,
            follow=clock.follow,
            name=contract.name,
            span=limits,
            shape=choose_shape(contract, shape or []),
        )
    summary = summarise_plan(contract, made)
    record = summary.open({"survey": {"name": contract.name, "title": contract.title}} | plan_record(made))
    # All are rendered before the first is written, so that a missing package leaves none behind.
    rendered = [_render(path, contract, made, record) for path in outputs]
    for path, content in zip(outputs, rendered, strict=True):
        if isinstance(content, str):
            write_text(path, content)
        else:
            from confide.present.figures import to_png

            to_png(content, path)
    if as_json:
        show_json(record)
        return
    show_summary(summary, console(), verbose=verbose, more=more_of("plan", outputs))
    for path in outputs:
        say_exactly(f"Wrote {path}")


def as_span(text: str) -> tuple[int, int]:
    """Return the two numbers of a span.

    >>> as_span("-5..120"), as_span("20x14")
    ((-5, 120), (20, 14))
    """
    found = re.fullmatch(r"\s*([+-]?[0-9]{1,18})\s*(?:[.]{2}|x)\s*([+-]?[0-9]{1,18})\s*", text)
    if found is None:
        raise InvalidParameterError(f"--span must be two numbers, such as 0..99, or 20x14 for a map; got {text!r}.")
    return int(found[1]), int(found[2])


class SurveyClock:
    """Progress of a plan on standard error, with the time left."""

    def __init__(self, surveys: Callable[[], int], tell: Callable[[str], None]) -> None:
        self.surveys, self.tell, self.times = surveys, tell, list[float]()

    def follow(self, what: str, repeat: int, of: int) -> None:
        """Hear that a survey is about to be simulated."""
        # Surveys after which the time of all is told; every setting has as many.
        timed = 4
        self.tell(f"{what}: repeat {repeat} of {of}")
        if len(self.times) == timed:
            return
        self.times.append(time.perf_counter())
        if len(self.times) == timed:
            # The first one also sets everything up, which the others need not.
            seconds = self.surveys() * (self.times[-1] - self.times[1]) / (timed - 2)
            if seconds >= 15:  # below that, nobody needs to be told
                say(f"This takes about {duration(seconds)}: {self.surveys():,} simulated surveys.", stderr=True)


def duration(seconds: float) -> str:
    """Return a time in a few words.

    >>> duration(44), duration(170), duration(7000)
    ('40 seconds', '3 minutes', '2 hours')
    """
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.0f} hours"


def _render(path: Path, survey: Survey, made: Plan, record: dict[str, object]) -> str | Figure:
    ending = path.suffix.lower()
    if ending == ".csv":
        return plan_csv(made)
    if ending == ".json":
        return to_json(record) + "\n"
    if ending == ".png":
        from confide.present.figures import draw_tradeoff

        return draw_tradeoff(made)
    from confide.present.pages import plan_page

    return plan_page(survey, made)
