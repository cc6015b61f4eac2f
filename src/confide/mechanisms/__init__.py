"""What people's devices do to a value. One mechanism a file; a new one joins by standing in MECHANISMS."""

from confide.mechanisms.base import Mechanism
from confide.mechanisms.from_matrix import FromMatrix
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.truncated_geometric import TruncatedGeometric

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism for mechanism in (RandomizedResponse, TruncatedGeometric, FromMatrix)
}
"""Every mechanism by its name in a survey file."""

__all__ = ["MECHANISMS", "FromMatrix", "Mechanism", "RandomizedResponse", "TruncatedGeometric"]
