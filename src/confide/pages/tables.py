"""The numbers of a page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from confide.comparisons import Outcome
from confide.figures.panels import FloatArray
from confide.intervals import percent
from confide.pages import words
from confide.pages.markup import NONE, note, paragraph, section, table, text
from confide.pages.story import Story
from confide.wording import plural

LOG_LIKELIHOOD = "Log\N{NON-BREAKING HYPHEN}likelihood"

LEVEL_MEANING = (
    "The level is the share of surveys like this one, were they repeated, whose interval would hold the truth. The "
    "intervals of single values hold each by itself, not all of them at once."
)

MOST_ROWS = 2_000
"""Longer tables make a page slow."""


def show_methods(story: Story) -> str:
    """Return one line a method, and what the columns mean."""
    headings = [
        "Method",
        *_accuracy_headings(story),
        LOG_LIKELIHOOD,
        "Below the maximum by",
        "Iterations",
        "Ended by",
        "Time",
    ]
    rows = [
        _method_cells(story, name, outcome, is_best=place in story.closest)
        for place, (name, outcome) in enumerate(zip(story.names, story.outcomes, strict=True))
    ]
    left = (0, headings.index("Ended by"))
    return section("The methods in numbers", table(headings, rows, words=left), _meaning(story))


def show_certainty(story: Story) -> str:
    """Return what was asked, with intervals, and what these rest on; nothing where nothing was asked."""
    headings = ["Asked", "Answer", "From", "To", "Level"]
    rows = [
        [text(words.describe_question(one)), *map(text, words.describe_ends(one)), text(percent(one.level))]
        for one in story.answers
    ]
    shown = table(headings, rows) if rows else ""
    bases = words.describe_bases(story.band, story.answers)
    return section("How sure it is", shown, *map(paragraph, bases), note(LEVEL_MEANING) if bases else "")


def show_shares(story: Story) -> str:
    """Return every share of every distribution, folded away."""
    columns = _share_columns(story)
    names = [field.capitalize() for field in story.alphabet.field_names]
    names = [story.survey.name] if len(names) == 1 else names
    shown = min(MOST_ROWS, story.alphabet.size)
    rows = table([*names, *columns], _share_rows(story, list(columns.values()), shown), words=())
    note = _truncation_note(story.alphabet.size)
    return (
        f"<details><summary>All shares: {story.alphabet.size:,} values, in percent</summary>\n{note}{rows}\n</details>"
    )


def _method_cells(story: Story, name: str, outcome: Outcome, *, is_best: bool) -> list[str]:
    estimate = outcome.estimate
    cells = [name]
    if story.truth is not None:
        cells += [words.describe_emd(story, outcome)] if story.has_distances else []
        cells += [words.describe_total_variation(outcome)]
    cells += [
        _number(estimate.log_likelihood),
        words.bound_certificate(outcome),
        f"{estimate.iterations:,}" if estimate.iterations else NONE,
        str(estimate.status),
        words.describe_seconds(estimate.seconds),
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
    return note(f"{moved if story.has_distances else ''}{varied} Smaller is better.")


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
