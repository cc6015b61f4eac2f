"""Can reports reveal the distribution at all? Theorem identification: only if no two distributions give the same.

>>> from confide import FromMatrix, Integers, TruncatedGeometric
>>> identification(TruncatedGeometric(Integers(0, 99), epsilon=0.05)).verdict
<Verdict.YES: 'yes'>
>>> identification(FromMatrix(Integers(1, 3), [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])).reason
'There are 3 values and only 2 outputs, so at most 2 columns can be independent.'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from confide.channels.base import Channel, Indices
from confide.mechanisms import Mechanism, Product, Remapped
from confide.mechanisms.base import require_mechanism
from confide.theory.classes import find_classes
from confide.theory.lemmas import known_identification
from confide.theory.spectra import Spectrum, is_storable, spectrum_of
from confide.theory.verdicts import Finding, Verdict, all_of

THEOREM = "theorem identification"

SHOWN = 512
"""Values up to which singular values are shown although a lemma has decided already."""

LARGEST_DIAGONAL = 20_000
"""Values up to which rows are computed one by one to look at their diagonal."""


@dataclass(frozen=True)
class Identification(Finding):
    """Whether a mechanism identifies the distribution, and how far it is from not doing so.

    Attributes
    ----------
    spectrum
        The singular values of its matrix, where there is one and they were computed.
    classes
        The values in classes of identical rows, where rows were compared.
    """

    spectrum: Spectrum | None = None
    classes: tuple[Indices, ...] | None = field(default=None, repr=False, compare=False)


Judge = Callable[[Mechanism], Finding]
"""What decides whether a mechanism identifies the distribution."""

DOMINANT = Identification(Verdict.YES, "Every value is reported as itself more often than not.", "diagonal dominance")
"""What :func:`keeps_most` proves."""


def identification(mechanism: Mechanism) -> Identification:
    """Decide whether different distributions always give different reports (theorem identification).

    Known lemmas come first, then what products and remaps inherit, then arithmetic: the count of outputs, identical
    rows, and singular values.
    """
    require_mechanism("mechanism", mechanism)
    found = prove_identification(mechanism)
    if found is not None:
        return _with_spectrum(found, mechanism)
    if not mechanism.has_channel:
        return Identification(Verdict.NOT_COVERED, "No lemma covers this mechanism, and it has no matrix.", THEOREM)
    return channel_identification(mechanism.channel)


def prove_identification(mechanism: Mechanism, judge: Judge | None = None) -> Finding | None:
    """Return what follows from lemmas alone, without a look at any number; None where they are silent.

    Parameters
    ----------
    mechanism
        The mechanism.
    judge
        What decides the parts of a product, of which lemmas may know nothing: :func:`identification` if left out.
    """
    known = known_identification(mechanism)
    if known is not None:
        return known
    if isinstance(mechanism, Product):
        return _product(mechanism, judge or identification)
    if isinstance(mechanism, Remapped):
        return _remapped(mechanism, judge)
    return None


def channel_identification(channel: Channel) -> Identification:
    """Decide from a channel whether its rows are linearly independent."""
    values, outputs = channel.shape
    if outputs < values:
        return too_few(values, outputs)
    classes = tuple(find_classes(channel))
    return replace(_by_rows(channel, len(classes)), classes=classes)


def too_few(values: int, outputs: int) -> Identification:
    """Return what fewer outputs than values mean."""
    noun = "output" if outputs == 1 else "outputs"
    reason = (
        f"There are {values:,} values and only {outputs:,} {noun}, so at most {outputs:,} columns can be independent."
    )
    return Identification(Verdict.NO, reason, THEOREM, {"values": values, "outputs": outputs})


def same_rows(values: int, classes: int) -> Identification:
    """Return what fewer classes of identical rows than values mean."""
    reason = f"Some of the {values:,} values have identical rows: only {classes:,} can be told apart at all."
    return Identification(Verdict.NO, reason, THEOREM, {"classes": classes})


def _by_rows(channel: Channel, classes: int) -> Identification:
    values = channel.shape[0]
    if classes < values:
        return same_rows(values, classes)
    if not is_storable(channel) and keeps_most(channel):
        return DOMINANT
    spectrum = spectrum_of(channel)
    return Identification(spectrum.independence, _measured(spectrum), _how(spectrum), spectrum.numbers(), spectrum)


def keeps_most(channel: Channel) -> bool:
    """Whether each value is reported as itself with a probability above 1/2; such a matrix is invertible.

    A row then holds more on its diagonal than in all its other entries together (Levy and Desplanques).
    """
    values, outputs = channel.shape
    if values != outputs or values > LARGEST_DIAGONAL:
        return False
    for start in range(0, values, 64):
        block = np.arange(start, min(start + 64, values))
        if (channel.select(block)[np.arange(block.size), block] <= 0.5).any():
            return False
    return True


def _product(mechanism: Product, judge: Judge) -> Finding:
    """Return what the two parts say: the rank of a Kronecker product is the product of the ranks."""
    parts = judge(mechanism.first), judge(mechanism.second)
    verdict = all_of(*(part.verdict for part in parts))
    reason = f"First part: {parts[0].reason} Second part: {parts[1].reason}"
    sources = " and ".join(dict.fromkeys(part.source for part in parts))
    return Finding(verdict, reason, f"rank of a Kronecker product; {sources}")


def _remapped(mechanism: Remapped, judge: Judge | None) -> Finding | None:
    """Return what the mechanism before the remap says, where that decides it."""
    remap = mechanism.remap
    before = prove_identification(mechanism.mechanism, judge)
    if before is not None and before.is_no:
        return Finding(
            Verdict.NO, f"Nothing done to reports can bring back what they lack. {before.reason}", before.source
        )
    if before is not None and np.unique(remap).size == remap.size:
        return Finding(before.verdict, f"Outputs are merely renamed. {before.reason}", before.source)
    used, values = int(np.unique(remap).size), mechanism.alphabet.size
    return too_few(values, used) if used < values else None


def _with_spectrum(found: Finding, mechanism: Mechanism) -> Identification:
    """Add singular values to a lemma where they cost little: they say how much noise the way back adds."""
    alphabet = mechanism.alphabet
    if not mechanism.has_channel or alphabet.size > SHOWN or not is_storable(mechanism.channel):
        return Identification(found.verdict, found.reason, found.source, found.numbers)
    spectrum = spectrum_of(mechanism.channel)
    numbers = {**found.numbers, **spectrum.numbers()}
    return Identification(found.verdict, found.reason, found.source, numbers, spectrum)


def _measured(spectrum: Spectrum) -> str:
    which = "the only singular value" if spectrum.rows == 1 else f"the smallest of {spectrum.rows:,} singular values"
    smallest = f"{which} is {spectrum.smallest:.3g}"
    condition = f"the condition number {spectrum.condition:.3g}"
    if spectrum.independence is Verdict.YES:
        return f"The rows are linearly independent: {smallest}, {condition}."
    if spectrum.independence is Verdict.NO:
        return f"The matrix has rank {spectrum.rank:,} of {spectrum.rows:,}: {smallest}, which is zero to rounding."
    if not spectrum.is_complete:
        return (
            f"There are too many values to compute all singular values. By iteration {smallest} or less, which "
            f"rules out neither yes nor no."
        )
    return f"By far the smallest part decides: {smallest}, not clearly above rounding and not clearly zero."


def _how(spectrum: Spectrum) -> str:
    return f"{THEOREM}, by {'singular values' if spectrum.is_complete else 'iterative singular values'}"
