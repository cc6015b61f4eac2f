"""What the command line asks of single attributes: marginals by their windows, and cross tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confide.cli.terminal import SMALL, console, say
from confide.cli.usage import split_names
from confide.diagnosis import why_undivided
from confide.errors import InvalidParameterError
from confide.estimates import Estimate
from confide.intervals import CrossTable, Windows
from confide.surveys import Survey
from confide.wording import counted, listed

if TYPE_CHECKING:
    from rich.table import Table

ENTRY = 18
"""Letters of an entry with its ends; where a row does not fit on the screen, the table is written as a list."""

LONGEST = 60
"""Rows of a cross table that are shown, unless all are asked for."""


@dataclass(frozen=True, eq=False)
class CrossTables:
    """Answers about some attributes: by name the estimate of one with its windows, and cross tables of several."""

    marginals: dict[str, tuple[Estimate, Windows | None]] = field(default_factory=dict)
    crosses: list[CrossTable] = field(default_factory=list)

    @property
    def bases(self) -> list[tuple[str, str]]:
        """What the intervals rest on, and of what they are."""
        windows = [one for _, one in self.marginals.values() if one is not None]
        found = [(one.rests_on, "single attributes") for each in windows for one in each.answers]
        return found + [(one.band.rests_on, "cross tables") for one in self.crosses]


Names = tuple[str, ...]
"""Attributes by their names."""


def choose_tables(survey: Survey, marginal: list[str], cross: list[str]) -> tuple[Names, list[Names]]:
    """Return the attributes to look at alone, and those of each cross table; of many combinations each attribute."""
    alphabet = survey.alphabet.attributes
    if alphabet is None:
        if marginal or cross:
            option = "--marginal" if marginal else "--cross"
            raise InvalidParameterError(
                f'{option} is for surveys of several attributes, of kind = "attributes"; {survey.name} is one value.'
            )
        return (), []
    names = tuple(dict.fromkeys(split_names("--marginal", marginal)))
    tables = [split_names("--cross", [one]) for one in cross]
    for one in tables:
        if len(one) < 2:
            raise InvalidParameterError(
                f"--cross takes two attributes or more, such as age,sex; got {','.join(one)!r}."
            )
        alphabet.part(*one)  # which refuses what is not there
    for name in names:
        alphabet.axis(name)
    return names or (alphabet.names if alphabet.size > SMALL else ()), tables


def tabulate(
    answer: Estimate, names: tuple[str, ...], crosses: list[tuple[str, ...]], level: float, *, joint: bool
) -> CrossTables:
    """Estimate each attribute by itself and find its windows, and fill the cross tables."""
    if not answer.is_distribution:
        return CrossTables()
    alone = {name: answer.marginal(name) for name in names}
    marginals = {
        name: (one, None if why_undivided(one) else one.windows(level=level, name=name)) for name, one in alone.items()
    }
    return CrossTables(marginals, [answer.cross(*one, level=level, joint=joint) for one in crosses])


def show_cross(table: CrossTable, *, everything: bool = False) -> None:
    """Print a cross table: rows by columns with totals, or a list where it is wide."""
    from rich.table import Table

    say()
    say(f"{listed(table.names).capitalize()}, in percent, each share with its ends at {table.shown_level}")
    *_, last = table.totals.values()
    is_flat = len(table.names) > 2 or ENTRY * (last.alphabet.size + 2) > console().width
    drawn = Table(box=None, pad_edge=False)
    shown = _list(drawn, table) if is_flat else _grid(drawn, table)
    most = len(shown) if everything else LONGEST
    for row in shown[:most]:
        drawn.add_row(*row)
    console().print(drawn)
    if len(shown) > most:
        say(f"The first {most} of {counted(len(shown), 'row')}; --all shows all.", style="dim")


def _grid(drawn: Table, table: CrossTable) -> list[list[str]]:
    rows, columns = table.totals.values()
    drawn.add_column(" \\ ".join(table.names))
    for label in (*columns.alphabet.labels(), "all"):
        drawn.add_column(label, justify="right", no_wrap=True)
    width, band = columns.alphabet.size, table.band
    ends = [_share(*one) for one in zip(band.estimate, band.low, band.high, strict=True)]
    found = [
        [
            label,
            *ends[place * width : (place + 1) * width],
            _share(rows.estimate[place], rows.low[place], rows.high[place]),
        ]
        for place, label in enumerate(rows.alphabet.labels())
    ]
    last = ["all", *(_share(*one) for one in zip(columns.estimate, columns.low, columns.high, strict=True)), "100"]
    return [*found, last]


def _list(drawn: Table, table: CrossTable) -> list[list[str]]:
    drawn.add_column(", ".join(table.names))
    drawn.add_column("share", justify="right")
    band = table.band
    ends = [_share(*one) for one in zip(band.estimate, band.low, band.high, strict=True)]
    return [
        [label.removeprefix("(").removesuffix(")"), one]
        for label, one in zip(band.alphabet.labels(), ends, strict=True)
    ]


def _share(now: float, low: float, high: float) -> str:
    return f"{100 * now:.1f} ({100 * low:.1f}-{100 * high:.1f})"  # a hyphen, which every terminal can show
