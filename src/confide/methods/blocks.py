"""Planes of very many cells: solved for square blocks of them, then brought to the cells by a few steps of EM."""

from __future__ import annotations

from dataclasses import replace

from confide.alphabets import Alphabet
from confide.channels.blocks import Blocks
from confide.em import RowStack
from confide.evidence import Evidence
from confide.methods.base import Method, Solution
from confide.methods.smooth import STEPS_TO_REPORTERS, turn_to_reporters

MANY_CELLS = 150_000
"""Cells from which on they are solved for in blocks: more than a smooth prior is fitted to."""

MOST_BLOCKS = 15_000
"""Blocks at most: few enough for the smooth prior to have a knot every few of them, and for the maximum."""


def has_many_cells(alphabet: Alphabet) -> bool:
    """Whether there are so many values that a plane of them is solved in blocks, if it can be."""
    return alphabet.is_finite and alphabet.size > MANY_CELLS


def blocks_of(evidence: Evidence) -> Blocks | None:
    """Return the blocks that a plane is solved by; None where it has few enough cells, or none that have a channel."""
    layout = evidence.channel.layout
    if layout is None or len(layout.shape) != 2 or layout.places is not None:
        return None
    if evidence.channel.shape[0] <= MANY_CELLS or evidence.channel.shape[0] != evidence.channel.shape[1]:
        return None
    rows, columns = layout.shape
    blocks = Blocks.of((rows, columns), MOST_BLOCKS)
    return None if evidence.channel.in_blocks(blocks.side) is None else blocks


def solve_in_blocks(evidence: Evidence, method: Method, blocks: Blocks) -> Solution | None:
    """Solve for the shares of blocks, draw these smooth, and take the first steps of EM on the cells themselves.

    What is finer than a block is told by the reports alone, as far as these few steps take it up: where noise is weak
    one step gives the reports, where it is strong there is nothing to be told.
    """
    part = evidence.in_blocks(blocks)
    if part is None:
        return None
    found = method.solve(part)
    cells = turn_to_reporters(RowStack.of(evidence), blocks.smooth(found.distribution))
    words = f"{describe_blocks(blocks)}, then {STEPS_TO_REPORTERS} steps of EM on the cells"
    return replace(found, distribution=cells, explanation=f"{found.explanation}; {words}")


def describe_blocks(blocks: Blocks) -> str:
    """Return how cells are joined, in words.

    >>> describe_blocks(Blocks((1000, 1000), 10))
    'solved for 10,000 blocks of 10 x 10 cells'
    """
    return f"solved for {blocks.count:,} blocks of {blocks.side} x {blocks.side} cells"
