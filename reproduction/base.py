"""What an experiment is: what it declares, the tables it makes, the pictures drawn from them, what the paper says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, get_type_hints

from confide.checks import check_count
from confide.errors import InvalidParameterError
from reproduction.blurs import Blur
from reproduction.cells import Contender, Draw, Record, Row
from reproduction.sources import Source
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Mapping[str, Table]
"""The tables of an experiment, by name."""

RESULTS, SHARES, TIMES = "results", "shares", "times"


def _kind(hint: object) -> str:
    if hint is str:
        return "text"
    return "whole" if hint in (int, int | None) else "number"


_HINTS = get_type_hints(Row)
_WHERE = {name: _kind(_HINTS[name]) for name in ("data", "mechanism", "epsilon", "people", "method", "delta", "start")}

COLUMNS: dict[str, dict[str, str]] = {
    RESULTS: {field.name: _kind(_HINTS[field.name]) for field in fields(Row)},
    SHARES: _WHERE | {"value": "whole", "share": "number", "truth": "number"},
    TIMES: {"values": "whole"} | _WHERE | {"repeat": "whole", "seconds": "number"},
}
"""The columns of the tables that every comparison makes, and their kinds."""


class Verdict(StrEnum):
    """How a statement of the paper fares against a number of ours."""

    HOLDS = "holds"
    DIFFERS = "differs"
    MISPRINT = "misprint"
    COMPARED = "for comparison"

    @property
    def is_judged(self) -> bool:
        """Whether it says something of the paper, and not of a variant that is shown beside it."""
        return self is not Verdict.COMPARED


@dataclass(frozen=True)
class Claim:
    """A number or a sentence of the paper, beside what came out here.

    Attributes
    ----------
    what
        What it is about.
    paper
        What the paper prints.
    ours
        What came out here.
    verdict
        Whether the two agree.
    note
        Why not, or how it was judged.
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    note: str = ""


def judge(what: str, paper: str, ours: str, *, holds: bool, note: str = "") -> Claim:
    """Return a claim that holds or differs."""
    return Claim(what, paper, ours, Verdict.HOLDS if holds else Verdict.DIFFERS, note)


@dataclass(frozen=True)
class Picture:
    """A figure to be drawn from the tables, and what stands below it."""

    name: str
    caption: str
    draw: Callable[[Tables], Figure]


@dataclass(frozen=True)
class Experiment(ABC):
    """What all experiments declare.

    Parameters
    ----------
    name
        What it is called on the command line.
    title
        A heading.
    paper
        What of the paper it reproduces, by the paper's own labels; empty if it is an addition.
    notes
        What a reader should know: where ours may differ, and why.
    pictures
        The figures.
    claims
        What the paper says, to be laid beside the tables.
    """

    name: str
    title: str
    paper: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    claims: Callable[[Tables], list[Claim]] | None = None

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """The columns of each table and their kinds."""


@dataclass(frozen=True)
class Setting:
    """People and the mechanism that their values go through."""

    source: Source
    blur: Blur


def cross(sources: Source | Iterable[Source], blurs: Iterable[Blur]) -> tuple[Setting, ...]:
    """Return every source with every mechanism and level."""
    chosen, all_blurs = ([sources] if isinstance(sources, Source) else list(sources)), list(blurs)
    return tuple(Setting(source, blur) for source in chosen for blur in all_blurs)


@dataclass(frozen=True)
class Comparison(Experiment):
    """Methods side by side on the same reports: settings x repeats x methods.

    Parameters
    ----------
    settings
        People and mechanisms; :func:`cross` makes all pairs.
    contenders
        The methods. Each sees the same reports.
    repeats
        How often reports are drawn anew, as the paper does.
    keeps_shares
        Whether the estimated distributions of the first repeat are written too, to be drawn.
    is_timed
        Whether a table of times is written. It cannot be the same twice, so it is a table of its own.
    """

    settings: tuple[Setting, ...] = ()
    contenders: tuple[Contender, ...] = ()
    repeats: int = 30
    keeps_shares: bool = False
    is_timed: bool = False

    def __post_init__(self) -> None:
        check_count("repeats", self.repeats, 1)
        if not self.settings or not self.contenders:
            raise InvalidParameterError(f"{self.name!r} needs at least one setting and one method.")

    @property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """See :attr:`Experiment.columns`."""
        wanted = [RESULTS] + [SHARES] * self.keeps_shares + [TIMES] * self.is_timed
        return {name: COLUMNS[name] for name in wanted}

    def draws(self, repeats: int) -> list[Draw]:
        """Return every drawing of reports, in the order of the tables."""
        return [Draw(one.source, one.blur, repeat) for one in self.settings for repeat in range(repeats)]

    def is_kept(self, draw: Draw) -> bool:
        """Whether the shares of this draw are written."""
        return self.keeps_shares and draw.repeat == 0

    def keys(self, draw: Draw) -> list[str]:
        """Return the key of each cell of a draw, one a method."""
        return [draw.key(contender, is_kept=self.is_kept(draw)) for contender in self.contenders]

    def known_settings(self) -> set[str]:
        """Return what finished cells may belong to, whatever their repeat."""
        draws = [Draw(one.source, one.blur, 0) for one in self.settings]
        return {draw.setting(contender) for draw in draws for contender in self.contenders}

    def tabulate(self, records: Iterable[Record]) -> dict[str, Table]:
        """Return the tables of finished cells, in the order given."""
        kept = list(records)
        made = {RESULTS: Table.of(COLUMNS[RESULTS], (vars(record.row) for record in kept))}
        if self.keeps_shares:
            made[SHARES] = Table.of(COLUMNS[SHARES], _share_rows(kept))
        if self.is_timed:
            rows = (vars(one.row) | {"seconds": one.seconds} for one in kept if one.row.iterations is not None)
            made[TIMES] = Table.of(COLUMNS[TIMES], rows)
        return made


@dataclass(frozen=True)
class Computation(Experiment):
    """Tables that are computed at once and hold no chance, or a little of it from a declared seed."""

    compute: Callable[[], dict[str, Table]] | None = None
    kinds: Mapping[str, Mapping[str, str]] | None = None

    def __post_init__(self) -> None:
        if self.compute is None or not self.kinds:
            raise InvalidParameterError(f"{self.name!r} needs something to compute, and the columns of its tables.")

    @property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """See :attr:`Experiment.columns`."""
        return self.kinds or {}


def _share_rows(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    for record in records:
        if record.shares is not None and record.truth is not None:
            for value, (share, truth) in enumerate(zip(record.shares, record.truth, strict=True)):
                yield vars(record.row) | {"value": value, "share": share, "truth": truth}
