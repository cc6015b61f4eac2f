# ruff: noqa: N803
import numpy as np
from numpy.typing import NDArray

def iterative_bayesian_update(
    C: NDArray[np.float64],
    out: NDArray[np.float64],
    start: NDArray[np.float64] = ...,
    max_diff: float = ...,
    max_iter: int = ...,
) -> tuple[NDArray[np.float64], int]: ...
