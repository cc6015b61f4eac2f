"""The table of mechanisms and data."""

from __future__ import annotations

from collections.abc import Iterable

from confide.guarantees import LocalDP
from reproduction.base import RESULTS, Comparison, Computation
from reproduction.catalogue import (
    ages_levels,
    krr_levels,
    lab_levels,
    manhattan_levels,
    paris_levels,
    rappor_levels,
)
from reproduction.table import Table

COLUMNS = {
    "mechanism": "text",
    "promise": "text",
    "lowest_epsilon": "number",
    "highest_epsilon": "number",
    "data": "text",
    "alphabet": "text",
    "values": "whole",
    "people": "whole",
    "kind": "text",
    "in_paper_table": "text",
}
OF_PAPER = (
    ages_levels.EXPERIMENT,
    manhattan_levels.EXPERIMENT,
    krr_levels.EXPERIMENT,
    rappor_levels.EXPERIMENT,
)
OF_APPENDIX = (lab_levels.EXPERIMENT, paris_levels.EXPERIMENT)


def compute() -> dict[str, Table]:
    """Return one row for each mechanism on each dataset, read off the declarations of the box plots."""
    rows = [*_rows(OF_PAPER, "yes"), *_rows(OF_APPENDIX, "appendix")]
    return {RESULTS: Table.of(COLUMNS, rows)}


def _rows(experiments: Iterable[Comparison], place: str) -> Iterable[dict[str, object]]:
    for experiment in experiments:
        pairs = dict.fromkeys((one.source, one.blur.kind) for one in experiment.settings)
        for source, kind in pairs:
            blurs = [one.blur for one in experiment.settings if (one.source, one.blur.kind) == (source, kind)]
            guarantee = blurs[0].build(source.alphabet).guarantee
            yield {
                "mechanism": kind,
                "promise": "local differential privacy" if isinstance(guarantee, LocalDP) else "metric privacy",
                "lowest_epsilon": min(blur.epsilon for blur in blurs),
                "highest_epsilon": max(blur.epsilon for blur in blurs),
                "data": source.label,
                "alphabet": repr(source.alphabet),
                "values": source.alphabet.size,
                "people": source.total,
                "kind": "planar" if len(source.alphabet.field_names) == 2 else "linear",
                "in_paper_table": place,
            }


EXPERIMENT = Computation(
    name="mechanisms",
    title="Mechanisms and data",
    paper=("tab:experiments",),
    compute=compute,
    kinds={RESULTS: COLUMNS},
    notes=("Read off the declarations of the experiments themselves, so it cannot drift from what is run.",),
)
