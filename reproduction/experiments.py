"""Experiments: declarations, tables, pictures, and the paper's statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

from confide.errors import InvalidParameterError
from confide.values.checks import check_count
from reproduction.cells import Contender, Draw, Record, Row
from reproduction.claims import Claim
from reproduction.declarations import Blur, Source
from reproduction.table import RESULTS, SHARES, TIMES, Table, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = {
    "fig:geometric_on_ages": "Figure 1",
    "fig:sconcavity_depends_on_observations": "Figure 4",
    "fig:probability_of_s_concavity_rappor": "Figure 5",
    "fig:uniqueness_vs_sconcavity": "Figure 6",
    "fig:multiple_mles": "Figure 7",
    "tab:experiments": "Table 2",
    "fig:manhattan_map": "Figure 8",
    "fig:taxicab_on_grid": "Figure 9",
    "fig:box_estimators_dprivacy": "Figure 10",
    "fig:box_estimators_geind": "Figure 11",
    "fig:box_estimators_krr_emd": "Figure 12",
    "fig:rappor_on_line_em": "Figure 13",
    "fig:box_estimators_rappor": "Figure 14",
    "fig:box_var_data_lgeom_emd": "Figure 15",
    "fig:box_var_data_taxicab_emd": "Figure 16",
    "fig:box_var_data_krr_emd": "Figure 17",
    "prop:invKrrBound": "Proposition 4",
    "prop:invTLinGeomBound": "Proposition 5",
    "prop:invTTaxicabBound": "Proposition 6",
    "fig:EMD_ini_delta": "Figure 18",
    "fig:distributions": "Figure 19",
    "fig:time_alphabet_delta": "Figure 20",
    "fig:convex_likely_linear": "Figure 21",
    "fig:likely_planar": "Figure 22",
    "fig:box_estimators_dprivacy_tv": "Figure 24",
    "fig:box_estimators_geind_tv": "Figure 25",
    "fig:box_estimators_krr_tv": "Figure 26",
    "fig:box_estimators_rappor_tv": "Figure 27",
    "fig:box_var_data_lgeom_tv": "Figure 28",
    "fig:box_var_data_taxicab_tv": "Figure 29",
    "fig:box_var_data_krr_tv": "Figure 30",
    "fig:box_estimators_labTests_emd": "Figure 31",
    "fig:box_estimators_paris_emd": "Figure 32",
}
"""Numbers in the paper by its labels, counted in the order of its text. Left out, as they show no data: Table 1
(notation), Figures 2 (the setting), 3 (a summary of properties) and 23 (an inverse matrix)."""


def cite(label: str) -> str:
    """Return what the paper's readers and its source call the same thing.

    >>> cite("fig:multiple_mles")
    'Figure 7 (fig:multiple_mles)'
    """
    return f"{NUMBERS[label]} ({label})"


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


@dataclass(frozen=True)
class Picture:
    """Figure to be drawn from the tables, and its caption."""

    name: str
    caption: str
    draw: Callable[[Tables], Figure]


@dataclass(frozen=True)
class Experiment(ABC):
    """Declaration that all experiments share.

    Parameters
    ----------
    name
        Name on the command line.
    title
        Heading.
    paper
        Labels of the paper's figures, tables and propositions that it reproduces; empty if it is an addition.
    notes
        Remarks for the reader: where ours may differ, and why.
    pictures
        Figures, drawn from the tables alone.
    claims
        Statements of the paper, judged by the tables.
    """

    name: str
    title: str
    paper: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    claims: Callable[[Tables], list[Claim]] | None = None

    def __post_init__(self) -> None:
        unknown = [label for label in self.paper if label not in NUMBERS]
        if unknown:
            raise InvalidParameterError(f"The paper has no {', '.join(unknown)}; NUMBERS lists its labels.")

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """Columns of each table and their kinds."""

    @property
    def citations(self) -> list[str]:
        """Numbers and labels of what it reproduces."""
        return [cite(label) for label in self.paper]


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
    """Methods side by side on the same reports.

    The cross product of settings, repeats and methods.

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
        super().__post_init__()
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
    """Tables that are computed at once, with little or no chance."""

    compute: Callable[[], dict[str, Table]] | None = None
    kinds: Mapping[str, Mapping[str, str]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
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
