"""Best of several, in turns; and tables that are read in a terminal and pasted into a page alike."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

Work = Callable[[], Any]

RUNS_A_TURN = 3


def best_times(works: Sequence[Work], seconds: float = 1.0, least: int = 5) -> list[float]:
    """Return the shortest time of each piece of work, in seconds.

    They take turns, so that a neighbour on the same machine slows all of them or none; and the best of many turns is
    what the code takes when nobody else is there. A turn is a few runs on end: the first may still pay for memory that
    the others have given back.
    """
    best = [float("inf")] * len(works)
    turns, end = 0, time.perf_counter() + seconds
    while turns < least or time.perf_counter() < end:
        best = [min(shortest, _time(work)) for shortest, work in zip(best, works, strict=True)]
        turns += 1
    return best


def once(work: Work) -> tuple[float, Any]:
    """Return how long it took, in seconds of this thread on a processor, and what came out.

    All that is measured runs on one thread, so this is the time on the clock less the turns of other programs.
    """
    start = time.thread_time()
    outcome = work()
    return time.thread_time() - start, outcome


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, the first column to the left and all others to the right."""
    table = Table(box=MARKDOWN)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=160, highlight=False)
    console.print(title, style="bold")
    console.print(table)


def machine() -> str:
    """Say in general words what was measured on."""
    return (
        f"One thread; {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}."
    )


def shown(seconds: float) -> str:
    """Return a time with three figures and a unit.

    >>> shown(0.0123), shown(4.2e-5)
    ('12.3 ms', '42 us')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def verdict(bar: str, *, met: bool) -> str:
    """Return the bar and whether it was met."""
    return f"{bar}: {'met' if met else 'MISSED'}"


def _time(work: Work) -> float:
    return min(once(work)[0] for _ in range(RUNS_A_TURN))
