"""Numbers that bound how files are read, blurred, shuffled and shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileLimits:
    """How much of a file is held, looked at or shown at a time.

    Attributes
    ----------
    block
        Characters or bytes that are read at a time: large enough that a block's own cost is not seen, far below memory.
    parquet_rows
        Rows of a Parquet file that are read at a time.
    shown_rejects, longest_shown
        Rejected rows that a message names, and characters of each; a file of them names all.
    largest_part
        People that are blurred at a time.
    fewest_rows
        Rows from which on a file is stopped at most of which are odd: one person's high salary is not.
    small_group
        People of a group up to which, this number not included, each of them is nearly known by it.
    most_groups
        Groups by kept columns that are counted; whoever keeps columns with more contents has other worries.
    fewest_told, few_exceptions
        People that a column must set right before it is said to tell the values, and the part of these that may be
        wrong. Chance pairs up twenty people so well less than once in a million times.
    memory
        Bytes of reports that are held in memory to be shuffled; more are set down on disk.
    piece
        Rows that are scattered together, and handed out together: a file is written in pieces of about this size.
    smallest_split
        Rows of a bucket from which on it may be split again, should it not fit into memory.
    text_bytes
        Bytes that a text takes in memory, beside its letters.
    small_range
        Whole numbers between which each is written once and then looked up.
    most_features
        Cells that a file of features has at most, the fullest ones: 30 MB, which programs for maps still open.
    """

    block: int = 2**22
    parquet_rows: int = 2**20
    shown_rejects: int = 10
    longest_shown: int = 80
    largest_part: int = 2**20
    fewest_rows: int = 20
    small_group: int = 10
    most_groups: int = 2**18
    fewest_told: int = 20
    few_exceptions: float = 0.01
    memory: int = 2**26
    piece: int = 2**20
    smallest_split: int = 2**12
    text_bytes: int = 64
    small_range: int = 2**16
    most_features: int = 100_000


LIMITS = FileLimits()
