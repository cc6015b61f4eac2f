"""Can the reports behind an estimate reveal the distribution? Asked with every estimate, so it must cost little.

Lemmas decide most mechanisms at once. Arithmetic decides the others while it takes a fraction of a second, and is done
once a mechanism. Beyond that only what is cheap is looked at, and the verdict may be that it was not checked.

>>> from confide import FromMatrix, Integers, RandomizedResponse
>>> pair = FromMatrix(Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
>>> pool_identification((pair,)).reason
'There are 3 values and only 2 outputs, so at most 2 columns can be independent.'
>>> pool_identification((pair, RandomizedResponse(Integers(1, 3), epsilon=1.0))).verdict
<Verdict.YES: 'yes'>
"""

from __future__ import annotations

from functools import lru_cache

from confide.channels import Stacked
from confide.channels.base import Channel
from confide.mechanisms import Mechanism
from confide.theory.classes import find_classes
from confide.theory.identification import (
    DOMINANT,
    THEOREM,
    channel_identification,
    keeps_most,
    prove_identification,
    same_rows,
    too_few,
)
from confide.theory.verdicts import Finding, Verdict

LARGEST_COMPARED = 25_000_000
"""Entries of a channel up to which its rows are compared, by a few products: a tenth of a second where it is stored."""

LARGEST_DECOMPOSED = 250_000_000
"""Values times values times outputs up to which all singular values are computed: about a quarter of a second."""

REMEMBERED = 128
"""Pools whose finding is kept, the latest ones."""


@lru_cache(maxsize=REMEMBERED)
def pool_identification(mechanisms: tuple[Mechanism, ...]) -> Finding:
    """Decide whether people who use these mechanisms, over one alphabet, reveal the distribution between them.

    They do if one of them does by itself, and otherwise if the columns of all of them together have full rank.
    """
    found = [_judge(one) for one in mechanisms]
    if len(found) == 1:
        return found[0]
    enough = next((one for one in found if one.is_yes), None)
    if enough is not None:
        return Finding(Verdict.YES, f"One of the {len(found)} mechanisms is enough. {enough.reason}", enough.source)
    together = _compute(mechanisms)
    reason = f"All {len(found)} mechanisms taken together: {together.reason}"
    return Finding(together.verdict, reason, together.source, together.numbers)


def _judge(mechanism: Mechanism) -> Finding:
    return prove_identification(mechanism, _judge) or _compute((mechanism,))


def _compute(mechanisms: tuple[Mechanism, ...]) -> Finding:
    """Decide by arithmetic, as far as that is cheap; channels are made only where they are small."""
    values = mechanisms[0].alphabet
    if not all(one.has_channel for one in mechanisms):
        return Finding(Verdict.NOT_COVERED, "No lemma covers this, and there is no matrix to look at.", THEOREM)
    outputs = sum(one.report_alphabet.size for one in mechanisms)
    if outputs < values.size:
        return _without_arrays(too_few(values.size, outputs))
    if values.size * outputs > LARGEST_COMPARED:
        return _not_checked(values.size, outputs)
    channel = mechanisms[0].channel if len(mechanisms) == 1 else Stacked(tuple(one.channel for one in mechanisms))
    is_small = values.size**2 * outputs <= LARGEST_DECOMPOSED
    return _without_arrays(channel_identification(channel) if is_small else _compare(channel))


def _compare(channel: Channel) -> Finding:
    """Decide what can be decided without singular values."""
    values, outputs = channel.shape
    classes = len(find_classes(channel))
    if classes < values:
        return same_rows(values, classes)
    return DOMINANT if keeps_most(channel) else _not_checked(values, outputs)


def _not_checked(values: int, outputs: int) -> Finding:
    reason = f"A matrix of {values:,} values and {outputs:,} outputs is too large to decompose with every estimate."
    return Finding(Verdict.NOT_CHECKED, reason, "limits of computing")


def _without_arrays(found: Finding) -> Finding:
    """Return a finding that can be kept: without the spectrum and the classes it was made of."""
    return Finding(found.verdict, found.reason, found.source, found.numbers)
