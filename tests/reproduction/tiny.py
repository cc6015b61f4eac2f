"""Experiments cut down to seconds, run in this process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from reproduction import EXPERIMENTS, Comparison, Computation, Experiment, Setting, Table
from reproduction.cells import Contender, Row, run_draw
from reproduction.declarations import Bundled
from reproduction.experiments import COLUMNS
from reproduction.table import RESULTS, SHARES, TIMES, Tables

LARGEST = 100
"""Values up to which synthetic data take part."""


def shrink(experiment: Comparison) -> Comparison:
    """Return the same experiment with one repeat, the fewest people, and the weakest level of each mechanism.

    Weak noise is fast. Levels of a geometric mechanism on synthetic data are panels and curves of their own, and stay.
    """
    kept: dict[object, Setting] = {}
    for setting in experiment.settings:
        source, blur = setting.source, setting.blur
        if isinstance(source, Bundled) and source.people is not None:
            kept.setdefault((source.name, blur), setting)
        elif isinstance(source, Bundled) or blur.kind == "rappor":
            kept[source, blur.kind] = setting
        elif source.alphabet.size <= LARGEST:
            kept[source, blur] = setting
    return replace(experiment, settings=tuple(kept.values()), repeats=1)


def run_tiny(experiment: Experiment) -> Tables:
    """Return the tables of a cut-down experiment."""
    if isinstance(experiment, Computation):
        assert experiment.compute is not None
        return experiment.compute()
    assert isinstance(experiment, Comparison)
    small = shrink(experiment)
    records = [
        record for draw in small.draws(1) for record in run_draw(draw, small.contenders, is_kept=small.is_kept(draw))
    ]
    return small.tabulate(records)


@cache
def tiny_tables(name: str) -> Tables:
    """Return the tables of a cut-down experiment, run once for all tests of a process that only read them."""
    return run_tiny(EXPERIMENTS[name])


def invent(experiment: Comparison, *, ibu: float, others: float) -> Tables:
    """Return tables of the whole experiment as they would be if IBU and the others had these errors; nothing is run."""
    rows = [
        _invented(setting, contender, ibu if contender.method.name == "IBU" else others)
        for setting in experiment.settings
        for contender in experiment.contenders
    ]
    tables = {RESULTS: Table.of(COLUMNS[RESULTS], map(vars, rows))}
    if experiment.is_timed:
        tables[TIMES] = Table.of(COLUMNS[TIMES], (vars(row) | {"seconds": row.emd} for row in rows))
    if experiment.keeps_shares:
        tables[SHARES] = Table.of(COLUMNS[SHARES], ())
    return tables


def _invented(setting: Setting, contender: Contender, error: float) -> Row:
    return Row(
        data=setting.source.label,
        values=setting.source.alphabet.size,
        people=setting.source.total,
        mechanism=setting.blur.label,
        epsilon=setting.blur.epsilon,
        repeat=0,
        seed=0,
        method=contender.method.name,
        delta=contender.delta,
        start=contender.start,
        emd=error / setting.blur.epsilon,
        total_variation=0.1,
        log_likelihood=-1.0,
        certificate=1.0,
        iterations=10,
        status="small step",
        note="",
    )
