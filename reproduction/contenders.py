"""The methods that most experiments compare: the paper's, and two of confide's beside them."""

from __future__ import annotations

from confide.methods import IBU, MLE, BitInversion, Inversion
from reproduction.cells import Contender

DELTA = 0.003
"""The paper states no delta for most of its figures. This one agrees with all that it says of its box plots. With 0.01
IBU is not yet far better at the strongest metric privacy; with 0.001 it begins to fit the noise where privacy is
weaker. `delta-sensitivity` shows what others give."""

DELTA_FOR_BITS = 0.001
"""The same for RAPPOR: at epsilon 0.1 a larger one stops IBU long before it comes near RAPPOR's own estimator."""

HELD_OUT_LIMIT = 2_000
"""Under very strong noise the search for the best held-out step goes on for minutes and changes little."""

HELD_OUT_LIMIT_FOR_BITS = 1_000
"""The same for RAPPOR, whose steps are the costliest of all."""

IBU_OF_PAPER = Contender(IBU(delta=DELTA))
IBU_FOR_BITS = Contender(IBU(delta=DELTA_FOR_BITS))
INVERSIONS = (Contender(Inversion("normalize")), Contender(Inversion("project")))
BIT_INVERSIONS = (Contender(BitInversion("normalize")), Contender(BitInversion("project")))
OURS = (Contender(MLE()), Contender(IBU(stop="held-out", iteration_limit=HELD_OUT_LIMIT)))
OURS_FOR_BITS = (Contender(MLE()), Contender(IBU(stop="held-out", iteration_limit=HELD_OUT_LIMIT_FOR_BITS)))

USUAL = (IBU_OF_PAPER, *INVERSIONS, *OURS)
"""For mechanisms with a square matrix."""

FOR_BITS = (IBU_FOR_BITS, *BIT_INVERSIONS, *INVERSIONS, *OURS_FOR_BITS)
"""For RAPPOR. Matrix inversion takes part too, and its rows say why it cannot."""
