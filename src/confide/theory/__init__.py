"""The paper's theory: what a mechanism identifies, whether maximum likelihood is consistent, and likely subsets."""

from confide.theory.likely_subsets import LikelySubset, likely_subset

__all__ = ["LikelySubset", "likely_subset"]
