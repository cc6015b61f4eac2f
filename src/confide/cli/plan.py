"""confide plan: what to expect of a survey before anyone is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli.terminal import say, say_exactly, show, show_json, ticker
from confide.cli.usage import (
    AsJson,
    MethodName,
    SurveyPath,
    check_formats,
    check_outputs,
    choose_method,
    outputs_option,
)
from confide.files import to_json, write_text
from confide.plans import METHOD, REPEATS, Plan
from confide.plans.planning import plan as make_plan
from confide.plans.records import expected, headline, plan_csv, plan_record, remarks, trouble_of, width_meaning
from confide.plans.rivals import ALL, promise, with_epsilon
from confide.surveys import Survey, load_survey

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

EXAMPLES = (
    "confide plan survey.toml --people 50000 --guess adult_ages",
    "confide plan survey.toml --people 50000 --target-emd 0.5 --guess adult_ages    # which epsilon?",
    "confide plan survey.toml --epsilon 0.05 --target-emd 0.5 --guess adult_ages    # how many people?",
    'confide plan survey.toml --query "age >= 65" --target-width 0.01 --guess estimate.csv -o plan.html',
)

FORMATS = (".html", ".csv", ".json", ".png")

NONE = "none"

MARK = "plan"
"""Stands behind the plan's own row: where bold letters do not show, as in a pipe, a word does."""


def plan(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    *,
    people: Annotated[int | None, typer.Option(help="How many people will report.", show_default=False)] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="What they are promised. [default: the survey's, unless solved for]", show_default=False),
    ] = None,
    target_emd: Annotated[
        float | None,
        typer.Option(
            help="The expected earth mover's distance from the truth to reach; on categories, the total variation.",
            show_default=False,
        ),
    ] = None,
    target_width: Annotated[
        float | None,
        typer.Option(
            help="With --query: the half-width to reach that holds its answer in 95 of 100 surveys, as a share.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY",
            help='Plan for the answer to a question, such as "age >= 65", in place of the whole distribution.',
            show_default=False,
        ),
    ] = None,
    guess: Annotated[
        str,
        typer.Option(
            metavar="GUESS",
            help="What the truth may look like: uniform, a bundled dataset (confide datasets), a file that confide "
            "estimate -o wrote, or a file of values.",
        ),
    ] = "uniform",
    mechanisms: Annotated[
        str | None,
        typer.Option(
            metavar="all|none|KIND,...",
            help="Which mechanisms to compare at the same promise. [default: those that are quick to simulate]",
            show_default=False,
        ),
    ] = None,
    method: MethodName = None,
    repeats: Annotated[int, typer.Option(help="Simulated surveys for each setting; more make it surer.")] = REPEATS,
    seed: Annotated[int, typer.Option(help="The seed of the simulation.")] = 0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep simulated numbers.")] = False,
    output: Annotated[
        list[Path] | None, outputs_option("the plan as a .html page, .csv, .json or a .png picture")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what to expect before anyone is asked: how large the error will be, or what a target takes.

    Of --people, --epsilon and a target give two, and the third is solved for; the survey's own epsilon counts as given.
    The whole survey is simulated again and again with people drawn from the guess, so the plan is as good as the guess.
    Every number comes with the simulation's own error. Pairs and categories are measured in total variation, all else
    in the earth mover's distance (EMD). A target that cannot be reached ends with exit code 5. Simulated numbers are
    kept in your cache folder, or in the one that CONFIDE_CACHE names.
    """
    outputs = output or []
    check_formats(outputs, FORMATS)
    check_outputs(outputs, [survey, *_file(guess)])
    contract = load_survey(survey)
    with ticker("Simulating") as tell:
        made = make_plan(
            contract.mechanism,
            guess,
            people=people,
            epsilon=epsilon,
            target_emd=target_emd,
            target_width=target_width,
            query=query,
            mechanisms=_kinds(mechanisms),
            method=METHOD if method is None else choose_method(method),
            repeats=repeats,
            seed=seed,
            cache=not no_cache,
            follow=lambda what, repeat, of: tell(f"{what}: repeat {repeat} of {of}"),
            name=contract.name,
        )
    _write(outputs, contract, made)
    if as_json:
        show_json(_record(contract, made))
        return
    _show_in_words(contract, made)
    for path in outputs:
        say_exactly(f"Wrote {path}")


def _file(guess: str) -> list[Path]:
    return [Path(guess)] if Path(guess).is_file() else []


def _kinds(mechanisms: str | None) -> list[str] | str | None:
    """Return the names in a list with commas, and what stands for several of them."""
    if mechanisms is None or mechanisms == ALL:
        return mechanisms
    return [] if mechanisms == NONE else [one.strip() for one in mechanisms.split(",")]


def _record(survey: Survey, made: Plan) -> dict[str, object]:
    return {"survey": {"name": survey.name, "title": survey.title}} | plan_record(made)


def _write(outputs: list[Path], survey: Survey, made: Plan) -> None:
    """Write all outputs; all are rendered before the first is written, so that a missing package leaves none behind."""
    rendered = [_render(path, survey, made) for path in outputs]
    for path, content in zip(outputs, rendered, strict=True):
        if isinstance(content, str):
            write_text(path, content)
        else:
            from confide.figures import to_png

            to_png(content, path)


def _render(path: Path, survey: Survey, made: Plan) -> str | Figure:
    ending = path.suffix.lower()
    if ending == ".csv":
        return plan_csv(made)
    if ending == ".json":
        return to_json(_record(survey, made)) + "\n"
    if ending == ".png":
        from confide.figures import draw_tradeoff

        return draw_tradeoff(made)
    from confide.pages import plan_page

    return plan_page(survey, made)


def _show_in_words(survey: Survey, made: Plan) -> None:
    say(survey.title, style="bold")
    say()
    say(headline(made))
    show(_table(made))
    for sentence in [width_meaning(made), *remarks(made)]:
        if sentence:
            say(f"- {sentence}")
    for rival in made.rivals:
        if rival.prediction is None:
            say(f"- {rival.mechanism.kind} could not be simulated: {trouble_of(rival)}")


def _table(made: Plan) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("mechanism", no_wrap=True)
    table.add_column("people", justify="right", no_wrap=True)
    table.add_column("promise", no_wrap=True)
    table.add_column("expected half-width" if width_meaning(made) else f"expected {made.measure.name}", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=len(MARK))
    for section in _sections(made):
        for people, kind, promised, error, is_plan in section:
            table.add_row(
                kind, f"{people:,}", promised, error, MARK if is_plan else "", style="bold" if is_plan else ""
            )
        table.add_section()
    return table


Row = tuple[int, str, str, str, bool]
"""People, mechanism, promise, expected error, and whether this is the plan itself."""


def _sections(made: Plan) -> list[list[Row]]:
    """Return the table in three parts: more people, weaker privacy, other mechanisms."""
    kind, said = made.mechanism.kind, promise(made.mechanism)
    by_people: list[Row] = [
        (int(people), kind, said, expected(made.measure, one), int(people) == made.people)
        for people, one in made.by_people.points.items()
    ]
    by_epsilon: list[Row] = [
        (made.people, kind, promise(with_epsilon(made.mechanism, one)), expected(made.measure, there), False)
        for one, there in ({} if made.by_epsilon is None else made.by_epsilon.points).items()
        if one != made.epsilon
    ]
    others: list[Row] = [
        (made.people, rival.mechanism.kind, said, expected(made.measure, rival.prediction), False)
        for rival in made.rivals
        if rival.prediction is not None
    ]
    return [part for part in (by_people, by_epsilon, others) if part]
