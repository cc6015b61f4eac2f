"""A finite part of the alphabet on which the maximum of the likelihood is the same (paper, theorem likelysubset).

A value is unlikely if others make every report at least as likely, and some report likelier: one other value (paper,
definition unlikely), or a mixture of several. Moving its probability to those raises the likelihood, so no maximum
gives it any. The gain g = M (q / y) of an unlikely value is at most the mixture of theirs, for whatever y, so the
certificate n log(max g) over the rest holds for the whole alphabet, however long.
"""

from confide.theory.likely_subsets.dispatch import Groups, likely_subset, likely_subset_of
from confide.theory.likely_subsets.subset import LikelySubset

__all__ = ["Groups", "LikelySubset", "likely_subset", "likely_subset_of"]
