"""confide datasets: list the bundled histograms, say where one comes from, write it as a file of values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli.terminal import say, say_exactly, show, show_json, show_pairs
from confide.cli.usage import AsJson
from confide.data import datasets as bundled
from confide.data.datasets import Dataset
from confide.data.files import alphabet_record, write_values
from confide.errors import InvalidParameterError
from confide.estimates.explanations import describe_alphabet

EXAMPLES = (
    "confide datasets",
    "confide datasets adult_ages --export values.csv",
    "confide datasets manhattan --export checkins.csv",
)


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The dataset to describe.", show_default=False)
    ] = None,
    *,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write it as CSV, one value a person; - for standard output.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the bundled datasets, or describe and export one."""
    if export is not None and name is None:
        raise InvalidParameterError("--export needs the NAME of a dataset.")
    if as_json and str(export) == "-":
        raise InvalidParameterError("--json and the values cannot share standard output. Name a file with --export.")
    if name is None:
        _list_all(as_json=as_json)
        return
    dataset = bundled.load(name)
    if export is not None:
        write_values(export, dataset.alphabet, dataset.histogram, dataset.places)
    if as_json:
        show_json(dataset_record(dataset))
    elif str(export) != "-":
        _describe(dataset, export)


def dataset_record(dataset: Dataset) -> dict[str, Any]:
    """Return what is known about a dataset, ready for JSON."""
    texts = {key: getattr(dataset, key) for key in ("name", "title", "source", "licence", "citation", "note")}
    places = None if dataset.places is None else alphabet_record(dataset.places)
    return texts | {"people": dataset.total, "alphabet": alphabet_record(dataset.alphabet), "places": places}


def _list_all(*, as_json: bool) -> None:
    known = [bundled.load(name) for name in bundled.names()]
    if as_json:
        show_json({"datasets": [dataset_record(dataset) for dataset in known]})
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("people", justify="right", no_wrap=True)
    table.add_column("alphabet", no_wrap=True)
    table.add_column("what")
    table.add_column("licence", no_wrap=True)
    # Longer licences stand below the table, each once.
    below = dict.fromkeys(dataset.licence for dataset in known if len(dataset.licence) > 16)
    for dataset in known:
        brief = repr(dataset.alphabet).partition(", spacing")[0].partition(", unit")[0].rstrip(")") + ")"
        licence = "see below" if dataset.licence in below else dataset.licence
        table.add_row(dataset.name, f"{dataset.total:,}", brief, dataset.title, licence)
    show(table)
    for licence in below:
        say(f"{', '.join(one.name for one in known if one.licence == licence)}: {licence}")
        say()
    say("More about one:  confide datasets NAME")
    say("As a file:       confide datasets NAME --export values.csv")


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
