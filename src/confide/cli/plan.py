"""confide plan: what to expect of a survey before anyone is asked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from confide.cli.terminal import console, give, say, show_json, ticker
from confide.cli.usage import (
    AsJson,
    SurveyPath,
    Verbose,
    as_amount,
    as_count,
    check_formats,
    check_outputs,
    option,
    outputs_option,
)
from confide.data.files import to_json
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
            f"{', '.join(SHAPES)}; of unbounded values also their range, 0..99, or 20x14 for a map. [default: all of "
            f"these shapes]",
            "GUESS",
        ),
    ] = None,
    mechanisms: Annotated[
        str | None,
        option(
            "Rank mechanisms with the survey's promise instead: all that suit its values, or those that you name.",
            "all|KIND,KIND",
        ),
    ] = None,
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
    guess, limits = (guess, None) if guess is None else split_span(guess)
    outputs, files = output or [], [Path(guess)] if guess is not None and Path(guess).is_file() else []
    check_formats(outputs, (".html", ".csv", ".json", ".png"))
    check_outputs(outputs, [survey, *files])
    contract = load_survey(survey)
    # A ranking holds the promise fixed: there is nothing to solve for, and no curve to write.
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
            shape=contract.shape,
        )
    summary = summarise_plan(contract, made)
    record = summary.open({"survey": {"name": contract.name, "title": contract.title}} | plan_record(made))
    contents = {path: _render(path, contract, made, record) for path in outputs}
    give("plan", summary, lambda: record, contents, as_json=as_json, verbose=verbose)


def split_span(guess: str) -> tuple[str | None, tuple[int, int] | None]:
    """Return a guess without its range, and that range.

    >>> split_span("-5..120"), split_span("peaked 20x14"), split_span("adult_ages")
    ((None, (-5, 120)), ('peaked', (20, 14)), ('adult_ages', None))
    """
    found = re.fullmatch(r"\s*(?:(.*\S)\s+)?([+-]?[0-9]{1,18})\s*(?:[.]{2}|x)\s*([+-]?[0-9]{1,18})\s*", guess)
    if (typed := re.fullmatch(r"\s*([0-9]+)\s*-\s*([0-9]+)\s*", guess)) is not None:
        raise InvalidParameterError(
            f"There is no guess {guess!r}. A range has two dots: --guess {typed[1]}..{typed[2]}."
        )
    return (guess, None) if found is None else (found[1], (int(found[2]), int(found[3])))


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
