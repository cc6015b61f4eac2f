"""The paper's theory: identification, consistency and likely subsets."""

from confide.theory.likely_subsets import LikelySubset, likely_subset

__all__ = ["LikelySubset", "likely_subset"]
