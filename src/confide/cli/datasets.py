"""confide datasets: list, explain and export the bundled histograms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from confide.cli.terminal import say, say_exactly, show_pairs
from confide.cli.usage import argument
from confide.data import datasets as bundled
from confide.data.datasets import Dataset
from confide.data.files import write_values
from confide.estimates.explanations import describe_alphabet

EXAMPLES = (
    "confide datasets",
    "confide datasets adult_ages values.csv",
    "confide datasets manhattan checkins.csv",
)


def datasets(
    name: Annotated[str | None, argument("The dataset to describe.", "NAME")] = None,
    export: Annotated[
        Path | None, argument("Write it as CSV, one value a person; - for standard output.", "FILE")
    ] = None,
) -> None:
    """List the bundled datasets, or describe and export one."""
    if name is None:
        _list_all()
        return
    dataset = bundled.load(name)
    if export is not None:
        write_values(export, dataset.alphabet, dataset.histogram, dataset.places, dataset.column)
    if str(export) != "-":
        _describe(dataset, export)


def _list_all() -> None:
    known = [bundled.load(name) for name in bundled.names()]
    show_pairs([(one.name, f"{one.title}: {one.total:,} people ({one.licence})") for one in known])
    say()
    say("More about one:  confide datasets NAME")
    say("As a file:       confide datasets NAME values.csv")


def _describe(dataset: Dataset, export: Path | None) -> None:
    say(dataset.title, style="bold")
    say()
    show_pairs(
        [
            ("Name", dataset.name),
            ("People", f"{dataset.total:,}"),
            ("Values", describe_alphabet(dataset.alphabet)),
            *([] if dataset.places is None else [("On the Earth", describe_alphabet(dataset.places))]),
            ("Source", dataset.source),
            ("Licence", dataset.licence),
            ("Citation", dataset.citation),
            ("Note", dataset.note),
            ("In Python", f"confide.datasets.{dataset.name}()"),
        ]
    )
    if export is not None:
        say()
        say_exactly(f"Wrote {dataset.total:,} people to {export}")
