"""Answers for many groups at once: their searches side by side, with the results that each has by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confide.intervals.answers import Interval
from confide.intervals.bases import Basis, Likelihood
from confide.intervals.inference import Inference
from confide.intervals.region import Region, Search, finish_all
from confide.methods import Progress

Question = Callable[[Inference], Search[Interval]]
"""Takes an inference to the search for an answer."""

BLOCK = 100
"""Groups that are asked at a time: enough for the products to be large."""


def answer_together(
    inferences: Sequence[Inference],
    questions: Sequence[Question],
    basis: Basis | None = None,
    progress: Progress | None = None,
) -> list[list[Interval]]:
    """Return the answers to each question, one for each inference; the progress hears how many of these are done."""
    answers: list[list[Interval]] = [[] for _ in questions]
    for begin in range(0, len(inferences), BLOCK):
        some = inferences[begin : begin + BLOCK]
        if basis is None or isinstance(basis, Likelihood):
            prepare(some)
        found = finish_all([question(one) for question in questions for one in some])
        for place in range(len(questions)):
            answers[place] += found[place * len(some) : (place + 1) * len(some)]
        if progress is not None:
            progress(begin + len(some))
    return answers


def prepare(inferences: Sequence[Inference]) -> None:
    """Find the best explanations of all reports, side by side over each channel.

    Each inference keeps its own, and finds for itself what this leaves out: values around the likely ones.
    """
    missing = [one for one in inferences if one.wide is None and not one.has_region]
    for one, region in zip(missing, Region.of_all([one.evidence for one in missing]), strict=True):
        one.keep_region(region)
