"""New reports as they might have come in, and what the method makes of them.

Reports are drawn from two distributions: the estimate, and the one that explains the reports best. The first is
smoother than the truth where the method smooths, so errors around it miss the bias; the second is rougher than the
truth, so errors around it hold all the bias that reports like these can hide. The larger of both counts. Where a
channel knows only the reports that were seen, new ones are drawn from these, and errors from both still count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.intervals.resolving import resolve
from confide.methods import Method

Answer = Callable[[FloatArray], FloatArray]
"""Takes a stack of distributions, one a row, to the answers that they give: one row each, a column a question."""

COMPLETE = 1e-9
"""How far the sum of a row of a channel may be from 1 if its outputs are all that a report can be.

Rows of a hundred thousand outputs sum to 1 within 1e-15, on a line and on a plane.
"""


@dataclass(frozen=True, eq=False)
class Family:
    """Replicates from one source.

    Attributes
    ----------
    source
        The distribution that took the place of the truth.
    answers
        What the method recovered, one row a replicate.
    """

    source: FloatArray
    answers: FloatArray

    def half_width(self, answer: Answer, level: float) -> FloatArray:
        """Return the error that a share of `level` of the replicates does not exceed, one a question."""
        errors = np.abs(answer(self.answers) - answer(self.source[None, :]))
        half: FloatArray = np.quantile(errors, level, axis=0, method="higher")
        return half


def draw_family(
    parts: Sequence[Evidence], method: Method, iterations: int, source: FloatArray, count: int, seed: int
) -> Family:
    """Draw the reports of every group anew, as many as there were, and solve them again."""
    generator = np.random.default_rng(seed)
    counts = np.concatenate([_redraw(part, source, count, generator) for part in parts], axis=1)
    answers = resolve(method, Evidence.pool(list(parts)), counts, iterations)
    return Family(source, answers)


def is_complete(evidence: Evidence) -> bool:
    """Whether the channel has every output that a report can be, and as it is: probabilities over them sum to one."""
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    return bool(np.abs(sums - 1).max() <= COMPLETE)


def _redraw(evidence: Evidence, source: FloatArray, count: int, generator: np.random.Generator) -> FloatArray:
    """Draw counts from the source through the channel; where that knows only the reports seen, from these."""
    shares = evidence.channel.push(source) if is_complete(evidence) else evidence.frequencies
    shares = np.maximum(shares, 0.0)
    people = max(1, round(evidence.total))
    drawn: FloatArray = generator.multinomial(people, shares / shares.sum(), size=count).astype(np.float64)
    return drawn
